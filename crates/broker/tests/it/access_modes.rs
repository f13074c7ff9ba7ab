//! How producers share a topic.

use plerion_test_client::Type;
use plerion_wire::ServerError;
use plerion_wire::proto::{CommandProducer, CommandProducerSuccess, ProducerAccessMode};

use crate::support::{Session, everywhere, producer};

const TOPIC: &str = "persistent://public/default/access";

fn with(mode: ProducerAccessMode, producer_id: u64) -> CommandProducer {
    CommandProducer { producer_access_mode: Some(mode.into()), ..producer(TOPIC, producer_id) }
}

use ProducerAccessMode::{Exclusive, ExclusiveWithFencing, Shared, WaitForExclusive};

/// The next PRODUCER_SUCCESS, which nobody asked for anew.
async fn promotion(client: &mut Session) -> CommandProducerSuccess {
    *client.await_kind(Type::ProducerSuccess).await.unwrap().command.producer_success.unwrap()
}

#[test]
fn exclusive_keeps_everybody_else_out() {
    everywhere(async |world| {
        let mut holder = world.session().await;
        let success = holder.open_producer(with(Exclusive, 1)).await;
        assert_eq!((success.topic_epoch, success.producer_ready), (Some(0), Some(true)));
        let mut other = world.session().await;
        assert_eq!(other.refused_producer(with(Shared, 1)).await.0, ServerError::ProducerBusy);
        assert_eq!(other.refused_producer(with(Exclusive, 1)).await.0, ServerError::ProducerFenced);
        holder.say(1, 0, "undisturbed").await;
        holder.close_producer(1).await.unwrap();
        let success = other.open_producer(with(Exclusive, 1)).await;
        assert_eq!(success.topic_epoch, Some(1), "every term has its own");
    });
}

#[test]
fn exclusive_is_refused_while_others_share() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(with(Shared, 1)).await;
        client.open_producer(with(Shared, 2)).await;
        assert_eq!(client.refused_producer(with(Exclusive, 3)).await.0, ServerError::ProducerFenced);
    });
}

#[test]
fn whoever_waits_is_told_twice() {
    everywhere(async |world| {
        let mut holder = world.session().await;
        holder.open_producer(with(Exclusive, 1)).await;
        let mut waiter = world.session().await;
        let first = waiter.open_producer(with(WaitForExclusive, 1)).await;
        assert_eq!(first.producer_ready, Some(false));
        holder.close_producer(1).await.unwrap();
        let second = promotion(&mut waiter).await;
        assert_eq!(second.request_id, first.request_id);
        assert_eq!(second.producer_name, first.producer_name);
        assert_eq!((second.producer_ready, second.topic_epoch), (Some(true), Some(1)));
        waiter.say(1, 0, "mine now").await;
    });
}

/// The first who came is the first who gets it, also when the holder's connection just ends.
#[test]
fn those_who_wait_take_turns() {
    everywhere(async |world| {
        let mut holder = world.session().await;
        holder.open_producer(with(WaitForExclusive, 1)).await;
        let mut waiters = Vec::new();
        for _ in 0..3 {
            let mut waiter = world.session().await;
            assert_eq!(waiter.open_producer(with(WaitForExclusive, 1)).await.producer_ready, Some(false));
            waiters.push(waiter);
        }
        // The second loses patience.
        waiters[1].close_producer(1).await.unwrap();
        drop(holder);
        let success = promotion(&mut waiters[0]).await;
        assert_eq!(success.topic_epoch, Some(1));
        drop(waiters.remove(0));
        let success = promotion(&mut waiters[1]).await;
        assert_eq!(success.topic_epoch, Some(2));
        assert!(waiters[0].arrived().await.is_empty(), "it has closed");
    });
}

#[test]
fn waiting_for_shared_producers_too() {
    everywhere(async |world| {
        let mut sharing = world.session().await;
        sharing.open_producer(with(Shared, 1)).await;
        let mut waiter = world.session().await;
        assert_eq!(waiter.open_producer(with(WaitForExclusive, 1)).await.producer_ready, Some(false));
        sharing.close_producer(1).await.unwrap();
        assert_eq!(promotion(&mut waiter).await.producer_ready, Some(true));
    });
}

#[test]
fn fencing_ends_the_holder_and_those_who_wait() {
    everywhere(async |world| {
        let mut holder = world.session().await;
        holder.open_producer(with(Exclusive, 1)).await;
        let mut waiter = world.session().await;
        let waiting = waiter.open_producer(with(WaitForExclusive, 1)).await;
        let mut fencer = world.session().await;
        let success = fencer.open_producer(with(ExclusiveWithFencing, 1)).await;
        assert_eq!((success.topic_epoch, success.producer_ready), (Some(1), Some(true)));
        holder.await_kind(Type::CloseProducer).await.unwrap();
        // Either says clearly that there is nothing to wait for.
        let end = waiter.await_frame(|frame| matches!(frame.kind(), Type::Error | Type::CloseProducer)).await.unwrap();
        if let Some(error) = end.command.error {
            assert_eq!((error.request_id, error.error()), (waiting.request_id, ServerError::ProducerFenced));
        }
        fencer.say(1, 0, "mine now").await;
        world.until_attached(TOPIC, 1, 0).await;
    });
}

#[test]
fn fencing_ends_those_who_share() {
    everywhere(async |world| {
        let mut sharing = world.session().await;
        sharing.open_producer(with(Shared, 1)).await;
        sharing.open_producer(with(Shared, 2)).await;
        let mut fencer = world.session().await;
        fencer.open_producer(with(ExclusiveWithFencing, 1)).await;
        for _ in 0..2 {
            sharing.await_kind(Type::CloseProducer).await.unwrap();
        }
        world.until_attached(TOPIC, 1, 0).await;
    });
}

/// An owner that was disconnected comes back to what is still its own; one that was replaced does not.
#[test]
fn terms_decide_who_may_return() {
    everywhere(async |world| {
        let mut first = world.session().await;
        let success = first.open_producer(with(Exclusive, 1)).await;
        let term = success.topic_epoch;
        drop(first);
        let mut again = world.session().await;
        let name = Some(success.producer_name);
        let returning = CommandProducer {
            topic_epoch: term,
            producer_name: name,
            user_provided_producer_name: Some(false),
            epoch: Some(1),
            ..with(Exclusive, 1)
        };
        let success = again.open_producer(returning.clone()).await;
        assert_eq!(success.topic_epoch, term, "it stays the owner");
        let mut fencer = world.session().await;
        fencer.open_producer(with(ExclusiveWithFencing, 1)).await;
        let late = CommandProducer { producer_id: 2, ..returning };
        assert_eq!(again.refused_producer(late).await.0, ServerError::ProducerFenced);
    });
}

#[test]
fn terms_survive_the_topics_unloading() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for term in 0..3 {
            let success = client.open_producer(with(Exclusive, 1)).await;
            assert_eq!(success.topic_epoch, Some(term));
            world.unload(TOPIC).await;
            client.await_kind(Type::CloseProducer).await.unwrap();
        }
    });
}

/// Who waits may not publish; the connection is kept for those who may.
#[test]
fn whoever_waits_may_not_publish() {
    everywhere(async |world| {
        let mut holder = world.session().await;
        holder.open_producer(with(Exclusive, 1)).await;
        let mut waiter = world.session().await;
        waiter.open_producer(with(WaitForExclusive, 1)).await;
        let payload = plerion_test_client::Outgoing::new("it", 0, "too early").payload();
        assert!(waiter.publish_and_wait(1, 0, &payload).await.is_err());
        holder.say(1, 0, "undisturbed").await;
    });
}

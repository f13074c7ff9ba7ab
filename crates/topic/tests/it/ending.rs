//! How a topic's time on a shard ends.

use std::rc::{Rc, Weak};
use std::time::Duration;

use plerion_subscription::Position;
use plerion_subscription::dispatcher::Kind;
use plerion_topic::{Error, NewConsumer, NewProducer, Start};
use plerion_wire::ServerError;
use plerion_wire::proto::ProducerAccessMode;
use plerion_wire::proto::base_command::Type;

use crate::message::{Outgoing, ack, ack_up_to};
use crate::recorder::Said;
use crate::world::{World, connection, consumer, on_shard, producer, settle};

#[test]
fn closing_answers_what_is_under_way_and_then_tells_everyone_once() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        world.consumer(&topic, Kind::Shared, 8, 0).await;
        world.consumer(&topic, Kind::Shared, 9, 0).await;
        world.ledgers.hold();
        world.publish(&a, 0..2).await;
        world.clients.take();
        let closing = tokio::task::spawn_local({
            let topic = topic.clone();
            async move { topic.close().await }
        });
        settle().await;
        world.publish(&a, [2]).await;
        assert_eq!(world.clients.take(), [], "neither an answer nor an end yet");
        assert!(topic.attach(producer(2, 5, "b")).await.is_err(), "nobody may join");
        assert!(topic.subscribe(consumer(7, "s", Kind::Shared)).await.is_err());
        world.ledgers.release();
        closing.await.unwrap().unwrap();
        let said = world.clients.take();
        assert!(matches!(said[0], Said::Receipt { sequence: 0, .. }), "{said:?}");
        assert!(matches!(said[1], Said::Receipt { sequence: 1, .. }), "{said:?}");
        assert_eq!(
            said[2..],
            [
                Said::ProducerClosed { to: connection(1), producer: 1 },
                Said::ConsumerClosed { to: connection(8), consumer: 8 },
                Said::ConsumerClosed { to: connection(9), consumer: 9 },
            ],
            "what was sent meanwhile gets no answer"
        );
        assert_eq!(world.clients.reserved.get(), 0);
        topic.close().await.unwrap();
        assert_eq!(world.clients.take(), []);
    });
}

#[test]
fn a_log_that_fails_while_the_topic_closes_holds_nothing_up() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        world.ledgers.hold();
        world.publish(&a, 0..2).await;
        let closing = tokio::task::spawn_local({
            let topic = topic.clone();
            async move { topic.close().await }
        });
        settle().await;
        world.ledgers.fail_writers("gone");
        settle().await;
        assert!(closing.is_finished(), "at once, not when patience ends");
        closing.await.unwrap().unwrap_err();
        let said = world.clients.take();
        assert!(matches!(said[..], [Said::SendError { .. }, Said::SendError { .. }, Said::ProducerClosed { .. }]));
        assert_eq!(world.clients.reserved.get(), 0);
    });
}

#[test]
fn bug_pulsar_15719_a_store_that_does_not_answer_does_not_hold_a_close_up_for_ever() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        world.ledgers.hold();
        world.publish(&a, [0]).await;
        let began = tokio::time::Instant::now();
        let error = topic.close().await.unwrap_err();
        assert!(matches!(error, Error::Stuck(_)) && error.is_retryable(), "{error}");
        assert!(began.elapsed() <= Duration::from_secs(31));
        assert_eq!(world.clients.reserved.get(), 0, "budgets are given back");
        assert!(matches!(world.clients.take()[..], [Said::SendError { .. }, Said::ProducerClosed { .. }]));
        assert!(world.try_open().await.is_err_and(|error| error.is_retryable()), "it is not opened twice");
        world.ledgers.release();
        settle().await;
        let topic = world.open().await;
        assert_eq!(topic.last_position().map(|last| last.entry), Some(0), "and nothing is lost");
    });
}

#[test]
fn a_closed_topic_is_freed() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = topic.attach(producer(1, 1, "a")).await.unwrap();
        world.publish(&a, 0..20).await;
        let waiting = NewProducer { access: ProducerAccessMode::WaitForExclusive, ..producer(2, 2, "w") };
        let waiting = topic.attach(waiting).await.unwrap();
        let shared = world.consumer(&topic, Kind::Shared, 8, 100).await;
        let reader = NewConsumer { durable: false, ..consumer(9, "r", Kind::Exclusive) };
        let reader = topic.subscribe(reader).await.unwrap();
        reader.flow(5);
        let messages = world.clients.messages();
        ack(&shared, [messages[3].position]);
        let late = Outgoing { deliver_at: Some(crate::world::START + 3_600_000), ..Outgoing::new(50) };
        world.send(&a, &late);
        settle().await;
        let subscriptions: Vec<Weak<_>> = topic.subscriptions().iter().map(Rc::downgrade).collect();
        topic.close().await.unwrap();
        let topic = Rc::downgrade(&{ topic });
        drop((a, waiting, shared, reader));
        world.pass(Duration::from_secs(1)).await;
        assert_eq!(topic.strong_count(), 0);
        assert!(subscriptions.iter().all(|subscription| subscription.strong_count() == 0));
        assert!(world.context.producers.is_empty() && world.context.consumers.is_empty());
    });
}

#[test]
fn whoever_joins_while_the_topic_closes_is_not_left_behind() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        world.ledgers.hold();
        let joining = tokio::task::spawn_local({
            let topic = topic.clone();
            async move { topic.subscribe(consumer(9, "s", Kind::Shared)).await.err() }
        });
        settle().await;
        let closing = tokio::task::spawn_local({
            let topic = topic.clone();
            async move { topic.close().await }
        });
        settle().await;
        world.ledgers.release();
        closing.await.unwrap().unwrap();
        let error = joining.await.unwrap().expect("the topic is gone");
        assert_eq!(error.server_error(), ServerError::ServiceNotReady);
        assert!(world.context.consumers.is_empty());
    });
}

#[test]
fn deletion_needs_force_while_clients_are_attached_and_leaves_nothing() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        let shared = world.consumer(&topic, Kind::Shared, 9, 10).await;
        world.publish(&a, 0..10).await;
        let messages = world.clients.messages();
        assert!(matches!(topic.delete(false).await, Err(Error::InUse { producers: 1, consumers: 1 })));
        ack(&shared, [messages[1].position]);
        world.clients.take();
        topic.delete(true).await.unwrap();
        let said = world.clients.take();
        assert!(matches!(said[..], [Said::ProducerClosed { .. }, Said::ConsumerClosed { .. }]), "{said:?}");
        world.pass(Duration::from_secs(1)).await;
        let topic = world.open().await;
        assert!(topic.subscriptions().is_empty() && topic.last_position().is_none() && topic.is_unused());
    });
}

#[test]
fn a_terminated_topic_refuses_messages_and_tells_its_end_once_when_all_is_acknowledged() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        world.publish(&a, 0..3).await;
        let one = world.consumer(&topic, Kind::Exclusive, 9, 10).await;
        let deaf = NewConsumer {
            client: plerion_topic::ClientFacts {
                takes_end_of_topic: false,
                ..consumer(8, "d", Kind::Exclusive).client
            },
            start: Start::Latest,
            ..consumer(8, "d", Kind::Exclusive)
        };
        topic.subscribe(deaf).await.unwrap();
        let last = topic.terminate().await.unwrap();
        assert_eq!(last.entry, 2);
        assert_eq!(topic.terminate().await.unwrap(), last);
        let said = world.clients.take();
        assert!(said.contains(&Said::ProducerClosed { to: connection(1), producer: 1 }));
        let error = topic.attach(producer(1, 2, "b")).await.err().unwrap();
        assert_eq!(error.server_error(), ServerError::TopicTerminatedError);
        assert_eq!(world.clients.commands(Type::ReachedEndOfTopic), [], "not before all is acknowledged");
        ack_up_to(&one, last);
        ack_up_to(&one, last);
        one.flow(5);
        settle().await;
        let told = world.clients.commands(Type::ReachedEndOfTopic);
        assert_eq!(told.iter().map(|(to, _)| *to).collect::<Vec<_>>(), [connection(9)], "only who takes it, and once");
        one.close();
        // Who comes when everything is consumed is told too.
        let late = world.consumer(&topic, Kind::Shared, 7, 10).await;
        assert_eq!(world.clients.commands(Type::ReachedEndOfTopic).len(), 1);
        world.consumer(&topic, Kind::Shared, 6, 10).await;
        let told = world.clients.commands(Type::ReachedEndOfTopic);
        assert_eq!(told.iter().map(|(to, _)| *to).collect::<Vec<_>>(), [connection(6)], "the others know");
        drop(late);
        topic.close().await.unwrap();
        let topic = world.open().await;
        assert!(matches!(topic.attach(producer(1, 1, "a")).await, Err(Error::Terminated(at)) if at == last));
    });
}

#[test]
fn an_empty_topic_ends_at_the_place_before_all_others() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        world.consumer(&topic, Kind::Exclusive, 9, 1).await;
        assert_eq!(topic.terminate().await.unwrap(), Position::EARLIEST);
        assert_eq!(world.clients.commands(Type::ReachedEndOfTopic).len(), 1);
    });
}

//! Who may publish.

use std::rc::Rc;

use plerion_topic::{Error, NewProducer, Producer, Topic};
use plerion_wire::ServerError;
use plerion_wire::proto::ProducerAccessMode::{self, Exclusive, ExclusiveWithFencing, Shared, WaitForExclusive};
use plerion_wire::proto::base_command::Type;

use crate::message::Outgoing;
use crate::recorder::Said;
use crate::world::{World, connection, on_shard, producer, settle};

fn new(number: u64, access: ProducerAccessMode) -> NewProducer {
    NewProducer { access, ..producer(number, number, &format!("p{number}")) }
}

async fn join(topic: &Rc<Topic>, number: u64, access: ProducerAccessMode) -> Result<Rc<Producer>, Error> {
    topic.attach(new(number, access)).await
}

fn code(outcome: Result<Rc<Producer>, Error>) -> ServerError {
    outcome.err().unwrap().server_error()
}

#[test]
fn exclusive_and_shared_producers_exclude_each_other() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let shared = join(&topic, 1, Shared).await.unwrap();
        join(&topic, 2, Shared).await.unwrap().abandon();
        assert_eq!(code(join(&topic, 3, Exclusive).await), ServerError::ProducerFenced);
        shared.close().await;
        let exclusive = join(&topic, 3, Exclusive).await.unwrap();
        assert_eq!(exclusive.success().topic_epoch, Some(0));
        assert_eq!(code(join(&topic, 4, Shared).await), ServerError::ProducerBusy);
        assert_eq!(code(join(&topic, 4, Exclusive).await), ServerError::ProducerFenced);
        exclusive.close().await;
        let next = join(&topic, 4, Exclusive).await.unwrap();
        assert_eq!(next.success().topic_epoch, Some(1));
        assert_eq!(world.context.producers.len(), 1, "who was refused leaves nothing");
    });
}

#[test]
fn a_waiting_producer_is_let_in_with_a_second_answer_to_its_request() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let first = join(&topic, 1, Exclusive).await.unwrap();
        let second = join(&topic, 2, WaitForExclusive).await.unwrap();
        let third = join(&topic, 3, WaitForExclusive).await.unwrap();
        assert_eq!(second.success().producer_ready, Some(false));
        world.send(&second, &Outgoing::new(0));
        let refused = ServerError::ProducerFenced;
        let answer = Said::SendError { to: connection(2), producer: 2, sequence: 0, error: refused };
        assert_eq!(world.clients.take(), [answer], "it may not publish yet");
        first.close().await;
        settle().await;
        let told = world.clients.commands(Type::ProducerSuccess);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].0, connection(2));
        let success = told[0].1.producer_success.clone().unwrap();
        assert_eq!((success.request_id, success.producer_ready, success.topic_epoch), (2, Some(true), Some(1)));
        assert!(second.is_ready() && !third.is_ready());
        // One that gives up waiting is passed over.
        let fourth = join(&topic, 4, WaitForExclusive).await.unwrap();
        third.abandon();
        second.abandon();
        settle().await;
        assert!(fourth.is_ready());
        assert_eq!(world.clients.commands(Type::ProducerSuccess)[0].0, connection(4));
    });
}

#[test]
fn fencing_closes_who_publishes_and_refuses_who_waits() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        join(&topic, 1, Exclusive).await.unwrap();
        join(&topic, 2, WaitForExclusive).await.unwrap();
        join(&topic, 3, WaitForExclusive).await.unwrap();
        let fencing = join(&topic, 4, ExclusiveWithFencing).await.unwrap();
        assert!(fencing.is_ready());
        let refused = |number| Said::ProducerRefused {
            to: connection(number),
            producer: number,
            request: number,
            error: ServerError::ProducerFenced,
        };
        assert_eq!(
            world.clients.take(),
            [Said::ProducerClosed { to: connection(1), producer: 1 }, refused(2), refused(3)]
        );
        assert_eq!(topic.producers().len(), 1);
        let old = NewProducer { topic_epoch: Some(0), ..new(1, Exclusive) };
        fencing.close().await;
        assert_eq!(code(topic.attach(old.clone()).await), ServerError::ProducerFenced, "its term is over");
        topic.close().await.unwrap();
        let topic = world.open().await;
        assert_eq!(code(topic.attach(old).await), ServerError::ProducerFenced, "also when opened anew");
        let back = NewProducer { topic_epoch: Some(1), ..new(4, Exclusive) };
        assert_eq!(topic.attach(back).await.unwrap().success().topic_epoch, Some(1));
    });
}

#[test]
fn who_waits_is_refused_when_the_topic_goes() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        join(&topic, 1, Shared).await.unwrap();
        join(&topic, 2, WaitForExclusive).await.unwrap();
        topic.close().await.unwrap();
        let error = ServerError::ServiceNotReady;
        let said = world.clients.take();
        assert!(said.contains(&Said::ProducerClosed { to: connection(1), producer: 1 }));
        assert!(said.contains(&Said::ProducerRefused { to: connection(2), producer: 2, request: 2, error }));
        assert_eq!(said.len(), 2, "{said:?}");
    });
}

#[test]
fn nobody_is_let_in_while_the_topic_closes() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let first = join(&topic, 1, Exclusive).await.unwrap();
        join(&topic, 2, WaitForExclusive).await.unwrap();
        world.ledgers.hold();
        world.publish(&first, [0]).await;
        let closing = tokio::task::spawn_local({
            let topic = topic.clone();
            async move { topic.close().await }
        });
        settle().await;
        first.abandon();
        settle().await;
        assert_eq!(world.clients.commands(Type::ProducerSuccess), []);
        world.ledgers.release();
        closing.await.unwrap().unwrap();
        assert!(matches!(world.clients.take()[..], [Said::Receipt { .. }, Said::ProducerRefused { producer: 2, .. }]));
    });
}

#[test]
fn bug_pulsar_5988_a_producer_opened_again_under_its_id_is_not_told_that_its_first_attempt_ended() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        topic.attach(producer(1, 7, "a")).await.unwrap();
        let again = topic.attach(NewProducer { request_id: 8, ..producer(1, 7, "a") }).await.unwrap();
        assert_eq!(world.clients.take(), []);
        assert!(again.is_ready() && topic.producers().len() == 1);
    });
}

#[test]
fn bug_pulsar_21144_a_producer_that_comes_back_on_another_connection_replaces_itself() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        topic.attach(producer(1, 7, "a")).await.unwrap();
        let stranger = producer(2, 1, "a");
        let refused = topic.attach(stranger).await.err().unwrap();
        assert_eq!(refused.server_error(), ServerError::ProducerBusy);
        assert_eq!(refused.holder(), Some(connection(1)), "whose life is to be checked first");
        let client = producer(1, 7, "a").client;
        let newer = NewProducer { epoch: 1, client, ..producer(3, 1, "a") };
        topic.attach(newer).await.unwrap();
        assert_eq!(world.clients.take(), [Said::ProducerClosed { to: connection(1), producer: 7 }]);
        assert_eq!(topic.producers().len(), 1);
    });
}

#[test]
fn of_two_that_fence_at_once_the_later_has_the_topic() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let both = [1, 2].map(|number| {
            let topic = topic.clone();
            tokio::task::spawn_local(async move { join(&topic, number, ExclusiveWithFencing).await })
        });
        settle().await;
        let [first, second] = both;
        let (first, second) = (first.await.unwrap(), second.await.unwrap().unwrap());
        let alone = topic.producers();
        assert_eq!(alone.len(), 1);
        assert!(Rc::ptr_eq(&alone[0], &second) && second.is_ready());
        let said = world.clients.take();
        match first {
            // It was let in before the other came.
            Ok(first) => {
                assert!(!first.is_ready());
                assert_eq!(said, [Said::ProducerClosed { to: connection(1), producer: 1 }]);
            }
            Err(error) => {
                assert_eq!(error.server_error(), ServerError::ProducerFenced);
                assert_eq!(said, [], "whoever attaches it answers");
            }
        }
    });
}

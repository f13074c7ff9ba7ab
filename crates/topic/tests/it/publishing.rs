//! From SEND to its answer.

use std::rc::Rc;

use plerion_subscription::Position;
use plerion_subscription::dispatcher::Kind;
use plerion_topic::Topic;
use plerion_wire::ServerError;

use crate::message::Outgoing;
use crate::recorder::{Recorder, Said};
use crate::world::{World, connection, on_shard, producer, settle};

/// What became of the SENDs of all producers: producer, sequence id, and the entry's place or why there is none.
type Answers = Vec<(u64, u64, Result<Position, ServerError>)>;

fn answers(clients: &Recorder) -> Answers {
    let answer = |said| match said {
        Said::Receipt { producer, sequence, position, .. } => Some((producer, sequence, Ok(position))),
        Said::SendError { producer, sequence, error, .. } => Some((producer, sequence, Err(error))),
        _ => None,
    };
    clients.take().into_iter().filter_map(answer).collect()
}

async fn deduplicating(world: &World) -> Rc<Topic> {
    let topic = world.open().await;
    topic.set_deduplication(true).await.unwrap();
    topic
}

#[test]
fn receipts_come_when_entries_are_durable_and_in_the_order_of_the_sends() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = topic.attach(producer(1, 1, "a")).await.unwrap();
        let b = topic.attach(producer(2, 2, "b")).await.unwrap();
        world.publish(&a, [0]).await;
        world.clients.take();
        world.ledgers.hold();
        for number in 1..10 {
            world.send(&a, &Outgoing::new(number));
            world.send(&b, &Outgoing::new(100 + number));
        }
        settle().await;
        assert_eq!(answers(&world.clients), [], "nothing is durable yet");
        world.ledgers.release();
        settle().await;
        let answers = answers(&world.clients);
        let expected: Vec<_> = (1..10).flat_map(|number| [(1, number), (2, 100 + number)]).collect();
        assert_eq!(answers.iter().map(|(id, sequence, _)| (*id, *sequence)).collect::<Vec<_>>(), expected);
        let places: Vec<_> = answers.into_iter().map(|(.., place)| place.unwrap()).collect();
        assert!(places.is_sorted() && places.windows(2).all(|pair| pair[0] != pair[1]), "{places:?}");
        assert!(places.iter().any(|place| place.ledger != places[0].ledger), "the log rolled on the way");
        assert_eq!(world.clients.reserved.get(), 0);
    });
}

#[test]
fn what_is_refused_or_known_is_answered_after_the_sends_before_it() {
    on_shard(async {
        let world = World::new().await;
        let topic = deduplicating(&world).await;
        let a = topic.attach(producer(1, 1, "a")).await.unwrap();
        let b = topic.attach(producer(2, 2, "b")).await.unwrap();
        world.publish(&a, [0]).await;
        answers(&world.clients);
        world.ledgers.hold();
        world.publish(&a, [1]).await;
        let mut damaged = Outgoing::new(2).payload("a").to_vec();
        *damaged.last_mut().unwrap() ^= 1;
        world.send_bytes(&a, &Outgoing::new(2), &damaged);
        // One that is stored, one that is on its way, and a new one of somebody else in between.
        world.publish(&a, [0]).await;
        world.publish(&b, [0]).await;
        world.publish(&a, [1, 3]).await;
        assert_eq!(answers(&world.clients), []);
        world.ledgers.release();
        settle().await;
        let answers = answers(&world.clients);
        let order: Vec<_> = answers.iter().map(|(id, sequence, _)| (*id, *sequence)).collect();
        assert_eq!(order, [(1, 1), (1, 2), (1, 0), (2, 0), (1, 1), (1, 3)]);
        let outcomes: Vec<_> = answers.into_iter().map(|(.., outcome)| outcome).collect();
        assert_eq!(outcomes[1], Err(ServerError::ChecksumError));
        assert_eq!(outcomes[2], Ok(Position::EARLIEST));
        assert_eq!(outcomes[4], Ok(Position::EARLIEST), "its first attempt is stored by then");
        for stored in [0, 3, 5] {
            assert!(outcomes[stored].unwrap() > Position::EARLIEST);
        }
        assert_eq!(topic.published.messages.get(), 4);
        assert_eq!(world.context.totals.duplicates.get(), 2);
        assert_eq!(world.context.totals.checksum_errors.get(), 1);
        assert_eq!(world.clients.reserved.get(), 0);
    });
}

#[test]
fn a_failed_log_refuses_what_is_under_way_and_consumers_read_on() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        world.publish(&a, 0..5).await;
        let consumer = world.consumer(&topic, Kind::Exclusive, 9, 2).await;
        assert_eq!(world.clients.bodies(), ["0", "1"]);
        world.clients.take();
        world.ledgers.hold();
        world.publish(&a, 5..7).await;
        world.ledgers.fail_writers("the disk is gone");
        settle().await;
        let failed = ServerError::PersistenceError;
        assert_eq!(
            world.clients.take(),
            [
                Said::SendError { to: connection(1), producer: 1, sequence: 5, error: failed },
                Said::SendError { to: connection(1), producer: 1, sequence: 6, error: failed },
                Said::ProducerClosed { to: connection(1), producer: 1 },
            ]
        );
        assert!(topic.failure().is_some() && !topic.is_open());
        let refused = topic.attach(producer(1, 2, "a")).await.err().unwrap();
        assert!(refused.is_retryable() && refused.server_error() == failed, "{refused}");
        consumer.flow(10);
        settle().await;
        assert_eq!(world.clients.bodies(), ["2", "3", "4"]);
        assert_eq!(world.clients.reserved.get(), 0);
    });
}

#[test]
fn a_refused_append_fails_the_topic_after_the_receipts_before_it() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        world.publish(&a, [0]).await;
        answers(&world.clients);
        world.ledgers.hold();
        world.publish(&a, [1]).await;
        world.ledgers.refuse_appends(Some("disk full"));
        world.publish(&a, [2, 3]).await;
        assert_eq!(answers(&world.clients), [], "order is kept between receipts and errors");
        world.ledgers.release();
        settle().await;
        let answers = answers(&world.clients);
        assert_eq!((answers[0].1, answers[0].2.is_ok()), (1, true));
        let refused = Err(ServerError::PersistenceError);
        assert_eq!(answers[1..], [(1, 2, refused), (1, 3, refused)]);
        assert!(topic.failure().is_some());
        assert_eq!(world.clients.reserved.get(), 0);
        world.ledgers.refuse_appends(None);
        topic.close().await.unwrap_err();
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        world.publish(&a, [2]).await;
        assert_eq!(topic.published.messages.get(), 1, "opened anew it takes messages");
    });
}

#[test]
fn a_send_that_is_no_message_is_refused_alone() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        for bytes in [&b""[..], b"\x0e\x01", b"\x0e\x01\0\0\0\0\0\0\0\x09x", &[0xff; 64]] {
            world.send_bytes(&a, &Outgoing::new(0), bytes);
        }
        world.publish(&a, [1]).await;
        let answers = answers(&world.clients);
        assert!(answers[..4].iter().all(|(.., outcome)| *outcome == Err(ServerError::ChecksumError)), "{answers:?}");
        assert!(answers[4].2.is_ok());
        assert_eq!(a.published.messages.get(), 1, "what is refused does not count as published");
        assert_eq!(world.clients.reserved.get(), 0);
    });
}

#[test]
fn a_producer_is_closed_after_its_answers() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        world.ledgers.hold();
        world.publish(&a, 0..3).await;
        let closing = tokio::task::spawn_local({
            let a = a.clone();
            async move { a.close().await }
        });
        settle().await;
        assert!(!closing.is_finished());
        world.ledgers.release();
        closing.await.unwrap();
        assert_eq!(answers(&world.clients).len(), 3);
        assert!(topic.producers().is_empty() && world.context.producers.is_empty());
    });
}

#[test]
fn receipts_of_a_client_that_is_gone_still_give_their_budget_back() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        world.ledgers.hold();
        world.publish(&a, 0..3).await;
        a.abandon();
        let again = topic.attach(producer(3, 1, "a")).await.unwrap();
        world.ledgers.release();
        settle().await;
        assert_eq!(world.clients.reserved.get(), 0);
        world.publish(&again, [3]).await;
        assert_eq!(answers(&world.clients).last().unwrap().1, 3);
    });
}

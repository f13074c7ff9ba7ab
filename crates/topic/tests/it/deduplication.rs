//! Messages that are sent again.

use std::rc::Rc;

use plerion_managed_log::Retention;
use plerion_subscription::Position;
use plerion_subscription::dispatcher::Kind;
use plerion_topic::{Producer, Topic};
use plerion_wire::ServerError;

use crate::message::{Outgoing, ack_up_to};
use crate::recorder::{Recorder, Said};
use crate::world::{World, on_shard, settle};

async fn opened(world: &World) -> (Rc<Topic>, Rc<Producer>) {
    let topic = world.open().await;
    topic.set_deduplication(true).await.unwrap();
    let a = world.producer(&topic, "a").await;
    (topic, a)
}

/// What became of the SENDs: sequence id, and whether it was stored now, before, or refused.
fn outcomes(clients: &Recorder) -> Vec<(u64, Result<bool, ServerError>)> {
    let outcome = |said| match said {
        Said::Receipt { sequence, position, .. } => Some((sequence, Ok(position != Position::EARLIEST))),
        Said::SendError { sequence, error, .. } => Some((sequence, Err(error))),
        _ => None,
    };
    clients.take().into_iter().filter_map(outcome).collect()
}

async fn stored(world: &World, topic: &Rc<Topic>) -> Vec<String> {
    let all = world.consumer(topic, Kind::Exclusive, 99, 1_000).await;
    all.close();
    world.clients.bodies()
}

#[test]
fn bug_pulsar_5218_a_message_whose_write_failed_is_not_taken_for_a_duplicate() {
    on_shard(async {
        let world = World::new().await;
        let (topic, a) = opened(&world).await;
        world.publish(&a, 0..5).await;
        outcomes(&world.clients);
        world.ledgers.refuse_appends(Some("disk full"));
        world.publish(&a, [5]).await;
        assert_eq!(outcomes(&world.clients), [(5, Err(ServerError::PersistenceError))]);
        world.ledgers.refuse_appends(None);
        // It fails again after the first failure, and does not count as stored.
        assert!(topic.close().await.is_err());
        let (topic, a) = opened(&world).await;
        assert_eq!(a.success().last_sequence_id, Some(4));
        world.publish(&a, [4, 5, 5]).await;
        assert_eq!(outcomes(&world.clients), [(4, Ok(false)), (5, Ok(true)), (5, Ok(false))]);
        assert_eq!(stored(&world, &topic).await, ["0", "1", "2", "3", "4", "5"]);
    });
}

#[test]
fn a_write_whose_outcome_is_open_is_known_if_it_was_stored() {
    for kept in [0, 1, 2] {
        on_shard(async {
            let mut world = World::new().await;
            let (_topic, a) = opened(&world).await;
            world.publish(&a, [0]).await;
            world.ledgers.hold();
            world.publish(&a, [1, 2]).await;
            world.crash(kept).await;
            let (topic, a) = opened(&world).await;
            assert_eq!(a.success().last_sequence_id, Some(kept as i64));
            world.publish(&a, [1, 2]).await;
            let stored_now = |sequence| Ok(sequence > kept as u64);
            assert_eq!(outcomes(&world.clients), [(1, stored_now(1)), (2, stored_now(2))]);
            assert_eq!(stored(&world, &topic).await, ["0", "1", "2"]);
        });
    }
}

#[test]
fn bug_pulsar_25954_nothing_is_stored_before_all_marks_are_known() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        assert_eq!(a.success().last_sequence_id, Some(-1), "without deduplication nobody knows");
        world.publish(&a, 0..20).await;
        world.ledgers.hold();
        world.publish(&a, [20]).await;
        outcomes(&world.clients);
        // Two begin at once, while a message without marks is under way.
        let both = [(), ()].map(|()| {
            let topic = topic.clone();
            tokio::task::spawn_local(async move { topic.set_deduplication(true).await })
        });
        settle().await;
        world.publish(&a, [3]).await;
        world.ledgers.release();
        for one in both {
            one.await.unwrap().unwrap();
        }
        assert_eq!(outcomes(&world.clients), [(20, Ok(true)), (3, Err(ServerError::UnknownError))]);
        world.publish(&a, [3, 20, 21]).await;
        assert_eq!(outcomes(&world.clients), [(3, Ok(false)), (20, Ok(false)), (21, Ok(true))]);
    });
}

#[test]
fn marks_outlive_their_messages_and_restarts() {
    on_shard(async {
        let mut world = World::with(|settings| settings.deduplication.snapshot_entries = 5).await;
        let (topic, a) = opened(&world).await;
        let all = world.consumer(&topic, Kind::Exclusive, 9, 1_000).await;
        world.publish(&a, 0..24).await;
        assert_eq!(world.clients.said().len(), 48, "as many messages as receipts");
        ack_up_to(&all, world.clients.messages().last().unwrap().position);
        outcomes(&world.clients);
        topic.trim(Retention::NONE).await.unwrap();
        topic.close().await.unwrap();
        for crash in [false, true] {
            if crash {
                world.crash(0).await;
            }
            let (topic, a) = opened(&world).await;
            assert_eq!(a.success().last_sequence_id, Some(23));
            world.publish(&a, [0, 23]).await;
            assert_eq!(outcomes(&world.clients), [(0, Ok(false)), (23, Ok(false))]);
            if !crash {
                topic.close().await.unwrap();
            }
        }
    });
}

#[test]
fn marks_are_forgotten_when_deduplication_ends() {
    on_shard(async {
        let world = World::new().await;
        let (topic, a) = opened(&world).await;
        world.publish(&a, 0..3).await;
        topic.set_deduplication(false).await.unwrap();
        outcomes(&world.clients);
        world.publish(&a, [1]).await;
        assert_eq!(outcomes(&world.clients), [(1, Ok(true))]);
        topic.set_deduplication(true).await.unwrap();
        world.publish(&a, [1, 2]).await;
        assert_eq!(outcomes(&world.clients), [(1, Ok(false)), (2, Ok(true))], "the latest entry counts");
    });
}

#[test]
fn a_chunked_message_counts_when_its_last_chunk_is_stored() {
    on_shard(async {
        let world = World::new().await;
        let (_topic, a) = opened(&world).await;
        let chunk = |id| Outgoing { chunk: Some(("u".into(), id, 2)), ..Outgoing::new(7) };
        for id in [0, 0, 1, 1] {
            world.send(&a, &chunk(id));
        }
        settle().await;
        let expected = [(7, Ok(true)), (7, Ok(true)), (7, Ok(true)), (7, Ok(false))];
        assert_eq!(outcomes(&world.clients), expected);
    });
}

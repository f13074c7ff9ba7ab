//! Bugs of brokers before this one, as public reports tell them.

use std::rc::Rc;

use bytes::Bytes;
use plerion_ledger::{Epoch, LedgerStore};
use plerion_managed_log::{Context, Error, Retention, StateLog};
use plerion_subscription::Position;

use crate::ledgers::Watched;
use crate::metadata::Fault;
use crate::topic::Topic;
use crate::world::{BUNDLE, TOPIC, World, on_shard};

/// Both brokers had the topic loaded, and the last to write the ledger list dropped the other's ledger.
#[test]
fn bug_pulsar_24478_two_owners_lose_no_ledger() {
    on_shard(async {
        let world = World::new();
        let a_bundle = world.bundle().await;
        let a = Topic::open(&a_bundle, TOPIC).await;
        a.publish((0..12).map(|n| n.to_string())).await;
        let b_bundle = StateLog::open(world.context(), BUNDLE, Epoch(2)).await.unwrap();
        let b = Topic::open(&b_bundle, TOPIC).await;
        b.publish((12..24).map(|n| n.to_string())).await;
        let trimmed = a.log.trim(None, Retention::NONE).await;
        assert!(trimmed.unwrap_err().is_fenced());
        assert!(a.append("of the old owner").is_err() || a.failed().await.is_fenced());
        let expected: Vec<_> = (0..24).map(|n| n.to_string()).collect();
        assert_eq!(b.texts().await, expected);
        b.log.close().await.unwrap();
        assert_eq!(Topic::open(&b_bundle, TOPIC).await.texts().await, expected);
    });
}

/// The topic went A to B to A, and A served its stale ledger list.
#[test]
fn bug_pulsar_2967_a_returning_owner_reads_the_row_again() {
    on_shard(async {
        let world = World::new();
        let a_bundle = world.bundle().await;
        let stale = Topic::open(&a_bundle, TOPIC).await;
        stale.publish(["a", "b", "c", "d", "e"]).await;
        stale.publish(["f"]).await;
        let b_bundle = StateLog::open(world.context(), BUNDLE, Epoch(2)).await.unwrap();
        let b = Topic::open(&b_bundle, TOPIC).await;
        b.log.trim(None, Retention::NONE).await.unwrap();
        b.publish(["g"]).await;
        b.log.close().await.unwrap();
        b_bundle.close().await.unwrap();
        let a_bundle = StateLog::open(world.context(), BUNDLE, Epoch(3)).await.unwrap();
        let a = Topic::open(&a_bundle, TOPIC).await;
        assert_eq!(a.texts().await, ["g"]);
        assert!(stale.log.set_topic_epoch(1).await.unwrap_err().is_fenced());
        a.publish(["h"]).await;
        assert_eq!(a.texts().await, ["g", "h"]);
    });
}

/// Background work went on after a version conflict on the ledger list.
#[test]
fn bug_pulsar_17736_a_conflict_ends_the_log() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.publish((0..5).map(|n| n.to_string())).await;
        topic.publish(["5"]).await;
        world.metadata.intrude(TOPIC);
        let ledgers = world.ledger_count().await;
        for _ in 0..2 {
            assert!(matches!(topic.log.trim(None, Retention::NONE).await, Err(Error::Fenced { .. })));
        }
        assert_eq!(world.ledger_count().await, ledgers, "nothing was deleted");
        assert!(matches!(topic.failed().await, Error::Fenced { .. }));
        assert!(topic.append("more").is_err());
    });
}

/// After one failed write the cached version stayed old, and every later write conflicted.
#[test]
fn bug_pulsar_24580_a_failed_write_does_not_poison_the_next() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        for fault in [Fault::Unavailable, Fault::UnknownDone, Fault::UnknownLost] {
            world.metadata.fail_next(fault);
            let _ = topic.log.set_topic_epoch(1).await;
            topic.log.set_topic_epoch(2).await.unwrap();
        }
        topic.publish(["a"]).await;
    });
}

/// The new owner fenced the old one before that had stopped, and publishers saw errors.
#[test]
fn bug_pulsar_24901_an_orderly_handover_needs_no_recovery() {
    on_shard(async {
        let world = World::new();
        let old_bundle = world.bundle().await;
        let old = Topic::open(&old_bundle, TOPIC).await;
        old.subscribe("s", Position::EARLIEST).await;
        old.append("under way").unwrap();
        old.log.close().await.unwrap();
        old_bundle.close().await.unwrap();
        assert_eq!(old.events.confirmed.borrow().len(), 1);
        assert_eq!(old.events.failures.get(), 0);
        let watched = Watched::new(world.ledgers.shard());
        let context = Context { store: Rc::clone(&watched) as Rc<dyn LedgerStore>, ..world.context() };
        let new_bundle = StateLog::open(context, BUNDLE, Epoch(2)).await.unwrap();
        let new = Topic::open(&new_bundle, TOPIC).await;
        assert_eq!(new.log.last_confirmed(), old.events.confirmed.borrow()[0]);
        assert_eq!(watched.recoveries.get(), 0);
    });
}

/// More than 10 000 holes: the rest was dropped, and acknowledged messages came again.
#[test]
fn bug_pulsar_25540_every_hole_survives() {
    on_shard(async {
        let mut world = World::new();
        world.config.max_entries_per_ledger = 50_000;
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.subscribe("s", Position::EARLIEST).await;
        let positions = topic.publish((0..30_000).map(|_| "m")).await;
        for (n, &position) in positions.iter().enumerate() {
            if n % 2 == 1 {
                topic.ack("s", position);
            }
            if n == 17_000 {
                // Part of it in the row, the rest in the state log.
                topic.log.flush().await.unwrap();
                topic.log.close().await.unwrap();
                let again = Topic::open(&bundle, TOPIC).await;
                return finish(world, again, &positions, n).await;
            }
        }
    });
}

async fn finish(mut world: World, topic: Topic, positions: &[Position], done: usize) {
    for &position in positions[done + 1..].iter().step_by(2) {
        topic.ack("s", position);
    }
    topic.log.flush().await.unwrap();
    world.crash(0, false);
    let bundle = world.bundle().await;
    let topic = Topic::open(&bundle, TOPIC).await;
    for (n, &position) in positions.iter().enumerate() {
        assert_eq!(topic.is_acked("s", position), n % 2 == 1, "{n}");
    }
}

/// Of a batch of ten nine were acknowledged, and all ten came again after an unload.
#[test]
fn bug_pulsar_14982_partly_acknowledged_batches_survive() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.subscribe("s", Position::EARLIEST).await;
        let batch = topic.publish(["ten messages"]).await[0];
        let delta = {
            let mut cursors = topic.events.cursors.borrow_mut();
            let cursor = cursors.get_mut("s").unwrap();
            cursor.ack_batch(batch, &[0b10_0000_0000], 10, &topic.log);
            Bytes::from(cursor.drain().unwrap())
        };
        topic.log.record_cursor("s", delta).unwrap();
        topic.log.close().await.unwrap();
        let topic = Topic::open(&bundle, TOPIC).await;
        assert_eq!(topic.events.cursors.borrow()["s"].remaining(batch), Some(vec![0b10_0000_0000]));
    });
}

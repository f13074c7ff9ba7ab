use std::time::Duration;

use plerion_managed_log::{AppendRefused, OpenMode, Retention};
use plerion_subscription::Position;

use crate::topic::Topic;
use crate::world::{TOPIC, World, on_shard, settle};

#[test]
fn appends_are_confirmed_in_order_across_ledgers() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        assert!(topic.created);
        let expected: Vec<_> = (0..23).map(|n| format!("m{n}")).collect();
        let positions = topic.publish(&expected[..12]).await;
        let more = topic.publish(&expected[12..]).await;
        assert_eq!(positions.len() + more.len(), 23);
        assert_eq!(topic.texts().await, expected);
        let ledgers = topic.log.stats().ledgers;
        assert_eq!(ledgers.iter().map(|ledger| ledger.entries).sum::<u64>(), 23);
        assert!(ledgers.len() > 1, "{ledgers:?}");
        assert!(ledgers[..ledgers.len() - 1].iter().all(|ledger| ledger.sealed_ms.is_some()));
    });
}

#[test]
fn nothing_is_confirmed_before_it_is_durable() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        world.ledgers.hold();
        topic.append("a").unwrap();
        topic.append("b").unwrap();
        settle().await;
        assert!(topic.events.confirmed.borrow().is_empty());
        assert_eq!(topic.log.last_confirmed(), Position::EARLIEST);
        world.ledgers.release();
        topic.confirmed(2).await;
        assert_eq!(topic.log.stats().entries, 2);
    });
}

#[test]
fn a_ledger_is_made_with_the_first_append_only() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        settle().await;
        assert_eq!(world.ledger_count().await, 0);
        assert_eq!(world.metadata.synced_writes(), 0);
        topic.publish(["a"]).await;
        assert_eq!(world.ledger_count().await, 1);
    });
}

#[test]
fn ledgers_roll_by_time_and_not_too_soon() {
    on_shard(async {
        let mut world = World::new();
        world.config.min_rollover = Duration::from_secs(600);
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.publish((0..20).map(|n| n.to_string())).await;
        assert_eq!(topic.log.stats().ledgers.len(), 1, "full, but too young");
        world.clock.advance(Duration::from_secs(600));
        topic.publish(["x"]).await;
        assert_eq!(topic.log.stats().ledgers.len(), 2, "full and old enough");
        world.clock.advance(Duration::from_secs(239 * 60));
        topic.publish(["y"]).await;
        assert_eq!(topic.log.stats().ledgers.len(), 2);
        world.clock.advance(Duration::from_secs(60));
        topic.publish(["z"]).await;
        assert_eq!(topic.log.stats().ledgers.len(), 3, "not full, but too old");
    });
}

#[test]
fn ledgers_roll_by_size() {
    on_shard(async {
        let mut world = World::new();
        world.config.max_entries_per_ledger = u64::MAX;
        world.config.max_bytes_per_ledger = 100;
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        for _ in 0..5 {
            topic.publish(["x".repeat(40)]).await;
        }
        let sizes: Vec<_> = topic.log.ledgers().iter().map(|ledger| ledger.bytes).collect();
        assert_eq!(sizes, [120, 80]);
    });
}

#[test]
fn positions_grow_from_owner_to_owner() {
    on_shard(async {
        let mut world = World::new();
        let mut last = Position::EARLIEST;
        for round in 0..4 {
            let bundle = world.bundle().await;
            let topic = Topic::open(&bundle, TOPIC).await;
            assert_eq!(topic.created, round == 0);
            assert_eq!(topic.log.last_confirmed(), last);
            for position in topic.publish(["a", "b"]).await {
                assert!(position > last);
                last = position;
            }
            if round % 2 == 0 {
                topic.log.close().await.unwrap();
                bundle.close().await.unwrap();
                world.epoch += 1;
            } else {
                world.crash(0, true);
            }
        }
    });
}

#[test]
fn termination_includes_what_is_under_way() {
    on_shard(async {
        let mut world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.append("a").unwrap();
        topic.append("b").unwrap();
        let at = topic.log.terminate().await.unwrap();
        assert_eq!(topic.events.confirmed.borrow().last(), Some(&at));
        assert_eq!(topic.log.terminate().await.unwrap(), at);
        assert!(matches!(topic.append("c"), Err(AppendRefused::Terminated(position)) if position == at));
        world.crash(0, false);
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        assert_eq!(topic.log.terminated(), Some(at));
        assert!(matches!(topic.append("c"), Err(AppendRefused::Terminated(position)) if position == at));
        assert_eq!(topic.texts().await, ["a", "b"]);
        topic.log.trim(None, Retention::NONE).await.unwrap();
        assert_eq!(topic.log.last_confirmed(), at, "also when nothing is left");
    });
}

#[test]
fn facts_of_a_topic_are_durable() {
    on_shard(async {
        let mut world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::try_open(&bundle, TOPIC, OpenMode::CreateDurably).await.unwrap();
        let properties = [("k".to_owned(), "v".to_owned())].into();
        topic.log.set_properties(properties).await.unwrap();
        topic.log.set_topic_epoch(7).await.unwrap();
        world.crash(0, false);
        let bundle = world.bundle().await;
        let topic = Topic::try_open(&bundle, TOPIC, OpenMode::MustExist).await.unwrap();
        assert_eq!(topic.log.properties()["k"], "v");
        assert_eq!(topic.log.topic_epoch(), Some(7));
    });
}

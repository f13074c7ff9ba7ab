use std::time::Duration;

use plerion_ledger::Epoch;
use plerion_managed_log::{Context, Retention, StateLog};
use plerion_subscription::Position;

use crate::ledgers::Watched;
use crate::topic::Topic;
use crate::world::{BUNDLE, TOPIC, World, on_shard, settle};

#[test]
fn what_is_not_consumed_stays() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        let mut all = Vec::new();
        for n in 0..22 {
            all.extend(topic.publish([n.to_string()]).await);
        }
        let ledgers = world.ledger_count().await;
        for (consumed, removed) in [(3, 0), (4, 1), (8, 0), (14, 2)] {
            let trimmed = topic.log.trim(Some(all[consumed]), Retention::NONE).await.unwrap();
            assert_eq!(trimmed.ledgers, removed, "up to {consumed}");
            assert_eq!(trimmed.entries, 5 * removed as u64);
        }
        assert_eq!(world.ledger_count().await, ledgers - 3);
        assert_eq!(topic.log.first_position(), Some(all[15]));
        let left: Vec<_> = (15..22).map(|n| n.to_string()).collect();
        assert_eq!(topic.texts().await, left);
        topic.log.trim(None, Retention::NONE).await.unwrap();
        assert_eq!(topic.texts().await, ["20", "21"], "the open ledger stays, also without cursors");
    });
}

#[test]
fn retention_keeps_what_is_consumed() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        for n in 0..12 {
            topic.publish([n.to_string()]).await;
        }
        let retention = Retention { minutes: 10, megabytes: -1 };
        assert_eq!(topic.log.trim(None, retention).await.unwrap().ledgers, 0);
        world.clock.advance(Duration::from_secs(601));
        assert_eq!(topic.log.trim(None, retention).await.unwrap().ledgers, 2);
    });
}

#[test]
fn an_idle_topic_gives_its_space_back() {
    on_shard(async {
        let mut world = World::new();
        world.config.min_rollover = Duration::from_secs(600);
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        let positions = topic.publish(["a", "b"]).await;
        let consumed = Some(positions[1]);
        assert_eq!(topic.log.trim(consumed, Retention::NONE).await.unwrap().ledgers, 0);
        world.clock.advance(Duration::from_secs(600));
        assert_eq!(topic.log.trim(Some(positions[0]), Retention::NONE).await.unwrap().ledgers, 0);
        assert_eq!(topic.log.trim(None, Retention::NONE).await.unwrap().ledgers, 0, "for readers that may come");
        assert_eq!(topic.log.trim(consumed, Retention::FOREVER).await.unwrap().ledgers, 0);
        assert_eq!(topic.log.stats().ledgers.len(), 1);
        assert_eq!(topic.log.trim(consumed, Retention::NONE).await.unwrap().ledgers, 1);
        assert_eq!(world.ledger_count().await, 0);
        assert_eq!((topic.log.first_position(), topic.log.last_confirmed()), (None, positions[1]));
        let later = topic.publish(["c"]).await;
        assert!(later[0] > positions[1]);

        world.clock.advance(Duration::from_secs(240 * 60));
        assert_eq!(topic.log.trim(None, Retention::NONE).await.unwrap().ledgers, 1, "old enough without cursors");
    });
}

#[test]
fn a_large_consumed_ledger_does_not_wait() {
    on_shard(async {
        let mut world = World::new();
        world.config.min_rollover = Duration::from_secs(600);
        world.config.idle_seal_bytes = 3;
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        let positions = topic.publish(["a", "bc"]).await;
        assert_eq!(topic.log.trim(Some(positions[1]), Retention::NONE).await.unwrap().bytes, 3);
    });
}

#[test]
fn an_empty_ledger_is_not_kept() {
    on_shard(async {
        let mut world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        world.ledgers.hold();
        topic.append("lost").unwrap();
        settle().await;
        assert_eq!(world.ledger_count().await, 1);
        world.crash(0, false);
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        assert!(topic.log.stats().ledgers.is_empty());
        assert_eq!(world.ledger_count().await, 0);
    });
}

#[test]
fn a_deleted_topic_leaves_nothing() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.subscribe("s", Position::EARLIEST).await;
        for n in 0..12 {
            topic.publish([n.to_string()]).await;
        }
        topic.log.delete().await.unwrap();
        assert!(topic.append("late").is_err());
        bundle.close().await.unwrap();
        assert_eq!(world.ledger_count().await, 0);
        assert_eq!(world.metadata.paths(), [BUNDLE]);
    });
}

#[test]
fn a_ledger_that_could_not_be_deleted_is_deleted_at_the_next_open() {
    on_shard(async {
        let mut world = World::new();
        let watched = Watched::new(world.ledgers.shard());
        watched.deny_deletes.set(true);
        let context = Context { store: watched, ..world.context() };
        let bundle = StateLog::open(context, BUNDLE, Epoch(1)).await.unwrap();
        let topic = Topic::open(&bundle, TOPIC).await;
        for n in 0..12 {
            topic.publish([n.to_string()]).await;
        }
        assert_eq!(topic.log.trim(None, Retention::NONE).await.unwrap().ledgers, 2);
        assert_eq!(topic.texts().await, ["10", "11"]);
        assert_eq!(world.ledger_count().await, 3);
        assert!(topic.log.delete().await.unwrap_err().is_retryable());
        world.crash(0, false);
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        assert_eq!(world.ledger_count().await, 0);
        assert!(!topic.created && topic.texts().await.is_empty());
        topic.log.delete().await.unwrap();
        assert_eq!(world.metadata.paths(), [BUNDLE]);
    });
}

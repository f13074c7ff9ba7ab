use bytes::Bytes;
use plerion_ledger::Epoch;
use plerion_managed_log::{Error, StateLog};
use plerion_subscription::Position;

use crate::topic::Topic;
use crate::world::{BUNDLE, TOPIC, World, on_shard, settle};

#[test]
fn flushes_of_one_round_share_a_frame() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.subscribe("s", Position::EARLIEST).await;
        let positions = topic.publish((0..40).map(|n| n.to_string())).await;
        let before = bundle.stats().frames;
        let flushes: Vec<_> = positions
            .iter()
            .map(|&position| {
                topic.ack("s", position);
                topic.log.flush()
            })
            .collect();
        for flush in flushes {
            flush.await.unwrap();
        }
        assert_eq!(bundle.stats().frames, before + 1);
        topic.log.flush().await.unwrap();
        assert_eq!(bundle.stats().frames, before + 1, "nothing to flush");
    });
}

#[test]
fn compaction_bounds_the_log_and_loses_nothing() {
    on_shard(async {
        let mut world = World::new();
        world.config.state_log_bytes = 4_000;
        let bundle = world.bundle().await;
        let (open, closed) = (Topic::open(&bundle, "/open").await, Topic::open(&bundle, "/closed").await);
        for topic in [&open, &closed] {
            topic.subscribe("s", Position::EARLIEST).await;
        }
        let kept = closed.publish(["x", "y"]).await;
        closed.ack("s", kept[1]);
        closed.log.flush().await.unwrap();
        drop(closed);
        let positions = open.publish((0..300).map(|n| n.to_string())).await;
        for &position in positions.iter().step_by(2) {
            open.ack("s", position);
            open.log.flush().await.unwrap();
            settle().await;
            assert!(bundle.stats().ledgers <= 2);
            assert!(bundle.stats().open_bytes < 8_000);
        }
        assert!(bundle.stats().frames > 100);
        assert_eq!(bundle.stats().pending_topics, 0, "the closed topic was brought up to date");
        world.crash(0, false);

        let bundle = world.bundle().await;
        let open = Topic::open(&bundle, "/open").await;
        for (at, &position) in positions.iter().enumerate() {
            assert_eq!(open.is_acked("s", position), at % 2 == 0, "{at}");
        }
        let closed = Topic::open(&bundle, "/closed").await;
        assert!(closed.is_acked("s", kept[1]) && !closed.is_acked("s", kept[0]));
    });
}

#[test]
fn a_closed_bundle_has_everything_in_its_rows() {
    on_shard(async {
        let mut world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.subscribe("s", Position::EARLIEST).await;
        let positions = topic.publish(["a", "b", "c"]).await;
        topic.ack("s", positions[2]);
        topic.log.close().await.unwrap();
        bundle.close().await.unwrap();
        bundle.close().await.unwrap();
        assert_eq!(world.ledger_count().await, 1, "only the messages");
        assert!(matches!(topic.log.flush().await, Err(Error::StateLog(_))));
        world.crash(0, false);
        let bundle = world.bundle().await;
        assert_eq!(bundle.stats().ledgers, 0);
        let topic = Topic::open(&bundle, TOPIC).await;
        assert!(topic.is_acked("s", positions[2]) && !topic.is_acked("s", positions[0]));
    });
}

#[test]
fn a_clean_topic_is_closed_without_a_write() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.publish(["a"]).await;
        topic.log.close().await.unwrap();
        let writes = world.metadata.synced_writes();
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.log.close().await.unwrap();
        assert_eq!(world.metadata.synced_writes(), writes);
    });
}

#[test]
fn a_topic_given_up_without_closing_is_read_back() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.subscribe("s", Position::EARLIEST).await;
        let positions = topic.publish(["a", "b"]).await;
        topic.ack("s", positions[1]);
        drop(topic);
        assert_eq!(bundle.stats().pending_topics, 1);
        let topic = Topic::open(&bundle, TOPIC).await;
        assert!(topic.is_acked("s", positions[1]), "recorded, if not flushed by anyone yet");
        assert_eq!(topic.texts().await, ["a", "b"]);
        assert_eq!(bundle.stats().pending_topics, 0);
    });
}

#[test]
fn changes_wait_through_crashes_for_their_topic() {
    on_shard(async {
        let mut world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.subscribe("s", Position::EARLIEST).await;
        let positions = topic.publish(["a", "b"]).await;
        topic.ack("s", positions[1]);
        topic.log.flush().await.unwrap();
        for round in 0..8 {
            world.crash(0, false);
            let bundle = world.bundle().await;
            let other = Topic::open(&bundle, &format!("/other/{round}")).await;
            other.subscribe("s", Position::EARLIEST).await;
            assert!(bundle.stats().ledgers <= 6, "{:?}", bundle.stats());
        }
        world.crash(0, false);
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        assert!(topic.is_acked("s", positions[1]));
    });
}

#[test]
fn a_topic_made_anew_has_no_cursor_of_the_old_one() {
    on_shard(async {
        let mut world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.subscribe("ghost", Position::EARLIEST).await;
        topic.log.delete().await.unwrap();
        assert!(!world.metadata.paths().contains(&TOPIC.to_owned()));
        let topic = Topic::open(&bundle, TOPIC).await;
        assert!(topic.created && topic.log.cursor_names().is_empty());
        topic.subscribe("new", Position::EARLIEST).await;
        world.crash(0, false);
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        assert_eq!(topic.log.cursor_names(), ["new"]);
    });
}

#[test]
fn a_topic_keeps_its_state_when_it_moves_to_a_younger_bundle() {
    on_shard(async {
        let mut world = World::new();
        let parent = world.bundle().await;
        let topic = Topic::open(&parent, TOPIC).await;
        topic.subscribe("s", Position::EARLIEST).await;
        let positions = topic.publish(["a", "b", "c", "d"]).await;
        for _ in 0..100 {
            topic.log.record_dedup(Bytes::from("many changes")).unwrap();
        }
        topic.ack("s", positions[1]);
        topic.log.close().await.unwrap();
        parent.close().await.unwrap();

        let child = StateLog::open(world.context(), "/bundles/child", Epoch(2)).await.unwrap();
        let topic = Topic::open(&child, TOPIC).await;
        assert!(topic.is_acked("s", positions[1]));
        topic.ack("s", positions[3]);
        topic.log.flush().await.unwrap();
        world.crash(0, false);
        let child = StateLog::open(world.context(), "/bundles/child", Epoch(3)).await.unwrap();
        let topic = Topic::open(&child, TOPIC).await;
        assert!(topic.is_acked("s", positions[1]) && topic.is_acked("s", positions[3]));
    });
}

#[test]
fn the_old_owner_of_a_bundle_is_shut_out() {
    on_shard(async {
        let world = World::new();
        let old = world.bundle().await;
        let topic = Topic::open(&old, TOPIC).await;
        topic.subscribe("s", Position::EARLIEST).await;
        let positions = topic.publish(["a"]).await;
        let new = StateLog::open(world.context(), BUNDLE, Epoch(2)).await.unwrap();
        topic.ack("s", positions[0]);
        let error = topic.log.flush().await.unwrap_err();
        assert!(error.is_fenced() && !error.is_retryable(), "{error}");
        assert!(topic.failed().await.is_fenced());
        assert!(old.failed().await.is_fenced());
        let stale = StateLog::open(world.context(), BUNDLE, Epoch(1)).await;
        assert!(matches!(stale, Err(Error::StaleOwner { stored: Epoch(2), own: Epoch(1), .. })));
        let topic = Topic::open(&new, TOPIC).await;
        assert!(!topic.is_acked("s", positions[0]));
    });
}

#[test]
fn changes_of_a_topic_given_up_during_a_compaction_are_kept() {
    on_shard(async {
        let mut world = World::new();
        world.config.state_log_bytes = 1_000;
        for rounds in 0..12 {
            let bundle = world.bundle().await;
            let (busy, lazy) = (Topic::open(&bundle, "/busy").await, Topic::open(&bundle, "/lazy").await);
            if rounds == 0 {
                lazy.subscribe("s", Position::EARLIEST).await;
            }
            let positions = lazy.publish(["a", "b", "c"]).await;
            lazy.ack("s", positions[2]);
            while bundle.stats().open_bytes < 1_000 {
                busy.log.record_dedup(Bytes::from(vec![0; 300])).unwrap();
                busy.log.flush().await.unwrap();
            }
            for _ in 0..rounds {
                tokio::task::yield_now().await;
            }
            lazy.ack("s", positions[1]);
            drop(lazy);
            settle().await;
            busy.log.flush().await.unwrap();
            let lazy = Topic::open(&bundle, "/lazy").await;
            assert!(lazy.is_acked("s", positions[1]), "after {rounds} rounds");
            assert!(lazy.is_acked("s", positions[2]), "after {rounds} rounds");
            world.crash(0, false);
        }
    });
}

#[test]
fn a_topic_with_a_damaged_row_does_not_hold_the_log_up() {
    on_shard(async {
        let mut world = World::new();
        world.config.state_log_bytes = 2_000;
        let bundle = world.bundle().await;
        let damaged = Topic::open(&bundle, "/damaged").await;
        damaged.subscribe("s", Position::EARLIEST).await;
        let positions = damaged.publish(["a", "b", "c"]).await;
        damaged.ack("s", positions[1]);
        drop(damaged);
        world.metadata.corrupt("/damaged");
        let busy = Topic::open(&bundle, "/busy").await;
        for round in 0..100 {
            busy.log.record_dedup(Bytes::from(vec![round; 200])).unwrap();
            busy.log.flush().await.unwrap();
            settle().await;
            assert!(bundle.stats().ledgers <= 2, "{:?}", bundle.stats());
        }
        for round in 0..7 {
            world.crash(0, false);
            let bundle = world.bundle().await;
            let busy = Topic::open(&bundle, "/busy").await;
            busy.log.record_dedup(Bytes::from(vec![round; 200])).unwrap();
            busy.log.flush().await.unwrap();
            assert!(bundle.stats().ledgers <= 6, "{:?}", bundle.stats());
        }
        world.crash(0, false);
        world.metadata.corrupt("/damaged");
        let bundle = world.bundle().await;
        let repaired = Topic::open(&bundle, "/damaged").await;
        assert!(repaired.is_acked("s", positions[1]) && !repaired.is_acked("s", positions[0]));
    });
}

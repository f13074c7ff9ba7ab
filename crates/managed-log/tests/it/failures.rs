use std::sync::Arc;

use futures::FutureExt;
use plerion_ledger::AppendError;
use plerion_managed_log::{AppendRefused, Error, ManagedLog, OpenMode, StateLog};
use plerion_subscription::Position;

use crate::metadata::Fault;
use crate::topic::Topic;
use crate::world::{BUNDLE, TOPIC, World, on_shard, settle};

#[test]
fn a_full_disk_is_survived_in_order() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.publish(["a"]).await;
        world.ledgers.hold();
        topic.append("b").unwrap();
        world.ledgers.refuse_appends(Some("disk full"));
        let refused = topic.append("c");
        assert!(matches!(refused, Err(AppendRefused::Failed(Error::Append(AppendError::Unavailable(_))))));
        world.ledgers.refuse_appends(None);
        assert!(topic.append("d").is_err(), "c was refused: nothing may overtake it");
        assert!(topic.events.failure.borrow().is_none(), "b is under way");
        world.ledgers.release();
        let error = topic.failed().await;
        assert!(error.is_retryable() && !error.is_fenced());
        assert_eq!(topic.events.confirmed.borrow().len(), 2);
        assert!(topic.log.close().await.is_err());
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.publish(["c", "d"]).await;
        assert_eq!(topic.texts().await, ["a", "b", "c", "d"]);
    });
}

#[test]
fn a_disk_that_is_full_when_a_ledger_is_needed_fails_what_waits() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        world.ledgers.refuse_appends(Some("disk full"));
        topic.append("a").unwrap();
        assert!(topic.failed().await.is_retryable());
        let _ = topic.log.close().await;
        world.ledgers.refuse_appends(None);
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.publish(["a"]).await;
        assert_eq!(topic.texts().await, ["a"]);
    });
}

#[test]
fn a_ledger_that_no_row_names_is_deleted() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.publish(["a"]).await;
        world.metadata.set_down(true);
        for n in 0..10 {
            let _ = topic.append(&n.to_string());
        }
        topic.failed().await;
        settle().await;
        assert_eq!(world.ledger_count().await, 1);
    });
}

#[test]
fn what_waits_for_a_ledger_is_bounded() {
    on_shard(async {
        let mut world = World::new();
        world.config.max_waiting_bytes = 100;
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        let entry = "x".repeat(60);
        topic.append(&entry).unwrap();
        topic.append(&entry).unwrap();
        assert_eq!(topic.log.waiting_bytes(), 120);
        assert!(matches!(topic.append(&entry), Err(AppendRefused::Failed(error)) if error.is_retryable()));
        assert!(topic.failed().await.is_retryable());
    });
}

#[test]
fn a_failed_sync_fails_everything_after_it() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.publish(["a"]).await;
        world.ledgers.hold();
        topic.append("b").unwrap();
        world.ledgers.fail_writers("I/O error");
        let error = topic.failed().await;
        assert!(matches!(error, Error::Append(AppendError::Indeterminate { .. })) && error.is_retryable());
        assert!(topic.append("c").is_err());
        world.ledgers.release();
        let _ = topic.log.close().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.publish(["b"]).await;
        assert_eq!(topic.texts().await, ["a", "b", "b"], "b was stored although nobody knew");
        assert_eq!(topic.events.failures.get(), 0);
    });
}

#[test]
fn a_failed_state_log_closes_every_topic_of_the_bundle() {
    on_shard(async {
        let mut world = World::new();
        let bundle = world.bundle().await;
        let (one, two) = (Topic::open(&bundle, "/one").await, Topic::open(&bundle, "/two").await);
        one.subscribe("s", Position::EARLIEST).await;
        let positions = two.publish(["a"]).await;
        two.subscribe("s", Position::EARLIEST).await;
        two.ack("s", positions[0]);
        two.log.flush().await.unwrap();
        world.ledgers.fail_writers("I/O error");
        for topic in [&one, &two] {
            let _ = topic.log.flush().await;
            let error = topic.failed().await;
            assert!(error.is_retryable(), "{error}");
        }
        assert!(bundle.failure().is_some_and(|error| error.is_retryable()));
        assert!(matches!(Topic::try_open(&bundle, "/three", OpenMode::Create).await, Err(Error::StateLog(_))));
        let _ = (one.log.close().await, two.log.close().await, bundle.close().await);
        world.epoch += 1;
        let bundle = world.bundle().await;
        let two = Topic::open(&bundle, "/two").await;
        assert!(two.is_acked("s", positions[0]));
    });
}

#[test]
fn a_write_of_unknown_outcome_is_read_back() {
    on_shard(async {
        for fault in [Fault::UnknownDone, Fault::UnknownLost] {
            let world = World::new();
            let bundle = world.bundle().await;
            let topic = Topic::open(&bundle, TOPIC).await;
            world.metadata.fail_next(fault);
            let outcome = topic.log.set_topic_epoch(5).await;
            assert_eq!(outcome.is_ok(), fault == Fault::UnknownDone, "{fault:?}: {outcome:?}");
            assert!(outcome.err().is_none_or(|error| error.is_retryable()));
            topic.log.set_topic_epoch(6).await.unwrap();
            assert_eq!(topic.log.topic_epoch(), Some(6));
            topic.publish(["a"]).await;
        }
    });
}

#[test]
fn a_write_whose_caller_has_gone_is_read_back() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        for polls in 0..6 {
            let mut write = Box::pin(topic.log.set_topic_epoch(polls));
            for _ in 0..polls {
                if write.as_mut().now_or_never().is_some() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            drop(write);
            topic.log.set_properties([("round".to_owned(), polls.to_string())].into()).await.unwrap();
        }
        assert_eq!(topic.log.topic_epoch(), Some(5));
        topic.publish(["a"]).await;
    });
}

#[test]
fn unavailable_metadata_is_worth_a_retry() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.subscribe("s", Position::EARLIEST).await;
        let positions = topic.publish(["a", "b"]).await;
        topic.ack("s", positions[1]);
        world.metadata.set_down(true);
        assert!(topic.log.set_topic_epoch(1).await.unwrap_err().is_retryable());
        assert!(topic.log.failure().is_none(), "nothing is lost");
        assert!(topic.log.terminate().await.unwrap_err().is_retryable());
        assert!(topic.log.close().await.unwrap_err().is_retryable());
        assert!(Topic::try_open(&bundle, TOPIC, OpenMode::Create).await.is_err_and(|error| error.is_retryable()));
        world.metadata.set_down(false);
        let topic = Topic::open(&bundle, TOPIC).await;
        assert!(topic.is_acked("s", positions[1]), "closing could not save it: it is read back");
        assert_eq!(topic.texts().await, ["a", "b"]);
        topic.publish(["c"]).await;
    });
}

#[test]
fn corrupt_rows_are_named() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.publish(["a"]).await;
        topic.log.close().await.unwrap();
        world.metadata.corrupt(TOPIC);
        let error = ManagedLog::open(&bundle, TOPIC, OpenMode::Create).await.err().unwrap();
        assert!(matches!(&error, Error::Corrupt { path, .. } if **path == *TOPIC), "{error}");
        world.metadata.corrupt(BUNDLE);
        let error = StateLog::open(world.context(), BUNDLE, plerion_ledger::Epoch(2)).await.err().unwrap();
        assert!(matches!(&error, Error::Corrupt { path, .. } if **path == *BUNDLE), "{error}");
    });
}

#[test]
fn a_lost_frame_of_the_state_log_is_an_error_unless_skipped() {
    on_shard(async {
        let mut world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.subscribe("s", Position::EARLIEST).await;
        let positions = topic.publish(["a", "b"]).await;
        for &position in &positions {
            topic.ack("s", position);
            topic.log.flush().await.unwrap();
        }
        let state_ledger = *world.ledgers.shard().list().await.unwrap().first().unwrap();
        world.crash(0, false);
        world.ledgers.corrupt(state_ledger, 1);
        let error = StateLog::open(world.context(), BUNDLE, plerion_ledger::Epoch(2)).await.err().unwrap();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
        world.config.skip_unreadable = true;
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        assert!(topic.is_acked("s", positions[1]));
    });
}

#[test]
fn a_failed_log_tells_its_sink_once() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.publish(["a"]).await;
        world.metadata.intrude(TOPIC);
        assert!(topic.log.set_topic_epoch(1).await.unwrap_err().is_fenced());
        world.ledgers.fail_writers("I/O error");
        settle().await;
        assert_eq!(topic.events.failures.get(), 1);
        assert!(matches!(&*topic.events.failure.borrow(), Some(Error::Fenced { path }) if *path == Arc::from(TOPIC)));
    });
}

use bytes::Bytes;
use plerion_managed_log::{Error, OpenMode, Properties};
use plerion_subscription::Position;
use plerion_subscription::cursor::Cursor;

use crate::topic::Topic;
use crate::world::{TOPIC, World, on_shard, settle};

#[test]
fn flushed_acknowledgements_survive_a_crash() {
    on_shard(async {
        let mut world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.subscribe("s", Position::EARLIEST).await;
        let positions = topic.publish((0..12).map(|n| n.to_string())).await;
        for at in [0, 1, 4, 9] {
            topic.ack("s", positions[at]);
        }
        topic.log.flush().await.unwrap();
        topic.ack("s", positions[6]);
        world.crash(0, false);

        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        assert_eq!(topic.mark_delete("s"), positions[1]);
        let acked: Vec<_> = (0..12).filter(|&at| topic.is_acked("s", positions[at])).collect();
        assert_eq!(acked, [0, 1, 4, 9]);
    });
}

#[test]
fn a_flush_resolves_only_when_durable() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.subscribe("s", Position::EARLIEST).await;
        let positions = topic.publish(["a", "b"]).await;
        world.ledgers.hold();
        topic.ack("s", positions[0]);
        let flushed = tokio::task::spawn_local(topic.log.flush());
        settle().await;
        assert!(!flushed.is_finished());
        world.ledgers.release();
        flushed.await.unwrap().unwrap();
        assert!(!bundle.has_unflushed());
    });
}

#[test]
fn cursors_are_made_described_and_deleted_durably() {
    on_shard(async {
        let mut world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        for name in ["one", "two", "three"] {
            topic.subscribe(name, Position::new(5, 5)).await;
        }
        topic.log.delete_cursor("two").await.unwrap();
        let described: Properties = [("a".to_owned(), "b".to_owned())].into();
        topic.log.set_cursor_properties("three", described.clone()).await.unwrap();
        let snapshot = Bytes::from(Cursor::new(Position::EARLIEST).snapshot());
        let again = topic.log.create_cursor("one", snapshot, Properties::new()).await;
        assert!(matches!(again, Err(Error::CursorExists { .. })));
        assert!(matches!(topic.log.record_cursor("two", Bytes::new()), Err(Error::NoCursor { .. })));
        world.crash(0, false);

        let bundle = world.bundle().await;
        let topic = Topic::try_open(&bundle, TOPIC, OpenMode::MustExist).await.unwrap();
        assert_eq!(topic.log.cursor_names(), ["one", "three"]);
        assert_eq!(topic.log.cursor_properties("three"), Some(described));
        assert_eq!(topic.mark_delete("one"), Position::new(5, 5));
    });
}

#[test]
fn a_topic_without_anything_durable_may_vanish_and_nothing_else_does() {
    on_shard(async {
        let mut world = World::new();
        let bundle = world.bundle().await;
        Topic::open(&bundle, "/empty").await;
        let used = Topic::open(&bundle, "/used").await;
        used.publish(["a"]).await;
        Topic::try_open(&bundle, "/wanted", OpenMode::CreateDurably).await.unwrap();
        world.crash(0, false);
        let bundle = world.bundle().await;
        for (path, there) in [("/used", true), ("/wanted", true)] {
            assert_eq!(Topic::try_open(&bundle, path, OpenMode::MustExist).await.is_ok(), there, "{path}");
        }
        let missing = Topic::try_open(&bundle, "/nowhere", OpenMode::MustExist).await;
        assert!(matches!(missing, Err(Error::NoLog { .. })));
    });
}

#[test]
fn the_state_of_the_deduplication_is_recovered() {
    on_shard(async {
        let mut world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.publish(["a"]).await;
        topic.log.record_dedup(Bytes::from("one")).unwrap();
        topic.log.record_dedup(Bytes::from("two")).unwrap();
        topic.log.flush().await.unwrap();
        world.crash(0, false);
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        assert_eq!(topic.dedup, Some(Bytes::from("two")));
        topic.log.close().await.unwrap();
        let topic = Topic::open(&bundle, TOPIC).await;
        assert_eq!(topic.dedup, Some(Bytes::from("two")));
    });
}

#[test]
fn a_large_state_is_kept_in_a_ledger_of_its_own() {
    on_shard(async {
        let mut world = World::new();
        let bundle = world.bundle().await;
        let mut topic = Topic::open(&bundle, TOPIC).await;
        topic.publish(["a"]).await;
        for round in 0..3_u8 {
            topic.log.record_dedup(Bytes::from(vec![round; 1_200_000])).unwrap();
            topic.log.close().await.unwrap();
            topic = Topic::open(&bundle, TOPIC).await;
            assert_eq!(topic.dedup, Some(Bytes::from(vec![round; 1_200_000])));
        }
        topic.log.close().await.unwrap();
        bundle.close().await.unwrap();
        assert_eq!(world.ledger_count().await, 2, "the messages and the last checkpoint");
        world.crash(0, false);
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        topic.log.record_dedup(Bytes::from("small")).unwrap();
        topic.log.close().await.unwrap();
        bundle.close().await.unwrap();
        assert_eq!(world.ledger_count().await, 1);
    });
}

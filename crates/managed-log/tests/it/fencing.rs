use plerion_ledger::Epoch;
use plerion_managed_log::{AppendRefused, Error, OpenMode, StateLog};
use plerion_subscription::Position;

use crate::topic::Topic;
use crate::world::{TOPIC, World, on_shard, settle};

#[test]
fn a_topic_is_open_once() {
    on_shard(async {
        let world = World::new();
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        let twice = Topic::try_open(&bundle, TOPIC, OpenMode::Create).await;
        assert!(matches!(twice, Err(Error::AlreadyOpen { .. })));
        topic.log.close().await.unwrap();
        assert!(matches!(topic.append("late"), Err(AppendRefused::Failed(Error::Closed))));
        Topic::open(&bundle, TOPIC).await;
    });
}

#[test]
fn what_the_new_owner_recovers_is_what_the_old_one_confirmed() {
    on_shard(async {
        let mut world = World::new();
        world.config.max_entries_per_ledger = 1_000;
        let old_bundle = world.bundle().await;
        let old = Topic::open(&old_bundle, TOPIC).await;
        old.publish(["a", "b"]).await;

        let new_bundle = StateLog::open(world.context(), "/bundles/new", Epoch(2)).await.unwrap();
        let new = Topic::open(&new_bundle, TOPIC).await;
        // The old owner may have noticed or not: in neither case is the append confirmed.
        let _ = old.append("too late");
        assert!(old.failed().await.is_fenced());
        settle().await;
        assert_eq!(old.events.confirmed.borrow().len(), 2);
        assert_eq!(old.events.failures.get(), 1);
        new.publish(["c"]).await;
        assert_eq!(new.texts().await, ["a", "b", "c"]);
    });
}

#[test]
fn an_idle_old_owner_cannot_write_the_row_either() {
    on_shard(async {
        let world = World::new();
        let old_bundle = world.bundle().await;
        let old = Topic::open(&old_bundle, TOPIC).await;
        let new_bundle = StateLog::open(world.context(), "/bundles/new", Epoch(2)).await.unwrap();
        let new = Topic::open(&new_bundle, TOPIC).await;
        old.append("never seen").unwrap();
        assert!(matches!(old.failed().await, Error::Fenced { .. }));
        assert!(matches!(old.append("nor this"), Err(AppendRefused::Failed(Error::Fenced { .. }))));
        assert!(old.log.close().await.is_err());
        new.publish(["seen"]).await;
        assert_eq!(new.texts().await, ["seen"]);
        let stale = Topic::try_open(&old_bundle, TOPIC, OpenMode::Create).await;
        assert!(matches!(stale, Err(Error::StaleOwner { .. })));
    });
}

#[test]
fn the_state_of_a_fenced_owner_does_not_reach_the_new_ones_row() {
    on_shard(async {
        let mut world = World::new();
        world.config.state_log_bytes = 500;
        let old_bundle = world.bundle().await;
        let old = Topic::open(&old_bundle, TOPIC).await;
        old.subscribe("s", Position::EARLIEST).await;
        let positions = old.publish(["a", "b"]).await;
        old.log.close().await.unwrap();
        let old = Topic::open(&old_bundle, TOPIC).await;

        let new_bundle = StateLog::open(world.context(), "/bundles/new", Epoch(2)).await.unwrap();
        let new = Topic::open(&new_bundle, TOPIC).await;
        old.ack("s", positions[0]);
        assert!(old.log.close().await.unwrap_err().is_fenced());
        new.ack("s", positions[1]);
        new.log.close().await.unwrap();
        // The old bundle still has a change of the topic; closing it must not bring that into the row.
        old_bundle.close().await.unwrap();
        let new = Topic::open(&new_bundle, TOPIC).await;
        assert!(new.is_acked("s", positions[1]) && !new.is_acked("s", positions[0]));
    });
}

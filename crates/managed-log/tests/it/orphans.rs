//! Ledgers without a name, and those that only seem to have none.

use bytes::Bytes;
use plerion_ledger::LedgerId;
use plerion_managed_log::{Error, Properties, Remains};
use plerion_metadata::{Expect, MetadataStore, PutOptions};
use plerion_subscription::cursor::Cursor;

use crate::topic::Topic;
use crate::world::{BUNDLE, TOPIC, World, on_shard};

/// The ledgers of a bundle and a topic whose rows never were.
async fn orphans(world: &World) -> Vec<LedgerId> {
    let before = world.context().store.list().await.unwrap();
    let lost = World { ledgers: world.ledgers.clone(), epoch: world.epoch, ..World::new() };
    let topic = Topic::open(&lost.bundle().await, TOPIC).await;
    topic.publish(["lost"]).await;
    subscribe(&topic, Properties::new()).await;
    let mut after = world.context().store.list().await.unwrap();
    after.retain(|id| !before.contains(id));
    assert!(!after.is_empty());
    after
}

async fn subscribe(topic: &Topic, properties: Properties) {
    let cursor = Cursor::new(topic.log.last_confirmed());
    topic.log.create_cursor("c", cursor.snapshot().into(), properties).await.unwrap();
    topic.events.cursors.borrow_mut().insert("c".into(), cursor);
}

async fn sweep(world: &World, remains: Remains) -> Result<Vec<LedgerId>, Error> {
    let context = world.context();
    remains.sweep(&*context.store, &*context.metadata, "/managed-ledgers", "/bundles", async || {}).await
}

async fn stock(world: &World) -> Remains {
    Remains::of(&*world.context().store).await.unwrap()
}

#[test]
fn only_what_nobody_names_is_deleted() {
    on_shard(async {
        let mut world = World::new();
        let texts: Vec<_> = (0..12).map(|n| n.to_string()).collect();
        {
            let bundle = world.bundle().await;
            let topic = Topic::open(&bundle, TOPIC).await;
            topic.publish(&texts).await;
            let large = Properties::from([("large".to_owned(), "x".repeat(1 << 20))]);
            subscribe(&topic, large).await;
            topic.log.close().await.unwrap();
            // Its state is in a ledger of its own now, and the bundle's log has more to say of another one.
            let other = Topic::open(&bundle, "/managed-ledgers/public/default/persistent/other").await;
            subscribe(&other, Properties::new()).await;
        }
        let left = orphans(&world).await;
        world.crash(0, true);
        let before = world.ledger_count().await;
        let remains = stock(&world).await;
        // What is made while the broker serves is not for the sweep, named or not.
        let bundle = world.bundle().await;
        let new = Topic::open(&bundle, "/managed-ledgers/public/default/persistent/new").await;
        new.publish(["new"]).await;
        let unnamed = orphans(&world).await;
        assert_eq!(sweep(&world, remains).await.unwrap(), left);
        assert!(world.ledger_count().await > before - left.len(), "{unnamed:?} and those of the new topic are there");
        assert_eq!(new.texts().await, ["new"]);
        let topic = Topic::open(&bundle, TOPIC).await;
        assert_eq!(topic.texts().await, texts);
        assert!(topic.events.cursors.borrow().contains_key("c"));
        let other = Topic::open(&bundle, "/managed-ledgers/public/default/persistent/other").await;
        assert!(other.events.cursors.borrow().contains_key("c"));
        // The next start finds the one that still has no name.
        let remains = stock(&world).await;
        assert_eq!(sweep(&world, remains).await.unwrap(), unnamed);
    });
}

/// A row that cannot be understood may name any of them.
#[test]
fn nothing_is_deleted_beside_a_damaged_row() {
    for path in [TOPIC, BUNDLE] {
        on_shard(async {
            let world = World::new();
            let left = orphans(&world).await;
            let damaged = Bytes::from_static(b"damaged");
            world.metadata.put(path, damaged, Expect::Any, PutOptions::PERSISTENT).await.unwrap();
            let remains = stock(&world).await;
            assert!(matches!(sweep(&world, remains).await, Err(Error::Corrupt { .. })));
            assert_eq!(world.ledger_count().await, left.len());
        });
    }
}

/// Whoever lost the metadata may still find them.
#[test]
fn nothing_is_deleted_beside_metadata_that_name_nothing() {
    on_shard(async {
        let world = World::new();
        let left = orphans(&world).await;
        let remains = stock(&world).await;
        assert_eq!(sweep(&world, remains).await.unwrap(), []);
        assert_eq!(world.ledger_count().await, left.len());
    });
}

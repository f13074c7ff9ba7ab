//! What a crash leaves behind and nobody misses.

use plerion_ledger::LedgerId;

use crate::support::{World, name, on_one_shard, producer};

const TOPIC: &str = "persistent://public/default/kept";

/// A ledger whose topic has no row: another broker on the same ledgers has it, and its metadata are lost.
async fn orphan(world: &World) -> LedgerId {
    let lost = World::with_metadata_lost(world).await;
    let mut client = lost.session().await;
    client.open_producer(producer(TOPIC, 1)).await;
    let ledger = LedgerId(client.say(1, 0, "lost").await.ledger);
    drop(client);
    lost.broker.stop().await;
    ledger
}

#[test]
fn ledgers_that_nobody_names_are_deleted_and_others_are_not() {
    on_one_shard(&[], async |_| {
        let world = World::start(1, &[], std::sync::Arc::new(plerion_broker::AllowAll)).await;
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        let kept = LedgerId(client.say(1, 0, "kept").await.ledger);
        let lost = orphan(&world).await;
        drop(client);
        let world = world.restart_alone().await;
        // It serves at once.
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        let new = LedgerId(client.say(1, 1, "new").await.ledger);
        world.until("the orphan is deleted", async |world| world.ledgers.counts(lost).is_none()).await;
        assert!(world.ledgers.counts(kept).is_some() && world.ledgers.counts(new).is_some());
        assert_eq!(world.handle().topic_stats(&name(TOPIC)).await.unwrap().msg_in_counter, 1);
        world.stop().await;
    });
}

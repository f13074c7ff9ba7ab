//! Who may publish under which name.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use plerion_broker::AllowAll;
use plerion_test_client::Type;
use plerion_wire::ServerError;
use plerion_wire::proto::{CommandPong, CommandProducer, command_subscribe::SubType};

use super::{TOPIC, mute, named};
use crate::support::{World, everywhere, everywhere_with, on_one_shard, producer, subscription, while_alive};

/// PRODUCER of a client that reconnects under the name the broker gave it.
fn returning(producer_id: u64, name: &str, epoch: u64) -> CommandProducer {
    let user_provided_producer_name = Some(false);
    CommandProducer { user_provided_producer_name, epoch: Some(epoch), ..named(producer_id, name) }
}

/// Neither deduplication nor a client may ever take one producer for another.
#[test]
fn generated_names_never_repeat() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut world = World::start(3, &[], Arc::new(AllowAll)).await;
        let mut names = HashSet::new();
        for _ in 0..3 {
            for number in 0..5 {
                let mut client = world.session().await;
                for id in 0..3 {
                    let topic = format!("persistent://public/default/names-{number}");
                    let success = client.open_producer(producer(&topic, id)).await;
                    assert!(names.insert(success.producer_name.clone()), "{} twice", success.producer_name);
                }
            }
            world = world.crash_and_restart().await;
        }
        world.stop().await;
    });
}

/// An empty name is none.
#[test]
fn an_empty_name_leaves_the_choice_to_the_broker() {
    on_one_shard(&[], async |world| {
        let mut client = world.session().await;
        assert!(!client.open_producer(named(1, "")).await.producer_name.is_empty());
    });
}

#[test]
fn a_name_is_taken_by_one_producer_of_a_topic() {
    everywhere(async |world| {
        let mut first = world.session().await;
        first.open_producer(named(1, "mine")).await;
        let mut second = world.session().await;
        let (code, text) = while_alive(&mut first, second.refused_producer(named(1, "mine"))).await;
        assert_eq!(code, ServerError::ProducerBusy);
        assert!(text.contains("'mine'"), "{text}");
        // Another topic has names of its own.
        let elsewhere = CommandProducer { topic: format!("{TOPIC}-2"), ..named(2, "mine") };
        second.open_producer(elsewhere).await;
        first.say(1, 0, "not disturbed").await;
        // On the same connection it is busy too.
        assert_eq!(first.refused_producer(named(2, "mine")).await.0, ServerError::ProducerBusy);
    });
}

/// A client that reconnects takes over from itself.
#[test]
fn a_successor_replaces_its_predecessor() {
    everywhere(async |world| {
        let mut old = world.session().await;
        let given = old.open_producer(producer(TOPIC, 1)).await.producer_name;
        let mut new = world.session().await;
        let success = new.open_producer(returning(1, &given, 1)).await;
        assert_eq!(success.producer_name, given);
        let close = old.await_kind(Type::CloseProducer).await.unwrap().command.close_producer.unwrap();
        assert_eq!((close.producer_id, close.request_id), (1, u64::MAX));
        assert_eq!((close.assigned_broker_service_url, close.assigned_broker_service_url_tls), (None, None));
        new.say(1, 0, "mine now").await;
        world.until_attached(TOPIC, 1, 0).await;
        // What belongs to an earlier epoch comes too late.
        let mut late = world.session().await;
        let refusal = while_alive(&mut new, late.refused_producer(returning(1, &given, 0))).await;
        assert_eq!(refusal.0, ServerError::ProducerBusy);
    });
}

/// apache/pulsar#21144: the client re-creates its producer on another connection before the first is seen dead.
#[test]
fn e09_a_dead_holder_of_a_name_makes_way() {
    everywhere_with(&[("connectionLivenessCheckTimeoutMillis", "200")], async |world| {
        let mut dead = mute(world).await;
        dead.open_producer(named(1, "mine")).await;
        let mut new = world.session().await;
        new.open_producer(named(1, "mine")).await;
        new.say(1, 0, "mine now").await;
        dead.await_close().await.unwrap();
        world.until_attached(TOPIC, 1, 0).await;
    });
}

#[test]
fn e09_a_live_holder_of_a_name_keeps_it() {
    everywhere_with(&[("connectionLivenessCheckTimeoutMillis", "20000")], async |world| {
        let mut holder = world.session().await;
        holder.open_producer(named(1, "mine")).await;
        let mut new = world.session().await;
        let (answer, pinged) = tokio::join!(new.refused_producer(named(1, "mine")), async {
            holder.answers_pings = false;
            holder.await_kind(Type::Ping).await.unwrap();
            holder.send(CommandPong {}).await.unwrap();
        });
        let ((code, _), ()) = (answer, pinged);
        assert_eq!(code, ServerError::ProducerBusy);
        holder.say(1, 0, "still mine").await;
    });
}

/// apache/pulsar-client-go#676: two live connections, the same name, a higher epoch on the new one.
#[test]
fn l04_a_higher_epoch_wins_at_once() {
    everywhere_with(&[("connectionLivenessCheckTimeoutMillis", "20000")], async |world| {
        let mut old = mute(world).await;
        old.open_producer(CommandProducer { epoch: Some(1), ..named(1, "mine") }).await;
        let mut new = world.session().await;
        new.patience = Duration::from_secs(5);
        new.open_producer(CommandProducer { epoch: Some(2), ..named(1, "mine") }).await;
        old.await_kind(Type::CloseProducer).await.unwrap();
    });
}

/// apache/pulsar#7140, apache/pulsar#1600: nothing of a producer survives the broker it was attached to.
#[test]
fn e10_no_producer_survives_a_crash_of_the_broker() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let world = World::start(3, &[], Arc::new(AllowAll)).await;
        let mut client = world.session().await;
        client.open_producer(named(1, "mine")).await;
        let given = client.open_producer(producer(TOPIC, 2)).await.producer_name;
        client.say(1, 0, "kept").await;
        let world = world.crash_and_restart().await;
        let mut again = world.session().await;
        again.open_producer(named(1, "mine")).await;
        again.open_producer(returning(2, &given, 1)).await;
        world.until_attached(TOPIC, 2, 0).await;
        again.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        assert_eq!(again.take(1, 1).await[0].text(), "kept");
        world.stop().await;
    });
}

/// apache/pulsar#15559: what was not answered before is accepted when it is sent again.
#[test]
fn l12_resends_are_accepted_after_a_reconnect() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let given = client.open_producer(producer(TOPIC, 1)).await.producer_name;
        for sequence_id in 0..3 {
            client.say(1, sequence_id, "once").await;
        }
        world.unload(TOPIC).await;
        client.await_kind(Type::CloseProducer).await.unwrap();
        let success = client.open_producer(returning(1, &given, 1)).await;
        assert_eq!(success.last_sequence_id, Some(-1), "nobody deduplicates here");
        for sequence_id in 1..5 {
            client.say(1, sequence_id, "again").await;
        }
    });
}

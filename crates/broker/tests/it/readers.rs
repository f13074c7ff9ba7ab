//! Subscriptions that end with their consumers.

use plerion_test_client::{EARLIEST, LATEST, Position};
use plerion_wire::ServerError;
use plerion_wire::proto::{CommandSubscribe, MessageIdData, command_subscribe::SubType};

use crate::support::{Session, World, everywhere, name, producer, subscription, while_alive};

const TOPIC: &str = "persistent://public/default/read";

fn reader(consumer_id: u64, start: impl Into<MessageIdData>) -> CommandSubscribe {
    let name = format!("reader-{consumer_id}");
    CommandSubscribe {
        durable: Some(false),
        start_message_id: Some(start.into()),
        initial_position: None,
        ..subscription(TOPIC, &name, SubType::Exclusive, consumer_id)
    }
}

/// Publishes a, b, c; where they are.
async fn published(world: &World) -> (Session, Vec<Position>) {
    let mut client = world.session().await;
    client.open_producer(producer(TOPIC, 1)).await;
    let mut positions = Vec::new();
    for (sequence_id, text) in (0..).zip(["a", "b", "c"]) {
        positions.push(client.say(1, sequence_id, text).await);
    }
    (client, positions)
}

#[test]
fn a_reader_starts_where_it_is_told() {
    everywhere(async |world| {
        let (mut client, positions) = published(world).await;
        // The entry named is delivered: the client drops it unless it wanted it.
        client.open_consumer(reader(1, positions[1])).await;
        client.flow(1, 10).await.unwrap();
        assert_eq!(client.texts(2).await, ["b", "c"]);
        client.open_consumer(reader(2, EARLIEST)).await;
        client.flow(2, 10).await.unwrap();
        assert_eq!(client.texts(3).await, ["a", "b", "c"]);
        client.open_consumer(reader(3, LATEST)).await;
        client.flow(3, 10).await.unwrap();
        client.nothing_for(3).await;
        client.say(1, 3, "d").await;
        assert_eq!(client.texts(3).await, ["d"; 3]);
    });
}

/// The client drops what is before the batch index itself.
#[test]
fn a_batch_index_starts_at_its_entry() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.say(1, 0, "a").await;
        let position = client.say_batch(1, 1, &["b", "c", "d"]).await;
        let start = MessageIdData { batch_index: Some(2), batch_size: Some(3), ..position.into() };
        client.open_consumer(reader(1, start)).await;
        let message = &client.take(1, 1).await[0];
        assert_eq!(message.position(), position);
        assert!(message.command.ack_set.is_empty());
    });
}

#[test]
fn a_reader_starts_after_what_is_gone_and_before_what_is_to_come() {
    everywhere(async |world| {
        let (mut client, positions) = published(world).await;
        let last = positions[2];
        client.open_consumer(reader(1, Position { entry: last.entry + 1, ..last })).await;
        client.open_consumer(reader(2, Position { ledger: last.ledger + 1_000, entry: 0 })).await;
        client.open_consumer(reader(3, Position { ledger: 0, entry: 0 })).await;
        for id in [1, 2] {
            client.flow(id, 1).await.unwrap();
            client.nothing_for(id).await;
        }
        assert_eq!(client.take(3, 1).await[0].text(), "a");
        client.say(1, 3, "d").await;
        assert_eq!(client.texts(2).await, ["d"; 2]);
    });
}

#[test]
fn a_reader_goes_back_in_time() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
        for (sequence_id, age_s) in [(0, 3_600), (1, 600), (2, 60)] {
            let mut message = plerion_test_client::Outgoing::new("it", sequence_id, format!("{age_s} s ago"));
            message.metadata.publish_time = now - age_s * 1_000;
            client.publish_and_wait(1, sequence_id, &message.payload()).await.unwrap();
        }
        for (id, rollback, first) in [(1, 7_200, "3600 s ago"), (2, 700, "600 s ago"), (3, 100, "60 s ago")] {
            let start_message_rollback_duration_sec = Some(rollback);
            client.open_consumer(CommandSubscribe { start_message_rollback_duration_sec, ..reader(id, LATEST) }).await;
            assert_eq!(client.take(id, 1).await[0].text(), first);
        }
    });
}

#[test]
fn a_subscription_of_readers_leaves_nothing_behind() {
    everywhere(async |world| {
        let (mut client, _) = published(world).await;
        client.open_consumer(reader(1, EARLIEST)).await;
        assert_eq!(world.handle().subscriptions(&name(TOPIC)).await.unwrap(), ["reader-1"]);
        client.close_consumer(1).await.unwrap();
        assert!(world.handle().subscriptions(&name(TOPIC)).await.unwrap().is_empty());
        // Nor does one whose connection ends.
        let mut other = world.session().await;
        other.open_consumer(reader(2, EARLIEST)).await;
        drop(other);
        world.until_attached(TOPIC, 1, 0).await;
        assert!(world.handle().subscriptions(&name(TOPIC)).await.unwrap().is_empty());
        // A new one under the name begins anew.
        client.open_consumer(reader(1, EARLIEST)).await;
        assert_eq!(client.take(1, 1).await[0].text(), "a");
    });
}

/// `testMultiSameSubscriptionNameReaderShouldFail` of the client in C++.
#[test]
fn two_readers_do_not_share_a_name() {
    everywhere(async |world| {
        let (mut client, _) = published(world).await;
        client.open_consumer(reader(1, EARLIEST)).await;
        let mut other = world.session().await;
        let refused = while_alive(&mut client, other.refused_consumer(reader(1, EARLIEST))).await;
        assert_eq!(refused.0, ServerError::ConsumerBusy);
        // The one who was there is not disturbed by the refusal.
        assert_eq!(client.take(1, 3).await.len(), 3);
        // Nor by one who would take over what does not exist.
        let ghost = CommandSubscribe { sub_type: SubType::Shared.into(), ..reader(1, EARLIEST) };
        assert_eq!(other.refused_consumer(ghost).await.0, ServerError::ConsumerBusy);
        client.say(1, 3, "d").await;
        client.flow(1, 1).await.unwrap();
        assert_eq!(client.texts(1).await, ["d"]);
    });
}

//! FLOW, MESSAGE, and which consumer gets what.

use std::collections::{BTreeMap, BTreeSet};

use plerion_test_client::{Outgoing, Type};
use plerion_wire::ServerError;
use plerion_wire::proto::{CommandSubscribe, IntRange, KeySharedMeta, KeySharedMode, command_subscribe::SubType};

use crate::support::{Session, World, everywhere, everywhere_with, producer, subscription};

const TOPIC: &str = "persistent://public/default/dispatch";

/// A session with producer 1.
async fn publisher(world: &World) -> Session {
    let mut client = world.session().await;
    client.open_producer(producer(TOPIC, 1)).await;
    client
}

async fn say_numbers(client: &mut Session, count: u64) {
    for number in 0..count {
        client.say(1, number, &number.to_string()).await;
    }
}

#[test]
fn a_flow_of_nothing_closes_the_connection() {
    everywhere(async |world| {
        for permits in [0, 1 << 31, u32::MAX] {
            let mut client = world.session().await;
            client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
            client.flow(1, permits).await.unwrap();
            client.await_close().await.unwrap();
            world.until_attached(TOPIC, 0, 0).await;
        }
        assert_eq!(world.count(|shard| &shard.malformed), 3);
    });
}

#[test]
fn permits_add_up() {
    everywhere(async |world| {
        let mut client = publisher(world).await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        for _ in 0..3 {
            client.flow(1, 2).await.unwrap();
        }
        say_numbers(&mut client, 10).await;
        assert_eq!(client.texts(6).await, ["0", "1", "2", "3", "4", "5"]);
        client.nothing_for(1).await;
    });
}

/// Permits count messages; a batch is never refused for being larger than what is left of them, but must be paid for.
#[test]
fn batches_take_permits_into_debt() {
    everywhere(async |world| {
        let mut client = publisher(world).await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        client.say_batch(1, 0, &["0", "1", "2", "3", "4"]).await;
        client.say(1, 5, "5").await;
        client.flow(1, 2).await.unwrap();
        assert_eq!(client.message().await.position().entry, 0);
        assert_eq!(client.stats(1).await.available_permits, Some(0), "3 in debt");
        client.flow(1, 3).await.unwrap();
        client.nothing_for(1).await;
        client.flow(1, 1).await.unwrap();
        assert_eq!(client.texts(1).await, ["5"]);
    });
}

#[test]
fn a_message_says_where_it_is() {
    everywhere(async |world| {
        world.partition(TOPIC, 3).await;
        let partition = format!("{TOPIC}-partition-2");
        let mut client = world.session().await;
        client.open_producer(producer(&partition, 1)).await;
        client
            .open_consumer(CommandSubscribe {
                consumer_epoch: Some(7),
                ..subscription(&partition, "s", SubType::Exclusive, 9)
            })
            .await;
        let position = client.say(1, 0, "x").await;
        let message = &client.take(9, 1).await[0];
        assert_eq!(message.position(), position);
        assert_eq!(message.command.consumer_id, 9);
        assert_eq!(message.command.message_id.partition, Some(2));
        assert_eq!(message.command.consumer_epoch, Some(7));
        assert_eq!(message.command.redelivery_count(), 0);
        assert!(message.command.ack_set.is_empty());
        // A topic without partitions says nothing of them.
        client.open_producer(producer(&format!("{TOPIC}-whole"), 2)).await;
        client.open_consumer(subscription(&format!("{TOPIC}-whole"), "s", SubType::Exclusive, 10)).await;
        client.say(2, 0, "x").await;
        let message = &client.take(10, 1).await[0];
        assert_eq!(message.command.message_id.partition(), -1);
        assert_eq!(message.command.consumer_epoch, None);
    });
}

#[test]
fn every_subscription_gets_everything() {
    everywhere(async |world| {
        let mut client = publisher(world).await;
        for id in 0..5 {
            client.open_consumer(subscription(TOPIC, &format!("s-{id}"), SubType::Shared, id)).await;
            client.flow(id, 100).await.unwrap();
        }
        say_numbers(&mut client, 20).await;
        let mut seen = BTreeMap::<_, Vec<_>>::new();
        for _ in 0..100 {
            let message = client.message().await;
            seen.entry(message.command.consumer_id).or_default().push(message.text().to_owned());
        }
        let all: Vec<_> = (0..20).map(|number| number.to_string()).collect();
        assert!(seen.len() == 5 && seen.values().all(|texts| *texts == all), "{seen:?}");
    });
}

#[test]
fn shared_consumers_share() {
    everywhere(async |world| {
        let mut client = publisher(world).await;
        let mut consumers = Vec::new();
        for id in 0..3 {
            let mut consumer = world.session().await;
            consumer.open_consumer(subscription(TOPIC, "s", SubType::Shared, id)).await;
            consumer.flow(id, 100).await.unwrap();
            consumer.settle(id).await;
            consumers.push(consumer);
        }
        say_numbers(&mut client, 90).await;
        let mut seen = BTreeSet::new();
        while seen.len() < 90 {
            for consumer in &mut consumers {
                for frame in consumer.arrived().await {
                    let position = frame.command.message.unwrap().message_id.entry_id;
                    assert!(seen.insert(position), "{position} came twice");
                }
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        for (consumer, id) in consumers.iter_mut().zip(0..) {
            assert!(consumer.stats(id).await.unacked_messages.unwrap() > 0, "consumer {id} got nothing");
        }
    });
}

/// Go `TestPriorityConsumer`: the lower level is served once nobody of the higher has permits.
#[test]
fn higher_priorities_are_served_first() {
    everywhere(async |world| {
        let mut client = publisher(world).await;
        let with = |id, level| CommandSubscribe {
            priority_level: Some(level),
            ..subscription(TOPIC, "s", SubType::Shared, id)
        };
        for (id, level) in [(1, 1), (2, 1), (3, 2)] {
            client.open_consumer(with(id, level)).await;
            client.flow(id, 5).await.unwrap();
        }
        let mut got = BTreeMap::<u64, usize>::new();
        for number in 0..10 {
            client.say(1, number, "x").await;
            *got.entry(client.message().await.command.consumer_id).or_default() += 1;
        }
        assert_eq!(got, BTreeMap::from([(1, 5), (2, 5)]));
        client.say(1, 10, "x").await;
        assert_eq!(client.message().await.command.consumer_id, 3);
    });
}

/// What a consumer that leaves has not acknowledged goes to those who stay, and counts as delivered before only where
/// somebody asked for it again.
#[test]
fn those_who_stay_get_what_leavers_had() {
    everywhere(async |world| {
        let mut client = publisher(world).await;
        say_numbers(&mut client, 4).await;
        let mut leaver = world.session().await;
        leaver.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
        assert_eq!(leaver.take(1, 4).await.len(), 4);
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
        client.flow(1, 10).await.unwrap();
        client.nothing_for(1).await;
        drop(leaver);
        for number in 0..4 {
            let message = client.message().await;
            assert_eq!((message.text(), message.command.redelivery_count()), (&*number.to_string(), 0));
        }
    });
}

/// A consumer with too much unacknowledged waits, and goes on when it has acknowledged half.
#[test]
fn unacknowledged_messages_are_bounded() {
    everywhere_with(&[("maxUnackedMessagesPerConsumer", "10")], async |world| {
        let mut client = publisher(world).await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
        say_numbers(&mut client, 30).await;
        client.flow(1, 100).await.unwrap();
        let mut ids = Vec::new();
        for _ in 0..10 {
            ids.push(client.message().await.id());
        }
        client.nothing_for(1).await;
        let stats = client.stats(1).await;
        assert_eq!((stats.unacked_messages, stats.blocked_consumer_on_unacked_msgs), (Some(10), Some(true)));
        client.acknowledge(1, &ids[..4]).await;
        client.nothing_for(1).await;
        client.acknowledge(1, &ids[4..6]).await;
        client.texts(6).await;
    });
}

async fn active_changes(client: &mut Session) -> Vec<(u64, bool)> {
    let frames = client.arrived().await.into_iter();
    frames
        .map(|frame| frame.command.active_consumer_change.expect("a change"))
        .map(|change| (change.consumer_id, change.is_active()))
        .collect()
}

/// apache/pulsar#19502: exactly one notification for every change.
#[test]
fn failover_consumers_are_told_once() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let join = |id| subscription(TOPIC, "s", SubType::Failover, id);
        client.open_consumer(join(1)).await;
        client.settle(1).await;
        assert_eq!(active_changes(&mut client).await, [(1, true)]);
        client.open_consumer(join(2)).await;
        client.settle(2).await;
        let changes = active_changes(&mut client).await;
        // Which of the two is chosen depends on a hash; one of them hears that it is not.
        let (active, passive) = if changes == [(2, false)] { (1, 2) } else { (2, 1) };
        if active == 2 {
            assert_eq!(BTreeSet::from_iter(changes.iter().copied()), BTreeSet::from([(1, false), (2, true)]));
            assert_eq!(changes.len(), 2);
        }
        client.close_consumer(passive).await.unwrap();
        client.open_consumer(join(passive)).await;
        client.settle(passive).await;
        assert_eq!(active_changes(&mut client).await, [(passive, false)]);
        client.close_consumer(active).await.unwrap();
        client.settle(passive).await;
        assert_eq!(active_changes(&mut client).await, [(passive, true)]);
    });
}

#[test]
fn the_next_failover_consumer_goes_on_in_order() {
    everywhere_with(&[("activeConsumerFailoverDelayTimeMillis", "0")], async |world| {
        let mut client = publisher(world).await;
        let mut first = world.session().await;
        first.open_consumer(subscription(TOPIC, "s", SubType::Failover, 1)).await;
        let low = CommandSubscribe { priority_level: Some(1), ..subscription(TOPIC, "s", SubType::Failover, 2) };
        client.open_consumer(low).await;
        client.flow(2, 100).await.unwrap();
        say_numbers(&mut client, 6).await;
        let messages = first.take(1, 4).await;
        first.acknowledge(1, &[messages[0].id(), messages[2].id()]).await;
        client.nothing_for_but(2, Type::ActiveConsumerChange).await;
        drop(first);
        assert_eq!(client.texts(4).await, ["1", "3", "4", "5"]);
    });
}

/// Exclusive consumers are not told: some clients close the connection on what they do not expect.
#[test]
fn exclusive_consumers_are_not_told_that_they_are_active() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        client.nothing_for(1).await;
    });
}

fn keyed(consumer_id: u64) -> CommandSubscribe {
    let meta = KeySharedMeta { key_shared_mode: KeySharedMode::AutoSplit.into(), ..Default::default() };
    CommandSubscribe { key_shared_meta: Some(meta), ..subscription(TOPIC, "s", SubType::KeyShared, consumer_id) }
}

fn sticky(consumer_id: u64, ranges: &[(i32, i32)]) -> CommandSubscribe {
    let meta = KeySharedMeta {
        key_shared_mode: KeySharedMode::Sticky.into(),
        hash_ranges: ranges.iter().map(|&(start, end)| IntRange { start, end }).collect(),
        ..Default::default()
    };
    CommandSubscribe { key_shared_meta: Some(meta), ..keyed(consumer_id) }
}

#[test]
fn a_key_goes_to_one_consumer_in_order() {
    for consistent in ["true", "false"] {
        everywhere_with(&[("subscriptionKeySharedUseConsistentHashing", consistent)], async |world| {
            let mut client = publisher(world).await;
            for id in 1..=3 {
                client.open_consumer(keyed(id)).await;
                client.flow(id, 1_000).await.unwrap();
            }
            for number in 0..200 {
                let message = Outgoing::new("it", number, number.to_string()).key(&format!("key-{}", number % 20));
                client.publish_and_wait(1, number, &message.payload()).await.unwrap();
            }
            let mut owners = BTreeMap::new();
            let mut last = BTreeMap::new();
            for _ in 0..200 {
                let message = client.message().await;
                let number: u64 = message.text().parse().unwrap();
                let owner = message.command.consumer_id;
                assert_eq!(*owners.entry(number % 20).or_insert(owner), owner, "key {}", number % 20);
                assert!(last.insert(number % 20, number).is_none_or(|last| last < number));
            }
            assert_eq!(owners.values().collect::<BTreeSet<_>>().len(), 3, "everybody gets something");
        });
    }
}

#[test]
fn sticky_ranges_are_checked() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for (ranges, text) in [
            (&[][..], "Ranges for KeyShared policy must not be empty."),
            (&[(5, 3)], "Fixed hash range start > end for range: [5,3]"),
            (&[(0, 10), (10, 20)], "Consumer's own ranges conflict: [0,10] overlaps with [10,20]"),
            (&[(0, 65_536)], ""),
            (&[(-1, 3)], ""),
        ] {
            let (code, why) = client.refused_consumer(sticky(1, ranges)).await;
            assert_eq!(code, ServerError::ConsumerAssignError, "{ranges:?}");
            assert!(why.contains(text), "{why}");
        }
        client.open_consumer(sticky(1, &[(0, 100)])).await;
        let (code, why) = client.refused_consumer(sticky(2, &[(100, 200)])).await;
        assert_eq!(code, ServerError::ConsumerAssignError);
        assert!(why.contains("Range conflict with consumer Consumer{"), "{why}");
        let (code, why) = client.refused_consumer(keyed(2)).await;
        assert_eq!(code, ServerError::ConsumerBusy);
        assert!(why.contains("key_shared mode"), "{why}");
        client.open_consumer(sticky(2, &[(101, 65_535)])).await;
    });
}

/// A client without key-shared metadata is as good as one that asks for what is the default.
#[test]
fn key_shared_without_metadata_is_split_automatically() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_consumer(subscription(TOPIC, "s", SubType::KeyShared, 1)).await;
        client.open_consumer(keyed(2)).await;
    });
}

#[test]
fn non_persistent_messages_reach_those_with_permits() {
    everywhere(async |world| {
        let topic = "non-persistent://public/default/passing";
        let mut client = world.session().await;
        client.open_producer(producer(topic, 1)).await;
        for id in 1..=2 {
            client.open_consumer(subscription(topic, &format!("s-{id}"), SubType::Shared, id)).await;
        }
        client.flow(1, 3).await.unwrap();
        client.settle(1).await;
        for number in 0..5 {
            client.say(1, number, &number.to_string()).await;
        }
        client.settle(1).await;
        let frames = client.arrived().await;
        assert_eq!(frames.len(), 3, "what has no permit is dropped");
        assert!(frames.iter().all(|frame| frame.command.message.as_ref().unwrap().consumer_id == 1));
    });
}

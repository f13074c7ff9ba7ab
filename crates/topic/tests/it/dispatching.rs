//! Who gets what, and when.

use std::collections::BTreeMap;
use std::time::Duration;

use plerion_subscription::Position;
use plerion_subscription::dispatcher::Kind;
use plerion_topic::{NewConsumer, Outstanding};
use plerion_wire::proto::base_command::Type;

use crate::consuming::{filled, numbers, positions};
use crate::message::{Outgoing, ack, ack_up_to, redeliver};
use crate::recorder::{Delivered, Said};
use crate::world::{START, World, connection, consumer, on_shard, settle};

#[test]
fn too_many_unacknowledged_messages_block_until_half_of_them_is() {
    on_shard(async {
        let world = World::with(|settings| settings.subscriptions.max_unacked_per_consumer = Some(10)).await;
        let topic = filled(&world, 30).await;
        let one = world.consumer(&topic, Kind::Shared, 1, 100).await;
        let first = world.clients.messages();
        assert_eq!(first.len(), 10);
        assert!(one.figures().unwrap().blocked);
        ack(&one, positions(&first[..4]));
        settle().await;
        assert_eq!(world.clients.messages(), [], "six of ten are too many");
        ack(&one, positions(&first[4..5]));
        settle().await;
        assert_eq!(world.clients.messages().len(), 5);
        redeliver(&one, positions(&first[5..]), None);
        settle().await;
        assert!(!world.clients.messages().is_empty(), "what is given back makes room too");
    });
}

#[test]
fn a_connection_that_takes_no_more_holds_nobody_else_up() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 10).await;
        let one = topic.subscribe(consumer(1, "one", Kind::Exclusive)).await.unwrap();
        one.flow(1);
        settle().await;
        assert!(!one.client.outstanding.add(Outstanding::FULL));
        one.flow(100);
        settle().await;
        assert_eq!(world.clients.bodies(), numbers([0]));
        let two = topic.subscribe(consumer(2, "two", Kind::Exclusive)).await.unwrap();
        two.flow(100);
        settle().await;
        assert_eq!(world.clients.bodies().len(), 10);
        assert!(one.client.outstanding.sub(Outstanding::FULL), "somebody waits to be told");
        one.writable(true);
        settle().await;
        assert_eq!(world.clients.bodies(), numbers(1..10));
    });
}

#[test]
fn a_client_may_ask_for_more_while_it_is_given_something() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 10).await;
        for kind in [Kind::Exclusive, Kind::Shared] {
            let greedy = topic.subscribe(consumer(1, &format!("{kind:?}"), kind)).await.unwrap();
            world.clients.greedy.replace(Some(greedy.clone()));
            greedy.flow(1);
            settle().await;
            assert_eq!(world.clients.bodies(), numbers(0..10), "{kind:?}");
        }
        world.clients.greedy.take();
    });
}

#[test]
fn markers_are_never_delivered_and_hold_nothing_up() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        for sequence in 0..6 {
            world.send(&a, &Outgoing { is_marker: sequence % 2 == 0, ..Outgoing::new(sequence) });
        }
        settle().await;
        for kind in [Kind::Exclusive, Kind::Shared] {
            let one = topic.subscribe(consumer(1, &format!("{kind:?}"), kind)).await.unwrap();
            one.flow(100);
            settle().await;
            let messages = world.clients.messages();
            assert_eq!(messages.iter().map(|message| &*message.body).collect::<Vec<_>>(), ["1", "3", "5"]);
            assert_eq!(one.figures().unwrap().permits, 97, "markers cost no permits");
            ack(&one, positions(&messages));
            assert_eq!(topic.subscription(&format!("{kind:?}")).unwrap().backlog(), 0);
        }
    });
}

#[test]
fn lost_entries_are_passed_over_once() {
    for skip_unreadable in [false, true] {
        on_shard(async {
            let mut world = World::new().await;
            world.config.skip_unreadable = skip_unreadable;
            world.crash(0).await;
            let topic = filled(&world, 10).await;
            let one = topic.subscribe(consumer(9, "all", Kind::Shared)).await.unwrap();
            one.flow(100);
            settle().await;
            let all = world.clients.messages();
            for lost in [0, 4, 5, 9] {
                let Position { ledger, entry } = all[lost].position;
                world.ledgers.corrupt(plerion_ledger::LedgerId(ledger as u64), entry as u64);
            }
            let read = [1, 2, 3, 6, 7, 8].map(|number| number.to_string());
            for kind in [Kind::Exclusive, Kind::Shared, Kind::KeyShared] {
                let new = topic.subscribe(consumer(1, &format!("{kind:?}"), kind)).await.unwrap();
                new.flow(100);
                settle().await;
                assert_eq!(world.clients.bodies(), read, "{kind:?}, skipping: {skip_unreadable}");
                assert_eq!(topic.subscription(&format!("{kind:?}")).unwrap().backlog(), 10, "it stays in the backlog");
            }
            // What was given out before and is asked for again is lost as well.
            redeliver(&one, positions(&all), None);
            settle().await;
            assert_eq!(world.clients.bodies(), read);
        });
    }
}

#[test]
fn keys_keep_their_order_when_a_consumer_joins() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        let one = world.consumer(&topic, Kind::KeyShared, 1, 1_000).await;
        let send = async |numbers: std::ops::Range<u64>| {
            for number in numbers {
                world.send(&a, &Outgoing { key: Some(format!("k{}", number % 10)), ..Outgoing::new(number) });
            }
            settle().await;
        };
        send(0..50).await;
        let first = world.clients.messages();
        assert_eq!(first.len(), 50);
        world.consumer(&topic, Kind::KeyShared, 2, 1_000).await;
        send(50..100).await;
        let meanwhile = world.clients.messages();
        let new_to_two: Vec<_> = meanwhile.iter().filter(|message| message.consumer == 2).collect();
        assert_eq!(new_to_two, Vec::<&Delivered>::new(), "the keys it takes over are still being worked on");
        assert!(!meanwhile.is_empty(), "keys that stay go on");
        ack(&one, positions(&first));
        settle().await;
        let later = world.clients.messages();
        assert_eq!(meanwhile.len() + later.len(), 50, "all of them in the end");
        assert!(later.iter().all(|message| message.consumer == 2));
        let mut by_key: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for message in meanwhile.iter().chain(&later) {
            let number: u64 = message.body.parse().unwrap();
            by_key.entry(number % 10).or_default().push(number);
        }
        assert!(by_key.values().all(|numbers| numbers.is_sorted() && numbers.len() == 5), "{by_key:?}");
    });
}

#[test]
fn delayed_messages_come_when_they_are_due_and_not_twice_after_a_restart() {
    on_shard(async {
        let mut world = World::with(|settings| settings.subscriptions.delayed_delivery_strict = true).await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        let one = world.consumer(&topic, Kind::Shared, 1, 100).await;
        for (number, delay) in [(0, 3_000), (1, 1_000), (2, 0), (3, 2_000)] {
            world.send(&a, &Outgoing { deliver_at: Some(START + delay), ..Outgoing::new(number) });
            settle().await;
        }
        assert_eq!(world.clients.bodies(), ["2"]);
        world.pass(Duration::from_millis(999)).await;
        assert_eq!(world.clients.bodies(), Vec::<String>::new());
        world.pass(Duration::from_millis(1)).await;
        let due = world.clients.messages();
        assert_eq!(due.iter().map(|message| (&*message.body, message.redeliveries)).collect::<Vec<_>>(), [("1", 0)]);
        // apache/pulsar#20099
        ack(&one, [due[0].position]);
        world.pass(Duration::from_millis(100)).await;
        world.crash(0).await;
        let topic = world.open().await;
        world.consumer(&topic, Kind::Shared, 1, 100).await;
        assert_eq!(world.clients.bodies(), ["2"]);
        world.pass(Duration::from_millis(900)).await;
        assert_eq!(world.clients.bodies(), ["3"]);
        world.pass(Duration::from_millis(1_000)).await;
        assert_eq!(world.clients.bodies(), ["0"]);
    });
}

#[test]
fn the_next_failover_consumer_takes_over_as_soon_as_the_last_one_is_done() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 6).await;
        let active = |clients: &crate::recorder::Recorder| -> Vec<_> {
            let changes = clients.commands(Type::ActiveConsumerChange).into_iter();
            changes
                .map(|(_, change)| change.active_consumer_change.unwrap())
                .map(|c| (c.consumer_id, c.is_active()))
                .collect()
        };
        let join = async |id, priority| {
            let new = NewConsumer { priority, ..consumer(id, "s", Kind::Failover) };
            let consumer = topic.subscribe(new).await.unwrap();
            let to_it = |said: &Said| matches!(said, Said::Command { to, .. } if *to == connection(id));
            assert!(!world.clients.said().iter().any(to_it), "nothing before the answer to SUBSCRIBE");
            consumer.answered();
            consumer.flow(3);
            settle().await;
            consumer
        };
        let one = join(1, 1).await;
        assert_eq!(active(&world.clients), [(1, true)]);
        let first = world.clients.messages();
        assert_eq!(first.len(), 3);
        join(2, 0).await;
        assert_eq!(active(&world.clients), [(1, false), (2, true)]);
        assert_eq!(world.clients.messages(), [], "the last one may still acknowledge what it has");
        ack_up_to(&one, first[2].position);
        settle().await;
        let next = world.clients.messages();
        assert_eq!(
            next.iter().map(|message| (message.consumer, &*message.body)).collect::<Vec<_>>(),
            [(2, "3"), (2, "4"), (2, "5")]
        );
    });
}

//! Key_Shared: owners, order, draining, look-ahead.

use super::super::*;
use super::world::{World, at, consumer, entries, key, of, settings};

/// A key whose owner among the consumers present is `owner`.
fn key_of(world: &World, owner: u64) -> String {
    let name = (0..).map(|number| format!("key-{number}")).find(|name| {
        let hash = u32::from(crate::sticky::range_hash(crate::murmur3_32(name.as_bytes()), 65536));
        let ranges = world.dispatcher.key_ranges();
        ranges.iter().any(|(other, range)| other.0 == owner && (range.start..=range.end).contains(&hash))
    });
    name.expect("some key belongs to each")
}

#[test]
fn a_key_goes_to_its_owner() {
    let mut world = World::with(Kind::KeyShared, 0, 3);
    (1..=3).for_each(|number| world.flow(number, 1000));
    for number in 0..60 {
        world.append_key(&format!("key-{}", number % 20));
    }
    let got = world.pump();
    assert_eq!(got.len(), 60);
    for number in 1..=3 {
        let own = of(&got, number);
        assert!(!own.is_empty());
        assert!(own.iter().all(|entry| own.contains(&(entry % 20))), "a key has two consumers");
    }
}

#[test]
fn a_blocked_key_does_not_stop_others() {
    let mut world = World::with(Kind::KeyShared, 0, 2);
    let (first, second) = (key_of(&world, 1), key_of(&world, 2));
    world.flow(1, 1);
    world.flow(2, 100);
    for name in [&first, &first, &second, &first, &second] {
        world.append_key(name);
    }
    let got = world.pump();
    assert_eq!((of(&got, 1), of(&got, 2)), (vec![0], vec![2, 4]));
    world.flow(1, 1);
    assert_eq!(of(&world.pump(), 1), [1]);
    world.flow(1, 9);
    assert_eq!(of(&world.pump(), 1), [3]);
}

#[test]
fn bug_pulsar_10284_keys_of_a_consumer_without_permits_come_first_when_it_flows() {
    let mut world = World::with(Kind::KeyShared, 0, 2);
    let (first, second) = (key_of(&world, 1), key_of(&world, 2));
    (0..50).for_each(|_| _ = world.append_key(&second));
    let free = world.append_key(&first);
    world.flow(1, 1000);
    assert_eq!(world.pump(), [(free, 1, 0)]);
    world.append_key(&second);
    world.flow(2, 3);
    assert_eq!(of(&world.pump(), 2), [0, 1, 2]);
    world.flow(2, 1000);
    assert_eq!(of(&world.pump(), 2).len(), 48);
}

#[test]
fn a_moved_key_drains_before_its_new_owner_gets_it() {
    let mut world = World::with(Kind::KeyShared, 0, 1);
    (0..40).for_each(|number| _ = world.append_key(&format!("key-{}", number % 8)));
    world.flow(1, 8);
    world.pump();
    world.join(consumer(2, Kind::KeyShared));
    world.dispatcher.check_invariants().unwrap();
    let moved: Vec<_> = (0..8).filter(|number| key_of(&world, 2).is_empty() || owner(&world, *number) == 2).collect();
    assert!(!moved.is_empty() && moved.len() < 8);
    assert_eq!(world.dispatcher.draining_hashes().len(), moved.len());
    world.flow(1, 1000);
    world.flow(2, 1000);
    let got = world.pump();
    assert_eq!(of(&got, 2), Vec::<i64>::new());
    assert_eq!(got.len(), (8 - moved.len()) * 4);
    assert!(world.ack(&[at(moved[0])]), "the last one frees the key");
    assert_eq!(of(&world.pump(), 2), (1..5).map(|round| moved[0] + 8 * round).collect::<Vec<_>>());
}

fn owner(world: &World, number: i64) -> u64 {
    let hash = u32::from(crate::sticky::range_hash(crate::murmur3_32(format!("key-{number}").as_bytes()), 65536));
    let ranges = world.dispatcher.key_ranges();
    ranges.iter().find(|(_, range)| (range.start..=range.end).contains(&hash)).map_or(0, |(owner, _)| owner.0)
}

#[test]
fn bug_pulsar_8115_a_consumer_that_drops_out_and_rejoins_stalls_nobody() {
    let mut world = World::with(Kind::KeyShared, 0, 12);
    (1..=12).for_each(|number| world.flow(number, 1000));
    (0..200).for_each(|number| _ = world.append_key(&format!("key-{}", number % 50)));
    let got = world.pump();
    let held: Vec<_> = of(&got, 5);
    assert!(!held.is_empty());
    world.leave(5);
    world.join(consumer(105, Kind::KeyShared));
    world.flow(105, 1000);
    world.dispatcher.check_invariants().unwrap();
    let mut again = entries(&world.pump());
    (200..400).for_each(|number| _ = world.append_key(&format!("key-{}", number % 50)));
    let mut acked = Vec::new();
    while acked.len() < 400 {
        let all: Vec<_> = (0..400).map(at).filter(|p| world.dispatcher.holder(*p).is_some()).collect();
        assert!(!all.is_empty(), "stalled after {} entries", acked.len());
        world.ack(&all);
        acked.extend(all);
        world.pump();
    }
    again.sort_unstable();
    assert_eq!(again, held);
}

#[test]
fn bug_pulsar_21199_a_poison_message_blocks_its_own_key_only() {
    let mut world = World::with(Kind::KeyShared, 0, 2);
    let (poison, healthy) = (key_of(&world, 1), key_of(&world, 2));
    let bad = world.append_key(&poison);
    (0..20).for_each(|number| _ = world.append_key(if number % 2 == 0 { &healthy } else { &poison }));
    let mut successor = 2;
    for round in 0..6 {
        for number in world.dispatcher.consumers().map(|stats| stats.key.0).collect::<Vec<_>>() {
            world.flow(number, 1000);
        }
        world.pump();
        let holder = world.dispatcher.holder(bad).expect("delivered").0;
        let good: Vec<_> = (1..=20).step_by(2).map(at).filter(|p| world.dispatcher.holder(*p).is_some()).collect();
        world.ack(&good);
        world.redeliver(holder, &[bad]);
        world.leave(holder);
        successor += 1;
        world.join(consumer(successor, Kind::KeyShared));
        world.dispatcher.check_invariants().unwrap();
        assert!(world.dispatcher.redelivery_count(bad) == round + 1);
    }
    (1..=20).step_by(2).for_each(|entry| assert!(world.cursor.is_acked(at(entry)), "entry {entry} never arrived"));
}

#[test]
fn bug_pulsar_14014_keys_without_owner_wait_for_one() {
    let sticky = |number, range| Consumer {
        key_shared: Some(KeyShared { ranges: Some(vec![range]), allow_out_of_order: false }),
        ..consumer(number, Kind::KeyShared)
    };
    let mut world = World::with(Kind::KeyShared, 0, 0);
    world.join(sticky(1, (0, 32767)));
    world.join(sticky(2, (32768, 65535)));
    let (low, high) = (key_of(&world, 1), key_of(&world, 2));
    for name in [&low, &high, &low] {
        world.append_key(name);
    }
    world.flow(1, 9);
    world.flow(2, 9);
    let read = world.next_read().unwrap();
    let facts = world.read(read.plan());
    world.leave(1);
    assert_eq!(world.offer(read, &facts).unwrap(), [(at(1), 2, 0)]);
    assert_eq!(world.pump(), []);
    world.join(sticky(3, (0, 32767)));
    world.flow(3, 9);
    assert_eq!(world.pump(), [(at(0), 3, 0), (at(2), 3, 0)]);
}

#[test]
fn reading_ahead_is_bounded_and_goes_on_when_room_is_made() {
    let mut world = World::new(Kind::KeyShared, Settings { look_ahead_per_consumer: 10, ..settings() });
    world.join(consumer(1, Kind::KeyShared));
    world.join(consumer(2, Kind::KeyShared));
    let (first, second) = (key_of(&world, 1), key_of(&world, 2));
    (0..50).for_each(|_| _ = world.append_key(&first));
    world.append_key(&second);
    world.flow(2, 100);
    assert_eq!(world.pump(), []);
    assert_eq!(world.dispatcher.replay_len(), 20);
    world.flow(1, 40);
    let got = world.pump();
    assert_eq!((of(&got, 1), of(&got, 2)), ((0..40).collect(), vec![50]));
}

#[test]
fn out_of_order_consumers_need_not_wait_for_a_key_to_drain() {
    let any_order = |number| Consumer {
        key_shared: Some(KeyShared { ranges: None, allow_out_of_order: true }),
        ..consumer(number, Kind::KeyShared)
    };
    let mut world = World::with(Kind::KeyShared, 0, 0);
    world.join(any_order(1));
    world.flow(1, 8);
    (0..40).for_each(|number| _ = world.append_key(&format!("key-{}", number % 8)));
    world.pump();
    world.join(any_order(2));
    world.flow(1, 1000);
    world.flow(2, 1000);
    assert_eq!(world.pump().len(), 32);
    assert!(world.dispatcher.draining_hashes().is_empty());
}

#[test]
fn what_is_acknowledged_while_it_waits_holds_nothing_back() {
    let mut world = World::with(Kind::KeyShared, 0, 1);
    (0..4).for_each(|_| _ = world.append_key("a"));
    world.flow(1, 4);
    world.pump();
    world.dispatcher.redeliver(key(1), None, None);
    assert!(world.ack(&[at(0)]), "later ones of the key may be readable");
    world.cursor.ack(at(1), &world.log);
    world.flow(1, 4);
    assert_eq!(of(&world.pump(), 1), [2, 3]);
    assert_eq!(world.dispatcher.replay_len(), 0);
}

#[test]
fn waiting_entries_of_one_key_are_read_together() {
    let mut world = World::with(Kind::KeyShared, 0, 1);
    (0..50).for_each(|_| _ = world.append_key("a"));
    world.flow(1, 50);
    world.pump();
    world.dispatcher.redeliver(key(1), None, None);
    world.flow(1, 50);
    assert_eq!(world.next_read().unwrap().plan(), &Plan::Replay((0..50).map(at).collect()));
}

#[test]
fn a_redelivered_entry_goes_before_later_ones_of_its_key() {
    let mut world = World::with(Kind::KeyShared, 0, 1);
    (0..3).for_each(|_| _ = world.append_key("a"));
    world.flow(1, 2);
    world.pump();
    let read = {
        world.flow(1, 9);
        world.next_read().unwrap()
    };
    let facts = world.read(read.plan());
    world.redeliver(1, &[at(0), at(1)]);
    assert_eq!(world.offer(read, &facts).unwrap(), []);
    assert_eq!(world.pump(), [(at(0), 1, 1), (at(1), 1, 1), (at(2), 1, 0)]);
    assert_eq!(world.dispatcher.holder(at(2)), Some(key(1)));
}

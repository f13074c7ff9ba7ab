//! Shared: permits, turns, priorities, limits, redelivery.

use super::super::*;
use super::world::{World, at, consumer, entries, key, of, settings};

#[test]
fn nothing_without_permits_then_exactly_as_many_as_permitted() {
    let mut world = World::with(Kind::Shared, 10, 1);
    assert_eq!(world.pump(), []);
    world.flow(1, 4);
    assert_eq!(entries(&world.pump()), [0, 1, 2, 3]);
    assert_eq!((world.stats(1).permits, world.stats(1).unacked), (0, 4));
    world.flow(1, 100);
    assert_eq!(entries(&world.pump()), [4, 5, 6, 7, 8, 9]);
}

#[test]
fn permits_count_messages_left_of_a_batch_and_may_go_negative_once() {
    let mut world = World::with(Kind::Shared, 0, 1);
    let batch = world.append(|facts| facts.messages = 10);
    let other = world.append(|facts| facts.messages = 10);
    world.cursor.ack_batch(batch, &[0b11_1111], 10, &world.log);
    world.flow(1, 1);
    assert_eq!(entries(&world.pump()), [0]);
    assert_eq!((world.stats(1).permits, world.stats(1).unacked), (-5, 6));
    world.flow(1, 5);
    assert_eq!(world.pump(), []);
    world.flow(1, 1);
    assert_eq!(world.pump(), [(other, 1, 0)]);
    assert_eq!(world.stats(1).permits, -9);
}

#[test]
fn consumers_take_turns() {
    let mut world = World::with(Kind::Shared, 100, 2);
    world.flow(1, 1000);
    world.flow(2, 1000);
    let got = world.pump();
    assert_eq!((of(&got, 1).len(), of(&got, 2).len()), (60, 40));
    assert_eq!(of(&got, 2)[..20], (20..40).collect::<Vec<_>>());
}

#[test]
fn one_message_at_a_time_goes_round() {
    let mut world = World::with(Kind::Shared, 0, 3);
    (1..=3).for_each(|number| world.flow(number, 10));
    let takers: Vec<_> = (0..6)
        .flat_map(|_| {
            world.log.append();
            world.pump()
        })
        .map(|(_, taker, _)| taker)
        .collect();
    assert_eq!(takers, [1, 2, 3, 1, 2, 3]);
}

#[test]
fn lower_priority_levels_get_what_higher_ones_cannot_take() {
    let mut world = World::with(Kind::Shared, 20, 0);
    for (number, priority) in [(3, 2), (1, 1), (2, 1)] {
        world.join(Consumer { priority, ..consumer(number, Kind::Shared) });
        world.flow(number, 5);
    }
    let got = world.pump();
    assert_eq!(of(&got, 3), [10, 11, 12, 13, 14]);
    world.flow(2, 1);
    world.flow(3, 1);
    assert_eq!(of(&world.pump(), 2), [15]);
}

#[test]
fn a_connection_that_is_full_gets_nothing() {
    let mut world = World::with(Kind::Shared, 4, 2);
    world.flow(1, 10);
    world.flow(2, 10);
    world.dispatcher.set_writable(key(1), false);
    assert_eq!(of(&world.pump(), 2), [0, 1, 2, 3]);
    world.log.append();
    world.dispatcher.set_writable(key(2), false);
    assert_eq!(world.pump(), []);
    world.dispatcher.set_writable(key(1), true);
    assert_eq!(of(&world.pump(), 1), [4]);
}

#[test]
fn redelivery_counts_what_clients_ask_for_and_comes_before_new_entries() {
    let mut world = World::with(Kind::Shared, 3, 1);
    world.flow(1, 2);
    world.pump();
    assert!(world.redeliver(1, &[at(1), at(0), at(2), at(77)]));
    assert_eq!(world.stats(1).unacked, 0);
    world.flow(1, 3);
    assert_eq!(world.pump(), [(at(0), 1, 1), (at(1), 1, 1), (at(2), 1, 0)]);
    assert!(world.dispatcher.redeliver(key(1), None, None));
    world.flow(1, 3);
    assert_eq!(world.pump(), [(at(0), 1, 2), (at(1), 1, 2), (at(2), 1, 1)]);
    assert_eq!(world.dispatcher.redelivery_count(at(0)), 2);
    world.ack(&[at(0)]);
    assert_eq!(world.dispatcher.redelivery_count(at(0)), 0);
}

#[test]
fn only_the_holder_can_ask_for_an_entry_again() {
    let mut world = World::with(Kind::Shared, 2, 2);
    world.flow(1, 1);
    world.pump();
    assert!(!world.redeliver(2, &[at(0)]));
    assert_eq!(world.dispatcher.holder(at(0)), Some(key(1)));
}

#[test]
fn a_leaver_hands_over_without_counting_the_last_one_resets_all() {
    let mut world = World::with(Kind::Shared, 3, 2);
    world.flow(1, 3);
    world.pump();
    world.redeliver(1, &[at(0)]);
    world.flow(1, 1);
    assert_eq!(world.pump(), [(at(0), 1, 1)]);
    world.leave(1);
    world.flow(2, 9);
    assert_eq!(world.pump(), [(at(0), 2, 1), (at(1), 2, 0), (at(2), 2, 0)]);
    world.leave(2);
    assert_eq!(world.dispatcher.unacked(), 0);
    world.join(consumer(3, Kind::Shared));
    world.flow(3, 9);
    assert_eq!(world.pump(), [(at(0), 3, 0), (at(1), 3, 0), (at(2), 3, 0)]);
}

#[test]
fn bug_pulsar_759_an_ack_by_another_consumer_counts_for_the_holder() {
    let mut world = World::with(Kind::Shared, 2, 2);
    world.flow(1, 1);
    world.flow(2, 1);
    world.pump();
    world.ack(&[at(0), at(1), at(1), at(0)]);
    assert_eq!((world.stats(1).unacked, world.stats(2).unacked, world.dispatcher.unacked()), (0, 0, 0));
}

#[test]
fn bug_client_go_1180_a_new_session_starts_without_permits() {
    let mut world = World::with(Kind::Shared, 5, 1);
    world.flow(1, 5);
    world.leave(1);
    assert!(!world.dispatcher.flow(key(1), 5), "a late flow of the old session is void");
    world.join(consumer(2, Kind::Shared));
    assert_eq!((world.stats(2).permits, world.pump()), (0, vec![]));
    world.flow(2, 2);
    assert_eq!(of(&world.pump(), 2), [0, 1]);
}

#[test]
fn a_consumer_with_too_many_unacknowledged_messages_is_blocked_until_half() {
    let mut world = World::new(Kind::Shared, Settings { max_unacked_per_consumer: 4, ..settings() });
    (0..10).for_each(|_| _ = world.log.append());
    world.join(consumer(1, Kind::Shared));
    world.flow(1, 100);
    assert_eq!(entries(&world.pump()), [0, 1, 2, 3]);
    assert!(world.stats(1).blocked);
    assert!(!world.ack(&[at(0)]));
    assert_eq!(world.pump(), []);
    assert!(world.ack(&[at(1)]));
    assert_eq!(entries(&world.pump()), [4, 5]);
    assert!(world.stats(1).blocked);
    world.redeliver(1, &[at(4), at(5)]);
    assert_eq!(entries(&world.pump()), [4, 5]);
}

#[test]
fn a_subscription_with_too_many_unacknowledged_messages_is_blocked_until_half() {
    let mut world = World::new(Kind::Shared, Settings { max_unacked_per_subscription: 4, ..settings() });
    (0..10).for_each(|_| _ = world.log.append());
    for number in 1..=2 {
        world.join(consumer(number, Kind::Shared));
        world.flow(number, 2);
    }
    assert_eq!(world.pump().len(), 4);
    (1..=2).for_each(|number| world.flow(number, 100));
    assert!(world.dispatcher.is_blocked());
    assert!(!world.ack(&[at(0)]));
    assert_eq!(world.pump(), []);
    assert!(world.ack(&[at(1)]));
    assert_eq!(world.pump().len(), 2);
    world.dispatcher.set_settings(settings());
    assert_eq!(world.pump().len(), 4);
}

#[test]
fn a_partly_acknowledged_batch_counts_with_what_is_left() {
    let mut world = World::with(Kind::Shared, 0, 1);
    let batch = world.append(|facts| facts.messages = 10);
    world.flow(1, 10);
    world.pump();
    world.cursor.ack_batch(batch, &[0b111], 10, &world.log);
    world.dispatcher.acked(batch, 3);
    assert_eq!((world.stats(1).unacked, world.dispatcher.unacked()), (3, 3));
    world.dispatcher.check_invariants().unwrap();
}

#[test]
fn acknowledged_and_trimmed_entries_are_not_delivered_again() {
    let mut world = World::with(Kind::Shared, 4, 2);
    world.flow(1, 4);
    world.pump();
    world.cursor.ack(at(1), &world.log);
    world.dispatcher.prune(&world.cursor);
    assert_eq!(world.stats(1).unacked, 3);
    world.leave(1);
    world.ack(&[at(0)]);
    world.cursor.ack(at(2), &world.log);
    world.flow(2, 4);
    assert_eq!(of(&world.pump(), 2), [3]);
    assert_eq!(world.dispatcher.replay_len(), 0);
}

#[test]
fn non_persistent_entries_go_to_whoever_can_take_them() {
    let mut world = World::with(Kind::Shared, 0, 2);
    world.flow(1, 1);
    world.flow(2, 2);
    let facts = world.facts(at(0));
    let takers: Vec<_> = (0..4).map(|_| world.dispatcher.push(&facts).map(|taker| taker.0)).collect();
    assert_eq!(takers, [Some(1), Some(2), Some(2), None]);
    assert_eq!(world.dispatcher.unacked(), 0);
}

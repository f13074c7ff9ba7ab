//! Failover: who is active, who is told, what is delivered again.

use super::super::*;
use super::world::{World, at, consumer, entries, key, of, settings};

/// Partition 0: the first of the best priority by name is active.
fn partition() -> World {
    World::new(Kind::Failover, Settings { partition: Some(0), ..settings() })
}

fn told(consumer: u64, is_active: bool) -> Event {
    Event::ActiveChanged { consumer: key(consumer), is_active }
}

#[test]
fn every_consumer_is_told_its_status_once() {
    let mut world = partition();
    assert_eq!(world.join(consumer(1, Kind::Failover)), [told(1, true)]);
    assert_eq!(world.join(consumer(2, Kind::Failover)), [told(2, false)]);
    assert_eq!(world.join(consumer(3, Kind::Failover)), [told(3, false)]);
    assert_eq!(world.leave(3), []);
    assert_eq!(world.leave(1), [told(2, true)]);
    assert_eq!(world.leave(2), []);
}

#[test]
fn a_newcomer_may_take_over_at_once() {
    let mut world = partition();
    world.join(consumer(5, Kind::Failover));
    let mut events = world.join(consumer(4, Kind::Failover));
    events.sort_by_key(|event| match event {
        Event::ActiveChanged { consumer, .. } => *consumer,
    });
    assert_eq!(events, [told(4, true), told(5, false)]);
    assert_eq!(world.join(Consumer { priority: -1, ..consumer(9, Kind::Failover) }).len(), 2);
    assert_eq!(world.dispatcher.active_consumer(), Some(key(9)));
}

#[test]
fn exclusive_consumers_are_told_nothing() {
    let mut world = World::with(Kind::Exclusive, 0, 0);
    assert_eq!(world.join(consumer(1, Kind::Exclusive)), []);
    assert_eq!(world.leave(1), []);
}

#[test]
fn the_next_active_consumer_gets_what_the_leaver_had() {
    let mut world = partition();
    (0..6).for_each(|_| _ = world.log.append());
    world.join(consumer(1, Kind::Failover));
    world.join(consumer(2, Kind::Failover));
    world.flow(1, 4);
    world.flow(2, 9);
    assert_eq!(of(&world.pump(), 1), [0, 1, 2, 3]);
    world.cursor.ack_cumulative(at(0), &world.log);
    world.cursor.ack(at(2), &world.log);
    world.leave(1);
    assert_eq!(world.pump(), [(at(1), 2, 0), (at(3), 2, 0), (at(4), 2, 0), (at(5), 2, 0)]);
}

#[test]
fn a_new_active_consumer_gives_the_old_one_time_to_acknowledge() {
    let mut world = partition();
    (0..4).for_each(|_| _ = world.log.append());
    world.join(consumer(5, Kind::Failover));
    world.flow(5, 2);
    world.pump();
    world.join(consumer(4, Kind::Failover));
    world.flow(4, 9);
    assert_eq!(world.pump(), []);
    assert_eq!(world.dispatcher.next_due(world.now_ms), Some(world.now_ms + 1000));
    world.cursor.ack_cumulative(at(0), &world.log);
    assert!(world.dispatcher.acked(at(0), 0));
    assert_eq!(world.pump(), []);
    world.now_ms += 1000;
    assert_eq!(of(&world.pump(), 4), [1, 2, 3]);
    assert_eq!(world.dispatcher.next_due(world.now_ms), None);
}

#[test]
fn the_wait_ends_when_nothing_is_left_or_the_old_one_is_gone() {
    for acknowledges in [true, false] {
        let mut world = partition();
        (0..2).for_each(|_| _ = world.log.append());
        world.join(consumer(5, Kind::Failover));
        world.flow(5, 1);
        world.pump();
        world.join(consumer(4, Kind::Failover));
        world.flow(4, 9);
        assert_eq!(world.pump(), []);
        if acknowledges {
            world.cursor.ack_cumulative(at(0), &world.log);
            assert_eq!(entries(&world.pump()), [1]);
        } else {
            world.leave(5);
            assert_eq!(entries(&world.pump()), [0, 1]);
        }
    }
}

#[test]
fn the_old_active_consumer_does_not_wait_for_itself() {
    let mut world = partition();
    (0..2).for_each(|_| _ = world.log.append());
    world.join(consumer(5, Kind::Failover));
    world.flow(5, 1);
    world.pump();
    world.join(consumer(4, Kind::Failover));
    world.leave(4);
    world.flow(5, 9);
    assert_eq!(of(&world.pump(), 5), [0, 1]);
}

#[test]
fn there_is_no_wait_when_nothing_is_pending() {
    let mut world = partition();
    world.join(consumer(5, Kind::Failover));
    world.flow(5, 9);
    world.log.append();
    world.pump();
    world.cursor.ack_cumulative(at(0), &world.log);
    world.join(consumer(4, Kind::Failover));
    world.flow(4, 9);
    world.log.append();
    assert_eq!(of(&world.pump(), 4), [1]);
}

#[test]
fn only_the_active_consumer_rewinds() {
    let mut world = partition();
    world.log.append();
    world.join(consumer(1, Kind::Failover));
    world.join(consumer(2, Kind::Failover));
    world.flow(1, 9);
    world.pump();
    assert!(!world.redeliver(2, &[at(0)]));
    assert_eq!(world.pump(), []);
    assert!(world.redeliver(1, &[at(0)]));
    assert_eq!(entries(&world.pump()), [0]);
}

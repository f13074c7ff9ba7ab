//! Delayed delivery.

use super::super::*;
use super::world::{World, at, consumer, entries, key, of, settings};
use crate::delayed;

fn strict() -> Settings {
    Settings { delayed: delayed::Settings { strict: true, ..delayed::Settings::default() }, ..settings() }
}

fn delayed_world(kind: Kind, settings: Settings, delays: &[u64]) -> World {
    let mut world = World::new(kind, settings);
    for delay in delays {
        let due = world.now_ms + delay;
        world.append(|facts| facts.deliver_at = Some(due));
    }
    world.join(consumer(1, kind));
    world.flow(1, 100);
    world
}

#[test]
fn entries_come_in_order_of_their_time() {
    let mut world = delayed_world(Kind::Shared, strict(), &[3000, 0, 1000, 2000]);
    world.log.append();
    assert_eq!(entries(&world.pump()), [1, 4]);
    assert_eq!((world.dispatcher.delayed_len(), world.dispatcher.next_due(world.now_ms)), (3, Some(1_001_000)));
    world.now_ms += 999;
    assert_eq!(world.pump(), []);
    world.now_ms += 1;
    assert_eq!(world.pump(), [(at(2), 1, 0)]);
    world.now_ms += 5000;
    assert_eq!(entries(&world.pump()), [0, 3]);
    assert_eq!(world.dispatcher.next_due(world.now_ms), None);
}

#[test]
fn without_strictness_a_tick_is_rounded_off() {
    let mut world = delayed_world(Kind::KeyShared, settings(), &[1000, 1001, 2500]);
    assert_eq!(entries(&world.pump()), [0]);
    assert_eq!(world.dispatcher.next_due(world.now_ms), Some(1_000_001));
    world.now_ms += 1500;
    assert_eq!(entries(&world.pump()), [1, 2]);
}

#[test]
fn only_the_shared_kinds_delay_and_only_if_enabled() {
    assert_eq!(delayed_world(Kind::Exclusive, strict(), &[5000]).pump().len(), 1);
    assert_eq!(delayed_world(Kind::Failover, strict(), &[5000]).pump().len(), 1);
    let disabled = delayed::Settings { enabled: false, ..delayed::Settings::default() };
    assert_eq!(delayed_world(Kind::Shared, Settings { delayed: disabled, ..settings() }, &[5000]).pump().len(), 1);
}

#[test]
fn delayed_entries_cost_no_permits_until_delivered() {
    let mut world = delayed_world(Kind::Shared, strict(), &[500, 500]);
    world.pump();
    assert_eq!((world.stats(1).permits, world.stats(1).unacked), (100, 0));
    world.now_ms += 500;
    world.pump();
    assert_eq!((world.stats(1).permits, world.stats(1).unacked), (98, 2));
}

#[test]
fn bug_pulsar_20099_what_was_acknowledged_is_not_delivered_when_due() {
    let mut world = delayed_world(Kind::Shared, strict(), &[500, 600]);
    world.pump();
    world.ack(&[at(0)]);
    world.now_ms += 1000;
    assert_eq!(entries(&world.pump()), [1]);
    let mut world = delayed_world(Kind::Shared, strict(), &[500, 600]);
    world.pump();
    world.cursor.ack(at(1), &world.log);
    world.dispatcher.prune(&world.cursor);
    assert_eq!(world.dispatcher.delayed_len(), 1);
}

#[test]
fn the_index_is_made_anew_from_the_cursor_after_the_last_consumer_left() {
    let mut world = delayed_world(Kind::Shared, strict(), &[500, 0, 900]);
    world.pump();
    world.ack(&[at(1)]);
    world.leave(1);
    assert_eq!(world.dispatcher.delayed_len(), 0);
    world.join(consumer(2, Kind::Shared));
    world.flow(2, 100);
    assert_eq!(world.pump(), []);
    assert_eq!(world.dispatcher.delayed_len(), 2);
    world.now_ms += 1000;
    assert_eq!(of(&world.pump(), 2), [0, 2]);
    assert_eq!(world.dispatcher.holder(at(2)), Some(key(2)));
}

//! The one outstanding read.

use super::super::*;
use super::world::{World, at, consumer, entries, key};

#[test]
fn at_most_one_read_is_out() {
    let mut world = World::with(Kind::Shared, 3, 1);
    world.flow(1, 2);
    let read = world.next_read().unwrap();
    assert_eq!(read.plan(), &Plan::Forward { from: at(0), max_entries: 2 });
    world.flow(1, 5);
    assert!(world.next_read().is_none() && world.dispatcher.is_reading());
    let facts = world.read(read.plan());
    assert_eq!(entries(&world.offer(read, &facts).unwrap()), [0, 1]);
    assert_eq!(entries(&world.pump()), [2]);
}

#[test]
fn bug_pulsar_26454_a_dropped_read_does_not_stay_pending() {
    for kind in [Kind::Exclusive, Kind::Failover, Kind::Shared, Kind::KeyShared] {
        let mut world = World::with(kind, 3, 1);
        world.flow(1, 9);
        for _ in 0..3 {
            drop(world.next_read().expect("asks again"));
        }
        assert!(!world.dispatcher.is_reading());
        assert_eq!(entries(&world.pump()), [0, 1, 2], "{kind:?}");
    }
}

#[test]
fn a_replay_read_that_fails_loses_nothing() {
    let mut world = World::with(Kind::Shared, 3, 2);
    world.flow(1, 3);
    world.pump();
    world.leave(1);
    world.flow(2, 9);
    let read = world.next_read().unwrap();
    assert_eq!(read.plan(), &Plan::Replay(vec![at(0), at(1), at(2)]));
    drop(read);
    let read = world.next_read().unwrap();
    let facts = world.read(read.plan());
    assert_eq!(entries(&world.offer(read, &facts[..1]).unwrap()), [0]);
    assert_eq!(entries(&world.pump()), [1, 2]);
}

#[test]
fn a_read_begun_before_a_rewind_is_refused_and_does_not_block_new_ones() {
    for kind in [Kind::Exclusive, Kind::Shared, Kind::KeyShared] {
        let mut world = World::with(kind, 3, 1);
        world.flow(1, 9);
        let stale = world.next_read().unwrap();
        let facts = world.read(stale.plan());
        world.cursor.seek(at(1), None, &world.log);
        world.dispatcher.rewind();
        assert_eq!(entries(&world.pump()), [1, 2], "{kind:?}");
        assert_eq!(world.offer(stale, &facts), Err(Stale));
    }
}

#[test]
fn seek_forgets_what_was_in_flight() {
    let mut world = World::with(Kind::Shared, 4, 1);
    world.flow(1, 3);
    world.pump();
    world.redeliver(1, &[at(0)]);
    world.cursor.seek(at(2), None, &world.log);
    world.dispatcher.rewind();
    assert_eq!((world.dispatcher.unacked(), world.dispatcher.replay_len()), (0, 0));
    world.flow(1, 9);
    assert_eq!(world.pump(), [(at(2), 1, 0), (at(3), 1, 0)]);
}

#[test]
fn what_was_read_before_is_ignored_in_a_later_read() {
    for kind in [Kind::Exclusive, Kind::Shared, Kind::KeyShared] {
        let mut world = World::with(kind, 4, 1);
        world.flow(1, 2);
        world.pump();
        world.flow(1, 9);
        let read = world.next_read().unwrap();
        let all: Vec<_> = (0..4).map(|entry| world.facts(at(entry))).collect();
        if kind == Kind::Shared {
            world.redeliver(1, &[at(0)]);
        }
        assert_eq!(entries(&world.offer(read, &all).unwrap()), [2, 3], "{kind:?}");
    }
}

#[test]
fn what_permits_do_not_cover_is_read_again_not_kept() {
    for kind in [Kind::Exclusive, Kind::Shared, Kind::KeyShared] {
        let mut world = World::with(kind, 0, 1);
        (0..20).for_each(|_| _ = world.append(|facts| facts.messages = 5));
        world.flow(1, 10);
        let read = world.next_read().unwrap();
        let facts = world.read(read.plan());
        assert_eq!(facts.len(), 10);
        assert_eq!(entries(&world.offer(read, &facts).unwrap()), [0, 1], "{kind:?}");
        assert_eq!((world.dispatcher.replay_len(), world.dispatcher.read_position()), (0, at(2)));
    }
}

#[test]
fn new_reads_skip_what_is_acknowledged() {
    let mut world = World::with(Kind::Exclusive, 6, 1);
    for entry in [0, 1, 3] {
        world.cursor.ack(at(entry), &world.log);
    }
    world.flow(1, 2);
    let read = world.next_read().unwrap();
    assert_eq!(read.plan(), &Plan::Forward { from: at(2), max_entries: 2 });
    drop(read);
    assert_eq!(entries(&world.pump()), [2, 4]);
    world.dispatcher.skip_to(at(9));
    world.flow(1, 2);
    assert_eq!(world.pump(), []);
}

#[test]
fn the_entries_of_a_read_follow_permits_and_batch_sizes() {
    let mut world = World::with(Kind::Shared, 0, 1);
    (0..300).for_each(|_| _ = world.append(|facts| facts.messages = 50));
    world.flow(1, 10_000);
    world.pump();
    world.flow(1, 100);
    let Plan::Forward { max_entries, .. } = *world.next_read().unwrap().plan() else { panic!("a forward read") };
    assert!((1..=4).contains(&max_entries), "{max_entries} entries for 100 messages in batches of 50");
}

#[test]
fn an_exclusive_consumer_gets_everything_again_on_request() {
    let mut world = World::with(Kind::Exclusive, 4, 1);
    world.flow(1, 3);
    world.pump();
    world.cursor.ack_cumulative(at(0), &world.log);
    world.cursor.ack(at(2), &world.log);
    let read_before = world.next_read();
    assert!(read_before.is_none());
    assert!(world.redeliver(1, &[at(1)]));
    world.flow(1, 5);
    assert_eq!(world.pump(), [(at(1), 1, 0), (at(3), 1, 0)]);
}

#[test]
fn old_consumer_epochs_are_ignored() {
    let mut world = World::with(Kind::Exclusive, 2, 0);
    world.join(Consumer { epoch: 3, ..consumer(1, Kind::Exclusive) });
    world.flow(1, 2);
    world.pump();
    world.flow(1, 9);
    assert!(!world.dispatcher.redeliver(key(1), None, Some(2)));
    assert_eq!(world.pump(), []);
    assert!(world.dispatcher.redeliver(key(1), None, Some(4)));
    assert_eq!((entries(&world.pump()), world.stats(1).epoch), (vec![0, 1], 4));
}

#[test]
fn bug_pulsar_13945_acks_of_former_sessions_are_told_by_their_key() {
    let mut world = World::with(Kind::Exclusive, 2, 1);
    world.leave(1);
    world.join(consumer(2, Kind::Exclusive));
    assert!(!world.dispatcher.has_consumer(key(1)));
    assert!(world.dispatcher.has_consumer(key(2)));
}

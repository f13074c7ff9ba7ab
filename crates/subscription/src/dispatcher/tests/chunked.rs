//! Chunks of one message stay together.

use super::super::*;
use super::world::{World, at, entries, of};

fn append_chunk(world: &mut World, message: u64, id: u32, count: u32) -> Position {
    world.append(|facts| facts.chunk = Some(Chunk { message, id, count }))
}

#[test]
fn chunks_of_a_message_go_to_one_consumer() {
    let mut world = World::with(Kind::Shared, 0, 3);
    (1..=3).for_each(|number| world.flow(number, 100));
    for id in 0..4 {
        for message in [7, 8] {
            append_chunk(&mut world, message, id, 4);
            world.pump();
        }
        world.log.append();
        world.pump();
    }
    let holders =
        |start: i64| -> Vec<_> { (0..4).map(|id| world.dispatcher.holder(at(start + id * 3)).unwrap()).collect() };
    assert!(holders(0).windows(2).all(|pair| pair[0] == pair[1]), "{:?}", holders(0));
    assert!(holders(1).windows(2).all(|pair| pair[0] == pair[1]), "{:?}", holders(1));
    assert_ne!(holders(0)[0], holders(1)[0]);
}

#[test]
fn later_chunks_wait_for_their_consumer_others_go_on() {
    let mut world = World::with(Kind::Shared, 0, 2);
    world.flow(1, 1);
    append_chunk(&mut world, 7, 0, 3);
    assert_eq!(of(&world.pump(), 1), [0]);
    world.flow(2, 100);
    append_chunk(&mut world, 7, 1, 3);
    append_chunk(&mut world, 7, 2, 3);
    world.log.append();
    assert_eq!(world.pump(), [(at(3), 2, 0)]);
    world.flow(1, 1);
    assert_eq!(of(&world.pump(), 1), [1]);
    world.leave(1);
    assert_eq!(of(&world.pump(), 2), [0, 1, 2]);
}

#[test]
fn a_chunk_waits_for_earlier_ones_even_if_its_consumer_could_take_it() {
    for leaves in [false, true] {
        let mut world = World::with(Kind::Shared, 0, 2);
        world.flow(1, 1);
        append_chunk(&mut world, 7, 0, 4);
        world.pump();
        append_chunk(&mut world, 7, 1, 4);
        append_chunk(&mut world, 7, 2, 4);
        world.flow(2, 1);
        world.pump();
        assert_eq!(world.dispatcher.replay_len(), 2);
        world.append(|facts| facts.chunk = Some(Chunk { message: 7, id: 3, count: 4 }));
        let read = world.next_read().unwrap();
        let facts = world.read(read.plan());
        if leaves {
            world.leave(1);
        } else {
            world.flow(1, 10);
        }
        assert_eq!(world.offer(read, &facts).unwrap(), []);
        world.flow(2, 10);
        assert_eq!(entries(&world.pump()), if leaves { vec![0, 1, 2, 3] } else { vec![1, 2, 3] });
    }
}

#[test]
fn messages_whose_hashes_collide_wait_for_each_other_without_reading_in_circles() {
    let (mut world, colliding) = (World::with(Kind::Shared, 0, 2), 7 << 32);
    world.flow(1, 1);
    append_chunk(&mut world, 7, 0, 2);
    world.pump();
    world.flow(2, 10);
    append_chunk(&mut world, 7, 1, 2);
    append_chunk(&mut world, colliding, 0, 2);
    assert_eq!(world.pump(), []);
    world.flow(1, 1);
    assert_eq!(world.pump(), [(at(1), 1, 0), (at(2), 2, 0)]);
}

#[test]
fn a_message_begun_anew_takes_its_waiting_chunks_along() {
    let mut world = World::with(Kind::Shared, 0, 2);
    (0..3).for_each(|id| _ = append_chunk(&mut world, 7, id, 3));
    world.flow(1, 1);
    assert_eq!(of(&world.pump(), 1), [0]);
    world.flow(2, 1);
    assert_eq!(world.pump(), [], "the rest waits for its consumer");
    world.redeliver(1, &[at(0)]);
    assert_eq!(world.pump(), [(at(0), 2, 1)]);
    world.flow(2, 10);
    assert_eq!(of(&world.pump(), 2), [1, 2]);
}

#[test]
fn chunks_of_unfinished_messages_do_not_pile_up() {
    let mut world = World::with(Kind::Shared, 0, 2);
    world.flow(1, 1);
    append_chunk(&mut world, 1, 0, 2);
    world.pump();
    world.flow(2, 10_000);
    append_chunk(&mut world, 1, 1, 2);
    assert_eq!(world.pump(), []);
    (2..5000).for_each(|message| _ = append_chunk(&mut world, message, 0, 2));
    world.pump();
    assert_eq!(world.dispatcher.holder(at(1)), Some(ConsumerKey(2)), "the oldest message is forgotten, not stuck");
}

#[test]
fn a_chunked_message_is_redelivered_in_order_to_one_consumer() {
    let mut world = World::with(Kind::Shared, 0, 2);
    (0..30).for_each(|id| _ = append_chunk(&mut world, 7, id, 30));
    world.flow(1, 30);
    world.pump();
    world.flow(1, 100);
    world.flow(2, 100);
    let all: Vec<_> = (0..30).map(at).collect();
    world.redeliver(1, &all);
    let got = world.pump();
    assert_eq!(entries(&got), (0..30).collect::<Vec<_>>());
    assert!(got.iter().all(|(_, taker, count)| (*taker, *count) == (got[0].1, 1)));
}

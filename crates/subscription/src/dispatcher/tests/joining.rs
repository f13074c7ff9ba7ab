//! Who may join.

use super::super::*;
use super::world::{World, consumer, key, settings};

fn refusal(world: &mut World, consumer: Consumer) -> Refusal {
    let before = world.dispatcher.consumer_count();
    let refusal = world.dispatcher.add_consumer(consumer, 0).expect_err("refused");
    assert_eq!(world.dispatcher.consumer_count(), before);
    world.dispatcher.check_invariants().unwrap();
    refusal
}

fn keyed(number: u64, ranges: Option<&[(i32, i32)]>, allow_out_of_order: bool) -> Consumer {
    let key_shared = Some(KeyShared { ranges: ranges.map(<[_]>::to_vec), allow_out_of_order });
    Consumer { key_shared, ..consumer(number, Kind::KeyShared) }
}

#[test]
fn an_exclusive_consumer_is_checked_before_a_newcomer_is_refused() {
    let mut world = World::with(Kind::Exclusive, 0, 1);
    let refusal = refusal(&mut world, consumer(2, Kind::Exclusive));
    assert_eq!(refusal.to_string(), "Exclusive consumer is already connected");
    assert_eq!((refusal.code(), refusal.check_first()), (Code::ConsumerBusy, Some(key(1))));
    world.leave(1);
    world.join(consumer(2, Kind::Exclusive));
    assert_eq!(world.dispatcher.active_consumer(), Some(key(2)));
}

#[test]
fn types_do_not_mix_but_change_when_nobody_is_there() {
    let kinds = [Kind::Exclusive, Kind::Shared, Kind::Failover, Kind::KeyShared];
    for present in kinds {
        for newcomer in kinds.into_iter().filter(|kind| *kind != present) {
            let mut world = World::with(present, 0, 1);
            let refusal = refusal(&mut world, consumer(2, newcomer));
            assert_eq!((&refusal, refusal.code()), (&Refusal::DifferentType, Code::ConsumerBusy));
            world.leave(1);
            world.join(consumer(2, newcomer));
            assert_eq!(world.dispatcher.kind(), newcomer);
        }
    }
}

#[test]
fn what_was_unacknowledged_goes_to_a_consumer_of_another_type() {
    let mut world = World::with(Kind::Shared, 3, 1);
    world.flow(1, 3);
    world.pump();
    world.leave(1);
    world.join(consumer(2, Kind::Exclusive));
    world.flow(2, 9);
    assert_eq!(world.pump().len(), 3);
}

#[test]
fn key_shared_modes_do_not_mix() {
    let mut world = World::with(Kind::KeyShared, 0, 1);
    assert_eq!(
        refusal(&mut world, keyed(2, Some(&[(0, 9)]), false)).to_string(),
        "Subscription is of different type. Active subscription key_shared mode of 'AUTO_SPLIT' is different than the \
         connecting consumer's key_shared mode 'STICKY'."
    );
    assert_eq!(
        refusal(&mut world, keyed(2, None, true)).to_string(),
        "Subscription is of different type. Active subscription does not allow out of order delivery while the \
         connecting consumer allows it."
    );
    world.leave(1);
    world.join(keyed(2, None, true));
    let refusal = refusal(&mut world, keyed(3, None, false));
    assert_eq!(
        (refusal.to_string().as_str(), refusal.code()),
        (
            "Subscription is of different type. Active subscription allows out of order delivery while the connecting \
             consumer does not allow it.",
            Code::ConsumerBusy
        )
    );
}

#[test]
fn declared_ranges_must_be_free() {
    let mut world = World::with(Kind::KeyShared, 0, 0);
    world.join(keyed(1, Some(&[(0, 99), (200, 299)]), false));
    let conflict = refusal(&mut world, keyed(2, Some(&[(250, 400)]), false));
    assert_eq!(conflict.to_string(), "Range conflict with consumer Consumer{consumerId=1}");
    assert_eq!((conflict.code(), conflict.check_first()), (Code::ConsumerAssign, Some(key(1))));
    for ranges in [&[(5, 3)][..], &[], &[(0, 65536)], &[(300, 400), (400, 500)]] {
        assert_eq!(refusal(&mut world, keyed(2, Some(ranges), false)).code(), Code::ConsumerAssign, "{ranges:?}");
    }
    world.join(keyed(2, Some(&[(100, 199), (300, 65535)]), false));
    let ranges = world.dispatcher.key_ranges();
    let owners: Vec<_> = ranges.iter().map(|(owner, range)| (owner.0, range.start, range.end)).collect();
    assert_eq!(owners, [(1, 0, 99), (2, 100, 199), (1, 200, 299), (2, 300, 65535)]);
}

#[test]
fn durability_must_match() {
    let mut durable = World::with(Kind::Exclusive, 0, 0);
    let refused = refusal(&mut durable, Consumer { durable: false, ..consumer(1, Kind::Exclusive) });
    assert_eq!((&refused, refused.code()), (&Refusal::SubscriptionIsDurable, Code::NotAllowed));
    let mut reader = World::new(Kind::Exclusive, Settings { durable: false, ..settings() });
    let refused = refusal(&mut reader, consumer(1, Kind::Exclusive));
    assert_eq!(refused, Refusal::SubscriptionIsNotDurable);
}

#[test]
fn the_number_of_consumers_is_limited() {
    let mut world = World::new(Kind::Shared, Settings { max_consumers: 2, ..settings() });
    world.join(consumer(1, Kind::Shared));
    world.join(consumer(2, Kind::Shared));
    let refused = refusal(&mut world, consumer(3, Kind::Shared));
    assert_eq!((&refused, refused.code()), (&Refusal::TooManyConsumers, Code::ConsumerBusy));
    world.leave(1);
    world.join(consumer(3, Kind::Shared));
}

//! Subscribing, and what a consumer gets.

use std::rc::Rc;
use std::time::Duration;

use plerion_managed_log::Retention;
use plerion_subscription::Position;
use plerion_subscription::dispatcher::Kind;
use plerion_topic::{Consumer, Error, LastMessage, NewConsumer, Start, Topic};
use plerion_wire::ServerError;

use crate::message::{Outgoing, ack, ack_batch, ack_up_to, redeliver};
use crate::recorder::{Delivered, Said};
use crate::world::{START, World, connection, consumer, on_shard, settle};

/// A topic with the messages 0 to `count` − 1, published a second apart.
pub(crate) async fn filled(world: &World, count: u64) -> Rc<Topic> {
    let topic = world.open().await;
    let a = world.producer(&topic, "a").await;
    for number in 0..count {
        world.send(&a, &Outgoing { published: START + 1_000 * number, ..Outgoing::new(number) });
        // A ledger is full by count: it is to be seen so by the next message.
        settle().await;
    }
    a.close().await;
    world.clients.take();
    topic
}

/// The bodies a new subscription gets.
async fn read(world: &World, topic: &Rc<Topic>, new: NewConsumer) -> Vec<String> {
    let consumer = topic.subscribe(new).await.unwrap();
    consumer.flow(1_000);
    settle().await;
    consumer.close();
    world.clients.bodies()
}

/// Numbers as the bodies of messages.
pub(crate) fn numbers(numbers: impl IntoIterator<Item = u64>) -> Vec<String> {
    numbers.into_iter().map(|number| number.to_string()).collect()
}

pub(crate) fn positions(messages: &[Delivered]) -> Vec<Position> {
    messages.iter().map(|message| message.position).collect()
}

#[test]
fn a_new_subscription_begins_where_it_is_told() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 10).await;
        let last = topic.last_position().unwrap();
        let begin = |name: &str, start| NewConsumer { start, ..consumer(1, name, Kind::Exclusive) };
        for durable in [true, false] {
            let begin = |start| NewConsumer { durable, ..begin(&format!("{start:?}{durable}"), start) };
            assert_eq!(read(&world, &topic, begin(Start::Earliest)).await, numbers(0..10));
            assert_eq!(read(&world, &topic, begin(Start::Latest)).await, numbers([]));
            assert_eq!(read(&world, &topic, begin(Start::At(last))).await, numbers([9]));
            assert_eq!(read(&world, &topic, begin(Start::At(Position::EARLIEST))).await, numbers(0..10));
            assert_eq!(read(&world, &topic, begin(Start::At(Position::LATEST))).await, numbers([]));
            assert_eq!(read(&world, &topic, begin(Start::Published(START + 6_500))).await, numbers(7..10));
            assert_eq!(read(&world, &topic, begin(Start::Published(0))).await, numbers(0..10));
            assert_eq!(read(&world, &topic, begin(Start::Published(u64::MAX))).await, numbers([]));
        }
        // One that is there goes on where it was.
        assert_eq!(read(&world, &topic, begin("Latesttrue", Start::Earliest)).await, numbers([]));
        let missing = NewConsumer { may_create: false, ..begin("missing", Start::Earliest) };
        assert_eq!(topic.subscribe(missing).await.err().unwrap().server_error(), ServerError::SubscriptionNotFound);
        assert!(topic.subscriptions().iter().all(|one| one.durable), "readers leave nothing behind");
    });
}

#[test]
fn who_does_not_fit_is_refused_and_leaves_nothing() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 1).await;
        world.consumer(&topic, Kind::Exclusive, 1, 1).await;
        let refused = topic.subscribe(consumer(2, "s", Kind::Exclusive)).await.err().unwrap();
        assert_eq!((refused.server_error(), refused.holder()), (ServerError::ConsumerBusy, Some(connection(1))));
        let shared = topic.subscribe(consumer(2, "s", Kind::Shared)).await.err().unwrap();
        assert_eq!(shared.server_error(), ServerError::ConsumerBusy);
        let reader = NewConsumer { durable: false, ..consumer(2, "s", Kind::Exclusive) };
        assert_eq!(topic.subscribe(reader).await.err().unwrap().server_error(), ServerError::NotAllowedError);
        assert_eq!(world.context.consumers.len(), 1);
        assert_eq!(topic.consumer_count(), 1);
    });
}

#[test]
fn shared_messages_that_are_asked_for_again_count_and_are_acknowledged_one_by_one() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 6).await;
        let one = world.consumer(&topic, Kind::Shared, 1, 100).await;
        let first = world.clients.messages();
        assert_eq!(first.len(), 6);
        assert!(first.iter().all(|message| message.redeliveries == 0 && message.ack_set.is_empty()));
        ack(&one, positions(&first[..2]));
        redeliver(&one, positions(&first[1..4]), None);
        settle().await;
        let again = world.clients.messages();
        assert_eq!(positions(&again), positions(&first[2..4]), "what is acknowledged is not given again");
        assert!(again.iter().all(|message| message.redeliveries == 1));
        one.close();
        world.consumer(&topic, Kind::Shared, 2, 100).await;
        let others = world.clients.messages();
        assert_eq!(positions(&others), positions(&first[2..]));
        assert_eq!(topic.subscription("s").unwrap().backlog(), 4);
        assert_eq!(topic.subscription("s").unwrap().figures().unacked, 4);
    });
}

#[test]
fn an_exclusive_consumer_that_asks_again_starts_again_under_its_epoch() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 5).await;
        let one = world.consumer(&topic, Kind::Exclusive, 1, 100).await;
        let first = world.clients.messages();
        ack_up_to(&one, first[1].position);
        redeliver(&one, [], Some(2));
        settle().await;
        let again = world.clients.messages();
        assert_eq!(positions(&again), positions(&first[2..]));
        assert!(again.iter().all(|message| message.epoch == Some(2) && message.redeliveries == 0));
        redeliver(&one, [], Some(1));
        settle().await;
        assert_eq!(world.clients.messages(), [], "a request of an older epoch is void");
    });
}

#[test]
fn a_seek_closes_every_consumer_once_and_goes_on_at_its_target() {
    on_shard(async {
        let world = World::with(|settings| settings.subscriptions.batch_index_acks = true).await;
        let topic = filled(&world, 10).await;
        let all = read(&world, &topic, consumer(9, "all", Kind::Exclusive)).await;
        assert_eq!(all.len(), 10);
        let subscription = topic.subscription("all").unwrap();
        let last = topic.last_position().unwrap();
        let seek = async |target| {
            let two = [1, 2].map(|id| topic.subscribe(consumer(id, "all", Kind::Shared)));
            for joining in two {
                joining.await.unwrap();
            }
            world.clients.take();
            subscription.seek(target).await.unwrap();
            let closed = |id| Said::ConsumerClosed { to: connection(id), consumer: id };
            let mut told = world.clients.take();
            told.sort_by_key(|one| *one != closed(1));
            assert_eq!(told, [closed(1), closed(2)]);
            read(&world, &topic, consumer(9, "all", Kind::Exclusive)).await
        };
        use plerion_topic::Target::{Batch, Entry, Time};
        assert_eq!(seek(Entry(last)).await, numbers([9]));
        assert_eq!(seek(Entry(Position::EARLIEST)).await, numbers(0..10));
        assert_eq!(seek(Entry(Position::LATEST)).await, numbers([]));
        assert_eq!(seek(Time(START + 3_000)).await, numbers(3..10));
        assert_eq!(seek(Time(START + 3_001)).await, numbers(4..10));
        assert_eq!(seek(Time(0)).await, numbers(0..10));
        assert_eq!(seek(Batch(last, vec![0b100])).await, numbers([9]));
    });
}

#[test]
fn nobody_joins_while_a_seek_is_under_way() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 3).await;
        world.consumer(&topic, Kind::Shared, 1, 10).await;
        let subscription = topic.subscription("s").unwrap();
        let seek = |to| {
            let subscription = subscription.clone();
            tokio::task::spawn_local(async move { subscription.seek(plerion_topic::Target::Entry(to)).await })
        };
        world.ledgers.hold();
        let seeking = seek(Position::EARLIEST);
        settle().await;
        let refused = topic.subscribe(consumer(2, "s", Kind::Shared)).await.err().unwrap();
        assert!(matches!(refused, Error::SubscriptionFenced) && refused.is_retryable());
        assert!(matches!(subscription.seek(plerion_topic::Target::Time(0)).await, Err(Error::SubscriptionFenced)));
        world.ledgers.release();
        seeking.await.unwrap().unwrap();
        // Nobody waits for the outcome of this one: the subscription is free again all the same.
        world.ledgers.hold();
        seek(Position::LATEST).abort();
        let abandoned = seek(Position::LATEST);
        settle().await;
        abandoned.abort();
        world.ledgers.release();
        settle().await;
        topic.subscribe(consumer(2, "s", Kind::Shared)).await.unwrap();
    });
}

#[test]
fn a_reader_that_seeks_comes_back_to_its_target() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 10).await;
        let reader = NewConsumer { durable: false, ..consumer(1, "r", Kind::Exclusive) };
        topic.subscribe(reader.clone()).await.unwrap();
        let subscription = topic.subscription("r").unwrap();
        subscription.seek(plerion_topic::Target::Time(START + 7_000)).await.unwrap();
        assert_eq!(read(&world, &topic, reader.clone()).await, numbers(7..10));
        assert!(topic.subscription("r").is_none(), "it goes with its consumer");
        topic.subscribe(reader).await.unwrap();
        let subscription = topic.subscription("r").unwrap();
        subscription.seek(plerion_topic::Target::Time(0)).await.unwrap();
        drop(subscription);
        world.pass(Duration::from_secs(61)).await;
        assert!(topic.subscription("r").is_none(), "nobody came back");
    });
}

#[test]
fn old_messages_expire_for_every_durable_subscription() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 10).await;
        let one = world.consumer(&topic, Kind::Shared, 1, 3).await;
        topic.create_subscription("other", Start::Earliest, Default::default()).await.unwrap();
        world.clients.take();
        world.pass(Duration::from_secs(10)).await;
        // It is START + 10 s: what was published before START + 4 s is too old.
        topic.expire(Duration::from_secs(6)).await.unwrap();
        for name in ["s", "other"] {
            let subscription = topic.subscription(name).unwrap();
            assert_eq!((subscription.backlog(), subscription.figures().expired), (6, 4), "{name}");
        }
        one.flow(100);
        settle().await;
        assert_eq!(world.clients.bodies(), numbers(4..10));
    });
}

#[test]
fn space_is_given_back_when_all_have_consumed_it_and_readers_follow() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 20).await;
        let one = world.consumer(&topic, Kind::Exclusive, 1, 100).await;
        let messages = world.clients.messages();
        let reader = NewConsumer { durable: false, ..consumer(2, "r", Kind::Exclusive) };
        let reader = topic.subscribe(reader).await.unwrap();
        topic.trim(Retention::NONE).await.unwrap();
        assert_eq!(topic.subscription("r").unwrap().backlog(), 20, "nothing was consumed");
        ack_up_to(&one, messages[15].position);
        topic.trim(Retention::NONE).await.unwrap();
        assert_eq!(topic.subscription("r").unwrap().backlog(), 6, "two ledgers of seven are gone");
        reader.flow(100);
        settle().await;
        assert_eq!(world.clients.bodies(), numbers(14..20));
        ack_up_to(&one, messages[19].position);
        world.clock.advance(Duration::from_secs(24 * 3600));
        topic.trim(Retention::NONE).await.unwrap();
        let last = topic.subscription("s").unwrap().last_message().await.unwrap();
        assert_eq!((last.position, last.batch_index), (Position::EARLIEST, -1), "nothing is left");
        assert_eq!(last.mark_delete, messages[19].position);
    });
}

#[test]
fn the_last_message_is_named_with_its_batch() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        world.consumer(&topic, Kind::Exclusive, 1, 0).await;
        let subscription = topic.subscription("s").unwrap();
        let empty = LastMessage {
            position: Position::EARLIEST,
            batch_index: -1,
            batch_size: 0,
            mark_delete: subscription.mark_delete(),
        };
        assert_eq!(subscription.last_message().await.unwrap(), empty);
        let a = world.producer(&topic, "a").await;
        world.publish(&a, [0]).await;
        let single = subscription.last_message().await.unwrap();
        assert_eq!((single.position.entry, single.batch_index, single.batch_size), (0, -1, 0));
        for (sequence, size, index) in [(1, 1, 0), (2, 10, 9)] {
            world.send(&a, &Outgoing { batch: Some(size), ..Outgoing::new(sequence) });
            settle().await;
            let batch = subscription.last_message().await.unwrap();
            assert_eq!((batch.batch_index, batch.batch_size), (index, size));
        }
    });
}

#[test]
fn a_batch_is_acknowledged_message_by_message() {
    on_shard(async {
        let world = World::with(|settings| settings.subscriptions.batch_index_acks = true).await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        world.send(&a, &Outgoing { batch: Some(4), ..Outgoing::new(0) });
        world.send(&a, &Outgoing { batch: Some(4), ..Outgoing::new(4) });
        settle().await;
        let one = world.consumer(&topic, Kind::Shared, 1, 100).await;
        let batches = world.clients.messages();
        let subscription = topic.subscription("s").unwrap();
        assert_eq!(subscription.figures().unacked, 8);
        ack_batch(&one, batches[0].position, &[0b1010], 4);
        assert_eq!((subscription.figures().unacked, subscription.backlog()), (6, 2));
        redeliver(&one, positions(&batches), None);
        settle().await;
        let again = world.clients.messages();
        assert_eq!((&again[0].ack_set[..], &again[1].ack_set[..]), (&[0b1010][..], &[][..]));
        assert_eq!(one.figures().unwrap().permits, 100 - 8 - 6, "what is left costs permits");
        ack_batch(&one, batches[0].position, &[0b0101], 4);
        assert_eq!((subscription.figures().unacked, subscription.backlog()), (4, 1), "none of it is left");
    });
}

#[test]
fn without_batch_acknowledgements_part_of_a_batch_is_nothing() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        world.send(&a, &Outgoing { batch: Some(2), ..Outgoing::new(0) });
        settle().await;
        let one = world.consumer(&topic, Kind::Shared, 1, 100).await;
        let batch = world.clients.messages().remove(0);
        ack_batch(&one, batch.position, &[0b10], 2);
        assert_eq!(topic.subscription("s").unwrap().backlog(), 1);
        redeliver(&one, [batch.position], None);
        settle().await;
        assert!(world.clients.messages()[0].ack_set.is_empty());
    });
}

#[test]
fn unsubscribing_takes_the_subscription_away_and_tells_only_the_others() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 3).await;
        let one = world.consumer(&topic, Kind::Shared, 1, 10).await;
        world.consumer(&topic, Kind::Shared, 2, 10).await;
        world.clients.take();
        assert!(matches!(one.unsubscribe(false).await, Err(Error::SubscriptionInUse)));
        one.unsubscribe(true).await.unwrap();
        assert_eq!(world.clients.take(), [Said::ConsumerClosed { to: connection(2), consumer: 2 }]);
        assert!(topic.subscription("s").is_none());
        let alone: Rc<Consumer> = world.consumer(&topic, Kind::Shared, 3, 10).await;
        assert_eq!(world.clients.bodies(), numbers(0..3), "it begins anew");
        alone.unsubscribe(false).await.unwrap();
        topic.close().await.unwrap();
        assert!(world.open().await.subscriptions().is_empty());
    });
}

//! Topics of which nothing is kept.

use plerion_subscription::Position;
use plerion_subscription::dispatcher::Kind;
use plerion_topic::{NewConsumer, Outstanding};
use plerion_wire::proto::base_command::Type;

use crate::message::{Outgoing, ack_with_request};
use crate::recorder::Said;
use crate::world::{World, connection, consumer, on_shard};

#[test]
fn messages_pass_to_whoever_can_take_them_and_are_gone() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open_non_persistent();
        let a = world.producer(&topic, "a").await;
        world.publish(&a, [0]).await;
        let receipt = Said::Receipt { to: connection(1), producer: 1, sequence: 0, position: Position::new(0, 0) };
        assert_eq!(world.clients.take(), [receipt], "nobody is there, and the producer need not care");
        assert_eq!(world.context.totals.dropped.get(), 1);
        let one = topic.subscribe(consumer(1, "x", Kind::Exclusive)).await.unwrap();
        let two = topic.subscribe(consumer(2, "y", Kind::Exclusive)).await.unwrap();
        one.flow(2);
        two.flow(1);
        world.publish(&a, 1..4).await;
        let got: Vec<_> =
            world.clients.messages().into_iter().map(|message| (message.consumer, message.body)).collect();
        assert_eq!(got, [(1, "1".to_owned()), (2, "1".to_owned()), (1, "2".to_owned())]);
        assert_eq!(topic.broadcasts().iter().map(|one| one.dropped.get()).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(world.clients.reserved.get(), 0);
    });
}

#[test]
fn shared_consumers_take_turns_and_a_full_connection_is_left_out() {
    on_shard(async {
        let world = World::with(|settings| settings.subscriptions.max_round_robin_entries = 1).await;
        let topic = world.open_non_persistent();
        let a = world.producer(&topic, "a").await;
        let one = topic.subscribe(consumer(1, "s", Kind::Shared)).await.unwrap();
        let two = topic.subscribe(consumer(2, "s", Kind::Shared)).await.unwrap();
        one.flow(100);
        two.flow(100);
        world.publish(&a, 0..4).await;
        let takers: Vec<_> = world.clients.messages().into_iter().map(|message| message.consumer).collect();
        assert_eq!(takers.iter().filter(|taker| **taker == 1).count(), 2, "{takers:?}");
        assert!(!one.client.outstanding.add(Outstanding::FULL));
        world.publish(&a, 4..10).await;
        let takers: Vec<_> = world.clients.messages().into_iter().map(|message| message.consumer).collect();
        assert_eq!(takers.iter().filter(|taker| **taker == 1).count(), 1, "{takers:?}");
        assert_eq!(takers.len(), 6);
    });
}

#[test]
fn acknowledgements_are_answered_and_subscriptions_of_readers_go_with_them() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open_non_persistent();
        let reader = NewConsumer { durable: false, ..consumer(1, "r", Kind::Exclusive) };
        let reader = topic.subscribe(reader).await.unwrap();
        ack_with_request(&reader, [Position::new(0, 0)], 7);
        assert_eq!(world.clients.commands(Type::AckResponse)[0].1.ack_response.as_ref().unwrap().request_id, Some(7));
        let lasting = topic.subscribe(consumer(2, "s", Kind::Exclusive)).await.unwrap();
        reader.close();
        lasting.close();
        assert_eq!(topic.broadcasts().iter().map(|one| &*one.name).collect::<Vec<_>>(), ["s"]);
    });
}

#[test]
fn closing_tells_everyone() {
    on_shard(async {
        let world = World::new().await;
        let topic = world.open_non_persistent();
        let a = world.producer(&topic, "a").await;
        topic.subscribe(consumer(2, "s", Kind::Exclusive)).await.unwrap();
        assert!(topic.terminate().await.is_err() && topic.delete(false).await.is_err());
        world.clients.take();
        topic.close().await.unwrap();
        world.send(&a, &Outgoing::new(0));
        let closed = Said::ProducerClosed { to: connection(1), producer: 1 };
        assert_eq!(world.clients.take(), [closed, Said::ConsumerClosed { to: connection(2), consumer: 2 }]);
        let topic = std::rc::Rc::downgrade(&{ topic });
        drop(a);
        assert_eq!(topic.strong_count(), 0);
    });
}

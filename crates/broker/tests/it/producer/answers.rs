//! What a client is told of its ends comes in the order in which it became true.

use plerion_test_client::{Received, Type};
use plerion_wire::proto::command_subscribe::SubType;
use plerion_wire::proto::{CommandCloseProducer, CommandProducer, CommandSubscribe, ProducerAccessMode};

use super::TOPIC;
use crate::support::{Session, World, everywhere, producer, subscription};

const ROUNDS: usize = 40;

fn exclusive(producer_id: u64) -> CommandProducer {
    CommandProducer {
        producer_access_mode: Some(ProducerAccessMode::WaitForExclusive.into()),
        ..producer(TOPIC, producer_id)
    }
}

/// Makes one who waits come in while the holder leaves; what the one who waits is told.
async fn promoted(client: &mut Session, holder: u64, waiter: u64) -> Vec<bool> {
    let (asked, closing) = (client.next_request(), client.next_request());
    client.send(CommandProducer { request_id: asked, ..exclusive(waiter) }).await.unwrap();
    let close = CommandCloseProducer { producer_id: holder, request_id: closing, ..Default::default() };
    client.send(close).await.unwrap();
    let mut told = Vec::new();
    while told.last() != Some(&true) {
        let success = client.await_kind(Type::ProducerSuccess).await.unwrap().command.producer_success.unwrap();
        assert_eq!(success.request_id, asked);
        told.push(success.producer_ready());
    }
    told
}

#[test]
fn nobody_is_told_to_wait_after_being_let_in() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(exclusive(0)).await;
        for id in 1..ROUNDS as u64 {
            let told = promoted(&mut client, id - 1, id).await;
            client.settle_broker().await;
            let late: Vec<_> =
                client.arrived().await.into_iter().filter(|frame| frame.kind() == Type::ProducerSuccess).collect();
            assert!(told.len() <= 2 && late.is_empty(), "{told:?}, then {late:?}");
        }
    });
}

#[test]
fn a_request_repeated_after_the_wait_is_answered_as_things_are() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(exclusive(1)).await;
        assert_eq!(client.open_producer(exclusive(2)).await.producer_ready, Some(false));
        client.close_producer(1).await.unwrap();
        let promotion = *client.await_kind(Type::ProducerSuccess).await.unwrap().command.producer_success.unwrap();
        assert_eq!(promotion.producer_ready, Some(true));
        let again = client.open_producer(exclusive(2)).await;
        assert_ne!(again.request_id, promotion.request_id);
        let told = |success: plerion_wire::proto::CommandProducerSuccess| {
            (success.producer_ready, success.topic_epoch, success.producer_name, success.last_sequence_id)
        };
        assert_eq!(told(again), told(promotion));
    });
}

/// The kind of the next frame that answers a request or ends what it was to open, while the topic is closed over and over.
async fn answer_while_unloading(world: &World, client: &mut Session) -> Type {
    use Type::{CloseConsumer, CloseProducer, Error, ProducerSuccess, Success};
    let unloading = async {
        loop {
            world.unload(TOPIC).await;
        }
    };
    let telling =
        |frame: &Received| matches!(frame.kind(), ProducerSuccess | Success | Error | CloseProducer | CloseConsumer);
    tokio::select! {
        frame = client.await_frame(telling) => frame.unwrap().kind(),
        () = unloading => unreachable!("it has no end"),
    }
}

/// A producer that the topic closes right after it was opened is answered nevertheless, and closed afterwards.
#[test]
fn a_producer_closed_at_once_is_answered_first() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.close_producer(1).await.unwrap();
        for _ in 0..ROUNDS {
            let id = client.next_request();
            client.send(CommandProducer { request_id: id, ..producer(TOPIC, 1) }).await.unwrap();
            let kind = answer_while_unloading(world, &mut client).await;
            assert!(matches!(kind, Type::ProducerSuccess | Type::Error), "{kind:?}");
            client.close_producer(1).await.unwrap();
            client.settle_broker().await;
            client.arrived().await;
        }
        world.until_attached(TOPIC, 0, 0).await;
    });
}

#[test]
fn a_consumer_closed_at_once_is_answered_first() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.close_producer(1).await.unwrap();
        for _ in 0..ROUNDS {
            let id = client.next_request();
            let subscribe = subscription(TOPIC, "closed", SubType::Shared, 1);
            client.send(CommandSubscribe { request_id: id, ..subscribe }).await.unwrap();
            let kind = answer_while_unloading(world, &mut client).await;
            assert!(matches!(kind, Type::Success | Type::Error), "{kind:?}");
            client.close_consumer(1).await.unwrap();
            client.settle_broker().await;
            client.arrived().await;
        }
        world.until_attached(TOPIC, 0, 0).await;
    });
}

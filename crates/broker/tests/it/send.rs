//! SEND and its answers.

use std::time::Duration;

use plerion_test_client::{Error, Outgoing, Type};
use plerion_wire::proto::{
    BrokerEntryMetadata, CommandPing, CommandProducer, CommandSend, MessageIdData, command_subscribe::SubType,
};
use plerion_wire::{ServerError, payload};

use crate::support::{everywhere, everywhere_with, name, producer, refusal, subscription};

const TOPIC: &str = "persistent://public/default/sends";
const DUPLICATE: MessageIdData = MessageIdData {
    ledger_id: u64::MAX,
    entry_id: u64::MAX,
    partition: None,
    batch_index: None,
    ack_set: Vec::new(),
    batch_size: None,
    first_chunk_message_id: None,
};

#[test]
fn receipts_come_in_the_order_of_sending_and_say_where_messages_are() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.open_producer(producer(TOPIC, 2)).await;
        for sequence_id in 0..200 {
            for producer_id in [1, 2] {
                let message = Outgoing::new("it", sequence_id, "x");
                client.publish(producer_id, sequence_id, &message.payload()).await.unwrap();
            }
        }
        let mut expected = [0; 2];
        let mut last = None;
        for _ in 0..400 {
            let receipt = client.receipt().await;
            let next = &mut expected[usize::from(receipt.producer_id == 2)];
            assert_eq!(receipt.sequence_id, *next);
            *next += 1;
            let id = receipt.message_id.unwrap();
            let place = (id.ledger_id, id.entry_id);
            assert!(last.is_none_or(|last| place > last), "{last:?} then {place:?}");
            last = Some(place);
        }
    });
}

#[test]
fn a_receipt_repeats_the_ids_of_its_batch() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 7)).await;
        let batch = Outgoing::batch("it", 40, [&b"a"[..], b"b", b"c"]);
        let send = CommandSend {
            producer_id: 7,
            sequence_id: 40,
            highest_sequence_id: Some(42),
            num_messages: Some(3),
            ..Default::default()
        };
        client.send_message(send, &batch.payload()).await.unwrap();
        let receipt = client.receipt().await;
        assert_eq!((receipt.producer_id, receipt.sequence_id, receipt.highest_sequence_id()), (7, 40, 42));
        assert_eq!(world.handle().topic_stats(&name(TOPIC)).await.unwrap().msg_in_counter, 3);
    });
}

/// The store answers late: so do receipts.
#[test]
fn nothing_is_answered_before_it_is_durable() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
        client.flow(1, 10).await.unwrap();
        world.ledgers.hold();
        client.publish(1, 0, &Outgoing::new("it", 0, "x").payload()).await.unwrap();
        client.settle(1).await;
        let early = client.receive_within(Duration::from_millis(50)).await;
        assert!(matches!(early, Err(Error::Silence(_))), "{early:?}");
        world.ledgers.release();
        client.receipt().await;
        assert_eq!(client.message().await.text(), "x");
    });
}

#[test]
fn a_producer_that_is_not_open_closes_the_connection() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.publish(2, 0, &Outgoing::new("it", 0, "x").payload()).await.unwrap();
        client.await_close().await.unwrap();
        world.until_attached(TOPIC, 0, 0).await;
        assert_eq!(world.count(|shard| &shard.malformed), 1);
    });
}

/// What was on its way when the producer was closed, by either side, does no harm.
#[test]
fn a_producer_that_was_closed_just_now_is_ignored() {
    everywhere(async |world| {
        let payload = Outgoing::new("it", 0, "late").payload();
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.close_producer(1).await.unwrap();
        client.open_producer(producer(TOPIC, 2)).await;
        world.unload(TOPIC).await;
        client.await_kind(Type::CloseProducer).await.unwrap();
        for producer_id in [1, 2] {
            client.publish(producer_id, 0, &payload).await.unwrap();
        }
        client.send(CommandPing {}).await.unwrap();
        assert_eq!(client.receive().await.unwrap().kind(), Type::Pong);
    });
}

#[test]
fn ids_of_closed_producers_are_forgotten_after_a_while() {
    everywhere_with(&[("keepAliveIntervalSeconds", "1")], async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.close_producer(1).await.unwrap();
        let idle = client.receive_within(Duration::from_millis(1_100)).await;
        assert!(matches!(idle, Err(Error::Silence(_))), "{idle:?}");
        client.publish(1, 0, &Outgoing::new("it", 0, "late").payload()).await.unwrap();
        client.await_close().await.unwrap();
    });
}

#[test]
fn a_wrong_checksum_is_refused_and_the_connection_kept() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        let mut damaged = Outgoing::new("it", 0, "intact").payload();
        *damaged.last_mut().unwrap() ^= 1;
        let (code, _) = refusal(client.publish_and_wait(1, 0, &damaged).await);
        assert_eq!(code, ServerError::ChecksumError);
        // The client checks its own copy and sends it again.
        client.say(1, 0, "intact").await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        assert_eq!(client.take(1, 1).await[0].text(), "intact");
        client.nothing_for(1).await;
    });
}

#[test]
fn a_payload_that_cannot_be_split_is_refused() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        for payload in [&[][..], &[0], &[0x0e, 0x01, 1], &[0, 0, 0, 9, 1], &[0x0e, 0x02, 0, 0, 0, 9]] {
            let (code, text) = refusal(client.publish_and_wait(1, 0, payload).await);
            assert_eq!(code, ServerError::ChecksumError, "{payload:?}: {text}");
        }
        client.say(1, 0, "undisturbed").await;
    });
}

/// Clients in Go and Rust cannot read a message without a checksum, whoever sent it. The helper that reads messages
/// makes sure of it everywhere; here the sender left it out.
#[test]
fn a_message_without_a_checksum_is_delivered_with_one() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        let message = Outgoing::new("it", 0, "bare");
        client.publish_and_wait(1, 0, &message.payload_without_checksum()).await.unwrap();
        client.publish_and_wait(1, 1, &Outgoing::new("it", 1, "checked").payload()).await.unwrap();
        let delivered = client.take(1, 2).await;
        assert_eq!(delivered[0].payload, message.payload().freeze());
        assert_eq!(delivered[1].text(), "checked");
        // From disk as well as from memory.
        world.unload(TOPIC).await;
        client.await_kind(Type::CloseConsumer).await.unwrap();
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        assert_eq!(client.take(1, 1).await[0].payload, message.payload().freeze());
    });
}

/// Whatever is in the metadata, known to this broker or not, comes out as it went in.
#[test]
fn a_message_is_delivered_byte_for_byte() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        // Field 999 of the metadata, known to nobody, in front of a field out of order.
        let metadata = [&[0xba, 0x3e, 2, 7, 7][..], &[0x18, 5], &[0x0a, 1, b'p'], &[0x10, 0]].concat();
        let mut rest = u32::try_from(metadata.len()).unwrap().to_be_bytes().to_vec();
        rest.extend_from_slice(&metadata);
        rest.extend_from_slice(&[0x0e, 0x01, 0xff, 0x00]);
        let mut payload = vec![0x0e, 0x01];
        payload.extend_from_slice(&plerion_wire::checksum::crc32c(&rest).to_be_bytes());
        payload.extend_from_slice(&rest);
        client.publish_and_wait(1, 0, &payload).await.unwrap();
        assert_eq!(client.take(1, 1).await[0].payload, payload);
    });
}

/// Nobody agreed on broker entry metadata: what a producer sends of it goes no further.
#[test]
fn broker_entry_metadata_is_not_passed_on() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        let message = Outgoing::new("it", 0, "x").payload();
        let mut payload = Vec::new();
        payload::put_broker_entry(&BrokerEntryMetadata { broker_timestamp: Some(1), index: Some(2) }, &mut payload);
        payload.extend_from_slice(&message);
        client.publish_and_wait(1, 0, &payload).await.unwrap();
        assert_eq!(client.take(1, 1).await[0].payload, message.freeze());
    });
}

#[test]
fn a_terminated_topic_takes_no_message() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.say(1, 0, "last").await;
        world.handle().terminate_topic(&name(TOPIC)).await.unwrap();
        // The client is told, and what it sends after that is lost on nobody.
        client.await_kind(Type::CloseProducer).await.unwrap();
        client.publish(1, 1, &Outgoing::new("it", 1, "late").payload()).await.unwrap();
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        assert_eq!(client.take(1, 1).await[0].text(), "last");
        client.nothing_for(1).await;
    });
}

#[test]
fn a_store_that_refuses_is_a_persistence_error() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.say(1, 0, "kept").await;
        world.ledgers.refuse_appends(Some("disk full"));
        client.publish(1, 1, &Outgoing::new("it", 1, "lost").payload()).await.unwrap();
        let end =
            client.await_frame(|frame| matches!(frame.kind(), Type::SendError | Type::CloseProducer)).await.unwrap();
        if let Some(error) = end.command.send_error {
            assert_eq!((error.error(), error.sequence_id), (ServerError::PersistenceError, 1));
        }
        world.ledgers.refuse_appends(None);
        // The client comes back until the topic takes messages again.
        let mut again = world.session().await;
        let mut sequence_id = 1;
        loop {
            let attempt = again.try_ask(|request_id| CommandProducer { request_id, ..producer(TOPIC, sequence_id) });
            match attempt.await {
                Ok(_) => break,
                Err(error) => {
                    assert!(matches!(error.code(), Some(ServerError::PersistenceError | ServerError::ServiceNotReady)));
                    sequence_id += 1;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        again.say(sequence_id, 1, "again").await;
        again.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        let messages = again.take(1, 2).await;
        assert_eq!([messages[0].text(), messages[1].text()], ["kept", "again"]);
    });
}

const DEDUPLICATION: &[(&str, &str)] = &[("brokerDeduplicationEnabled", "true")];

#[test]
fn a_duplicate_is_answered_in_its_turn_and_stored_once() {
    everywhere_with(DEDUPLICATION, async |world| {
        let mut client = world.session().await;
        let open = CommandProducer { producer_name: Some("it".into()), ..producer(TOPIC, 1) };
        let success = client.open_producer(open.clone()).await;
        assert_eq!(success.last_sequence_id, Some(-1));
        for sequence_id in [0, 1, 2, 2, 1, 3] {
            client
                .publish(1, sequence_id, &Outgoing::new("it", sequence_id, format!("{sequence_id}")).payload())
                .await
                .unwrap();
            let receipt = client.receipt().await;
            assert_eq!(receipt.sequence_id, sequence_id);
        }
        client.publish(1, 3, &Outgoing::new("it", 3, "3").payload()).await.unwrap();
        let receipt = client.receipt().await;
        assert_eq!(receipt.message_id.unwrap(), DUPLICATE);
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        client.flow(1, 10).await.unwrap();
        assert_eq!(client.texts(4).await, ["0", "1", "2", "3"]);
        client.nothing_for(1).await;
        // Whoever comes back under the name goes on where it was.
        client.close_producer(1).await.unwrap();
        assert_eq!(client.open_producer(open).await.last_sequence_id, Some(3));
    });
}

/// apache/pulsar#5218: what failed is no duplicate when it is sent again.
#[test]
fn i01_what_was_never_stored_is_no_duplicate() {
    everywhere_with(DEDUPLICATION, async |world| {
        let mut client = world.session().await;
        let open = |id| CommandProducer { producer_name: Some("it".into()), ..producer(TOPIC, id) };
        client.open_producer(open(1)).await;
        client.say(1, 0, "0").await;
        world.ledgers.refuse_appends(Some("disk full"));
        client.publish(1, 1, &Outgoing::new("it", 1, "1").payload()).await.unwrap();
        client.await_frame(|frame| matches!(frame.kind(), Type::SendError | Type::CloseProducer)).await.unwrap();
        world.ledgers.refuse_appends(None);
        drop(client);
        let mut again = world.session().await;
        let mut id = 1;
        let last = loop {
            match again.try_ask(|request_id| CommandProducer { request_id, ..open(id) }).await {
                Ok(answer) => break answer.producer_success.unwrap().last_sequence_id,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
            id += 1;
        };
        assert_eq!(last, Some(0));
        let position = again.say(id, 1, "1").await;
        assert_ne!(position.entry, u64::MAX);
    });
}

/// Without deduplication nobody remembers sequence ids.
#[test]
fn sequence_ids_may_repeat_without_deduplication() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        let first = client.say(1, 5, "a").await;
        let second = client.say(1, 5, "b").await;
        assert!(second > first);
    });
}

#[test]
fn non_persistent_topics_answer_with_zeros() {
    everywhere(async |world| {
        let topic = "non-persistent://public/default/passing";
        let mut client = world.session().await;
        client.open_producer(producer(topic, 1)).await;
        let position = client.say(1, 0, "unheard").await;
        assert_eq!((position.ledger, position.entry), (0, 0));
        client.open_consumer(subscription(topic, "s", SubType::Exclusive, 1)).await;
        client.flow(1, 1).await.unwrap();
        client.settle(1).await;
        client.say(1, 1, "heard").await;
        assert_eq!(client.message().await.text(), "heard");
    });
}

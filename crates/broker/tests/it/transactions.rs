//! Transactions, which this broker does not have: every request says so.

use plerion_test_client::{Outgoing, Type};
use plerion_wire::ServerError;
use plerion_wire::proto::{
    BaseCommand, CommandAddPartitionToTxn, CommandAddSubscriptionToTxn, CommandEndTxn, CommandNewTxn, CommandSend,
    CommandTcClientConnectRequest, command_subscribe::SubType,
};

use crate::support::{everywhere, producer, subscription};

#[test]
fn every_request_is_refused() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let requests: [fn(u64) -> BaseCommand; 5] = [
            |request_id| CommandTcClientConnectRequest { request_id, tc_id: 0 }.into(),
            |request_id| CommandNewTxn { request_id, ..Default::default() }.into(),
            |request_id| CommandAddPartitionToTxn { request_id, ..Default::default() }.into(),
            |request_id| CommandAddSubscriptionToTxn { request_id, ..Default::default() }.into(),
            |request_id| CommandEndTxn { request_id, ..Default::default() }.into(),
        ];
        for request in requests {
            let (code, text) = client.refusal(request).await;
            assert_eq!((code, &*text), (ServerError::NotAllowedError, "Transactions are not enabled."));
        }
    });
}

/// What belongs to a transaction must not be seen before it is committed: here, never.
#[test]
fn messages_in_transactions_are_refused() {
    everywhere(async |world| {
        let topic = "persistent://public/default/transactions";
        let mut client = world.session().await;
        client.open_producer(producer(topic, 1)).await;
        let send =
            CommandSend { producer_id: 1, txnid_most_bits: Some(0), txnid_least_bits: Some(1), ..Default::default() };
        client.send_message(send, &Outgoing::new("it", 0, "hidden").payload()).await.unwrap();
        let answer = client.await_frame(|frame| matches!(frame.kind(), Type::SendError | Type::SendReceipt)).await;
        let error = answer.unwrap().command.send_error.expect("a refusal");
        assert_eq!(error.error(), ServerError::NotAllowedError);
        client.open_consumer(subscription(topic, "s", SubType::Exclusive, 1)).await;
        client.flow(1, 1).await.unwrap();
        client.nothing_for(1).await;
    });
}

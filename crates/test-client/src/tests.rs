use bytes::BytesMut;
use plerion_wire::encode;
use plerion_wire::proto::{CommandPing, CommandSuccess, CommandUnsubscribe};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::{Client, Error, Incoming, Outgoing, Position, Type, proto};

#[tokio::test]
async fn a_request_keeps_what_comes_before_its_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = Client::connect(listener.local_addr().unwrap().port()).await.unwrap();
    let (mut peer, _) = listener.accept().await.unwrap();
    let mut bytes = BytesMut::new();
    for command in [CommandPing {}.into(), success(7), success(1)] {
        encode::command(&command, &mut bytes);
    }
    encode::error(2, proto::ServerError::TopicNotFound, "no topic", &mut bytes);
    peer.write_all(&bytes).await.unwrap();

    let request = |request_id| CommandUnsubscribe { consumer_id: 0, request_id, ..Default::default() };
    assert_eq!(client.request(1, request(1)).await.unwrap().r#type(), Type::Success);
    let error = client.request(2, request(2)).await.unwrap_err();
    assert_eq!(error.code(), Some(proto::ServerError::TopicNotFound));
    assert_eq!(client.receive().await.unwrap().command, success(7));
    drop(peer);
    assert!(matches!(client.receive().await, Err(Error::Closed | Error::Io(_))));
}

fn success(request_id: u64) -> proto::BaseCommand {
    CommandSuccess { request_id, schema: None }.into()
}

#[test]
fn a_batch_reads_as_it_was_made() {
    let bodies = [&b"one"[..], b"", b"three"];
    let payload = Outgoing::batch("producer", 5, bodies).payload().freeze();
    let at = Position { ledger: 3, entry: 4 };
    let message = proto::CommandMessage { consumer_id: 1, message_id: at.into(), ..Default::default() };
    let batch = Incoming::read(&message, &payload).unwrap();
    assert_eq!((batch.position, batch.has_checksum), (at, true));
    let messages = batch.messages();
    assert_eq!(messages.iter().map(|single| single.sequence_id).collect::<Vec<_>>(), [5, 6, 7]);
    assert_eq!(messages.iter().map(|single| &single.body[..]).collect::<Vec<_>>(), bodies);

    let mut damaged = payload.to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    assert!(matches!(Incoming::read(&message, &damaged.into()), Err(Error::Payload(_))));
}

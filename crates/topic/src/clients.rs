//! The clients of a topic, as the topic sees them.

use bytes::Bytes;
use plerion_wire::ServerError;
use plerion_wire::encode::{Message, SendReceipt};
use plerion_wire::proto::{BaseCommand, CommandProducerSuccess};

use crate::{ConsumerKey, ProducerKey};

slotmap::new_key_type! {
    /// A connection's place in the shard that accepted it; a stale key finds nothing.
    pub struct ConnectionKey;
}

/// A client connection of some shard of this broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId {
    /// The shard that accepted the connection.
    pub shard: u16,
    /// Its place there.
    pub key: ConnectionKey,
}

/// Carries what a topic says to its clients. Nothing here waits or fails: a connection that is gone swallows it. From
/// within a call nobody may be attached or detached.
pub trait Clients {
    /// Answers a SEND, which gives `released` bytes of the connection's publish budget back. Calls for one producer are
    /// in the order of its SENDs.
    fn receipt(&self, to: ConnectionId, receipt: &SendReceipt, released: usize);

    /// Refuses a SEND, which gives `released` bytes of the connection's publish budget back.
    fn send_error(&self, to: ConnectionId, refusal: &SendRefusal<'_>, released: usize);

    /// Hands an entry to a consumer. `payload` starts at the checksum or the metadata size, as stored; its length was
    /// added to what is [outstanding](crate::Outstanding) for the client.
    fn deliver(&self, to: ConnectionId, message: &Message<'_>, payload: Bytes);

    /// Sends any other command.
    fn command(&self, to: ConnectionId, command: BaseCommand);

    /// Tells the client that a producer that waited for its topic may publish now: what it was answered first is no longer
    /// true.
    fn admit_producer(
        &self,
        to: ConnectionId,
        producer: ProducerKey,
        producer_id: u64,
        success: CommandProducerSuccess,
    );

    /// Refuses the request of a producer that waits for its topic, and forgets it on the connection.
    fn refuse_producer(&self, to: ConnectionId, refusal: &ProducerRefusal<'_>);

    /// Tells the client that its producer is gone, and forgets it on the connection, unless another one has its id by now.
    fn close_producer(&self, to: ConnectionId, producer: ProducerKey, producer_id: u64);

    /// Tells the client that its consumer is gone, and forgets it on the connection, unless another one has its id by now.
    fn close_consumer(&self, to: ConnectionId, consumer: ConsumerKey, consumer_id: u64);
}

/// Why a producer waits no longer.
#[derive(Clone, Copy, Debug)]
pub struct ProducerRefusal<'a> {
    /// The producer.
    pub producer: ProducerKey,
    /// Its id on its connection.
    pub producer_id: u64,
    /// The request it came with, which still waits for its answer.
    pub request_id: u64,
    /// The code the client acts on.
    pub error: ServerError,
    /// What a person reads.
    pub message: &'a str,
}

/// Why a SEND is refused.
#[derive(Clone, Copy, Debug)]
pub struct SendRefusal<'a> {
    /// The producer's id on its connection.
    pub producer_id: u64,
    /// The sequence id of the SEND.
    pub sequence_id: u64,
    /// The code the client acts on.
    pub error: ServerError,
    /// What a person reads.
    pub message: &'a str,
}

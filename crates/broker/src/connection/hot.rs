//! The commands a busy connection consists of.
//!
//! Each is handled at once where its topic lives on this shard; otherwise the topic's place is returned, and the
//! frame goes there.

use std::rc::Rc;

use bytes::Bytes;
use plerion_topic::{ConnectionId, ConsumerKey, Context, ProducerKey};
use plerion_wire::command::{Ack, Flow, Redeliver, Send};
use plerion_wire::{Command, Frame};

use super::reader::Ended;
use super::{Attached, Connection};
use crate::mesh::{Released, Target};
use crate::shard::Shard;

/// Where a frame has to go.
type Elsewhere = Option<(u16, Target)>;

/// Handles a SEND.
pub(super) fn send(
    shard: &Rc<Shard>,
    connection: &Rc<Connection>,
    send: &Send<'_>,
    payload: &[u8],
) -> Result<Elsewhere, Ended> {
    let place = connection.attachments.borrow().producers.get(&send.producer_id).and_then(Attached::place);
    let Some((home, key)) = place else {
        let now = shard.clock().monotonic();
        let within = shard.keep_alive();
        return if connection.attachments.borrow().was_closed(send.producer_id, now, within) {
            Ok(None)
        } else {
            shard.counters().malformed_frame();
            Err(Ended::Protocol(format!("SEND of producer {}, which is not open", send.producer_id)))
        };
    };
    connection.reserve(Released { publishes: 1, bytes: payload.len() });
    shard.core.publishing.add(payload.len());
    if home != shard.id {
        return Ok(Some((home, Target::Producer(key))));
    }
    publish(shard, connection.id, key, send, payload);
    Ok(None)
}

/// Handles a FLOW.
pub(super) fn flow(shard: &Rc<Shard>, connection: &Rc<Connection>, flow: Flow) -> Result<Elsewhere, Ended> {
    if flow.permits == 0 || i32::try_from(flow.permits).is_err() {
        shard.counters().malformed_frame();
        return Err(Ended::Protocol(format!("FLOW of {} permits, at least 1 is expected", flow.permits)));
    }
    Ok(consume(shard, connection, flow.consumer_id, Command::Flow(flow)))
}

/// Handles an ACK.
pub(super) fn ack(shard: &Rc<Shard>, connection: &Rc<Connection>, ack: Ack<'_>) -> Elsewhere {
    consume(shard, connection, ack.consumer_id, Command::Ack(ack))
}

/// Handles a REDELIVER_UNACKNOWLEDGED_MESSAGES.
pub(super) fn redeliver(shard: &Rc<Shard>, connection: &Rc<Connection>, redeliver: Redeliver<'_>) -> Elsewhere {
    consume(shard, connection, redeliver.consumer_id, Command::Redeliver(redeliver))
}

/// A command of a consumer that is not open has just missed it: Pulsar ignores it, and so do we.
fn consume(shard: &Rc<Shard>, connection: &Rc<Connection>, id: u64, command: Command<'_>) -> Elsewhere {
    let (home, key) = connection.attachments.borrow().consumers.get(&id).and_then(Attached::place)?;
    if home != shard.id {
        return Some((home, Target::Consumer(key)));
    }
    consumer_command(&shard.context, key, command);
    None
}

/// Handles a frame that arrived at another shard's connection.
pub(crate) fn arrived(shard: &Rc<Shard>, from: ConnectionId, to: Target, frame: &Bytes) {
    // It was decoded once where it arrived.
    let Ok(frame) = Frame::parse(frame) else { return };
    let Ok(command) = Command::decode(frame.command) else { return };
    match (to, command) {
        (Target::Producer(key), Command::Send(send)) => publish(shard, from, key, &send, frame.payload),
        (Target::Consumer(key), command) => consumer_command(&shard.context, key, command),
        (Target::Producer(_), _) => {}
    }
}

fn publish(shard: &Rc<Shard>, from: ConnectionId, key: ProducerKey, send: &Send<'_>, payload: &[u8]) {
    match shard.context.producers.get(key) {
        Some(producer) => producer.publish(send, payload),
        // It has been told that it is gone, and sends again once it is open anew.
        None => shard.switchboard.unanswered(from, payload.len()),
    }
}

fn consumer_command(context: &Context, key: ConsumerKey, command: Command<'_>) {
    let Some(consumer) = context.consumers.get(key) else { return };
    match command {
        Command::Flow(flow) => consumer.flow(flow.permits),
        Command::Ack(ack) => consumer.acknowledge(&ack),
        Command::Redeliver(redeliver) => consumer.redeliver(&redeliver),
        _ => {}
    }
}

/// Waits until the connection may publish more: neither it nor the broker has too much under way.
pub(super) async fn publish_budget(shard: &Rc<Shard>, connection: &Rc<Connection>) {
    let limit = shard.settings().network.max_pending_publishes as usize;
    if connection.publishing.get().publishes >= limit {
        while connection.publishing.get().publishes > limit / 2 {
            connection.resume.notified().await;
        }
    }
    shard.core.publishing.wait().await;
}

//! A subscription's figures.

use std::rc::Rc;

use plerion_subscription::Position;
use plerion_subscription::dispatcher::{ConsumerKey, Kind};
use plerion_wire::proto;

use super::Subscription;

/// What a subscription tells of itself.
#[derive(Clone, Debug)]
pub struct SubscriptionFigures {
    /// Its type.
    pub kind: Kind,
    /// Entries that are not acknowledged.
    pub backlog: u64,
    /// Entries that wait for their time.
    pub delayed: u64,
    /// Messages that consumers have and have not acknowledged.
    pub unacked: u64,
    /// Whether nobody is served because there are too many of those.
    pub blocked: bool,
    /// Messages handed out.
    pub messages_out: u64,
    /// Bytes handed out.
    pub bytes_out: u64,
    /// Messages handed out again because consumers asked.
    pub redelivered: u64,
    /// Entries that expired.
    pub expired: u64,
    /// Up to where everything is acknowledged.
    pub mark_delete: Position,
    /// Where new entries are read.
    pub read_position: Position,
    /// Runs of acknowledged entries after the mark-delete position.
    pub ack_ranges: usize,
    /// The name of the consumer that is served alone.
    pub active_consumer: Option<String>,
}

impl Subscription {
    /// The figures now.
    pub fn figures(&self) -> SubscriptionFigures {
        let dispatcher = self.dispatcher.borrow();
        let cursor = self.cursor.borrow();
        let active = dispatcher.active_consumer().and_then(|key| self.consumer(key));
        SubscriptionFigures {
            kind: dispatcher.kind(),
            backlog: cursor.backlog(&self.log),
            delayed: dispatcher.delayed_len() as u64,
            unacked: dispatcher.unacked(),
            blocked: dispatcher.is_blocked(),
            messages_out: self.delivered.messages.get(),
            bytes_out: self.delivered.bytes.get(),
            redelivered: self.redelivered.get(),
            expired: self.expired.get(),
            mark_delete: cursor.mark_delete(),
            read_position: dispatcher.read_position(),
            ack_ranges: cursor.acked_runs().count(),
            active_consumer: active.map(|consumer| consumer.name.to_string()),
        }
    }

    /// The partition's index, if the topic is one.
    pub fn partition(&self) -> Option<u32> {
        self.partition
    }

    /// The hashes each consumer owns (Key_Shared), as texts.
    pub fn key_ranges(&self) -> Vec<(ConsumerKey, String)> {
        let ranges = self.dispatcher.borrow().key_ranges();
        ranges.into_iter().map(|(key, range)| (key, format!("[{}, {}]", range.start, range.end))).collect()
    }

    /// The runs of acknowledged entries after the mark-delete position, both ends included.
    pub fn acked_runs(&self) -> Vec<(Position, Position)> {
        self.cursor.borrow().acked_runs().collect()
    }

    /// Counts as acknowledged what the log no longer holds.
    pub(crate) fn follow_trim(self: &Rc<Self>) {
        let moved = self.cursor.borrow_mut().trim(&self.log);
        if moved {
            self.dispatcher.borrow_mut().prune(&self.cursor.borrow());
            self.mark_unsaved();
            self.pump();
        }
    }

    /// Tells the consumers that can be told, each once, that a terminated topic has no more for them: everything is
    /// acknowledged.
    pub(crate) fn tell_end(&self) {
        if self.log.terminated().is_none() || self.backlog() > 0 {
            return;
        }
        for consumer in self.consumers() {
            let takes_it = consumer.known.get() && consumer.client.takes_end_of_topic;
            if takes_it && !consumer.told_end.replace(true) {
                let end = proto::CommandReachedEndOfTopic { consumer_id: consumer.id };
                self.context.clients.command(consumer.connection, end.into());
            }
        }
    }
}

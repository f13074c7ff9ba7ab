//! The producers and consumers of a connection.

use std::collections::VecDeque;
use std::time::Duration;

use plerion_topic::{ConnectionId, ConsumerKey, ProducerKey};
use plerion_wire::proto;
use rustc_hash::FxHashMap;

/// How many closed producer ids are remembered, so that SENDs still on their way to them do no harm.
const REMEMBERED: usize = 64;

/// The producers and consumers a client has opened on one connection, by the ids it chose.
#[derive(Default)]
pub(crate) struct Attachments {
    pub(crate) producers: FxHashMap<u64, Attached<ProducerKey, proto::CommandProducerSuccess>>,
    pub(crate) consumers: FxHashMap<u64, Attached<ConsumerKey, ()>>,
    closed_producers: VecDeque<(u64, Duration)>,
    next_ticket: u64,
}

/// Where a producer or a consumer is.
pub(crate) enum Attached<K, R> {
    /// It is being opened; whoever finishes with another ticket came too late.
    Opening(Ticket),
    /// It is open at shard `home`.
    Open { home: u16, key: K, reply: R },
}

/// Sets one attempt to open something apart from all others on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// An attempt of a client to open something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) connection: ConnectionId,
    /// The id the client chose for what it opens.
    pub(crate) id: u64,
    pub(crate) request_id: u64,
    pub(crate) ticket: Ticket,
}

impl Attempt {
    /// Puts what was opened, if it was, where the attempt was noted; false if the client has lost interest.
    pub(crate) fn settle<K: Copy, R>(
        &self,
        slots: &mut FxHashMap<u64, Attached<K, R>>,
        opened: Option<Attached<K, R>>,
    ) -> bool {
        let wanted = matches!(slots.get(&self.id), Some(Attached::Opening(current)) if *current == self.ticket);
        match opened {
            _ if !wanted => {}
            Some(opened) => {
                slots.insert(self.id, opened);
            }
            None => {
                slots.remove(&self.id);
            }
        }
        wanted
    }
}

/// Forgets what is open under `id`; false if that is not what is at `place`: its client has closed that already.
pub(crate) fn forget<K: Copy + PartialEq, R>(
    slots: &mut FxHashMap<u64, Attached<K, R>>,
    id: u64,
    place: (u16, K),
) -> bool {
    let found = slots.get(&id).and_then(Attached::place) == Some(place);
    if found {
        slots.remove(&id);
    }
    found
}

impl<K: Copy, R> Attached<K, R> {
    /// Shard and key, once it is open.
    pub(crate) fn place(&self) -> Option<(u16, K)> {
        match self {
            Self::Opening(_) => None,
            Self::Open { home, key, .. } => Some((*home, *key)),
        }
    }
}

impl Attachments {
    /// A ticket that was never given before on this connection.
    pub(crate) fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        Ticket(self.next_ticket)
    }

    /// Remembers that producer `id` was closed at `now`.
    pub(crate) fn producer_closed(&mut self, id: u64, now: Duration) {
        if self.closed_producers.len() == REMEMBERED {
            self.closed_producers.pop_front();
        }
        self.closed_producers.push_back((id, now));
    }

    /// Whether producer `id` was closed less than `within` before `now`.
    pub(crate) fn was_closed(&self, id: u64, now: Duration, within: Duration) -> bool {
        self.closed_producers.iter().any(|(closed, at)| *closed == id && now.saturating_sub(*at) < within)
    }
}

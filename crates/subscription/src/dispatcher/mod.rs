//! Who gets which entry of a subscription.
//!
//! A [`Dispatcher`] is a state machine: told of consumers, permits, acknowledgements and entries, it says what to read
//! next and who gets what was read. It knows neither time nor sockets; the log is asked through [`Cursor`] and
//! [`Layout`]. After any call that returns true, and after events that name no result (a new entry in the log, a due
//! time), [`Dispatcher::next_read`] tells whether there is something to do.
//!
//! INV-SUB-1: while a consumer has permits and an unacknowledged entry can go to it, `next_read` asks for a read.

mod chunks;
mod consumer;
mod core;
mod invariants;
mod pending;
mod read;
mod refusal;
mod replay;
mod settings;
mod shared;
mod single;
mod turn;

#[cfg(test)]
mod tests;

pub use consumer::{Consumer, ConsumerKey, KeyShared, Stats};
pub use read::{Plan, Read, Stale};
pub use refusal::{Code, Refusal};
pub use settings::{Kind, Settings};

use self::core::Core;
use crate::selector::{DrainingHash, Range};
use crate::{Cursor, Layout, Position};
use shared::Shared;
use single::Single;

/// What a dispatcher has to know of an entry to route it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Where it is.
    pub position: Position,
    /// How many messages are in it: the batch size, 1 for a single message.
    pub messages: u32,
    /// The Murmur3 hash of its key, see [`crate::sticky::KeyFacts::hash`]; Key_Shared alone looks at it.
    pub key_hash: u32,
    /// When it is to be delivered, in milliseconds of the epoch.
    pub deliver_at: Option<u64>,
    /// Which chunk of a chunked message it is.
    pub chunk: Option<Chunk>,
}

/// A part of a message that was published in several entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// A hash of the message's uuid: the same for its chunks, different for other messages.
    pub message: u64,
    /// The chunk's number, from 0.
    pub id: u32,
    /// How many chunks the message has.
    pub count: u32,
}

/// An entry that a consumer gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The entry's index among those offered.
    pub index: usize,
    /// Who gets it.
    pub consumer: ConsumerKey,
    /// How often the consumers asked for it again before.
    pub redelivery_count: u32,
}

/// Something consumers are to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A Failover consumer became the active one, or is not it (any more).
    ActiveChanged {
        /// Whom to tell.
        consumer: ConsumerKey,
        /// Whether it is the active one.
        is_active: bool,
    },
}

/// The dispatch state of one subscription, of any type.
#[derive(Debug)]
pub struct Dispatcher {
    core: Core,
    kind: Kind,
    mode: Mode,
}

#[derive(Debug)]
enum Mode {
    Single(Single),
    Shared(Box<Shared>),
}

impl Mode {
    fn new(kind: Kind, key_shared: Option<&KeyShared>, settings: &Settings) -> Self {
        match kind {
            Kind::Exclusive | Kind::Failover => Self::Single(Single::default()),
            Kind::Shared => Self::Shared(Box::new(Shared::any_order())),
            Kind::KeyShared => Self::Shared(Box::new(Shared::by_key(key_shared, settings))),
        }
    }
}

impl Dispatcher {
    /// A dispatcher without consumers. `kind` is what the subscription was last; the first consumer's type replaces
    /// it.
    pub fn new(kind: Kind, settings: Settings) -> Self {
        let mode = Mode::new(kind, None, &settings);
        Self { core: Core::new(settings), kind, mode }
    }

    /// The subscription's type: that of its consumers, or of the last ones it had.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The limits in force.
    pub fn settings(&self) -> &Settings {
        &self.core.settings
    }

    /// Puts new limits into force. The choice of the Key_Shared rule waits until the subscription has no consumer.
    pub fn set_settings(&mut self, settings: Settings) {
        self.core.settings = settings;
        if let Mode::Shared(shared) = &mut self.mode {
            shared.recheck_limits(&mut self.core);
        }
    }

    /// Lets a consumer in, whose key no other has or had. It starts with no permits. `now_ms` is the time in milliseconds of any epoch, as in
    /// [`Dispatcher::next_read`].
    ///
    /// # Errors
    /// If it may not join; nothing changes then. See [`Refusal::check_first`].
    pub fn add_consumer(&mut self, consumer: Consumer, now_ms: u64) -> Result<Vec<Event>, Refusal> {
        self.admit(&consumer)?;
        if self.core.consumers.is_empty() {
            self.kind = consumer.kind;
            self.mode = Mode::new(consumer.kind, consumer.key_shared.as_ref(), &self.core.settings);
            self.core.rewind();
        }
        match &mut self.mode {
            Mode::Single(single) => {
                self.core.consumers.insert(consumer);
                Ok(single.elect(self.kind, &mut self.core, now_ms))
            }
            Mode::Shared(shared) => {
                shared.join(consumer, &mut self.core)?;
                Ok(Vec::new())
            }
        }
    }

    /// Takes a consumer out; what it had unacknowledged goes to others, or waits for the next consumer. Unknown
    /// consumers are ignored.
    pub fn remove_consumer(&mut self, key: ConsumerKey, now_ms: u64) -> Vec<Event> {
        let Some(id) = self.core.consumers.id(key) else { return Vec::new() };
        match &mut self.mode {
            Mode::Single(single) => {
                self.core.consumers.remove(id);
                single.left(id);
                single.elect(self.kind, &mut self.core, now_ms)
            }
            Mode::Shared(shared) => {
                shared.leave(id, &mut self.core);
                Vec::new()
            }
        }
    }

    /// Adds permits, counted in messages. False if the consumer is unknown: a late FLOW of one that left.
    pub fn flow(&mut self, key: ConsumerKey, permits: u32) -> bool {
        let Some(slot) = self.core.slot_mut(key) else { return false };
        slot.permits = slot.permits.saturating_add(i64::from(permits));
        true
    }

    /// Says whether the consumer's connection takes messages now. False if the consumer is unknown.
    pub fn set_writable(&mut self, key: ConsumerKey, writable: bool) -> bool {
        self.core.slot_mut(key).map(|slot| slot.writable = writable).is_some()
    }

    /// What to read next, if a read is useful and none is out. The result goes to [`Dispatcher::offer`]; dropping the
    /// [`Read`] cancels it. `now_ms` is the time in milliseconds of the epoch in which [`Facts::deliver_at`] counts.
    pub fn next_read(&mut self, cursor: &Cursor, layout: &dyn Layout, now_ms: u64) -> Option<Read> {
        if self.core.lease.is_out() {
            return None;
        }
        let plan = match &mut self.mode {
            Mode::Single(single) => single.plan(&self.core, cursor, layout, now_ms),
            Mode::Shared(shared) => shared.plan(&self.core, cursor, layout, now_ms),
        }?;
        Some(self.core.lease.grant(plan))
    }

    /// When [`Dispatcher::next_read`] is to be asked again although nothing else happened, in milliseconds; later
    /// than `now_ms`.
    pub fn next_due(&self, now_ms: u64) -> Option<u64> {
        let due = match &self.mode {
            Mode::Single(single) => single.next_due(),
            Mode::Shared(shared) => shared.next_due(&self.core),
        };
        due.filter(|due| *due > now_ms)
    }

    /// Decides who gets the entries of a read, ascending by position; of a forward read these are all entries of the
    /// log from its start on, except that acknowledged ones may be left out. Deliveries are appended to `out` in
    /// order; entries that are not among them will be asked for again in time.
    ///
    /// # Errors
    /// If the subscription was rewound since; nothing changes then.
    pub fn offer(
        &mut self,
        read: Read,
        entries: &[Facts],
        cursor: &Cursor,
        now_ms: u64,
        out: &mut Vec<Delivery>,
    ) -> Result<(), Stale> {
        let plan = self.core.lease.redeem(read)?;
        match &mut self.mode {
            Mode::Single(single) => single.offer(&mut self.core, entries, cursor, out),
            Mode::Shared(shared) => shared.offer(&plan, &mut self.core, entries, cursor, now_ms, out),
        }
        Ok(())
    }

    /// Gives an entry that is not kept (of a non-persistent topic) to a consumer that can take it now, and forgets it;
    /// `None` if nobody can.
    pub fn push(&mut self, entry: &Facts) -> Option<ConsumerKey> {
        let id = match &mut self.mode {
            Mode::Single(single) => single.active(),
            Mode::Shared(shared) => shared.pick(&self.core, entry),
        }?;
        let slot = self.core.consumers.get_mut(id).filter(|slot| slot.has_capacity())?;
        slot.permits -= i64::from(entry.messages.max(1));
        Some(slot.consumer.key)
    }

    /// Notes that the cursor acknowledged the entry at `position`, whoever sent it, or all but `remaining` of its
    /// messages; or, of Exclusive and Failover, everything up to it. True if that made room: something may be readable
    /// now that was not.
    pub fn acked(&mut self, position: Position, remaining: u32) -> bool {
        match &mut self.mode {
            Mode::Single(single) => single.next_due().is_some(),
            Mode::Shared(shared) => shared.acked(position, remaining, &mut self.core),
        }
    }

    /// Drops what `cursor` says is acknowledged: after it moved other than by [`Dispatcher::acked`], for example by
    /// expiry.
    pub fn prune(&mut self, cursor: &Cursor) {
        if let Mode::Shared(shared) = &mut self.mode {
            shared.prune(cursor, &mut self.core);
        }
    }

    /// Takes entries back from a consumer that asks for them again: those of `ids`, or all. The shared kinds give them
    /// to anyone, counting; the others start again from the mark-delete position, whatever the ids. An `epoch` below
    /// the consumer's makes the request void. True if there is something to read.
    pub fn redeliver(&mut self, key: ConsumerKey, ids: Option<&[Position]>, epoch: Option<u64>) -> bool {
        let Some(id) = self.core.consumers.id(key) else { return false };
        if !self.core.raise_epoch(id, epoch) {
            return false;
        }
        match &mut self.mode {
            Mode::Single(single) => {
                let active = single.active() == Some(id);
                if active {
                    self.core.rewind();
                }
                active
            }
            Mode::Shared(shared) => shared.redeliver(id, ids, &mut self.core),
        }
    }

    /// Starts again from the mark-delete position, as after a seek: what was held, counted or delayed is forgotten,
    /// and the result of a read begun before will be refused.
    pub fn rewind(&mut self) {
        match &mut self.mode {
            Mode::Single(single) => single.forget(),
            Mode::Shared(shared) => shared.forget(&mut self.core),
        }
        self.core.rewind();
    }

    /// Moves the read position forward to `position`, over entries that need not be read.
    pub fn skip_to(&mut self, position: Position) {
        self.core.read_position = self.core.read_position.max(position);
    }

    /// The place from which new entries are read; [`Position::EARLIEST`] right after a rewind.
    pub fn read_position(&self) -> Position {
        self.core.read_position
    }

    /// Whether a read is out.
    pub fn is_reading(&self) -> bool {
        self.core.lease.is_out()
    }

    /// Whether a consumer is connected. Acknowledgements of others are those of former sessions and void.
    pub fn has_consumer(&self, key: ConsumerKey) -> bool {
        self.core.consumers.id(key).is_some()
    }

    /// How many consumers are connected.
    pub fn consumer_count(&self) -> usize {
        self.core.consumers.len()
    }

    /// The consumer that is served alone, of Exclusive and Failover.
    pub fn active_consumer(&self) -> Option<ConsumerKey> {
        match &self.mode {
            Mode::Single(single) => Some(self.core.consumers.get(single.active()?)?.consumer.key),
            Mode::Shared(_) => None,
        }
    }

    /// The figures of one consumer.
    pub fn consumer(&self, key: ConsumerKey) -> Option<Stats> {
        self.core.consumers.id(key).and_then(|id| self.stats(id))
    }

    /// The figures of all consumers, the most preferred first.
    pub fn consumers(&self) -> impl Iterator<Item = Stats> {
        self.core.consumers.order().iter().filter_map(|&id| self.stats(id))
    }

    fn stats(&self, id: consumer::SlotId) -> Option<Stats> {
        let slot = self.core.consumers.get(id)?;
        Some(Stats {
            key: slot.consumer.key,
            permits: slot.permits,
            unacked: slot.unacked,
            pending: slot.pending,
            blocked: slot.blocked,
            writable: slot.writable,
            active: match &self.mode {
                Mode::Single(single) => single.active() == Some(id),
                Mode::Shared(_) => true,
            },
            epoch: slot.consumer.epoch,
        })
    }

    /// Unacknowledged messages at all consumers (shared kinds).
    pub fn unacked(&self) -> u64 {
        self.shared().map_or(0, Shared::unacked)
    }

    /// Whether nobody is served because there are too many unacknowledged messages.
    pub fn is_blocked(&self) -> bool {
        self.shared().is_some_and(Shared::is_blocked)
    }

    /// Entries read before that wait to be read again.
    pub fn replay_len(&self) -> usize {
        self.shared().map_or(0, Shared::replay_len)
    }

    /// Entries that wait for their time.
    pub fn delayed_len(&self) -> usize {
        self.shared().map_or(0, Shared::delayed_len)
    }

    /// The consumer an entry is pending at (shared kinds).
    pub fn holder(&self, position: Position) -> Option<ConsumerKey> {
        let slot = self.shared()?.holder(position)?;
        Some(self.core.consumers.get(slot)?.consumer.key)
    }

    /// How often an entry in flight was asked for again.
    pub fn redelivery_count(&self, position: Position) -> u32 {
        self.shared().map_or(0, |shared| shared.redelivery_count(position))
    }

    /// The hashes each consumer owns (Key_Shared), ascending.
    pub fn key_ranges(&self) -> Vec<(ConsumerKey, Range)> {
        let ranges = self.shared().map(Shared::ranges).unwrap_or_default();
        ranges
            .into_iter()
            .filter_map(|range| Some((self.core.consumers.get(range.owner)?.consumer.key, range)))
            .collect()
    }

    /// The hashes that wait for a former owner (Key_Shared), in no order.
    pub fn draining_hashes(&self) -> Vec<(ConsumerKey, DrainingHash)> {
        let hashes = self.shared().map(Shared::draining).unwrap_or_default();
        hashes.into_iter().filter_map(|hash| Some((self.core.consumers.get(hash.owner)?.consumer.key, hash))).collect()
    }

    fn shared(&self) -> Option<&Shared> {
        match &self.mode {
            Mode::Single(_) => None,
            Mode::Shared(shared) => Some(shared),
        }
    }

    /// Whether `newcomer` fits to the subscription and its consumers.
    fn admit(&self, newcomer: &Consumer) -> Result<(), Refusal> {
        let settings = &self.core.settings;
        if settings.durable != newcomer.durable {
            return Err(if settings.durable {
                Refusal::SubscriptionIsDurable
            } else {
                Refusal::SubscriptionIsNotDurable
            });
        }
        let Some((_, present)) = self.core.consumers.iter().next() else { return Ok(()) };
        if self.kind != newcomer.kind {
            return Err(Refusal::DifferentType);
        }
        if self.kind == Kind::Exclusive {
            return Err(Refusal::Exclusive { holder: present.consumer.key });
        }
        if let Mode::Shared(shared) = &self.mode {
            shared.admit(newcomer)?;
        }
        if settings.max_consumers > 0 && self.core.consumers.len() >= settings.max_consumers as usize {
            return Err(Refusal::TooManyConsumers);
        }
        Ok(())
    }
}

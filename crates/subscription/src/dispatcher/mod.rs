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
mod entry;
mod invariants;
mod pending;
mod read;
mod refusal;
mod replay;
mod settings;
mod shared;
mod single;
mod stats;
mod turn;

#[cfg(test)]
mod tests;

pub use consumer::{Consumer, ConsumerKey, KeyShared};
pub use entry::{Chunk, Delivery, Event, Facts};
pub use read::{Plan, Read, Stale};
pub use refusal::{Code, Refusal};
pub use settings::{Kind, Settings};
pub use stats::Stats;

use self::core::Core;
use crate::{Cursor, Layout, Position};
use shared::Shared;
use single::Single;

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

    /// Lets a consumer in, whose key no other has or had. It starts with no permits. `now_ms` is the time as in
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
    /// log from its start on, except that acknowledged ones may be left out; earlier ones are ignored. Deliveries are
    /// appended to `out` in order; entries that are not among them will be asked for again in time.
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

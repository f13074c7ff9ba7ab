//! From the log to the consumers.
//!
//! A subscription is pumped whenever something changed: permits came, an entry became durable, an acknowledgement made
//! room, a socket took bytes, a time came. The pump asks the rules what to read, reads it, asks them who gets it, and
//! goes on until there is nothing to read or the entries are not in memory; then a task waits for the disk.

use std::rc::Rc;
use std::time::Duration;

use plerion_managed_log::LogEntry;
use plerion_subscription::dispatcher::{Kind, Plan, Read};
use plerion_subscription::{Layout, Position};
use plerion_wire::encode::Message;

use super::{Pumping, Scratch, Subscription};
use crate::Outstanding;
use crate::context::Totals;
use crate::{Consumer, facts};

/// How many entries one pump hands out before others get their turn.
const TURN: usize = 2_000;
/// How long a failed read waits for its next attempt.
const RETRY: Duration = Duration::from_millis(100);

/// What became of a read from memory.
enum FromMemory {
    /// This many entries were found.
    Found(usize),
    /// The first one is not in memory.
    Absent,
}

impl Subscription {
    /// Hands out whatever can be handed out.
    pub(crate) fn pump(self: &Rc<Self>) {
        match self.pumping.get() {
            Pumping::Idle | Pumping::Scheduled => self.pumping.set(Pumping::Running),
            Pumping::Running | Pumping::Again => return self.pumping.set(Pumping::Again),
        }
        let mut scratch = self.scratch.take();
        let mut left = TURN;
        loop {
            match self.step(&mut scratch) {
                Some(handed) if handed < left => left -= handed,
                Some(_) => {
                    self.go_on_later();
                    break;
                }
                None if self.pumping.get() == Pumping::Again => self.pumping.set(Pumping::Running),
                None => {
                    self.pumping.set(Pumping::Idle);
                    self.arm();
                    self.tell_end();
                    break;
                }
            }
        }
        self.scratch.replace(scratch);
    }

    /// Makes one read and hands it out; how many entries that were, at least 1, or `None` if there is nothing to do now.
    fn step(self: &Rc<Self>, scratch: &mut Scratch) -> Option<usize> {
        let now = self.context.clock.wall_ms();
        self.hold_back();
        let read = {
            let cursor = self.cursor.borrow();
            self.dispatcher.borrow_mut().next_read(&cursor, &self.log, now)?
        };
        match self.read_from_memory(read.plan(), &mut scratch.entries) {
            FromMemory::Found(count) => {
                self.hand_out(read, scratch);
                Some(count.max(1))
            }
            FromMemory::Absent => {
                let subscription = self.clone();
                tokio::task::spawn_local(async move { subscription.read_from_disk(read).await });
                None
            }
        }
    }

    fn read_from_memory(&self, plan: &Plan, entries: &mut Vec<LogEntry>) -> FromMemory {
        entries.clear();
        let max_bytes = self.max_read_bytes();
        match plan {
            Plan::Forward { from, max_entries } => {
                let last = self.log.last();
                self.log.read_cached(*from, last, *max_entries as usize, max_bytes, entries);
            }
            Plan::Replay(positions) => {
                let mut left = max_bytes;
                for (from, to, count) in runs(positions) {
                    let before = entries.len();
                    self.log.read_cached(from, to, count, left, entries);
                    let read: usize = entries[before..].iter().map(|entry| entry.bytes.len()).sum();
                    left = left.saturating_sub(read);
                    if entries.len() - before < count || left == 0 {
                        break;
                    }
                }
            }
        }
        if entries.is_empty() { FromMemory::Absent } else { FromMemory::Found(entries.len()) }
    }

    /// Reads what is not in memory, hands it out and pumps on. An entry that is lost for good is passed over: it stays
    /// in the backlog, for a person to look at, and holds nobody up.
    async fn read_from_disk(self: Rc<Self>, read: Read) {
        let (from, to, count) = match read.plan() {
            Plan::Forward { from, max_entries } => (*from, self.log.last(), *max_entries as usize),
            Plan::Replay(positions) => runs(positions).next().unwrap_or((Position::EARLIEST, Position::EARLIEST, 0)),
        };
        let mut scratch = Scratch::default();
        match self.log.read(from, to, count, self.max_read_bytes()).await {
            // The log passes over what it has lost.
            Ok(reading) if reading.entries.is_empty() => self.pass_over(read, from, to.after()),
            Ok(reading) => {
                scratch.entries = reading.entries;
                self.hand_out(read, &mut scratch);
            }
            Err(failure) if failure.is_retryable() => {
                tracing::warn!(subscription = %self.name, %failure, "read failed, will be tried again");
                tokio::time::sleep(RETRY).await;
                drop(read);
            }
            Err(failure) => {
                tracing::error!(subscription = %self.name, log = %self.log.path(), %failure, "entry passed over");
                self.pass_over(read, failure.position, failure.resume);
            }
        }
        self.pump();
    }

    /// Goes on without the entries from `from` on and before `resume`.
    fn pass_over(&self, read: Read, from: Position, resume: Position) {
        let mut dispatcher = self.dispatcher.borrow_mut();
        let mut lost = 1;
        match read.plan() {
            Plan::Forward { .. } => dispatcher.skip_to(resume),
            // Left out of the offer they would be asked for again at once: let them go until the next session.
            Plan::Replay(positions) => {
                let gone = positions.iter().filter(|position| (from..resume).contains(*position));
                lost = gone.inspect(|position| _ = dispatcher.acked(**position, 0)).count() as u64;
            }
        }
        Totals::add(&self.context.totals.unreadable, lost);
    }

    /// Offers entries to the rules and sends each to whom they choose.
    fn hand_out(self: &Rc<Self>, read: Read, scratch: &mut Scratch) {
        let now = self.context.clock.wall_ms();
        let by_key = self.dispatcher.borrow().kind() == Kind::KeyShared;
        scratch.facts.clear();
        scratch.deliveries.clear();
        let mut markers = Vec::new();
        scratch.entries.retain(|entry| {
            let peeked = facts::peek(entry.position, &entry.bytes, by_key);
            if peeked.is_marker {
                markers.push(entry.position);
            } else {
                scratch.facts.push(peeked.facts);
            }
            !peeked.is_marker
        });
        for marker in markers {
            self.ack_entry(marker);
        }
        {
            let cursor = self.cursor.borrow();
            let mut dispatcher = self.dispatcher.borrow_mut();
            // A stale read belongs to before a seek or rewind: what it brought is read again.
            let _ = dispatcher.offer(read, &scratch.facts, &cursor, now, &mut scratch.deliveries);
        }
        let mut current: Option<Rc<Consumer>> = None;
        for delivery in scratch.deliveries.drain(..) {
            let entry = &scratch.entries[delivery.index];
            let facts = &scratch.facts[delivery.index];
            // Entries mostly go to consumers in runs.
            current =
                current.filter(|one| one.session() == delivery.consumer).or_else(|| self.consumer(delivery.consumer));
            let Some(consumer) = &current else { continue };
            let bytes = entry.bytes.len() as u64;
            let messages = u64::from(facts.messages);
            consumer.delivered.add(messages, bytes);
            consumer.last_consumed.set(now);
            self.delivered.add(messages, bytes);
            Totals::add(&self.context.totals.messages_out, messages);
            Totals::add(&self.context.totals.bytes_out, bytes);
            if delivery.redelivery_count > 0 {
                self.redelivered.set(self.redelivered.get() + messages);
            }
            let left = self.cursor.borrow().remaining(entry.position).unwrap_or_default();
            let ack_set: Vec<u64> = left.into_iter().map(i64::cast_unsigned).collect();
            let message = Message {
                consumer_id: consumer.id,
                ledger_id: entry.position.ledger.cast_unsigned(),
                entry_id: entry.position.entry.cast_unsigned(),
                partition: self.partition.map_or(-1, u32::cast_signed),
                redelivery_count: delivery.redelivery_count,
                ack_set: &ack_set,
                consumer_epoch: consumer.epoch.get(),
            };
            if !consumer.client.outstanding.add(entry.bytes.len()) {
                self.dispatcher.borrow_mut().set_writable(delivery.consumer, false);
            }
            self.context.clients.deliver(consumer.connection, &message, entry.bytes.clone());
        }
        scratch.entries.clear();
    }

    /// Leaves out the consumers whose clients have enough on their way, be it for other consumers of theirs.
    fn hold_back(&self) {
        for (key, consumer) in &*self.consumers.borrow() {
            if !consumer.client.outstanding.takes_more() {
                self.dispatcher.borrow_mut().set_writable(*key, false);
            }
        }
    }

    /// How much one read may bring: no more than may be on its way to one client.
    fn max_read_bytes(&self) -> usize {
        let limit = self.context.settings.borrow().subscriptions.max_read_bytes;
        usize::try_from(limit).unwrap_or(usize::MAX).min(Outstanding::FULL)
    }

    fn go_on_later(self: &Rc<Self>) {
        self.pumping.set(Pumping::Scheduled);
        let subscription = self.clone();
        tokio::task::spawn_local(async move {
            tokio::task::yield_now().await;
            if subscription.pumping.get() == Pumping::Scheduled {
                subscription.pump();
            }
        });
    }

    /// Sets a timer for the next time at which there may be something to read without anything happening.
    fn arm(self: &Rc<Self>) {
        let now = self.context.clock.wall_ms();
        let Some(due) = self.dispatcher.borrow().next_due(now) else { return };
        if self.timer.borrow().as_ref().is_some_and(|set| set.due <= due) {
            return;
        }
        let subscription = Rc::downgrade(self);
        let task = tokio::task::spawn_local(async move {
            tokio::time::sleep(Duration::from_millis(due - now)).await;
            if let Some(subscription) = subscription.upgrade() {
                subscription.timer.take();
                subscription.pump();
            }
        });
        self.timer.replace(Some(Timer { due, task }));
    }
}

/// A pump to come; none if it is dropped before.
pub(super) struct Timer {
    /// In ms since the epoch.
    due: u64,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The runs of neighbouring entries in ascending `positions`: first, last, and how many.
fn runs(positions: &[Position]) -> impl Iterator<Item = (Position, Position, usize)> {
    positions
        .chunk_by(|a, b| a.ledger == b.ledger && a.entry + 1 == b.entry)
        .filter_map(|run| Some((*run.first()?, *run.last()?, run.len())))
}

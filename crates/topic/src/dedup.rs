//! Recognising messages that are sent again.

use std::rc::Rc;

use bytes::Bytes;
use plerion_subscription::dedup::{Decision, Recovery, Sequence, State};
use plerion_subscription::{Layout, Position};
use plerion_wire::MessageMetadata;

use crate::{Error, Topic, facts};

/// Entries replayed by one read.
const PAGE: usize = 1_000;

/// A topic's marks, and when they were last recorded.
#[derive(Default)]
pub(crate) struct Deduplication {
    pub(crate) state: State,
    /// The marks as they were recorded last, from where a recovery begins.
    record: Option<Bytes>,
    /// Entries stored since the marks were recorded.
    unrecorded: u64,
}

impl Deduplication {
    /// None, with what was recorded of an earlier one.
    pub(crate) fn recorded(record: Option<Bytes>) -> Self {
        Self { record, ..Self::default() }
    }

    /// The marks, if the topic deduplicates and knows them.
    pub(crate) fn ready(&mut self) -> Option<&mut plerion_subscription::dedup::Dedup> {
        self.state.ready()
    }

    /// The last sequence id stored for a producer's name; −1 if that is not known.
    pub(crate) fn last_sequence_id(&self, producer: &str) -> i64 {
        self.state.last_sequence_id(producer)
    }
}

/// How a message was numbered.
pub(crate) fn sequence(metadata: &MessageMetadata<'_>, highest: Option<u64>) -> Sequence {
    let first = metadata.sequence_id.cast_signed();
    match (metadata.chunk_id, metadata.num_chunks_from_msg) {
        (Some(id), Some(count)) if count > 1 => Sequence::chunk(first, id, count),
        _ => Sequence::new(first, highest.or(metadata.highest_sequence_id).map(u64::cast_signed)),
    }
}

impl Topic {
    /// Whether a message is new; if so it counts as under way.
    pub(crate) fn deduplicate(&self, producer: &str, sequence: Sequence) -> Decision {
        self.dedup.borrow_mut().state.decide(producer, sequence)
    }

    /// Whether it is known which messages are stored.
    pub(crate) fn knows_duplicates(&self) -> bool {
        matches!(self.dedup.borrow().state, State::Ready(_))
    }

    /// Whether messages are deduplicated.
    pub fn deduplicates(&self) -> bool {
        !matches!(self.dedup.borrow().state, State::Disabled)
    }

    /// Begins or ends deduplication as `wanted` says. It begins with what the log and its last record tell.
    ///
    /// # Errors
    /// What reading the log says; the topic does not deduplicate then.
    pub async fn set_deduplication(self: &Rc<Self>, wanted: bool) -> Result<(), Error> {
        let Some(log) = &self.log else { return Ok(()) };
        if !wanted {
            if self.deduplicates() {
                self.dedup.replace(Deduplication::default());
                log.record_dedup(Bytes::new())?;
            }
            return Ok(());
        }
        if !self.dedup.borrow_mut().state.begin() {
            return Ok(());
        }
        // What is under way carries no marks yet: it is to be in the log before that is read.
        self.settled().await;
        let record = self.dedup.borrow().record.clone();
        let recovered = self.replay(record.filter(|record| !record.is_empty())).await;
        let (outcome, marks) = match recovered {
            Ok(recovery) => (Ok(()), Some(recovery.finish())),
            Err(error) => (Err(error), None),
        };
        let mut dedup = self.dedup.borrow_mut();
        dedup.state.finish(marks);
        if dedup.state.ready().is_some() {
            dedup.record = None;
        }
        if let Some(marks) = dedup.ready() {
            for producer in self.producers() {
                marks.connected(&producer.name);
            }
        }
        outcome
    }

    async fn replay(&self, record: Option<Bytes>) -> Result<Recovery, Error> {
        let now = self.context.clock.wall_ms();
        let mut recovery = match record.map(|record| Recovery::new(&record, now)).transpose() {
            Ok(recovery) => recovery.unwrap_or_else(|| Recovery::empty(now)),
            Err(error) => {
                tracing::warn!(topic = %self.name(), %error, "deduplication is recovered from the whole log");
                Recovery::empty(now)
            }
        };
        let Some(log) = &self.log else { return Ok(recovery) };
        let last = log.last();
        let mut from = after(recovery.after());
        while let Some(next) = log.ceiling(from).filter(|next| *next <= last) {
            let entries = match log.read(next, last, PAGE, usize::MAX).await {
                Ok(reading) => reading.entries,
                Err(failure) if failure.is_retryable() => return Err(failure.into()),
                Err(failure) => {
                    from = failure.resume;
                    continue;
                }
            };
            for entry in &entries {
                if let Some(metadata) = facts::metadata(&entry.bytes) {
                    recovery.replay(metadata.producer_name, sequence(&metadata, None));
                }
                from = after(entry.position);
            }
            if entries.is_empty() {
                break;
            }
        }
        Ok(recovery)
    }

    /// Notes that `stored` more entries are durable, and records the marks when it is time.
    pub(crate) fn deduplicated(&self, stored: u64) {
        let mut dedup = self.dedup.borrow_mut();
        if dedup.ready().is_none() {
            return;
        }
        dedup.unrecorded += stored;
        if dedup.unrecorded >= u64::from(self.context.settings().deduplication.snapshot_entries) {
            drop(dedup);
            self.record_deduplication();
        }
    }

    /// Records the marks; what is stored after this is replayed by the next owner.
    pub fn record_deduplication(&self) {
        if std::mem::take(&mut self.dedup.borrow_mut().unrecorded) == 0 {
            return;
        }
        let Some(snapshot) = self.deduplication_record() else { return };
        if let Some(log) = &self.log
            && let Err(error) = log.record_dedup(snapshot)
        {
            tracing::warn!(topic = %self.name(), %error, "deduplication not recorded");
        }
    }

    fn deduplication_record(&self) -> Option<Bytes> {
        let position = self.log.as_ref()?.last();
        let most = self.context.settings().deduplication.max_producers as usize;
        let mut dedup = self.dedup.borrow_mut();
        Some(dedup.ready()?.snapshot(position, most).into())
    }

    /// Forgets the names of producers that left long ago.
    pub fn purge_deduplication(&self) {
        let idle = self.context.settings().deduplication.forget_after;
        let now = self.context.clock.wall_ms();
        if let Some(dedup) = self.dedup.borrow_mut().ready() {
            dedup.purge(now, u64::try_from(idle.as_millis()).unwrap_or(u64::MAX));
        }
    }
}

fn after(position: Position) -> Position {
    Position::new(position.ledger, position.entry.saturating_add(1))
}

//! What a topic's log is like, and the facts kept with it.

use plerion_metadata::Durability;
use plerion_subscription::{Layout, Position};

use super::ManagedLog;
use crate::{Error, LedgerInfo, Properties};

/// Figures of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    /// Confirmed entries.
    pub entries: u64,
    /// Bytes in all ledgers, including appends that are not confirmed yet.
    pub bytes: u64,
    /// Bytes of appends that wait for a ledger to be made.
    pub waiting_bytes: usize,
    /// Entries that reads passed over because they are lost.
    pub skipped_entries: u64,
    /// The ledgers, ascending; the last may be open.
    pub ledgers: Vec<LedgerInfo>,
}

impl ManagedLog {
    /// The position of the first entry, if there is one.
    pub fn first_position(&self) -> Option<Position> {
        self.inner.spans.borrow().next(Position::EARLIEST)
    }

    /// The position of the last confirmed entry; if it is deleted already, where it was;
    /// [`Position::EARLIEST`] if there never was one.
    pub fn last_confirmed(&self) -> Position {
        self.inner.last()
    }

    /// The first entry after `position`.
    pub fn next_position(&self, position: Position) -> Option<Position> {
        self.inner.spans.borrow().next(position)
    }

    /// The last entry before `position`.
    pub fn previous_position(&self, position: Position) -> Option<Position> {
        self.inner.spans.borrow().previous(position)
    }

    /// The `count`th entry after `from`, or the last one; `from` itself if there is none after it.
    pub fn position_after_n(&self, from: Position, count: u64) -> Position {
        self.inner.spans.borrow().after_n(from, count)
    }

    /// The topic's properties.
    pub fn properties(&self) -> Properties {
        self.inner.row.get().properties.clone()
    }

    /// Replaces the topic's properties, durably.
    ///
    /// # Errors
    /// What the metadata store says.
    pub async fn set_properties(&self, properties: Properties) -> Result<(), Error> {
        self.inner.check()?;
        let written = self.inner.row.update(Durability::Synced, |row| row.properties = properties).await;
        self.inner.written(written)
    }

    /// The term of the topic's exclusive producer.
    pub fn topic_epoch(&self) -> Option<u64> {
        self.inner.row.get().topic_epoch
    }

    /// Sets the term of the topic's exclusive producer, durably.
    ///
    /// # Errors
    /// What the metadata store says.
    pub async fn set_topic_epoch(&self, epoch: u64) -> Result<(), Error> {
        self.inner.check()?;
        let written = self.inner.row.update(Durability::Synced, |row| row.topic_epoch = Some(epoch)).await;
        self.inner.written(written)
    }

    /// The size of all ledgers in bytes, including appends that are not confirmed yet.
    pub fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    /// About how many bytes the entries after `position` have: exact for whole ledgers, by count within one.
    pub fn bytes_after(&self, position: Position) -> u64 {
        let after = |ledger: &LedgerInfo| {
            let end = Position::new(ledger.id.0.cast_signed(), i64::MAX);
            let left = self.count(position.after().max(Position::new(end.ledger, 0)), end);
            if left < ledger.entries {
                u64::try_from(u128::from(ledger.bytes) * u128::from(left) / u128::from(ledger.entries))
                    .unwrap_or(u64::MAX)
            } else {
                ledger.bytes
            }
        };
        let first = |ledgers: &[LedgerInfo]| ledgers.partition_point(|ledger| ledger.last() <= position);
        let ledgers = self.ledgers();
        ledgers[first(&ledgers)..].iter().map(after).sum()
    }

    /// The ledgers, ascending, the open one as far as it is confirmed.
    pub fn ledgers(&self) -> Vec<LedgerInfo> {
        let inner = &self.inner;
        let mut ledgers = inner.row.get().ledgers.clone();
        if let Some(last) = ledgers.last_mut().filter(|last| Some(last.id) == inner.current.get()) {
            let open = *inner.tail.borrow().open();
            (last.entries, last.bytes) = (open.confirmed, open.bytes);
        }
        ledgers
    }

    /// Figures of the log.
    pub fn stats(&self) -> LogStats {
        let inner = &self.inner;
        LogStats {
            entries: inner.spans.borrow().len(),
            bytes: inner.bytes(),
            waiting_bytes: inner.tail.borrow().waiting_bytes(),
            skipped_entries: inner.skipped.get(),
            ledgers: self.ledgers(),
        }
    }
}

impl super::Inner {
    pub(super) fn bytes(&self) -> u64 {
        let sealed: u64 = self.row.get().ledgers.iter().map(|ledger| ledger.bytes).sum();
        let open = self.current.get().map_or(0, |_| self.tail.borrow().open().bytes);
        sealed + open
    }
}

impl Layout for ManagedLog {
    fn first(&self) -> Position {
        self.inner.spans.borrow().first()
    }

    fn last(&self) -> Position {
        self.inner.last()
    }

    fn ceiling(&self, from: Position) -> Option<Position> {
        self.inner.spans.borrow().ceiling(from)
    }

    fn floor(&self, up_to: Position) -> Option<Position> {
        self.inner.spans.borrow().floor(up_to)
    }

    fn count(&self, from: Position, up_to: Position) -> u64 {
        self.inner.spans.borrow().count(from, up_to)
    }

    fn contains(&self, position: Position) -> bool {
        self.inner.spans.borrow().contains(position)
    }
}

//! A topic as its log sees it: a sink for confirmations, and the cursors.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use bytes::Bytes;
use plerion_ledger::{Body, LedgerId};
use plerion_managed_log::{
    AppendRefused, Error, LogEntry, LogSink, ManagedLog, OpenMode, Opened, Properties, SnapshotSource, StateLog,
};
use plerion_subscription::Position;
use plerion_subscription::cursor::Cursor;
use tokio::sync::Notify;

pub(crate) struct Topic {
    pub(crate) log: ManagedLog,
    pub(crate) created: bool,
    pub(crate) dedup: Option<Bytes>,
    pub(crate) events: Rc<Events>,
}

#[derive(Default)]
pub(crate) struct Events {
    pub(crate) confirmed: RefCell<Vec<Position>>,
    pub(crate) failure: RefCell<Option<Error>>,
    pub(crate) cursors: RefCell<BTreeMap<String, Cursor>>,
    pub(crate) failures: Cell<usize>,
    changed: Notify,
}

impl LogSink for Events {
    fn confirmed(&self, ledger: LedgerId, first_entry: u64, count: u64) {
        assert!(self.failure.borrow().is_none(), "confirmed after a failure");
        for entry in first_entry..first_entry + count {
            let position = Position::new(ledger.0 as i64, entry as i64);
            let last = self.confirmed.borrow().last().copied();
            assert!(last.is_none_or(|last| last < position), "{position} after {last:?}");
            self.confirmed.borrow_mut().push(position);
        }
        self.changed.notify_waiters();
    }

    fn failed(&self, error: Error) {
        self.failures.set(self.failures.get() + 1);
        self.failure.replace(Some(error));
        self.changed.notify_waiters();
    }
}

impl SnapshotSource for Events {
    fn cursor_snapshot(&self, cursor: &str) -> Option<Bytes> {
        self.cursors.borrow().get(cursor).map(|cursor| Bytes::from(cursor.snapshot()))
    }
}

impl Topic {
    pub(crate) async fn open(state_log: &StateLog, path: &str) -> Self {
        Self::try_open(state_log, path, OpenMode::Create).await.unwrap()
    }

    pub(crate) async fn try_open(state_log: &StateLog, path: &str, mode: OpenMode) -> Result<Self, Error> {
        let Opened { log, created, cursors, dedup } = ManagedLog::open(state_log, path, mode).await?;
        let events = Rc::new(Events::default());
        for cursor in cursors {
            let restored = Cursor::restore(&cursor.snapshot).unwrap();
            events.cursors.borrow_mut().insert(cursor.name, restored);
        }
        log.attach(Rc::downgrade(&events) as Weak<dyn LogSink>, Rc::downgrade(&events) as Weak<dyn SnapshotSource>);
        Ok(Self { log, created, dedup, events })
    }

    pub(crate) fn append(&self, entry: &str) -> Result<(), AppendRefused> {
        self.log.append(Body::from(entry.as_bytes()))
    }

    /// Appends and waits for the positions.
    pub(crate) async fn publish<S: AsRef<str>>(&self, entries: impl IntoIterator<Item = S>) -> Vec<Position> {
        let before = self.events.confirmed.borrow().len();
        let mut count = 0;
        for entry in entries {
            self.append(entry.as_ref()).unwrap();
            count += 1;
        }
        self.confirmed(before + count).await;
        self.events.confirmed.borrow()[before..].to_vec()
    }

    /// Resolves when `count` appends were confirmed since the topic was opened.
    pub(crate) async fn confirmed(&self, count: usize) {
        loop {
            let changed = self.events.changed.notified();
            if self.events.confirmed.borrow().len() >= count {
                return;
            }
            if let Some(error) = &*self.events.failure.borrow() {
                panic!("waiting for {count} confirmations: {error}");
            }
            changed.await;
        }
    }

    /// Resolves when the log has failed.
    pub(crate) async fn failed(&self) -> Error {
        loop {
            let changed = self.events.changed.notified();
            if let Some(error) = &*self.events.failure.borrow() {
                return error.clone();
            }
            changed.await;
        }
    }

    /// All entries, read in portions.
    pub(crate) async fn entries(&self) -> Vec<LogEntry> {
        let mut entries: Vec<LogEntry> = Vec::new();
        let mut from = Position::EARLIEST;
        loop {
            let reading = self.log.read(from, Position::LATEST, 7, 1_000).await.unwrap();
            entries.extend(reading.entries);
            match reading.status {
                plerion_managed_log::ReadStatus::Limited { next } => from = next,
                status => {
                    assert_eq!(status, plerion_managed_log::ReadStatus::Complete);
                    return entries;
                }
            }
        }
    }

    pub(crate) async fn texts(&self) -> Vec<String> {
        self.entries().await.iter().map(|entry| String::from_utf8(entry.bytes.to_vec()).unwrap()).collect()
    }

    /// Makes a cursor that has consumed everything up to `mark_delete`.
    pub(crate) async fn subscribe(&self, name: &str, mark_delete: Position) {
        let cursor = Cursor::new(mark_delete);
        self.log.create_cursor(name, Bytes::from(cursor.snapshot()), Properties::new()).await.unwrap();
        self.events.cursors.borrow_mut().insert(name.to_owned(), cursor);
    }

    /// Acknowledges and records it; not flushed.
    pub(crate) fn ack(&self, name: &str, position: Position) {
        let delta = {
            let mut cursors = self.events.cursors.borrow_mut();
            let cursor = cursors.get_mut(name).unwrap();
            cursor.ack(position, &self.log);
            cursor.drain()
        };
        if let Some(delta) = delta {
            self.log.record_cursor(name, Bytes::from(delta)).unwrap();
        }
    }

    pub(crate) fn is_acked(&self, name: &str, position: Position) -> bool {
        self.events.cursors.borrow()[name].is_acked(position)
    }

    pub(crate) fn mark_delete(&self, name: &str) -> Position {
        self.events.cursors.borrow()[name].mark_delete()
    }
}

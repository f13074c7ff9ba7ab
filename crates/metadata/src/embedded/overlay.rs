//! Accepted changes that are not on disk yet.
//!
//! Two views matter. The *head* of a key is its last accepted change: what the next write is decided on. What
//! readers *see* lags behind it while a synced change is on its way to the disk, and is ahead of the disk after an
//! eventual one.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::key;
use crate::row::Row;

/// What a write made of a row: its new contents, or `None` for deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) row: Option<Row>,
    pub(super) revision: u64,
}

struct Entry {
    head: Change,
    /// What readers see, if it differs from the disk.
    seen: Option<Change>,
}

impl Entry {
    fn is_hidden(&self) -> bool {
        self.seen.as_ref().is_none_or(|seen| seen.revision != self.head.revision)
    }
}

#[derive(Default)]
pub(super) struct Overlay(BTreeMap<Arc<str>, Entry>);

impl Overlay {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The last accepted change of `key`.
    pub(super) fn head(&self, key: &str) -> Option<&Change> {
        self.0.get(key).map(|entry| &entry.head)
    }

    /// The change of `key` that readers see instead of the disk.
    pub(super) fn seen(&self, key: &str) -> Option<&Change> {
        self.0.get(key)?.seen.as_ref()
    }

    /// The heads in a range of keys.
    pub(super) fn heads(&self, keys: Range<&str>) -> impl Iterator<Item = (&Arc<str>, &Change)> {
        self.entries(keys).map(|(key, entry)| (key, &entry.head))
    }

    /// What readers see instead of the disk in a range of keys.
    pub(super) fn seen_in(&self, keys: Range<&str>) -> impl Iterator<Item = (&Arc<str>, &Change)> {
        self.entries(keys).filter_map(|(key, entry)| Some((key, entry.seen.as_ref()?)))
    }

    /// Whether `key` has a change that readers do not see yet. A later one must not overtake it.
    pub(super) fn is_hidden(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(Entry::is_hidden)
    }

    /// Revision of the last change at or below `key` that readers do not see yet.
    pub(super) fn last_hidden(&self, key: &str) -> Option<u64> {
        let (from, end) = (key::below_start(key), key::below_end(key));
        let below = self.entries(&from..&end).map(|(_, entry)| entry);
        let hidden = self.0.get(key).into_iter().chain(below).filter(|entry| entry.is_hidden());
        hidden.map(|entry| entry.head.revision).max()
    }

    /// Accepts a change that readers see once it is on disk.
    pub(super) fn accept_hidden(&mut self, key: Arc<str>, change: Change) {
        match self.0.get_mut(&*key) {
            Some(entry) => entry.head = change,
            None => drop(self.0.insert(key, Entry { head: change, seen: None })),
        }
    }

    /// Accepts a change that readers see at once; the key has no hidden one.
    pub(super) fn accept_seen(&mut self, key: Arc<str>, change: Change) {
        debug_assert!(!self.is_hidden(&key));
        self.0.insert(key, Entry { head: change.clone(), seen: Some(change) });
    }

    /// Every key's head, to be written to disk.
    pub(super) fn changes(&self) -> Vec<(Arc<str>, Change)> {
        self.0.iter().map(|(key, entry)| (Arc::clone(key), entry.head.clone())).collect()
    }

    /// Forgets what has reached the disk; changes accepted since then stay.
    pub(super) fn written(&mut self, changes: &[(Arc<str>, Change)]) {
        for (key, change) in changes {
            let Some(entry) = self.0.get_mut(key) else { continue };
            if entry.head.revision == change.revision {
                self.0.remove(key);
            } else if entry.seen.as_ref().is_some_and(|seen| seen.revision <= change.revision) {
                entry.seen = None;
            }
        }
    }

    /// Takes back every change that readers have not seen.
    pub(super) fn discard_hidden(&mut self) {
        self.0.retain(|_, entry| match &entry.seen {
            Some(seen) => {
                entry.head = seen.clone();
                true
            }
            None => false,
        });
    }

    fn entries(&self, keys: Range<&str>) -> impl Iterator<Item = (&Arc<str>, &Entry)> {
        // An empty or inverted range has no keys; the map would panic on the latter.
        let end = keys.end.max(keys.start);
        self.0.range::<str, _>((std::ops::Bound::Included(keys.start), std::ops::Bound::Excluded(end)))
    }
}

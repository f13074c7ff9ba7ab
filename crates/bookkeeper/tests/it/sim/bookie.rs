//! A bookie as the original behaves, its weaknesses included.

use std::collections::BTreeMap;

use bytes::Bytes;
use plerion_bookkeeper::protocol::{Call, Failure, Reply};
use plerion_bookkeeper::wire::{Status, v2};

pub(crate) struct Bookie {
    pub(crate) entries: BTreeMap<i64, Bytes>,
    pub(crate) fenced: bool,
    /// Whether the fence survives a restart: only if there is an entry for it to be kept with.
    fence_is_durable: bool,
    pub(crate) alive: bool,
    pub(crate) stalled: bool,
    pub(crate) read_only: bool,
    /// It lost its journal, and does not know what it had.
    pub(crate) limbo: bool,
    /// Grows with each restart.
    pub(crate) life: u32,
}

impl Default for Bookie {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            fenced: false,
            fence_is_durable: false,
            alive: true,
            stalled: false,
            read_only: false,
            limbo: false,
            life: 0,
        }
    }
}

impl Bookie {
    pub(crate) fn crash(&mut self) {
        self.alive = false;
        self.stalled = false;
        self.life += 1;
        self.fenced &= self.fence_is_durable;
    }

    fn absent(&self) -> Reply {
        let failure = match (self.limbo, self.entries.is_empty() && !self.fenced) {
            (true, _) => Failure::Error(Status::UnknownLedgerState),
            (false, true) => Failure::NoLedger,
            (false, false) => Failure::NoEntry,
        };
        Reply::Failed(failure)
    }

    fn add(&mut self, entry: &Bytes) -> Reply {
        let id = i64::from_be_bytes(entry[8..16].try_into().unwrap());
        self.entries.insert(id, entry.clone());
        Reply::Added
    }

    /// Serves a call; `priority` is whether writing back asks for it.
    pub(crate) fn serve(&mut self, call: &Call, priority: bool) -> Reply {
        match call {
            Call::Add(_) if self.read_only => Reply::Failed(Failure::ReadOnly),
            Call::Add(_) if self.fenced => Reply::Failed(Failure::Fenced),
            Call::Add(frame) => self.add(&frame.slice(v2::ADD_PREFIX..)),
            Call::WriteBack(_) if self.read_only && !priority => Reply::Failed(Failure::ReadOnly),
            Call::WriteBack(entry) => self.add(entry),
            Call::Read(entry) => self.read(*entry),
            Call::FencingRead(entry) => {
                self.fenced = true;
                self.fence_is_durable |= !self.entries.is_empty();
                self.read(*entry)
            }
            Call::Batch { first, count, .. } => {
                let all: Vec<Bytes> =
                    (*first..first + i64::from(*count)).map_while(|entry| self.entries.get(&entry).cloned()).collect();
                if all.is_empty() { self.absent() } else { Reply::Entries(all) }
            }
        }
    }

    fn read(&self, entry: i64) -> Reply {
        let found = if entry == -1 { self.entries.values().next_back() } else { self.entries.get(&entry) };
        found.map_or_else(|| self.absent(), |bytes| Reply::Entry(bytes.clone()))
    }
}

//! Scenarios in which it is the order of messages that matters: a machine, and bookies that say what the test wants.

mod reading;
mod recovering;
mod writing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use plerion_bookkeeper::bookie::BookieId;
use plerion_bookkeeper::digest::{DigestType, Digester, MasterKey};
use plerion_bookkeeper::directory::{Ask, Told};
use plerion_bookkeeper::entry::Header;
use plerion_bookkeeper::ledger_metadata::{LedgerMetadata, Versioned};
use plerion_bookkeeper::protocol::defects::Defects;
use plerion_bookkeeper::protocol::{Action, Call, Places, Token, Wake};
use plerion_bookkeeper::quorum::Quorum;
use plerion_ledger::LedgerId;

pub(crate) const LEDGER: LedgerId = LedgerId(7);

pub(crate) fn bookie(number: usize) -> BookieId {
    BookieId::new(&format!("b{number}:1")).unwrap()
}

pub(crate) fn digester() -> Digester {
    Digester::new(DigestType::Crc32c, b"")
}

pub(crate) fn open_metadata((ensemble, write, ack): (usize, usize, usize)) -> LedgerMetadata {
    let members = (0..ensemble).map(bookie).collect();
    LedgerMetadata::open(Quorum::new(ensemble, write, ack).unwrap(), members, DigestType::Crc32c, Bytes::new())
}

/// An entry of seven bytes, as a bookie has it.
pub(crate) fn sealed(entry: i64, lac: i64) -> Bytes {
    let mut out = BytesMut::new();
    Header { ledger: LEDGER, entry, lac, length: (entry + 1) * 7 }.seal(&digester(), b"seven b", &mut out);
    out.freeze()
}

/// Bookies that can take a place, in this order.
pub(crate) struct Spares(pub(crate) Vec<BookieId>);

impl Places for Spares {
    fn replace(
        &mut self,
        ensemble: &[BookieId],
        failed: &BTreeMap<usize, BookieId>,
        avoid: &BTreeSet<BookieId>,
    ) -> BTreeMap<usize, BookieId> {
        self.0.retain(|spare| !ensemble.contains(spare) && !avoid.contains(spare));
        let count = failed.len().min(self.0.len());
        failed.keys().copied().zip(self.0.drain(..count)).collect()
    }
}

pub(crate) fn spares(numbers: std::ops::Range<usize>) -> Spares {
    Spares(numbers.map(bookie).collect())
}

/// What a machine wanted done, sorted.
pub(crate) struct Wanted<E> {
    pub(crate) sends: Vec<(BookieId, Call, Token)>,
    pub(crate) asks: Vec<Ask>,
    pub(crate) wakes: Vec<Wake>,
    pub(crate) told: Vec<E>,
}

pub(crate) fn sort<E>(out: &mut Vec<Action<E>>) -> Wanted<E> {
    let mut wanted = Wanted { sends: Vec::new(), asks: Vec::new(), wakes: Vec::new(), told: Vec::new() };
    for action in out.drain(..) {
        match action {
            Action::Send { to, call, token } => wanted.sends.push((to, call, token)),
            Action::Ask(ask) => wanted.asks.push(ask),
            Action::Wake { wake, .. } => wanted.wakes.push(wake),
            Action::Tell(event) => wanted.told.push(event),
        }
    }
    wanted
}

pub(crate) fn found(metadata: &LedgerMetadata, version: u64) -> Told {
    Told::Found(Arc::new(Versioned { metadata: metadata.clone(), version }))
}

pub(crate) fn key() -> MasterKey {
    MasterKey::of(b"")
}

pub(crate) const SOUND: Defects = Defects::NONE;

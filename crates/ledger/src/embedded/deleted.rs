//! Ledgers that are deleted while segments still hold records of them.

use parking_lot::RwLock;

use super::id_hash::IdMap;

/// The deleted ledgers, each with the number of segments that hold something of it, once that was counted. A ledger
/// no segment holds is forgotten, and its deletion record with it.
#[derive(Default)]
pub(crate) struct Deleted {
    holders: RwLock<IdMap<Option<u32>>>,
}

impl Deleted {
    pub(crate) fn contains(&self, ledger: u64) -> bool {
        self.holders.read().contains_key(&ledger)
    }

    /// Notes a deletion, not yet counted.
    pub(crate) fn insert(&self, ledger: u64) {
        self.holders.write().entry(ledger).or_insert(None);
    }

    /// The ledgers that were not counted yet.
    pub(crate) fn uncounted(&self) -> Vec<u64> {
        self.holders.read().iter().filter(|(_, holders)| holders.is_none()).map(|(&ledger, _)| ledger).collect()
    }

    pub(crate) fn set_holders(&self, ledger: u64, count: u32) {
        let mut holders = self.holders.write();
        match count {
            0 => holders.remove(&ledger),
            _ => holders.insert(ledger, Some(count)),
        };
    }

    /// One segment less holds something of `ledger`. When that seems to be the last, it is to be counted again.
    pub(crate) fn release(&self, ledger: u64) {
        if let Some(holders) = self.holders.write().get_mut(&ledger) {
            *holders = holders.filter(|&count| count > 1).map(|count| count - 1);
        }
    }

    /// What was counted of `ledger` no longer holds.
    pub(crate) fn recount(&self, ledger: u64) {
        if let Some(holders) = self.holders.write().get_mut(&ledger) {
            *holders = None;
        }
    }

    /// Whether other segments than one that holds it itself (`held_here`) hold something of `ledger`, so that its
    /// deletion record is still needed.
    pub(crate) fn is_needed(&self, ledger: u64, held_here: bool) -> bool {
        match self.holders.read().get(&ledger) {
            None => false,
            Some(None) => true,
            Some(Some(count)) => *count > u32::from(held_here),
        }
    }
}

//! Which bookies get new entries.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use crate::bookie::{Address, BookieId};
use crate::directory::Bookies;
use crate::protocol::{Failure, Places};

/// When bookies are avoided.
#[derive(Clone, Copy, Debug)]
pub struct Quarantine {
    /// After any failure, for so long.
    pub suspicion: Duration,
    /// After so many failures within [`window`](Self::window), for [`sentence`](Self::sentence).
    pub failures: usize,
    /// See [`failures`](Self::failures).
    pub window: Duration,
    /// See [`failures`](Self::failures).
    pub sentence: Duration,
}

impl Default for Quarantine {
    fn default() -> Self {
        Self {
            suspicion: Duration::from_secs(10),
            failures: 5,
            window: Duration::from_secs(60),
            sentence: Duration::from_secs(1_800),
        }
    }
}

/// The bookies as they are registered, and what is held against some of them. Whoever is avoided is chosen all the
/// same when there is nobody else.
#[derive(Debug)]
pub struct Pool {
    registered: Bookies,
    /// Where bookies that are no longer registered were last.
    last_seen: BTreeMap<BookieId, Address>,
    strikes: BTreeMap<BookieId, VecDeque<Duration>>,
    quarantine: Quarantine,
    now: Duration,
    rng: SmallRng,
}

impl Pool {
    /// An empty pool.
    pub fn new(quarantine: Quarantine, rng: SmallRng) -> Self {
        Self {
            registered: Bookies::new(),
            last_seen: BTreeMap::new(),
            strikes: BTreeMap::new(),
            quarantine,
            now: Duration::ZERO,
            rng,
        }
    }

    /// Takes note of who is registered.
    pub fn register(&mut self, registered: Bookies) {
        for (id, bookie) in &registered {
            if let Some(address) = &bookie.address {
                self.last_seen.insert(id.clone(), address.clone());
            }
        }
        self.registered = registered;
    }

    /// Where a bookie listens, as far as is known.
    pub fn address(&self, id: &BookieId) -> Option<Address> {
        let registered = self.registered.get(id).and_then(|bookie| bookie.address.clone());
        registered.or_else(|| self.last_seen.get(id).cloned()).or_else(|| id.as_address())
    }

    /// Sets the time that decides who is avoided, as the clock's monotonic reading.
    pub fn set_time(&mut self, now: Duration) {
        self.now = now;
    }

    /// Holds a failure against a bookie, if it is one of the bookie's own.
    pub fn strike(&mut self, id: &BookieId, failure: Failure) {
        if !matches!(failure, Failure::TimedOut | Failure::Disconnected | Failure::Error(_) | Failure::Busy) {
            return;
        }
        let strikes = self.strikes.entry(id.clone()).or_default();
        strikes.push_back(self.now);
        if strikes.len() > self.quarantine.failures {
            strikes.pop_front();
        }
    }

    /// Whether a bookie is avoided.
    pub fn is_avoided(&self, id: &BookieId) -> bool {
        let Some(strikes) = self.strikes.get(id) else { return false };
        let (Some(first), Some(last)) = (strikes.front(), strikes.back()) else { return false };
        let since = self.now.saturating_sub(*last);
        let is_many = strikes.len() >= self.quarantine.failures
            && last.saturating_sub(*first) <= self.quarantine.window
            && since < self.quarantine.sentence;
        is_many || since < self.quarantine.suspicion
    }

    /// `count` bookies for a new ledger; `None` if there are not so many.
    pub fn choose(&mut self, count: usize) -> Option<Vec<BookieId>> {
        let chosen = self.candidates(|_| true);
        (chosen.len() >= count).then(|| chosen.into_iter().take(count).collect())
    }

    /// Writable bookies in random order, those that are avoided last.
    fn candidates(&mut self, allow: impl Fn(&BookieId) -> bool) -> Vec<BookieId> {
        let mut found: Vec<BookieId> = self
            .registered
            .iter()
            .filter(|(id, bookie)| bookie.writable && allow(id))
            .map(|(id, _)| id.clone())
            .collect();
        found.shuffle(&mut self.rng);
        found.sort_by_key(|id| self.is_avoided(id));
        found
    }
}

impl Places for Pool {
    fn replace(
        &mut self,
        ensemble: &[BookieId],
        failed: &BTreeMap<usize, BookieId>,
        avoid: &BTreeSet<BookieId>,
    ) -> BTreeMap<usize, BookieId> {
        let is_failed = |id: &BookieId| failed.values().any(|lost| lost == id);
        let chosen = self.candidates(|id| !ensemble.contains(id) && !avoid.contains(id) && !is_failed(id));
        failed.keys().copied().zip(chosen).collect()
    }
}

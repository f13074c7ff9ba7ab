//! A store in memory, under the control of a test.
//!
//! It keeps the whole contract, fencing and asynchronous acknowledgement included, and lets a test hold
//! acknowledgements back, make appends fail, damage an entry, and crash. Nothing survives the process.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{AppendError, Epoch, LedgerId, LedgerStore};

mod ledger;
mod shard;

use ledger::Ledger;

/// Ledgers in memory, shared by all shards. Clones are handles to the same store.
#[derive(Clone, Default)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Told of every change that may resolve something.
    changed: Notify,
}

#[derive(Default)]
struct State {
    ledgers: BTreeMap<LedgerId, Ledger>,
    last_id: u64,
    /// How many crashes there were; writers of an earlier life are dead.
    life: u64,
    hold: bool,
    refusal: Option<Arc<str>>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The store as seen from the calling shard. Must be called within a [`tokio::task::LocalSet`]: a local task
    /// tells the sinks how their appends went.
    pub fn shard(&self) -> Rc<dyn LedgerStore> {
        shard::Shard::start(Arc::clone(&self.shared))
    }

    /// Acknowledges nothing until [`release`](Self::release).
    pub fn hold(&self) {
        self.shared.state.lock().hold = true;
    }

    /// Acknowledges what was held back and everything after it.
    pub fn release(&self) {
        self.change(|state| {
            state.hold = false;
            state.ledgers.values_mut().for_each(|ledger| ledger.acknowledge(usize::MAX));
        });
    }

    /// Acknowledges the next `count` held back entries of `ledger`.
    pub fn release_some(&self, ledger: LedgerId, count: usize) {
        self.change(|state| {
            if let Some(ledger) = state.ledgers.get_mut(&ledger) {
                ledger.acknowledge(count);
            }
        });
    }

    /// Refuses appends and new ledgers as a full disk does, until called with `None`. What was refused is not stored;
    /// a writer stays usable.
    pub fn refuse_appends(&self, reason: Option<&str>) {
        self.shared.state.lock().refusal = reason.map(Arc::from);
    }

    /// Fails the writers of all open ledgers as a failed sync does: unacknowledged entries stay readable to whoever
    /// recovers the ledger, but are never acknowledged.
    pub fn fail_writers(&self, cause: &str) {
        let cause: Arc<str> = Arc::from(cause);
        self.change(|state| {
            for (&id, ledger) in &mut state.ledgers {
                ledger.fail(AppendError::Indeterminate { ledger: id, cause: Arc::clone(&cause) });
            }
        });
    }

    /// Makes reads of an entry fail as corrupt.
    pub fn corrupt(&self, ledger: LedgerId, entry: u64) {
        if let Some(ledger) = self.shared.state.lock().ledgers.get_mut(&ledger) {
            ledger.corrupt.insert(entry);
        }
    }

    /// Ends the life of all writers without a word to their sinks, as a crash of the process does. Of the entries of
    /// each ledger that were not acknowledged, the first `kept` survive.
    pub fn crash(&self, kept: usize) {
        self.change(|state| {
            state.life += 1;
            state.hold = false;
            state.ledgers.values_mut().for_each(|ledger| ledger.crash(kept));
        });
    }

    /// How many entries of `ledger` are stored and how many are acknowledged.
    pub fn counts(&self, ledger: LedgerId) -> Option<(usize, usize)> {
        self.shared.state.lock().ledgers.get(&ledger).map(|ledger| (ledger.entries.len(), ledger.acknowledged))
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.shared.state.lock());
        self.shared.changed.notify_waiters();
    }
}

impl Shared {
    /// Resolves when `check` has an answer; asks again after every change.
    async fn wait<T>(&self, mut check: impl FnMut(&mut State) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            futures::pin_mut!(changed);
            changed.as_mut().enable();
            if let Some(answer) = check(&mut self.state.lock()) {
                return answer;
            }
            changed.await;
        }
    }
}

impl State {
    fn create(&mut self, epoch: Epoch) -> LedgerId {
        self.last_id += 1;
        let id = LedgerId(self.last_id);
        self.ledgers.insert(id, Ledger::new(epoch));
        id
    }
}

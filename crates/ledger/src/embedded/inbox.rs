//! How journals talk back to a shard.

use std::sync::Arc;

use futures::task::AtomicWaker;
use parking_lot::Mutex;

use crate::{AppendError, Closed, Error, LedgerId};

/// What a journal tells a shard, in the order in which it happened.
pub(crate) enum Completion {
    /// The oldest outstanding block the shard gave to `journal` is done with: the entries of all ledgers that have not
    /// failed are durable.
    Resolved { journal: usize },
    /// Nothing more of a ledger will be acknowledged to its writer.
    Failed { ledger: LedgerId, error: AppendError },
    /// The answer to what was asked with `token`.
    Answer { token: u64, answer: Result<Answer, Error> },
}

/// What a command came to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Done,
    Sealed(Closed),
    /// What was known of the ledger is outdated: look it up again.
    LookAgain,
}

/// A shard's letter box.
#[derive(Default)]
pub(crate) struct Inbox {
    completions: Mutex<Vec<Completion>>,
    pub(crate) waker: AtomicWaker,
}

impl Inbox {
    /// Moves what has come in to `out`.
    pub(crate) fn take(&self, out: &mut Vec<Completion>) {
        out.append(&mut self.completions.lock());
    }
}

/// What is to be told after a batch.
#[derive(Default)]
pub(crate) struct Outbox {
    letters: Vec<(Arc<Inbox>, Completion)>,
}

impl Outbox {
    pub(crate) fn add(&mut self, inbox: &Arc<Inbox>, completion: Completion) {
        self.letters.push((Arc::clone(inbox), completion));
    }

    /// Keeps only what is true whether or not the batch becomes durable: that entries were refused for want of room.
    pub(crate) fn keep_refusals(&mut self) {
        let is_refusal = |completion: &Completion| {
            matches!(completion, Completion::Failed { error: AppendError::Unavailable(_), .. })
        };
        self.letters.retain(|(_, completion)| is_refusal(completion));
    }

    /// Delivers everything in order and wakes each shard once.
    pub(crate) fn send(&mut self) {
        let mut shards: Vec<Arc<Inbox>> = Vec::new();
        for (inbox, completion) in self.letters.drain(..) {
            inbox.completions.lock().push(completion);
            if !shards.iter().any(|known| Arc::ptr_eq(known, &inbox)) {
                shards.push(inbox);
            }
        }
        for inbox in shards {
            inbox.waker.wake();
        }
    }
}

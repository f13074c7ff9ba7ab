//! A journal: the queue in which appends, fences and deletions get their one order.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, RwLock};

use super::block::Block;
use super::id_hash::IdMap;
use super::inbox::Inbox;
use crate::{AppendError, Class, Closed, Epoch};

mod admit;
mod batch;
mod commit;
mod room;
mod staging;

pub(crate) use commit::Committer;

/// A journal as everyone but its own thread sees it.
#[derive(Default)]
pub(crate) struct Journal {
    queue: Mutex<Queue>,
    filled: Condvar,
    /// The ledgers that are not sealed, or whose writer is still there.
    open: Mutex<IdMap<Open>>,
    /// Why appends are refused at present.
    refusal: RwLock<Option<Arc<str>>>,
}

#[derive(Default)]
struct Queue {
    commands: VecDeque<Command>,
    stopped: bool,
}

/// What a journal is asked to do.
pub(crate) enum Command {
    /// Append the entries of a block.
    Append(Block),
    /// Make a ledger.
    Create { ledger: u64, epoch: Epoch, class: Class, reply: Reply },
    /// Fence a ledger and seal it.
    Seal { ledger: u64, epoch: Epoch, by: Sealer, reply: Reply },
    /// Delete a ledger.
    Delete { ledger: u64, reply: Reply },
    /// The writer of a ledger is gone.
    Release { ledger: u64 },
    /// There may be room on the disk again.
    Retry,
}

/// Who seals a ledger.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sealer {
    /// Its writer.
    Writer,
    /// Whoever takes it over, knowing this of it from the segments, if no journal holds it open.
    Successor(Option<Known>),
}

/// What the segments say of a ledger.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) epoch: Epoch,
    pub(crate) closed: Closed,
    /// The version of the segments it was found in.
    pub(crate) version: u64,
}

/// Where an answer goes.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) token: u64,
}

/// A ledger that a journal knows.
struct Open {
    epoch: Epoch,
    next: u64,
    length: u64,
    class: Class,
    state: State,
    /// Where its writer is told.
    writer: Option<Arc<Inbox>>,
}

/// What appends to a ledger meet.
#[derive(Clone)]
enum State {
    Open,
    /// Nothing more is taken; the ledger is to be sealed where it ends.
    Failed(AppendError),
    Sealed(Closed),
    Deleted,
}

impl Journal {
    /// Adds to the queue. Returns the command when the journal is stopped.
    pub(crate) fn push(&self, command: Command) -> Result<(), Command> {
        let mut queue = self.queue.lock();
        if queue.stopped {
            return Err(command);
        }
        queue.commands.push_back(command);
        drop(queue);
        self.filled.notify_one();
        Ok(())
    }

    /// Lets the thread end once the queue is empty.
    pub(crate) fn stop(&self) {
        self.queue.lock().stopped = true;
        self.filled.notify_one();
    }

    /// Whether it holds `ledger` open.
    pub(crate) fn holds(&self, ledger: u64) -> bool {
        self.open.lock().contains_key(&ledger)
    }

    /// Why appends are refused at present, if they are.
    pub(crate) fn refusal(&self) -> Option<Arc<str>> {
        self.refusal.read().clone()
    }

    /// Moves what is queued to `out`, up to `bytes` of it but at least one, and waits for it if need be. Returns
    /// whether there is anything.
    fn take(&self, out: &mut Vec<Command>, bytes: usize) -> bool {
        let mut queue = self.queue.lock();
        while queue.commands.is_empty() {
            if queue.stopped {
                return false;
            }
            self.filled.wait(&mut queue);
        }
        let mut taken = 0;
        while let Some(command) = queue.commands.front() {
            taken += command.size();
            if taken > bytes && !out.is_empty() {
                break;
            }
            out.extend(queue.commands.pop_front());
        }
        true
    }
}

impl Command {
    /// The most bytes it adds to a batch.
    fn size(&self) -> usize {
        match self {
            Self::Append(block) => block.bytes.len(),
            Self::Create { .. } | Self::Seal { .. } | Self::Delete { .. } => super::record::Control::MAX,
            Self::Release { .. } | Self::Retry => 0,
        }
    }
}

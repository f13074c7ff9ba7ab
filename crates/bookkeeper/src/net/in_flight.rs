//! What was asked on a connection and is not answered yet.
//!
//! Answers of the binary protocol name only what was asked. A question that timed out therefore leaves a mark, and the
//! same is not asked again on that connection until its late answer came: it could be taken for the new one's.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use plerion_ledger::LedgerId;

/// What an answer is recognised by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// An add, in the binary protocol.
    Add(LedgerId, i64),
    /// A read, in the binary protocol.
    Read(LedgerId, i64),
    /// A batch read, in the binary protocol: ledger, first entry, number.
    Batch(LedgerId, i64, i64),
    /// Anything in the protobuf protocol.
    Txn(u64),
}

/// What became of putting a question down.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent<W> {
    /// It can be sent.
    Down,
    /// The same is under way, or its late answer may still come: ask in another way.
    Taken(W),
}

#[derive(Debug)]
struct Waiting<W> {
    /// `None` after a time-out.
    waiter: Option<W>,
    number: u64,
}

/// The open questions of one connection; `W` is who waits.
#[derive(Debug)]
pub struct InFlight<W> {
    open: HashMap<Key, Waiting<W>>,
    deadlines: VecDeque<(Duration, Key, u64)>,
    next: u64,
}

impl<W> Default for InFlight<W> {
    fn default() -> Self {
        Self { open: HashMap::new(), deadlines: VecDeque::new(), next: 0 }
    }
}

impl<W> InFlight<W> {
    /// Puts a question down that is to be answered by `deadline`.
    pub fn put(&mut self, key: Key, waiter: W, deadline: Duration) -> Sent<W> {
        if self.open.contains_key(&key) {
            return Sent::Taken(waiter);
        }
        self.next += 1;
        self.open.insert(key, Waiting { waiter: Some(waiter), number: self.next });
        self.deadlines.push_back((deadline, key, self.next));
        Sent::Down
    }

    /// Who waits for the answer that just came; `None` if nobody does any more.
    pub fn take(&mut self, key: Key) -> Option<W> {
        self.open.remove(&key)?.waiter
    }

    /// Who has waited too long. Time-outs may differ, so that some are found later than they are due.
    pub fn expire(&mut self, now: Duration) -> Vec<W> {
        let mut expired = Vec::new();
        while let Some((_, key, number)) = self.deadlines.pop_front_if(|(deadline, _, _)| *deadline <= now) {
            let Some(waiting) = self.open.get_mut(&key).filter(|waiting| waiting.number == number) else { continue };
            expired.extend(waiting.waiter.take());
            // A number is never given twice: its late answer finds nobody.
            if matches!(key, Key::Txn(_) | Key::Batch(..)) {
                self.open.remove(&key);
            }
        }
        expired
    }

    /// Everybody who waits: the connection is lost, and with it every late answer.
    pub fn drain(&mut self) -> Vec<W> {
        self.deadlines.clear();
        self.open.drain().filter_map(|(_, waiting)| waiting.waiter).collect()
    }

    /// How many questions are open, those that timed out included.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

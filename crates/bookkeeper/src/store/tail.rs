//! The last acknowledged entries of a shard's own ledgers, in memory for readers.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use plerion_ledger::{Entry, LedgerId};

#[derive(Default)]
struct Kept {
    first: u64,
    bodies: VecDeque<Bytes>,
}

pub(super) struct Tail {
    ledgers: HashMap<LedgerId, Kept>,
    /// Oldest first.
    order: VecDeque<(LedgerId, usize)>,
    bytes: usize,
    limit: usize,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        Self { ledgers: HashMap::new(), order: VecDeque::new(), bytes: 0, limit }
    }

    /// Keeps an entry; entries of a ledger come in order, without a gap.
    pub(super) fn push(&mut self, ledger: LedgerId, entry: u64, body: Bytes) {
        let size = body.len();
        let kept = self.ledgers.entry(ledger).or_insert_with(|| Kept { first: entry, bodies: VecDeque::new() });
        kept.bodies.push_back(body);
        self.bytes += size;
        self.order.push_back((ledger, size));
        while self.bytes > self.limit {
            let Some((ledger, size)) = self.order.pop_front() else { break };
            self.bytes -= size;
            let Some(kept) = self.ledgers.get_mut(&ledger) else { continue };
            kept.bodies.pop_front();
            kept.first += 1;
            if kept.bodies.is_empty() {
                self.ledgers.remove(&ledger);
            }
        }
    }

    /// Adds what is here of `first..=last` to `out`, and says how many entries that are.
    pub(super) fn read(
        &self,
        ledger: LedgerId,
        first: u64,
        last: u64,
        max_bytes: usize,
        out: &mut Vec<Entry>,
    ) -> usize {
        let Some(kept) = self.ledgers.get(&ledger) else { return 0 };
        let Some(skip) = first.checked_sub(kept.first).and_then(|skip| usize::try_from(skip).ok()) else { return 0 };
        let (mut count, mut bytes) = (0, 0);
        for (id, body) in (first..=last).zip(kept.bodies.iter().skip(skip)) {
            bytes += body.len();
            if count > 0 && bytes > max_bytes {
                break;
            }
            count += 1;
            out.push(Entry { id, bytes: body.clone() });
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first_and_the_rest_has_no_gap() {
        let mut tail = Tail::new(10);
        for entry in 0..4 {
            tail.push(LedgerId(1), entry, Bytes::from(vec![entry as u8; 3]));
        }
        let read = |first, last, max| {
            let mut out = Vec::new();
            tail.read(LedgerId(1), first, last, max, &mut out);
            out.into_iter().map(|entry| entry.id).collect::<Vec<_>>()
        };
        assert_eq!(read(0, 3, 100), [] as [u64; 0]);
        assert_eq!(read(1, 3, 100), [1, 2, 3]);
        assert_eq!(read(1, 3, 0), [1]);
        assert_eq!(read(2, 9, 100), [2, 3]);
        tail.push(LedgerId(2), 0, Bytes::from(vec![0; 20]));
        assert!(tail.ledgers.is_empty() && tail.bytes == 0);
    }
}

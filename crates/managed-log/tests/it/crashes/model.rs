//! What must be true of a topic, whatever happens.

use std::collections::{BTreeMap, BTreeSet};

use plerion_subscription::{Layout, Position};

use crate::topic::Topic;

#[derive(Default)]
pub(super) struct Model {
    /// Entries are numbered in the order of their appends, over all lives of the topic.
    next: u64,
    /// What this life of the topic appended.
    attempted: Vec<u64>,
    /// What is known to be in the log, at which position.
    pub(super) confirmed: BTreeMap<Position, u64>,
    /// How many confirmations of this life are in `confirmed`.
    seen: usize,
    pub(super) cursors: BTreeMap<String, CursorModel>,
    /// Cursors of which it is not known whether they are there.
    pub(super) unsure: BTreeSet<String>,
}

#[derive(Clone, Default)]
pub(super) struct CursorModel {
    pub(super) start: Option<Position>,
    pub(super) recorded: BTreeSet<Position>,
    pub(super) flushed: BTreeSet<Position>,
}

impl Model {
    pub(super) fn append(&mut self, topic: &Topic) -> bool {
        let number = self.next;
        self.next += 1;
        let taken = topic.append(&number.to_string()).is_ok();
        if taken {
            self.attempted.push(number);
        }
        taken
    }

    /// Takes the confirmations: the k-th is that of the k-th append.
    pub(super) fn observe(&mut self, topic: &Topic) {
        let confirmed = topic.events.confirmed.borrow();
        for (at, &position) in confirmed.iter().enumerate().skip(self.seen) {
            self.confirmed.insert(position, self.attempted[at]);
        }
        self.seen = confirmed.len();
    }

    pub(super) fn is_settled(&self) -> bool {
        self.seen == self.attempted.len()
    }

    /// Everything recorded so far is durable.
    pub(super) fn flushed(&mut self) {
        for cursor in self.cursors.values_mut() {
            cursor.flushed = cursor.recorded.clone();
        }
    }

    /// Entries that some cursor has not acknowledged are in the log.
    pub(super) fn check_unconsumed(&self, topic: &Topic) {
        for (name, cursor) in &self.cursors {
            for position in self.confirmed.keys().filter(|&position| !cursor.has(*position)) {
                assert!(topic.log.contains(*position), "{position} was trimmed, {name} has not consumed it");
            }
        }
    }

    /// A new life of the topic has begun: compares what it found with what must be there.
    pub(super) async fn recovered(&mut self, topic: &Topic) {
        (self.attempted, self.seen) = (Vec::new(), 0);
        let mut found = BTreeMap::new();
        let mut last = None;
        for entry in topic.entries().await {
            let number: u64 = std::str::from_utf8(&entry.bytes).unwrap().parse().unwrap();
            assert!(last < Some((entry.position, number)), "{} is out of order", entry.position);
            assert!(last.is_none_or(|(_, before)| before < number), "{number} is out of order");
            last = Some((entry.position, number));
            found.insert(entry.position, number);
        }
        let first = topic.log.first_position();
        for (&position, number) in &self.confirmed {
            match found.get(&position) {
                Some(text) => assert_eq!(text, number, "at {position}"),
                None => assert!(first.is_none_or(|first| position < first), "{number} at {position} is lost"),
            }
        }
        assert!(self.confirmed.last_key_value().is_none_or(|(&last, _)| topic.log.last_confirmed() >= last));
        self.confirmed.extend(found);
        self.recovered_cursors(topic);
    }

    fn recovered_cursors(&mut self, topic: &Topic) {
        let found: BTreeSet<String> = topic.log.cursor_names().into_iter().collect();
        for name in std::mem::take(&mut self.unsure) {
            self.cursors.remove(&name);
            if found.contains(&name) {
                let start = Some(topic.mark_delete(&name));
                self.cursors.insert(name, CursorModel { start, ..CursorModel::default() });
            }
        }
        assert!(found.iter().eq(self.cursors.keys()), "found {found:?}, expected {:?}", self.cursors.keys());
        for (name, cursor) in &mut self.cursors {
            let mut acked = BTreeSet::new();
            for &position in self.confirmed.keys() {
                // What was trimmed had been consumed, although that may not have been durable.
                let is_acked = topic.is_acked(name, position) || !topic.log.contains(position);
                let known = cursor.start.is_some_and(|start| position <= start);
                assert!(is_acked || !known && !cursor.flushed.contains(&position), "{name} forgot {position}");
                if is_acked {
                    let recorded = known || cursor.recorded.contains(&position) || !topic.log.contains(position);
                    assert!(recorded, "{name} invented {position}");
                    acked.insert(position);
                }
            }
            cursor.recorded = acked.clone();
            cursor.flushed = acked;
        }
    }
}

impl CursorModel {
    pub(super) fn has(&self, position: Position) -> bool {
        self.start.is_some_and(|start| position <= start) || self.recorded.contains(&position)
    }
}

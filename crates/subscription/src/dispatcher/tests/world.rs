//! A topic, a subscription and its cursor, for tests.

use std::collections::BTreeMap;

use super::super::*;
use crate::murmur3_32;
use crate::test_log::TestLog;

pub(super) const fn key(number: u64) -> ConsumerKey {
    ConsumerKey(number)
}

/// Entry `entry` of the only ledger of [`TestLog::with`].
pub(super) fn at(entry: i64) -> Position {
    Position::new(3, entry)
}

pub(super) fn consumer(number: u64, kind: Kind) -> Consumer {
    Consumer {
        key: key(number),
        name: format!("consumer-{number}"),
        kind,
        priority: 0,
        durable: true,
        key_shared: None,
        epoch: 0,
        description: format!("Consumer{{consumerId={number}}}"),
    }
}

/// Settings under which Key_Shared halves ranges and nothing is limited.
pub(super) fn settings() -> Settings {
    Settings {
        key_shared_ring: false,
        max_unacked_per_consumer: 0,
        max_unacked_per_subscription: 0,
        ..Settings::default()
    }
}

pub(super) struct World {
    pub(super) log: TestLog,
    pub(super) cursor: Cursor,
    pub(super) dispatcher: Dispatcher,
    pub(super) now_ms: u64,
    /// What is not as [`World::facts`] makes it by default.
    pub(super) special: BTreeMap<Position, Facts>,
}

/// An entry that reached a consumer: position, consumer, redelivery count.
pub(super) type Got = (Position, u64, u32);

impl World {
    pub(super) fn new(kind: Kind, settings: Settings) -> Self {
        Self {
            log: TestLog::new(),
            cursor: Cursor::new(at(-1)),
            dispatcher: Dispatcher::new(kind, settings),
            now_ms: 1_000_000,
            special: BTreeMap::new(),
        }
    }

    /// A world with `entries` entries and consumers 1..=`consumers` of one type, without permits.
    pub(super) fn with(kind: Kind, entries: usize, consumers: u64) -> Self {
        let mut world = Self::new(kind, settings());
        world.log = TestLog::with(entries);
        (1..=consumers).for_each(|number| _ = world.join(consumer(number, kind)));
        world
    }

    pub(super) fn join(&mut self, consumer: Consumer) -> Vec<Event> {
        self.dispatcher.add_consumer(consumer, self.now_ms).expect("admitted")
    }

    pub(super) fn leave(&mut self, number: u64) -> Vec<Event> {
        self.dispatcher.remove_consumer(key(number), self.now_ms)
    }

    pub(super) fn flow(&mut self, number: u64, permits: u32) {
        assert!(self.dispatcher.flow(key(number), permits));
    }

    /// Appends an entry with the key `name`.
    pub(super) fn append_key(&mut self, name: &str) -> Position {
        self.append(|facts| facts.key_hash = murmur3_32(name.as_bytes()))
    }

    pub(super) fn append(&mut self, change: impl FnOnce(&mut Facts)) -> Position {
        let position = self.log.append();
        let mut facts = self.facts(position);
        change(&mut facts);
        self.special.insert(position, facts);
        position
    }

    pub(super) fn facts(&self, position: Position) -> Facts {
        let default = Facts { position, messages: 1, key_hash: 0, deliver_at: None, chunk: None };
        self.special.get(&position).copied().unwrap_or(default)
    }

    pub(super) fn next_read(&mut self) -> Option<Read> {
        self.dispatcher.next_read(&self.cursor, &self.log, self.now_ms)
    }

    /// The entries a storage would read for `plan`.
    pub(super) fn read(&self, plan: &Plan) -> Vec<Facts> {
        match plan {
            Plan::Forward { from, max_entries } => {
                let entries = self.log.entries().filter(|entry| entry >= from).take(*max_entries as usize);
                entries.map(|position| self.facts(position)).collect()
            }
            Plan::Replay(positions) => positions.iter().map(|position| self.facts(*position)).collect(),
        }
    }

    pub(super) fn offer(&mut self, read: Read, entries: &[Facts]) -> Result<Vec<Got>, Stale> {
        let mut out = Vec::new();
        self.dispatcher.offer(read, entries, &self.cursor, self.now_ms, &mut out)?;
        let got =
            |delivery: &Delivery| (entries[delivery.index].position, delivery.consumer.0, delivery.redelivery_count);
        self.dispatcher.check_invariants().expect("invariants after an offer");
        Ok(out.iter().map(got).collect())
    }

    /// Reads and delivers until nothing is wanted any more.
    pub(super) fn pump(&mut self) -> Vec<Got> {
        let mut all = Vec::new();
        for _ in 0..10_000 {
            let Some(read) = self.next_read() else { return all };
            let entries = self.read(read.plan());
            all.extend(self.offer(read, &entries).expect("not stale"));
        }
        panic!("reads without end");
    }

    /// Acknowledges entries as a whole.
    pub(super) fn ack(&mut self, positions: &[Position]) -> bool {
        let mut room = false;
        for position in positions {
            self.cursor.ack(*position, &self.log);
            room |= self.dispatcher.acked(*position, 0);
        }
        self.dispatcher.check_invariants().expect("invariants after an ack");
        room
    }

    pub(super) fn redeliver(&mut self, number: u64, positions: &[Position]) -> bool {
        self.dispatcher.redeliver(key(number), Some(positions), None)
    }

    pub(super) fn stats(&self, number: u64) -> Stats {
        self.dispatcher.consumer(key(number)).expect("connected")
    }
}

/// The entries of `got` that went to a consumer, in order.
pub(super) fn of(got: &[Got], number: u64) -> Vec<i64> {
    got.iter().filter(|(_, consumer, _)| *consumer == number).map(|(position, ..)| position.entry).collect()
}

/// All entries of `got`, in order.
pub(super) fn entries(got: &[Got]) -> Vec<i64> {
    got.iter().map(|(position, ..)| position.entry).collect()
}

//! Thousands of random steps against what a subscription promises.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::super::*;
use super::world::{Got, World, consumer, key, settings};
use crate::murmur3_32;
use crate::selector::Range;
use crate::sticky::{range_hash, ring_hash};

const STEPS: usize = 2000;

/// What was delivered and not yet acknowledged or taken back, and how often each was asked for again.
#[derive(Default)]
struct Model {
    at: BTreeMap<Position, u64>,
    counts: HashMap<Position, u32>,
    /// The last entry since the last rewind (Exclusive, Failover).
    last: Option<Position>,
}

struct Run {
    kind: Kind,
    world: World,
    model: Model,
    rng: SmallRng,
    consumers: BTreeSet<u64>,
    next_consumer: u64,
    /// A chunked message on its way: its number and the next chunk (Shared).
    chunked: (u64, u32),
    /// A read that takes its time.
    slow: Option<(Read, Vec<Facts>)>,
}

impl Run {
    fn new(kind: Kind, seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let settings = Settings {
            key_shared_ring: rng.random(),
            max_unacked_per_consumer: if rng.random() { 30 } else { 0 },
            max_unacked_per_subscription: if rng.random() { 60 } else { 0 },
            max_read_entries: rng.random_range(1..20),
            failover_delay_ms: 0,
            ..settings()
        };
        Self {
            kind,
            world: World::new(kind, settings),
            model: Model::default(),
            rng,
            consumers: BTreeSet::new(),
            next_consumer: 1,
            chunked: (1, 0),
            slow: None,
        }
    }

    fn shared(&self) -> bool {
        !self.kind.is_single()
    }

    fn any_consumer(&mut self) -> Option<u64> {
        let index = self.rng.random_range(0..self.consumers.len().max(1));
        self.consumers.iter().nth(index).copied()
    }

    fn any_delivered(&mut self) -> Option<(Position, u64)> {
        let index = self.rng.random_range(0..self.model.at.len().max(1));
        self.model.at.iter().nth(index).map(|(position, holder)| (*position, *holder))
    }

    fn rewound(&mut self) {
        self.model = Model::default();
    }

    fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..25 => self.append(),
            25..32 => self.join(),
            32..36 => self.leave(),
            36..50 => {
                if let Some(number) = self.any_consumer() {
                    let permits = self.rng.random_range(1..30);
                    self.world.flow(number, permits);
                }
            }
            50..54 => {
                if let Some(number) = self.any_consumer() {
                    let writable = self.rng.random_bool(0.7);
                    self.world.dispatcher.set_writable(key(number), writable);
                }
            }
            54..74 => self.ack(),
            74..80 => self.redeliver(),
            80..82 => self.world.now_ms += self.rng.random_range(0..3000),
            82 if self.rng.random_bool(0.1) => {
                self.world.dispatcher.rewind();
                self.rewound();
            }
            83..86 => {
                let roll: bool = self.rng.random();
                if roll {
                    self.world.log.roll(0)
                }
            }
            _ => self.read(),
        }
        self.world.dispatcher.check_invariants().unwrap();
    }

    fn append(&mut self) {
        let (name, messages) = (self.rng.random_range(0..12), self.rng.random_range(1..6));
        let delay = self.rng.random_bool(0.1).then(|| self.world.now_ms + self.rng.random_range(0..4000));
        self.world.append(|facts| {
            facts.messages = messages;
            facts.deliver_at = delay;
            facts.key_hash = murmur3_32(format!("key-{name}").as_bytes());
        });
        if self.kind == Kind::Shared && self.rng.random_bool(0.1) {
            let (message, id) = self.chunked;
            self.world.append(|facts| facts.chunk = Some(Chunk { message, id, count: 3 }));
            self.chunked = if id == 2 { (message + 1, 0) } else { (message, id + 1) };
        }
    }

    fn join(&mut self) {
        let max = if self.kind == Kind::Exclusive { 1 } else { 5 };
        if self.consumers.len() >= max {
            return;
        }
        let number = self.next_consumer;
        self.next_consumer += 1;
        let priority = self.rng.random_range(0..2);
        let before = self.world.dispatcher.active_consumer();
        self.world.join(Consumer { priority, ..consumer(number, self.kind) });
        self.consumers.insert(number);
        if self.world.dispatcher.active_consumer() != before {
            self.rewound();
        }
    }

    fn leave(&mut self) {
        let Some(number) = self.any_consumer() else { return };
        let before = self.world.dispatcher.active_consumer();
        self.world.leave(number);
        self.consumers.remove(&number);
        self.model.at.retain(|_, holder| *holder != number);
        if self.consumers.is_empty() || self.world.dispatcher.active_consumer() != before {
            self.rewound();
        }
    }

    fn ack(&mut self) {
        let Some((position, _)) = self.any_delivered() else { return };
        let messages = self.world.facts(position).messages;
        if self.rng.random_bool(0.3) {
            let left = self.rng.random_range(0..1i64 << messages);
            self.world.cursor.ack_batch(position, &[left], messages, &self.world.log);
        } else {
            self.world.cursor.ack(position, &self.world.log);
        }
        let remaining = self.world.cursor.remaining_count(position, messages);
        self.world.dispatcher.acked(position, remaining);
        if remaining == 0 {
            self.model.at.remove(&position);
            self.model.counts.remove(&position);
        }
    }

    fn redeliver(&mut self) {
        let Some((position, holder)) = self.any_delivered() else { return };
        let all = self.rng.random_bool(0.2);
        let asker = if self.rng.random_bool(0.9) { holder } else { self.any_consumer().unwrap_or(holder) };
        let ids = [position];
        let took = self.world.dispatcher.redeliver(key(asker), (!all).then_some(&ids[..]), None);
        if !self.shared() {
            if took {
                self.rewound()
            }
            return;
        }
        let taken = |(other, at): (&Position, &u64)| (*at == asker && (all || *other == position)).then_some(*other);
        let taken: Vec<_> = self.model.at.iter().filter_map(taken).collect();
        assert_eq!(took, !taken.is_empty());
        for position in taken {
            self.model.at.remove(&position);
            *self.model.counts.entry(position).or_default() += 1;
        }
    }

    fn read(&mut self) {
        if let Some((read, facts)) = self.slow.take() {
            match self.rng.random_range(0..3) {
                0 => drop(read),
                1 => self.slow = Some((read, facts)),
                _ => self.offer(read, &facts),
            }
            return;
        }
        let Some(read) = self.world.next_read() else { return };
        let mut facts = self.world.read(read.plan());
        assert!(!facts.is_empty(), "nothing to read for {:?}", read.plan());
        facts.truncate(self.rng.random_range(0..=facts.len()));
        match self.rng.random_range(0..4) {
            0 => self.slow = Some((read, facts)),
            1 => drop(read),
            _ => self.offer(read, &facts),
        }
    }

    fn offer(&mut self, read: Read, facts: &[Facts]) {
        if let Ok(got) = self.world.offer(read, facts) {
            got.into_iter().for_each(|got| self.check_delivery(got));
        }
    }

    fn check_delivery(&mut self, (position, taker, count): Got) {
        assert!(self.consumers.contains(&taker), "{position} goes to {taker}, who left");
        assert!(!self.world.cursor.is_acked(position), "{position} is acknowledged");
        let facts = self.world.facts(position);
        if self.kind.is_single() {
            assert!(self.model.last.is_none_or(|last| last < position), "{position} after {:?}", self.model.last);
            let before = self.world.log.entries().take_while(|entry| *entry < position);
            let skipped = before.filter(|entry| self.model.last.is_none_or(|last| *entry > last));
            assert!(skipped.into_iter().all(|entry| self.world.cursor.is_acked(entry)), "before {position}");
            self.model.last = Some(position);
            assert_eq!(count, 0);
        } else {
            assert_eq!(self.model.at.get(&position), None, "{position} is at two consumers");
            assert_eq!(count, self.model.counts.get(&position).copied().unwrap_or(0), "count of {position}");
            let due = facts.deliver_at.is_none_or(|at| at <= self.world.now_ms + 1000);
            assert!(due, "{position} is early");
        }
        if self.kind == Kind::KeyShared && facts.deliver_at.is_none() {
            for earlier in self.world.log.entries().take_while(|entry| *entry < position) {
                let other = self.world.facts(earlier);
                if other.key_hash == facts.key_hash
                    && other.deliver_at.is_none()
                    && !self.world.cursor.is_acked(earlier)
                {
                    assert_eq!(self.model.at.get(&earlier), Some(&taker), "{earlier} before {position}");
                }
            }
        }
        self.model.at.insert(position, taker);
    }

    /// INV-SUB-1: once nothing is wanted any more, whoever could take an entry has none left that it may have.
    fn check_progress(&mut self) {
        self.slow = None;
        for round in 0.. {
            assert!(round < 10_000, "reads without end");
            let Some(read) = self.world.next_read() else { break };
            let facts = self.world.read(read.plan());
            self.offer(read, &facts);
        }
        if self.world.dispatcher.is_blocked() {
            return;
        }
        let open = |stats: &Stats| stats.permits > 0 && stats.writable && !stats.blocked && stats.active;
        let open: Vec<_> = self.world.dispatcher.consumers().filter(open).map(|stats| stats.key.0).collect();
        let hash = |position| self.sticky_hash(self.world.facts(position).key_hash);
        let holders: HashMap<u16, u64> = self.model.at.iter().map(|(at, holder)| (hash(*at), *holder)).collect();
        let mut waiting = BTreeSet::new();
        for position in self.world.log.entries() {
            if self.world.cursor.is_acked(position) || self.model.at.contains_key(&position) {
                continue;
            }
            let facts = self.world.facts(position);
            let delayed = self.shared() && facts.deliver_at.is_some_and(|at| at > self.world.now_ms + 1000);
            // A chunk may wait for the consumer of the one before it.
            if delayed || facts.chunk.is_some_and(|chunk| chunk.id > 0) {
                continue;
            }
            let may_take = |number: &u64| match self.kind {
                Kind::KeyShared => {
                    let hash = hash(position);
                    let first = !waiting.contains(&hash) && holders.get(&hash).is_none_or(|holder| holder == number);
                    first && self.owner(hash) == Some(*number)
                }
                _ => true,
            };
            let could_take: Vec<_> = open.iter().copied().filter(may_take).collect();
            assert_eq!(could_take, [], "{position} stalls");
            waiting.insert(hash(position));
        }
    }

    fn sticky_hash(&self, murmur: u32) -> u16 {
        if self.world.dispatcher.settings().key_shared_ring {
            ring_hash(murmur, u16::MAX)
        } else {
            range_hash(murmur, 65536)
        }
    }

    fn owner(&self, hash: u16) -> Option<u64> {
        let ranges = self.world.dispatcher.key_ranges();
        let owns = |range: &Range| (range.start..=range.end).contains(&u32::from(hash));
        ranges.iter().find(|(_, range)| owns(range)).map(|(owner, _)| owner.0)
    }

    /// One consumer that takes and acknowledges everything gets every entry that is left.
    fn check_nothing_is_lost(&mut self) {
        for number in std::mem::take(&mut self.consumers) {
            self.world.leave(number);
        }
        self.rewound();
        self.slow = None;
        self.join();
        self.world.now_ms += 100_000;
        let number = self.next_consumer - 1;
        for round in 0.. {
            assert!(round < 10_000, "{} entries are never delivered", self.world.cursor.backlog(&self.world.log));
            if self.world.cursor.backlog(&self.world.log) == 0 {
                return;
            }
            self.world.flow(number, 1000);
            let got = self.world.pump();
            got.iter().for_each(|got| self.check_delivery(*got));
            for (position, ..) in got {
                self.world.ack(&[position]);
                self.model.at.remove(&position);
            }
        }
    }
}

fn run(kind: Kind) {
    for seed in 0..8 {
        let mut run = Run::new(kind, seed);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for step in 1..=STEPS {
                run.step();
                if step % 50 == 0 {
                    run.check_progress();
                }
            }
            run.check_nothing_is_lost();
        }));
        assert!(outcome.is_ok(), "{kind:?} fails with seed {seed}");
    }
}

#[test]
fn exclusive() {
    run(Kind::Exclusive);
}

#[test]
fn failover() {
    run(Kind::Failover);
}

#[test]
fn shared() {
    run(Kind::Shared);
}

#[test]
fn key_shared() {
    run(Kind::KeyShared);
}

//! A machine is killed at random points under load, again and again. What was acknowledged must be there.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use plerion_clock::SystemClock;
use plerion_ledger::embedded::{Config, EmbeddedStore};
use plerion_ledger::{Body, Class, Closed, CreateOptions, Epoch, Error, LedgerId, LedgerWriter, ReadError, Verified};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::contract::Store;
use crate::sim_disk::Machine;
use crate::support::{Recorder, on_shard, soon};

/// What the test knows of a ledger.
struct Known {
    epoch: u64,
    bodies: Vec<Vec<u8>>,
    /// How many entries were acknowledged.
    acknowledged: usize,
    closed: Option<Closed>,
    deletion: Deletion,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Deletion {
    No,
    Asked,
    Done,
}

struct Writing {
    writer: Box<dyn LedgerWriter>,
    sink: Rc<Recorder>,
}

struct Run {
    rng: SmallRng,
    machine: Machine,
    ledgers: BTreeMap<LedgerId, Known>,
    reclaimed: u64,
    rewritten: u64,
    direct: u64,
}

/// How many times the machine dies; more with `PLERION_CRASHES`.
fn crashes() -> u64 {
    std::env::var("PLERION_CRASHES").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

#[test]
fn what_was_acknowledged_survives_crashes() {
    let (mut reclaimed, mut rewritten, mut direct) = (0, 0, 0);
    for seed in 0..3 {
        println!("seed {seed}");
        let rng = SmallRng::seed_from_u64(seed);
        let mut run =
            Run { rng, machine: Machine::default(), ledgers: BTreeMap::new(), reclaimed: 0, rewritten: 0, direct: 0 };
        for _ in 0..crashes() / 3 {
            run.live_and_die();
        }
        reclaimed += run.reclaimed;
        rewritten += run.rewritten;
        direct += run.direct;
    }
    assert!(reclaimed > 0 && rewritten > 0, "nothing was reclaimed or rewritten");
    assert!(direct > 0, "nothing was written past the page cache");
}

fn options(journal_key: u64) -> CreateOptions {
    let class = if journal_key.is_multiple_of(2) { Class::State } else { Class::Messages };
    CreateOptions { journal_key, class }
}

impl Run {
    fn config(&mut self) -> Config {
        let segment_bytes = self.rng.random_range(2_000..40_000);
        Config {
            journals: self.rng.random_range(1..=2),
            segment_bytes,
            first_segment_bytes: segment_bytes / 2,
            cache_bytes: self.rng.random_range(0..20_000),
            index_cache_bytes: 8192,
            batch_bytes: self.rng.random_range(100..20_000),
            direct_bytes: [0, self.rng.random_range(0..20_000), usize::MAX][self.rng.random_range(0..3)],
            prepare_rate: if self.rng.random() { 100 << 20 } else { 0 },
            reserve_bytes: 8192,
            rewrite_after: Duration::ZERO,
            rewrite_rate: if self.rng.random_bool(0.7) { 1 << 30 } else { 0 },
            upkeep_interval: Duration::from_micros(self.rng.random_range(100..3000)),
            read_threads: 1,
        }
    }

    fn live_and_die(&mut self) {
        let config = self.config();
        self.machine.die_after(if self.rng.random_bool(0.2) {
            self.rng.random_range(1..20)
        } else {
            self.rng.random_range(20..400)
        });
        if let Ok(store) = EmbeddedStore::open(config, self.machine.disk(), SystemClock::shared()) {
            on_shard(async {
                let shards = [store.shard(), store.shard()];
                self.check(&shards[0]).await;
                self.work(&shards).await;
            });
            self.reclaimed += store.metrics().segments_reclaimed.get();
            self.direct += store.metrics().direct_batches.get();
            self.rewritten += store.metrics().rewritten_bytes.get();
            drop(store);
        }
        self.machine.reboot(&mut self.rng);
    }

    /// Recovers every ledger and compares it with what is known.
    async fn check(&mut self, store: &Store) {
        let Ok(listed) = soon(store.list()).await else { return self.excuse() };
        for (id, known) in self.ledgers.iter().filter(|(_, known)| known.deletion == Deletion::Done) {
            assert!(!listed.contains(id), "ledger {id} of epoch {} was deleted and is back", known.epoch);
        }
        let ids: Vec<LedgerId> = self.ledgers.keys().copied().collect();
        for id in ids {
            if !self.check_ledger(store, id).await {
                return self.excuse();
            }
        }
        self.ledgers.retain(|_, known| known.deletion != Deletion::Done);
    }

    /// Something failed: the machine must have died meanwhile.
    fn excuse(&self) {
        assert!(self.machine.is_dead(), "a call failed on a machine in good health");
    }

    async fn check_ledger(&mut self, store: &Store, id: LedgerId) -> bool {
        let known = self.ledgers.get_mut(&id).unwrap();
        let closed = match soon(store.recover(id, Epoch(known.epoch + 1))).await {
            Ok(closed) => closed,
            Err(Error::NoLedger(_)) => {
                assert!(known.deletion != Deletion::No, "ledger {id} is gone");
                known.deletion = Deletion::Done;
                return true;
            }
            Err(Error::Fenced { by, .. }) => panic!("ledger {id} of epoch {} fenced by {by:?}", known.epoch),
            Err(_) => return false,
        };
        assert!(known.deletion != Deletion::Done, "ledger {id} was deleted and is back");
        known.epoch += 1;
        let count = closed.last.map_or(0, |last| last + 1) as usize;
        if let Some(before) = known.closed {
            assert_eq!(closed, before, "ledger {id} was sealed and is another now");
        }
        assert!(count >= known.acknowledged, "ledger {id}: {} acknowledged, {count} there", known.acknowledged);
        assert!(count <= known.bodies.len(), "ledger {id}: {} appended, {count} there", known.bodies.len());
        known.bodies.truncate(count);
        assert_eq!(closed.length, known.bodies.iter().map(|body| body.len() as u64).sum::<u64>(), "ledger {id}");
        (known.acknowledged, known.closed) = (count, Some(closed));
        let mut next = 0;
        while next < count as u64 {
            let entries = match soon(store.read(id, next, count as u64 - 1, 5000)).await {
                Ok(entries) => entries,
                Err(ReadError::Io { .. }) => return false,
                Err(error) => panic!("{error}"),
            };
            for entry in entries {
                assert_eq!((entry.id, &entry.bytes[..]), (next, &known.bodies[next as usize][..]), "ledger {id}");
                next += 1;
            }
        }
        let behind = soon(store.read(id, count as u64, count as u64, 1)).await;
        assert!(behind.is_err(), "ledger {id} has an entry {count} that nobody knows of");
        true
    }

    /// Appends, closes, recovers and deletes until the machine dies.
    async fn work(&mut self, shards: &[Store; 2]) {
        let mut writing: Vec<(LedgerId, Writing)> = Vec::new();
        let mut steps = 0;
        while !self.machine.is_dead() && steps < 3000 {
            steps += 1;
            let store = &shards[self.rng.random_range(0..2)];
            match self.rng.random_range(0..100) {
                0..6 if writing.len() < 12 => {
                    let (sink, key) = (Recorder::new(), self.rng.random_range(0..8));
                    let Ok(writer) = soon(store.create(Epoch(1), options(key), Rc::clone(&sink) as _)).await else {
                        break;
                    };
                    let known =
                        Known { epoch: 1, bodies: Vec::new(), acknowledged: 0, closed: None, deletion: Deletion::No };
                    self.ledgers.insert(writer.ledger(), known);
                    writing.push((writer.ledger(), Writing { writer, sink }));
                }
                6..8 if !writing.is_empty() => {
                    let (id, Writing { writer, .. }) = writing.swap_remove(self.rng.random_range(0..writing.len()));
                    let known = self.ledgers.get_mut(&id).unwrap();
                    match soon(writer.close()).await {
                        Ok(closed) => {
                            assert_eq!(closed.last.map_or(0, |last| last + 1) as usize, known.bodies.len());
                            (known.closed, known.acknowledged) = (Some(closed), known.bodies.len());
                        }
                        Err(_) => self.excuse(),
                    }
                }
                8..10 if !writing.is_empty() => {
                    let index = self.rng.random_range(0..writing.len());
                    self.fence(store, writing.swap_remove(index)).await;
                }
                10..14 => {
                    let Some(&id) = self.ledgers.keys().nth(self.rng.random_range(0..self.ledgers.len().max(1))) else {
                        continue;
                    };
                    writing.retain(|(other, _)| *other != id);
                    self.ledgers.get_mut(&id).unwrap().deletion = Deletion::Asked;
                    if soon(store.delete(id)).await.is_ok() {
                        self.ledgers.get_mut(&id).unwrap().deletion = Deletion::Done;
                    }
                }
                14..30 => tokio::task::yield_now().await,
                30..32 => tokio::time::sleep(Duration::from_micros(300)).await,
                _ if !writing.is_empty() => {
                    let index = self.rng.random_range(0..writing.len());
                    let (id, Writing { writer, .. }) = &mut writing[index];
                    let body = body(&mut self.rng);
                    let skip = self.rng.random_range(0..=body.len().min(255)) as u8;
                    let verified = Verified { skip, crc32c: crc32c::crc32c(&body[usize::from(skip)..]) };
                    let verified = self.rng.random::<bool>().then_some(verified);
                    if writer.append(Body { bytes: &body, verified }).is_ok() {
                        self.ledgers.get_mut(id).unwrap().bodies.push(body);
                    }
                }
                _ => {}
            }
            for (id, Writing { sink, .. }) in &writing {
                self.acknowledge(*id, sink);
            }
        }
        for (id, Writing { sink, .. }) in &writing {
            self.acknowledge(*id, sink);
        }
    }

    fn acknowledge(&mut self, id: LedgerId, sink: &Recorder) {
        self.ledgers.get_mut(&id).unwrap().acknowledged = sink.told().last.map_or(0, |last| last as usize + 1);
    }

    /// Takes a ledger over while its writer is at work.
    async fn fence(&mut self, store: &Store, (id, writing): (LedgerId, Writing)) {
        let known = self.ledgers.get_mut(&id).unwrap();
        let recovered = soon(store.recover(id, Epoch(known.epoch + 1))).await;
        known.acknowledged = writing.sink.told().last.map_or(0, |last| last as usize + 1);
        let Ok(closed) = recovered else { return };
        soon(writing.sink.failed()).await;
        known.epoch += 1;
        let told = writing.sink.told().last;
        assert_eq!(told, closed.last, "ledger {id}: told of other entries than it was sealed with");
        known.bodies.truncate(closed.last.map_or(0, |last| last as usize + 1));
        (known.acknowledged, known.closed) = (known.bodies.len(), Some(closed));
    }
}

fn body(rng: &mut SmallRng) -> Vec<u8> {
    let length = if rng.random_bool(0.05) { rng.random_range(0..6000) } else { rng.random_range(0..300) };
    let mut body = vec![0; length];
    rng.fill(&mut body[..]);
    body
}

/// Keeps the machine's handle alive for as long as a store uses it.
#[test]
fn a_crash_right_after_a_start_leaves_a_store_that_opens() {
    let mut rng = SmallRng::seed_from_u64(11);
    let machine = Machine::default();
    for calls in 0..40 {
        machine.die_after(calls);
        let opened = EmbeddedStore::open(crate::embedded::config(), machine.disk(), SystemClock::shared());
        drop(opened.ok().map(|store| Arc::clone(&store)));
        machine.reboot(&mut rng);
    }
    EmbeddedStore::open(crate::embedded::config(), machine.disk(), SystemClock::shared()).unwrap();
}

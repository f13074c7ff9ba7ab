//! Seeded simulation of a ledger's life: what was acknowledged is never lost, a fenced writer never acknowledges, and
//! there is one end.

pub(crate) mod bookie;
pub(crate) mod store;
pub(crate) mod world;

mod defects;
mod outcome;

use std::collections::BTreeMap;

use bytes::Bytes;
use plerion_bookkeeper::digest::{DigestType, Digester};
use plerion_bookkeeper::entry;
use plerion_bookkeeper::ledger_metadata::State;
use plerion_bookkeeper::protocol::defects::Defects;
use plerion_bookkeeper::protocol::writer::Mode;
use plerion_bookkeeper::quorum::Quorum;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use world::{Actor, Chances, Event, LEDGER, Step, Violation, World};

const SIZES: [(usize, usize, usize); 11] = [
    (1, 1, 1),
    (2, 2, 1),
    (2, 2, 2),
    (3, 3, 1),
    (3, 3, 2),
    (3, 3, 3),
    (3, 2, 2),
    (4, 4, 2),
    (5, 3, 2),
    (5, 5, 2),
    (6, 3, 2),
];

/// Runs one seed; returns what was seen, or what went wrong.
pub(crate) fn run(seed: u64, defects: Defects) -> Result<BTreeMap<String, u64>, Violation> {
    let mut rng = StdRng::seed_from_u64(seed ^ 0x5eed);
    let (ensemble, write, ack) = SIZES[rng.random_range(0..SIZES.len())];
    let spare = rng.random_range(0..4);
    let chances = match rng.random_range(0..4) {
        0 => Chances::default(),
        1 => Chances { slow: 50, twice: 50, ..Chances::default() },
        2 => Chances { lost: 20, slow: 50, twice: 30, busy: 20, store_lost: 100, ..Chances::default() },
        _ => Chances { lost: 60, slow: 150, twice: 80, busy: 60, damaged: 60, store_lost: 250 },
    };
    let quorum = Quorum::new(ensemble, write, ack).unwrap();
    let mut world = World::new(seed, quorum, spare, chances, defects);
    let stays_read_only = plan(&mut world, &mut rng, ensemble + spare);
    world.run(1_000_000);
    finish(&mut world, stays_read_only)
}

/// Plans appends, faults, a close, recoveries. Says whether the bookies stay read-only.
fn plan(world: &mut World, rng: &mut StdRng, bookies: usize) -> bool {
    let span = 60_000;
    let idle_first = rng.random_range(0..4) == 0;
    let appends = rng.random_range(0..30);
    let from = if idle_first { span / 2 } else { 0 };
    for _ in 0..appends {
        let at = rng.random_range(from..span);
        let size = rng.random_range(0..100);
        world.at(at, Event::Do(Step::Append(size)));
    }
    let end = rng.random_range(span / 4..span + 20_000);
    match rng.random_range(0..5) {
        0 => world.at(end, Event::Do(Step::CrashWriter)),
        1 => world.at(end, Event::Do(Step::Close(Mode::Drain))),
        2 => world.at(end, Event::Do(Step::Close(Mode::Now))),
        _ => {}
    }
    for _ in 0..rng.random_range(0..4) {
        let at = rng.random_range(0..span + 20_000);
        world.at(at, Event::Do(Step::Recover));
    }
    for _ in 0..rng.random_range(0..6) {
        let (bookie, at) = (rng.random_range(0..bookies), rng.random_range(0..span));
        let until = at + rng.random_range(500..40_000);
        let (begin, end) = match rng.random_range(0..10) {
            0..=4 => (Step::CrashBookie(bookie), Step::RestartBookie(bookie)),
            5..=6 => (Step::Stall(bookie), Step::Resume(bookie)),
            7 => (Step::ReadOnly(bookie, true), Step::ReadOnly(bookie, false)),
            8 => (Step::Limbo(bookie), Step::Resume(bookie)),
            _ => (Step::Store(true), Step::Store(false)),
        };
        world.at(at, Event::Do(begin));
        world.at(until, Event::Do(end));
    }
    let stays_read_only = rng.random_range(0..8) == 0;
    if stays_read_only {
        (0..bookies).for_each(|bookie| world.at(end, Event::Do(Step::ReadOnly(bookie, true))));
    }
    stays_read_only
}

/// Heals everything, recovers the ledger, reads it, and checks what must hold.
fn finish(world: &mut World, stays_read_only: bool) -> Result<BTreeMap<String, u64>, Violation> {
    world.chances = Chances::default();
    world.store.is_away = false;
    for at in 0..world.bookies.len() {
        for step in [Step::RestartBookie(at), Step::Resume(at)] {
            world.at(world.now, Event::Do(step));
        }
        if !stays_read_only {
            world.at(world.now, Event::Do(Step::ReadOnly(at, false)));
        }
    }
    world.bookies.values_mut().for_each(|bookie| bookie.limbo = false);
    if !world.run(world.now + 60_000_000) {
        world.violate("something goes on for ever");
    }
    // The writer has nothing that prevents it from ending what it began.
    let pending = if let Actor::Writer(writer) = &world.actors[0] { writer.pending() } else { 0 };
    if !world.writer_over && pending > 0 {
        world.violate(format!("{pending} appends wait for ever"));
    }
    for _ in 0..3 {
        if world.store.metadata().state == State::Closed {
            break;
        }
        world.start_recovery(true);
        world.run(world.now + 60_000_000);
    }
    check(world);
    match world.violation.take() {
        Some(violation) => Err(violation),
        None => Ok(std::mem::take(&mut world.seen)),
    }
}

fn check(world: &mut World) {
    if world.violation.is_some() {
        return;
    }
    let metadata = world.store.metadata();
    if metadata.state != State::Closed {
        return world.violate(format!("the ledger cannot be recovered: {:?}", world.seen));
    }
    if world.store.closes != 1
        || world.ends.len() > 1
        || world.ends.iter().any(|end| *end != (metadata.last, metadata.length))
    {
        world.violate(format!("{} closes, ends reported: {:?}", world.store.closes, world.ends));
    }
    if metadata.last < world.acknowledged {
        world.violate(format!("entry {} was acknowledged, the ledger ends at {}", world.acknowledged, metadata.last));
    }
    let length: usize = world.appended.iter().take(usize::try_from(metadata.last + 1).unwrap()).map(Bytes::len).sum();
    if metadata.length != length as i64 {
        world.violate(format!("the length is {length}, {} is written down", metadata.length));
    }
    let digester = Digester::new(DigestType::Crc32c, b"");
    for id in 0..=metadata.last {
        if world.holders(&metadata, id) < world.quorum.ack() {
            world.violate(format!("entry {id} lies on {} bookies of its segment", world.holders(&metadata, id)));
        }
        // Every replica that has it has the same.
        let ensemble = &metadata.segment_of(id).ensemble;
        for index in world.quorum.write_set(id) {
            let Some(bytes) = world.bookies[&ensemble[index]].entries.get(&id) else { continue };
            match entry::open(&digester, LEDGER, Some(id), bytes) {
                Ok(sealed) if Some(&sealed.body) == world.appended.get(id as usize) => {}
                _ => world.violation = Some(format!("entry {id} is not what was appended")),
            }
        }
    }
    // A writer that is still there learns of its end at the next append.
    world.at(world.now, Event::Do(Step::Append(3)));
    world.run(world.now + 10_000_000);
}

fn seeds(default: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let first = number("PLERION_SIM_FIRST").unwrap_or(0);
    first..first + number("PLERION_SIM_SEEDS").unwrap_or(default)
}

/// C55: the wall of seeds. `PLERION_SIM_SEEDS` and `PLERION_SIM_FIRST` make it longer.
#[test]
fn c55_whatever_happens_nothing_acknowledged_is_lost() {
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for seed in seeds(1_000) {
        match run(seed, Defects::NONE) {
            Ok(saw) => saw.into_iter().for_each(|(what, count)| *seen.entry(what).or_default() += count),
            Err(violation) => panic!("seed {seed}: {violation}"),
        }
    }
    for (what, count) in &seen {
        println!("{count:>9} {what}");
    }
    for expected in [
        "answer: late or repeated",
        "answer: none in time",
        "bookie: Busy",
        "bookie: Disconnected",
        "bookie: Error(UnknownLedgerState)",
        "bookie: Fenced",
        "bookie: NoEntry",
        "bookie: ReadOnly",
        "bookie: entry, damaged",
        "metadata: Closed, 2 segments",
        "metadata: InRecovery, 2 segments",
        "metadata: Open, 2 segments",
        "metadata: conflict",
        "recovery: NotFenced",
        "recovery: NotWritten",
        "recovery: Owned",
        "recovery: Unavailable",
        "recovery: Undecided",
        "recovery: done",
        "store: away",
        "store: outcome unknown",
        "writer: Fenced",
        "writer: NotEnoughBookies",
        "writer: closed",
    ] {
        assert!(seen.contains_key(expected), "never seen: {expected}");
    }
}

//! Bytes that change on the disk: an error for what they concern, everything else as before, and never other bytes.

use std::collections::BTreeSet;
use std::sync::Arc;

use plerion_clock::SystemClock;
use plerion_ledger::embedded::{Config, EmbeddedStore};
use plerion_ledger::{Body, Epoch, LedgerId, ReadError, inspect};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::contract::{Store, write};
use crate::sim_disk::Machine;
use crate::support::{on_shard, soon};

const LEDGERS: usize = 4;
const ENTRIES: u64 = 40;

/// Whether batches are written past the page cache.
#[derive(Clone, Copy)]
enum Way {
    Cached,
    Direct,
}

fn config(way: Way) -> Config {
    let (segments, direct_bytes) = match way {
        // One segment takes it all, and the one after is short.
        Way::Cached => (1, usize::MAX),
        // With pages that are mostly padding.
        Way::Direct => (8, 0),
    };
    let segment_bytes = segments * 100_000;
    Config { segment_bytes, first_segment_bytes: segments * 48_000, direct_bytes, ..crate::embedded::config() }
}

fn open(machine: &Machine, way: Way) -> Arc<EmbeddedStore> {
    EmbeddedStore::open(config(way), machine.disk(), SystemClock::shared()).unwrap()
}

fn body(ledger: usize, entry: u64) -> Vec<u8> {
    [0xee, ledger as u8, entry as u8].repeat(70 + (entry as usize * 37 + ledger) % 100)
}

/// A store of four closed ledgers over two segments, stopped in order (with index files) or not.
fn build(machine: &Machine, in_order: bool, way: Way) -> Vec<LedgerId> {
    let store = open(machine, way);
    let ids = on_shard(async {
        let shard = store.shard();
        let mut writers = Vec::new();
        for _ in 0..LEDGERS {
            writers.push(write(&shard, 1, &[]).await);
        }
        for entry in 0..ENTRIES {
            for (number, (writer, sink)) in writers.iter_mut().enumerate() {
                let verified = None;
                writer.append(Body { bytes: &body(number, entry), verified }).unwrap();
                if entry % 5 == 4 {
                    soon(sink.advanced_to(entry)).await;
                }
            }
        }
        let mut ids = Vec::new();
        for (writer, _) in writers {
            ids.push(writer.ledger());
            soon(writer.close()).await.unwrap();
        }
        // The end of a segment that was written last cannot be told from a torn one: nothing of worth is there.
        for _ in 0..3 {
            write(&shard, 1, &[]).await;
        }
        if !in_order {
            machine.die_after(0);
        }
        ids
    });
    drop(store);
    machine.reboot(&mut SmallRng::seed_from_u64(0));
    ids
}

/// The entries that cannot be read. Those that can be are what was written.
async fn unreadable(store: &Store, ids: &[LedgerId]) -> BTreeSet<(usize, u64)> {
    let mut bad = BTreeSet::new();
    for (number, &id) in ids.iter().enumerate() {
        let closed = soon(store.recover(id, Epoch(2))).await.unwrap();
        assert_eq!(closed.last, Some(ENTRIES - 1), "ledger {id}");
        let mut next = 0;
        while next < ENTRIES {
            match soon(store.read(id, next, ENTRIES - 1, 2000)).await {
                Ok(entries) => {
                    for entry in entries {
                        assert_eq!((entry.id, &entry.bytes[..]), (next, &body(number, next)[..]), "ledger {id}");
                        next += 1;
                    }
                }
                Err(ReadError::Corrupt { ledger, entry, place }) => {
                    assert_eq!((ledger, entry), (id, next));
                    assert!(place.contains(".segment"), "{place}");
                    bad.insert((number, next));
                    next += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    bad
}

/// Flips a byte at many places of every file whose name ends with `suffix`; at most `most` entries suffer from each.
fn flip_everywhere(in_order: bool, way: Way, suffix: &str, most: usize) {
    let original = Machine::default();
    let ids = build(&original, in_order, way);
    let mut rng = SmallRng::seed_from_u64(5);
    let mut suffered = 0;
    let names: Vec<String> = original.names().into_iter().filter(|name| name.ends_with(suffix)).collect();
    assert!(!names.is_empty());
    for name in names {
        let length = original.bytes(&name).len();
        // Most of a page written directly is padding.
        let places = if matches!(way, Way::Direct) { 240 } else { 60 };
        let (mut at, step) = (0, (length / places).max(1));
        while at < length {
            let machine = original.copy();
            machine.tamper(&name, |bytes| bytes[at] ^= 1 << rng.random_range(0..8));
            let store = open(&machine, way);
            let bad = on_shard(async { unreadable(&store.shard(), &ids).await });
            assert!(bad.len() <= most, "a flip at {at} of {name} made {bad:?} unreadable");
            assert!(bad.is_empty() || store.metrics().corrupt_records.get() > 0);
            suffered += bad.len();
            // The first few hundred bytes are dense with headers.
            at += if at < 300 { 7 } else { rng.random_range(1..=step * 2) };
        }
    }
    assert!(most == 0 || suffered > 20, "only {suffered} entries suffered");
}

#[test]
fn a_flip_in_an_indexed_segment_costs_at_most_one_entry() {
    flip_everywhere(true, Way::Cached, ".segment", 1);
    flip_everywhere(true, Way::Direct, ".segment", 1);
}

#[test]
fn a_flip_in_an_index_costs_nothing() {
    flip_everywhere(true, Way::Cached, ".index", 0);
}

#[test]
fn a_flip_in_a_segment_without_an_index_costs_at_most_one_entry() {
    flip_everywhere(false, Way::Cached, ".segment", 1);
    flip_everywhere(false, Way::Direct, ".segment", 1);
}

#[test]
fn a_lost_segment_costs_its_entries_and_no_others() {
    let machine = Machine::default();
    let ids = build(&machine, true, Way::Cached);
    let listed = inspect::ls(&*machine.disk()).unwrap();
    machine.disk().remove(&listed[0].segments[0]).unwrap();
    let store = open(&machine, Way::Cached);
    let bad = on_shard(async { unreadable(&store.shard(), &ids).await });
    assert!(!bad.is_empty() && bad.len() < LEDGERS * ENTRIES as usize);
    assert!(bad.iter().all(|&(ledger, entry)| entry == 0 || bad.contains(&(ledger, entry - 1))));
}

#[test]
fn a_segment_whose_first_page_is_wiped_keeps_its_other_entries() {
    for in_order in [true, false] {
        let machine = Machine::default();
        let ids = build(&machine, in_order, Way::Cached);
        let first = inspect::ls(&*machine.disk()).unwrap()[0].segments[0].clone();
        machine.tamper(&first, |bytes| bytes[..4096].fill(0));
        let store = open(&machine, Way::Cached);
        let bad = on_shard(async { unreadable(&store.shard(), &ids).await });
        assert!((1..=20).contains(&bad.len()), "{bad:?} are unreadable");
    }
}

#[test]
fn inspection_names_what_is_damaged() {
    let machine = Machine::default();
    let ids = build(&machine, true, Way::Cached);
    let report = inspect::verify(&*machine.disk()).unwrap();
    assert_eq!((report.entries, report.damage.len()), (LEDGERS as u64 * ENTRIES, 0));
    let bytes = (0..LEDGERS).flat_map(|ledger| (0..ENTRIES).map(move |entry| body(ledger, entry).len() as u64));
    assert_eq!(report.bytes, bytes.sum::<u64>());

    let listed = inspect::ls(&*machine.disk()).unwrap();
    let ledger = listed.iter().find(|ledger| ledger.id == ids[2]).unwrap();
    assert!(ledger.sealed && ledger.state.last == Some(ENTRIES - 1) && ledger.segments.len() > 1, "{ledger:?}");

    let name = ledger.segments[0].clone();
    let wanted = body(2, 3);
    machine.tamper(&name, |bytes| {
        let at = bytes.windows(wanted.len()).position(|window| window == wanted).unwrap();
        bytes[at + 9] ^= 1;
    });
    let report = inspect::verify(&*machine.disk()).unwrap();
    let damage: Vec<_> = report.damage.iter().map(|damage| (damage.file.clone(), damage.entry)).collect();
    assert_eq!(damage, [(name, Some((ids[2], 3)))]);

    let mut out = Vec::new();
    assert_eq!(inspect::dump(&*machine.disk(), ids[2], 2..=4, &mut out).unwrap(), 3);
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(&format!("2\t{}\tee0202", body(2, 2).len())), "{text}");
    assert_eq!(lines[1], "3\t0\tdamaged");
    assert!(lines[2].starts_with("4\t"));
}

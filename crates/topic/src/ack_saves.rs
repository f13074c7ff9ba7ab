//! How long acknowledgements that want no answer take to become durable.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The upper bounds of the buckets in ms; the last bucket has none.
const BOUNDS_MS: [u64; 8] = [25, 50, 75, 100, 150, 250, 500, 1_000];

/// Measures, by the broker's own clock, the time from the moment an acknowledgement is taken to the moment it is durable.
///
/// Acknowledgements are saved together; what is measured is the oldest of each save. May be read from any thread.
#[derive(Debug, Default)]
pub struct AckSaves {
    under_way: Mutex<UnderWay>,
    counts: [AtomicU64; BOUNDS_MS.len() + 1],
    sum_us: AtomicU64,
    slowest_us: AtomicU64,
}

#[derive(Debug, Default)]
struct UnderWay {
    next: u64,
    /// When the oldest acknowledgement of each save was taken, and whether the save has failed.
    saves: BTreeMap<u64, (Duration, bool)>,
}

/// A save that is under way.
#[derive(Debug)]
pub(crate) struct Save(u64);

impl AckSaves {
    /// The upper bounds of the buckets in seconds.
    pub fn bounds() -> Vec<f64> {
        BOUNDS_MS.iter().map(|bound| *bound as f64 / 1e3).collect()
    }

    /// How many saves took how long.
    pub fn counts(&self) -> Vec<u64> {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }

    /// The time all saves took together.
    pub fn sum(&self) -> Duration {
        Duration::from_micros(self.sum_us.load(Ordering::Relaxed))
    }

    /// The longest time a save took.
    pub fn slowest(&self) -> Duration {
        Duration::from_micros(self.slowest_us.load(Ordering::Relaxed))
    }

    /// When the oldest acknowledgement was taken that is not durable, by the monotonic clock. Whatever was taken earlier is
    /// durable.
    pub fn unsaved_since(&self) -> Option<Duration> {
        self.under_way().saves.values().map(|(since, _)| *since).min()
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        // Whoever holds it does nothing that could fail halfway.
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An acknowledgement was taken at `now`, and is the first of a new save.
    pub(crate) fn begin(&self, now: Duration) -> Save {
        let mut under_way = self.under_way();
        let number = under_way.next;
        under_way.next += 1;
        under_way.saves.insert(number, (now, false));
        Save(number)
    }

    /// The save has become durable, which settles those that failed before: their log was opened anew.
    pub(crate) fn done(&self, save: &Save, now: Duration) {
        let begun = {
            let mut under_way = self.under_way();
            let begun = under_way.saves.remove(&save.0);
            under_way.saves.retain(|_, (_, failed)| !*failed);
            begun
        };
        let Some((begun, _)) = begun else { return };
        let took = now.saturating_sub(begun);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_MS.iter().position(|bound| micros <= bound * 1_000).unwrap_or(BOUNDS_MS.len());
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_us.fetch_add(micros, Ordering::Relaxed);
        self.slowest_us.fetch_max(micros, Ordering::Relaxed);
    }

    /// The save has failed; what it had is not durable.
    pub(crate) fn failed(&self, save: &Save) {
        if let Some((_, failed)) = self.under_way().saves.get_mut(&save.0) {
            *failed = true;
        }
    }
}

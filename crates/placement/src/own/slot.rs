//! What is known of one bundle.

use super::excursion::{Excursions, Kind};
use super::names::Key;

/// For so many seconds a bundle has just come.
const JUST_COME: u32 = 20;

/// Nobody owns the bundle.
pub(super) const NOBODY: u32 = u32::MAX;

/// Time in which a level follows what is measured, in samples.
const QUICK: f32 = 5.0;

/// A mean is one of at most so many samples; an hour of them.
const LONGEST_MEAN: u16 = 3_600;

/// A mean that starts anew counts as one of so many samples.
const FRESH: u16 = 5;

/// A level so many times its mean, or its inverse, is another level and no wavering about the mean.
const ANOTHER: f32 = 1.8;

/// Message rates count with so many bytes where the size of traffic is one number.
const BYTES_OF_MESSAGE: f32 = 100.0;

/// The traffic of a bundle: messages per second both ways, bytes per second in and out, bytes of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Traffic(pub(super) [f32; 4]);

impl Traffic {
    fn size(&self) -> f32 {
        let [rate, bytes_in, bytes_out, _] = self.0;
        rate * BYTES_OF_MESSAGE + bytes_in + bytes_out
    }

    pub(super) fn times(self, factor: f32) -> Self {
        Self(self.0.map(|value| value * factor))
    }
}

/// A bundle. Small, as there are many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slot {
    pub(super) key: Key,
    /// Index of its broker, or [`NOBODY`].
    pub(super) owner: u32,
    pub(super) topics: u32,
    /// Mean traffic.
    pub(super) mean: Traffic,
    /// The level of now relative to the mean, smoothed over some seconds. Excursions are left out.
    pub(super) level: f32,
    /// While an excursion lasts: when it began, in seconds since 1970; otherwise 0.
    odd_since: u32,
    /// CPU of a message, in percent of a core; not a number while unknown.
    pub(super) cost: f32,
    /// When it last moved, in seconds since 1970; 0 for never.
    pub(super) moved: u32,
    /// Samples of the mean.
    samples: u16,
    /// Whether the slot is free.
    pub(super) free: bool,
}

/// What a sample told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum News {
    /// Nothing but wavering: by so much the level, relative to the mean, changed.
    Wavered(f32),
    /// Something odd, not believed yet.
    Odd,
    /// The bundle is at another level from now on: higher by this traffic, in all resources, if not lower.
    Changed(Traffic),
}

impl Slot {
    pub(super) fn new(key: Key) -> Self {
        Self {
            key,
            owner: NOBODY,
            topics: 0,
            mean: Traffic::default(),
            level: 1.0,
            odd_since: 0,
            cost: f32::NAN,
            moved: 0,
            samples: 0,
            free: false,
        }
    }

    /// Whether it came to its broker so short a time ago that little is known of its cost.
    pub(super) fn has_just_come(&self, now: u32) -> bool {
        self.moved != 0 && now.saturating_sub(self.moved) < JUST_COME
    }

    /// Starts with an assumed traffic, which the first sample replaces.
    pub(super) fn assume(&mut self, traffic: Traffic) {
        self.mean = traffic;
        self.level = 1.0;
        self.samples = 0;
        self.odd_since = 0;
    }

    /// Starts with an expected traffic, from which samples may not differ much at once.
    pub(super) fn expect(&mut self, traffic: Traffic) {
        self.assume(traffic);
        self.samples = FRESH;
    }

    /// Takes the level of now as the mean from now on.
    pub(super) fn rebase(&mut self) {
        self.mean = self.mean.times(self.level);
        self.level = 1.0;
        self.samples = self.samples.min(FRESH);
    }

    /// Takes a sample in, measured at `now` (seconds since 1970).
    pub(super) fn sample(&mut self, sample: Traffic, now: u32, excursions: &mut Excursions) -> News {
        let (size, mean) = (sample.size(), self.mean.size());
        if self.samples == 0 || mean <= 0.0 {
            let was_known = self.samples > 0 && size > 0.0;
            self.assume(sample);
            self.samples = 1;
            return if was_known { News::Changed(sample) } else { News::Wavered(0.0) };
        }
        let ratio = size / (mean * self.level);
        if let Some(kind) = Kind::of(ratio) {
            if self.odd_since == 0 {
                self.odd_since = now.max(1);
            }
            let lasted = now.saturating_sub(self.odd_since);
            if lasted < excursions.patience(kind, now) {
                return News::Odd;
            }
            let more = std::array::from_fn(|i| (sample.0[i] - self.mean.0[i] * self.level).max(0.0));
            self.assume(sample);
            self.samples = FRESH;
            return News::Changed(Traffic(more));
        }
        if self.odd_since != 0 {
            excursions.ended(now.saturating_sub(self.odd_since), now);
            self.odd_since = 0;
        }
        let before = self.level;
        self.level += (size / mean - self.level) / QUICK.min(f32::from(self.samples) + 1.0);
        self.samples = (self.samples + 1).min(LONGEST_MEAN);
        let weight = 1.0 / f32::from(self.samples);
        self.mean.0.iter_mut().zip(sample.0).for_each(|(mean, value)| *mean += (value - *mean) * weight);
        // The level stays what it is in absolute terms while the mean moves.
        let wavered = self.level - before;
        self.level *= mean / self.mean.size().max(f32::MIN_POSITIVE);
        if !(ANOTHER.recip()..=ANOTHER).contains(&self.level) {
            self.rebase();
        }
        News::Wavered(wavered)
    }

    /// The parts that only a snapshot looks at.
    pub(super) fn hidden(&self) -> (u32, u16) {
        (self.odd_since, self.samples)
    }

    pub(super) fn set_hidden(&mut self, odd_since: u32, samples: u16) {
        self.odd_since = odd_since;
        self.samples = samples;
    }
}

//! Sudden changes that pass: how long they use to last is learnt, so that a lasting change is believed soon and a passing
//! one not at all.

/// Traffic so many times its level is no wavering.
const SUDDEN: f32 = 1.4;

/// Traffic so many times its level is rather a spike than a change.
const SPIKE: f32 = 3.0;

/// Seconds that something odd has to last while nothing is known of its kind: long for spikes, which are common, short for
/// anything else.
const FIRST_PATIENCE: [u32; 3] = [35, 3, 3];

/// A kind that has been seen is believed after so many times the longest one.
const MARGIN: f32 = 1.25;

/// Nothing has to last longer than this, in seconds.
const LONGEST: u32 = 60;

/// What was seen is forgotten after so many seconds.
const MEMORY: u32 = 6 * 3_600;

/// What a sudden change looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Many times the level.
    Spike,
    /// Up.
    Rise,
    /// Down.
    Fall,
}

impl Kind {
    /// The kind of a sample that is `ratio` times the level; `None` if that is nothing odd.
    pub(super) fn of(ratio: f32) -> Option<Self> {
        if ratio >= SPIKE {
            Some(Self::Spike)
        } else if ratio >= SUDDEN {
            Some(Self::Rise)
        } else if ratio <= SUDDEN.recip() {
            Some(Self::Fall)
        } else {
            None
        }
    }
}

/// What was seen of excursions that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Excursions {
    /// The longest that passed by itself, in seconds.
    pub(super) longest: u32,
    /// When, in seconds since 1970.
    pub(super) at: u32,
}

impl Excursions {
    /// Seconds that something of this kind has to last to be believed.
    pub(super) fn patience(&self, kind: Kind, now: u32) -> u32 {
        let first = FIRST_PATIENCE[kind as usize];
        if kind != Kind::Spike || now.saturating_sub(self.at) > MEMORY {
            return first;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds below a minute")]
        let learnt = (self.longest.min(LONGEST) as f32 * MARGIN) as u32;
        learnt.clamp(first, LONGEST)
    }

    /// One passed after so many seconds.
    pub(super) fn ended(&mut self, lasted: u32, now: u32) {
        if lasted >= self.longest || now.saturating_sub(self.at) > MEMORY {
            (self.longest, self.at) = (lasted, now);
        }
    }
}

use plerion_test_client::Error;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::Shared;

/// One life of the broker, as its clients know it.
#[derive(Clone)]
pub(crate) struct Life {
    pub(crate) port: u16,
    pub(crate) mode: Mode,
    /// Whether the broker may refuse what it is asked for: its disk may be dying.
    pub(crate) may_refuse: bool,
    pub(crate) seed: u64,
}

/// What clients are after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// To have much under way when the broker dies.
    Busy,
    /// To have nothing left to do. Every producer sends at least one more message.
    Drain,
}

impl Life {
    /// The randomness of one client.
    pub(crate) fn random(&self, client: impl std::hash::Hash) -> SmallRng {
        let mut hasher = std::hash::DefaultHasher::new();
        client.hash(&mut hasher);
        SmallRng::seed_from_u64(self.seed ^ std::hash::Hasher::finish(&hasher))
    }

    /// A client's life ended with an error: that of the broker, or one that should not be.
    pub(crate) fn ended(&self, history: &Shared, who: &str, error: &Error) {
        let expected = error.is_disconnected() || self.may_refuse && matches!(error, Error::Refused { .. });
        if !expected || self.mode == Mode::Drain {
            history.borrow().violated(&format!("{who}: {error}"));
        }
    }

    /// A number up to `most`, small ones as often as large ones.
    pub(crate) fn window(rng: &mut SmallRng, most: u64) -> u64 {
        let bits = rng.random_range(0..=most.ilog2());
        rng.random_range(1..=most.min(2 << bits))
    }
}

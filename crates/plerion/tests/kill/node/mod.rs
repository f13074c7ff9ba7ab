//! Brokers that can be killed and started again on what they left behind.

use std::time::Duration;

use rand::rngs::SmallRng;

mod metadata;
mod namespace;
mod power_cut;
mod process;

pub(crate) use power_cut::PowerCut;
pub(crate) use process::Process;

/// Settings that make much happen within a short life: small ledgers, frequent trimming and snapshots.
const SETTINGS: &[&str] = &[
    "brokerServicePort=0",
    "webServicePort=0",
    "managedLedgerMaxEntriesPerLedger=300",
    "managedLedgerMinLedgerRolloverTimeMinutes=0",
    "retentionCheckIntervalInSeconds=1",
    "brokerDeduplicationEntriesInterval=100",
];

/// A broker with what outlives it.
pub(crate) trait Node {
    /// Whether a dying one may refuse requests before it is gone.
    const MAY_REFUSE: bool;

    /// Makes what the plan needs, before the first life.
    async fn prepare(&mut self);

    /// Starts it. Returns its port once it serves, or `None` if it died on the way.
    async fn start(&mut self, rng: &mut SmallRng, fate: Fate) -> Option<u16>;

    /// Resolves once the broker has died of its own fate, or `after` that time.
    async fn wait(&mut self, after: Duration);

    /// Kills it, if it is not dead, and returns once nothing of it is left: what was true when it died, if it can be asked.
    async fn kill(&mut self, rng: &mut SmallRng) -> Option<LastWords>;
}

/// What a broker that was killed says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastWords {
    /// How long ago, by its own clock, it had taken the oldest acknowledgement that was not durable; nothing if there was
    /// none.
    pub(crate) unsaved: Option<Duration>,
    /// The longest it took to make acknowledgements durable.
    pub(crate) slowest_save: Duration,
}

/// What is to become of a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// To live until it is killed.
    Live,
    /// To be killed, or to die before that.
    Die,
    /// To die while it starts, or soon after.
    DieYoung,
}

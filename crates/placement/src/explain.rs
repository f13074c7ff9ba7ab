//! Why a cycle of balancing decided what it did.
//!
//! Every policy returns, beside its moves, a verdict on each broker and on each bundle it looked at, with the rule that
//! decided and the limits in force, so that "why did this bundle not move?" has an answer without a log.

use serde::{Deserialize, Serialize};

use crate::bundle::BundleRange;
use crate::names::{BrokerId, BundleName};

/// A bundle that is to leave its broker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Move {
    /// The bundle.
    pub bundle: BundleName,
    /// The broker that has it.
    pub from: BrokerId,
    /// The broker that is to have it; `None` leaves the choice to the next lookup.
    pub to: Option<BrokerId>,
    /// Why.
    pub reason: MoveReason,
}

/// A bundle that is to be divided. All its parts stay with its broker until a move says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// The bundle.
    pub bundle: BundleName,
    /// The broker that has it.
    pub broker: BrokerId,
    /// Where to cut: ring positions strictly inside the bundle, rising.
    pub at: Vec<u32>,
}

impl Split {
    /// The names of the parts, in ring order. `None` if the bundle's name holds no range or a cut is not inside it.
    #[must_use]
    pub fn children(&self) -> Option<Vec<BundleName>> {
        let range = self.bundle.range().ok()?;
        let namespace = self.bundle.namespace();
        let mut lower = range.lower();
        let mut children = Vec::with_capacity(self.at.len() + 1);
        for upper in self.at.iter().copied() {
            if !range.has_inside(upper) || upper <= lower {
                return None;
            }
            children.push(BundleName::new(namespace, BundleRange::new(lower, upper).ok()?));
            lower = upper;
        }
        children.push(BundleName::new(namespace, BundleRange::new(lower, range.upper()).ok()?));
        Some(children)
    }
}

/// What a move is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MoveReason {
    /// The source carries too much.
    Overloaded,
    /// Another broker carries too little.
    Underloaded,
}

/// What a cycle decided, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What to split, before anything moves.
    pub splits: Vec<Split>,
    /// What to move, in the order of choice. A move may name a bundle that a split of the same plan makes.
    pub moves: Vec<Move>,
    /// Why.
    pub explanation: Explanation,
}

/// The reasons of one cycle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The policy that decided, by its short name.
    pub policy: String,
    /// What kept the whole cycle from acting, if anything did.
    pub blocked: Option<Block>,
    /// The limits and statistics that were compared, by name. Shares are 1 for 100 %.
    pub limits: Vec<(String, f64)>,
    /// One verdict for each broker that was judged.
    pub brokers: Vec<BrokerVerdict>,
    /// One verdict for each bundle that was judged.
    pub bundles: Vec<BundleVerdict>,
    /// What the moves make of the brokers they concern.
    pub projected: Vec<Projection>,
}

/// The load of a broker before and after a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Projection {
    /// The broker.
    pub broker: BrokerId,
    /// Its load now, 1 being 100 %.
    pub before: f64,
    /// Its load after the moves, if each bundle takes its share of traffic as its share of load along.
    pub after: f64,
}

/// What keeps a whole cycle from acting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Block {
    /// There are fewer than two brokers.
    TooFewBrokers,
    /// No broker has reported any use of its resources.
    NoUsage,
    /// No broker has reported at all.
    NoBrokers,
    /// A broker of the cluster has not reported.
    NoLoadData,
    /// Every report is too old.
    OutdatedData,
    /// A broker rests after an unload.
    CoolingDown,
    /// The condition has not held for long enough.
    HitCount,
    /// No broker differs enough from the others.
    Balanced,
    /// What would have to move is below the least amount worth moving.
    TooLittle,
    /// There was reason to move something, but no bundle could be moved.
    NoBundles,
    /// The list of brokers could not be read.
    RegistryUnavailable,
}

/// The verdict on a broker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokerVerdict {
    /// The broker.
    pub broker: BrokerId,
    /// What was compared with the limits.
    pub load: f64,
    /// The rule that decided.
    pub rule: BrokerRule,
}

/// What can be said of a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum BrokerRule {
    /// It sheds.
    Sheds,
    /// It takes what another sheds.
    Takes,
    /// It differs too little from the others.
    WithinLimits,
    /// It has nothing it could give.
    NoBundles,
    /// Its only bundle is what loads it; moving it would move the problem.
    SoleBundle,
    /// What it would have to give is below the least amount worth moving.
    TooLittle,
    /// It has to be like this for more cycles.
    HitCount,
    /// Its report is too old to count.
    OutdatedData,
    /// It did not report which bundles are its busiest.
    NoLoadData,
    /// Nothing of what it has could be moved.
    NothingMovable,
}

/// The verdict on a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BundleVerdict {
    /// The bundle.
    pub bundle: BundleName,
    /// The broker that has it.
    pub broker: BrokerId,
    /// Its traffic, in the unit that was compared: bytes or messages per second.
    pub traffic: f64,
    /// The rule that decided.
    pub rule: BundleRule,
}

/// What can be said of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum BundleRule {
    /// It moves.
    Moves,
    /// It is divided; its parts may move.
    Splits,
    /// It moves in exchange for a bigger one.
    SwapsBack,
    /// Its broker carries no more than it may.
    BrokerAtEase,
    /// Enough was chosen before it.
    EnoughChosen,
    /// It is bigger than what is left to move.
    TooBig,
    /// It carries nothing, so moving it changes nothing.
    NoTraffic,
    /// Nothing is known of its traffic.
    NoStatistics,
    /// It moved not long ago.
    RecentlyMoved,
    /// It belongs to its broker by name.
    Pinned,
    /// Its namespace is excluded from shedding.
    ExcludedNamespace,
    /// Its broker no longer owns it.
    NotOwned,
    /// Its namespace has an isolation policy, and such bundles are not moved.
    IsolationPolicy,
    /// Its namespace is in an anti-affinity group that allows no move.
    AntiAffinity,
    /// The filters leave no destination.
    NoDestination,
    /// It is the last one left on its broker.
    LastOfBroker,
    /// As many bundles as allowed were chosen before it.
    LimitReached,
}

impl Block {
    /// The result and reason under which Pulsar's Extensible manager counts a cycle without moves
    /// (`pulsar_lb_unload_broker_breakdown_total`).
    #[must_use]
    pub const fn unload_breakdown(self) -> (&'static str, &'static str) {
        match self {
            Self::RegistryUnavailable => ("Failure", "Unknown"),
            Self::NoBrokers | Self::TooFewBrokers => ("Skip", "NoBrokers"),
            Self::OutdatedData => ("Skip", "OutDatedData"),
            Self::NoLoadData | Self::NoUsage => ("Skip", "NoLoadData"),
            Self::CoolingDown => ("Skip", "CoolDown"),
            Self::NoBundles | Self::TooLittle => ("Skip", "NoBundles"),
            Self::HitCount | Self::Balanced => ("Skip", "HitCount"),
        }
    }
}

impl Explanation {
    /// An empty explanation of `policy`.
    #[must_use]
    pub fn of(policy: &str) -> Self {
        Self { policy: policy.to_owned(), ..Self::default() }
    }

    /// The verdict on a bundle: the answer to "why did it (not) move?". `None` if the policy did not come to look at it,
    /// because its broker's verdict, or what blocked the cycle, decided before.
    #[must_use]
    pub fn bundle(&self, bundle: &str) -> Option<&BundleVerdict> {
        self.bundles.iter().find(|verdict| &*verdict.bundle == bundle)
    }

    /// The verdict on a broker.
    #[must_use]
    pub fn broker(&self, broker: &str) -> Option<&BrokerVerdict> {
        self.brokers.iter().find(|verdict| &*verdict.broker == broker)
    }

    pub(crate) fn limit(&mut self, name: &str, value: f64) {
        self.limits.push((name.to_owned(), value));
    }

    pub(crate) fn judge_broker(&mut self, broker: &BrokerId, load: f64, rule: BrokerRule) {
        self.brokers.push(BrokerVerdict { broker: broker.clone(), load, rule });
    }

    pub(crate) fn judge_bundle(&mut self, bundle: &BundleName, broker: &BrokerId, traffic: f64, rule: BundleRule) {
        self.bundles.push(BundleVerdict { bundle: bundle.clone(), broker: broker.clone(), traffic, rule });
    }
}

impl Plan {
    pub(crate) fn empty(explanation: Explanation) -> Self {
        Self { explanation, ..Self::default() }
    }

    pub(crate) fn blocked(mut explanation: Explanation, block: Block) -> Self {
        explanation.blocked = Some(block);
        Self::empty(explanation)
    }
}

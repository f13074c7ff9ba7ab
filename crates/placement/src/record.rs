//! What cycles decided by, kept so that they can be asked about and run again.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};

use crate::balancer::{Balancer, SnapshotError};
use crate::constraints::{Constraints, StoredConstraints};
use crate::explain::{Block, BrokerVerdict, BundleVerdict, Plan};
use crate::names::{BrokerId, BundleName};
use crate::registry::{Registry, UnknownPolicy};

/// So many cycles are kept.
pub const CYCLES: usize = 100;

/// The latest cycles of a leader, compressed.
#[derive(Debug)]
pub struct RecordBook {
    profile: String,
    records: VecDeque<Record>,
    /// Most bytes that all records may take.
    budget: usize,
    /// The constraints of the latest cycle, which mostly are those of the next one.
    constraints: Arc<[u8]>,
}

/// One cycle: everything it decided by, and what it decided.
#[derive(Clone, Debug)]
pub struct Record {
    /// The name of the profile.
    pub profile: String,
    /// When it was, in milliseconds since 1970.
    pub now: i64,
    /// Checksum of the inputs and the plan.
    pub digest: u32,
    seed: u64,
    state: Vec<u8>,
    constraints: Arc<[u8]>,
    plan: Vec<u8>,
}

/// Why a record cannot be read or run again. It will not be better next time.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The profile is not registered (any more).
    #[error(transparent)]
    Profile(#[from] UnknownPolicy),
    /// The state is not one of this profile.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The compressed bytes are damaged.
    #[error("the record is damaged: {0}")]
    Damaged(#[from] lz4_flex::block::DecompressError),
    /// What was stored cannot be read.
    #[error("the record is unreadable: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// The record does not have the checksum it states.
    #[error("the record has the checksum {found:08x} instead of {stated:08x}")]
    Digest {
        /// What it states.
        stated: u32,
        /// What it has.
        found: u32,
    },
}

impl RecordBook {
    /// An empty book for cycles of this profile. Its records take at most `budget` bytes; the latest is kept in any case.
    #[must_use]
    pub fn new(profile: &str, budget: usize) -> Self {
        Self { profile: profile.to_owned(), records: VecDeque::new(), budget, constraints: Arc::default() }
    }

    /// Runs a cycle and writes it down.
    pub fn decide(
        &mut self,
        balancer: &mut dyn Balancer,
        constraints: &Constraints<'_>,
        now: i64,
        rng: &mut dyn RngCore,
    ) -> Plan {
        let state = compress(&balancer.snapshot());
        let stored = compress(&StoredConstraints::of(constraints).to_bytes());
        if *self.constraints != *stored {
            self.constraints = stored.into();
        }
        // The cycle gets random numbers of its own, so that it can get the same again.
        let seed = rng.next_u64();
        let plan = balancer.decide(constraints, now, &mut StdRng::seed_from_u64(seed));
        let mut record = Record {
            profile: self.profile.clone(),
            now,
            digest: 0,
            seed,
            state,
            constraints: Arc::clone(&self.constraints),
            plan: compress(&serde_json::to_vec(&plan).unwrap_or_default()),
        };
        record.digest = record.checksum();
        self.records.push_back(record);
        while self.records.len() > CYCLES || (self.records.len() > 1 && self.bytes() > self.budget) {
            self.records.pop_front();
        }
        plan
    }

    /// The cycles that are kept, oldest first.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &Record> + ExactSizeIterator {
        self.records.iter()
    }

    /// Bytes that the records take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.records.iter().map(|record| record.state.len() + record.plan.len()).sum::<usize>() + self.constraints.len()
    }
}

/// Why something did, or did not, happen to a bundle in a cycle. The first answer there is counts: the bundle's own, its
/// broker's, the cycle's.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// The verdict on the bundle.
    pub bundle: Option<BundleVerdict>,
    /// The verdict on its broker.
    pub broker: Option<BrokerVerdict>,
    /// What kept the whole cycle from acting.
    pub blocked: Option<Block>,
    /// The limits that were in force.
    pub limits: Vec<(String, f64)>,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.bundle, &self.broker, self.blocked) {
            (Some(bundle), _, _) => write!(f, "{:?}: {} on {}", bundle.rule, bundle.bundle, bundle.broker)?,
            (None, Some(broker), _) => write!(f, "{:?}: {} at {:.3}", broker.rule, broker.broker, broker.load)?,
            (None, None, Some(block)) => write!(f, "{block:?}")?,
            (None, None, None) => f.write_str("not looked at, as another broker was chosen")?,
        }
        self.limits.iter().try_for_each(|(name, value)| write!(f, "; {name} {value:.4}"))
    }
}

impl Record {
    /// What was decided.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn plan(&self) -> Result<Plan, RecordError> {
        let found = self.checksum();
        if found != self.digest {
            return Err(RecordError::Digest { stated: self.digest, found });
        }
        Ok(serde_json::from_slice(&decompress(&self.plan)?)?)
    }

    /// The policies and settings that were in force.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn constraints(&self) -> Result<StoredConstraints, RecordError> {
        Ok(serde_json::from_slice(&decompress(&self.constraints)?)?)
    }

    /// The balancer as it was before the cycle.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn balancer(&self, registry: &Registry) -> Result<Box<dyn Balancer>, RecordError> {
        let mut balancer = registry.profile(&self.profile)?.balancer();
        balancer.restore(&decompress(&self.state)?)?;
        Ok(balancer)
    }

    /// Runs the cycle again. The same inputs give the same plan, verdict by verdict.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn replay(&self, registry: &Registry) -> Result<Plan, RecordError> {
        self.replay_with(&mut *self.balancer(registry)?, &self.constraints()?)
    }

    /// Runs the cycle again with a balancer and constraints that may have been changed since: what if?
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn replay_with(
        &self,
        balancer: &mut dyn Balancer,
        constraints: &StoredConstraints,
    ) -> Result<Plan, RecordError> {
        Ok(balancer.decide(&constraints.get(), self.now, &mut StdRng::seed_from_u64(self.seed)))
    }

    /// Why `bundle`, which `broker` has, was moved or not.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn why(&self, registry: &Registry, bundle: &BundleName, broker: &BrokerId) -> Result<Why, RecordError> {
        let mut balancer = self.balancer(registry)?;
        balancer.ask(bundle);
        let plan = self.replay_with(&mut *balancer, &self.constraints()?)?;
        Ok(Why::of(&plan, bundle, broker))
    }

    fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(self.profile.as_bytes());
        hasher.update(&self.now.to_le_bytes());
        hasher.update(&self.seed.to_le_bytes());
        for part in [&self.state[..], &self.constraints, &self.plan] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize()
    }
}

impl Why {
    /// What a plan says of a bundle and its broker.
    #[must_use]
    pub fn of(plan: &Plan, bundle: &BundleName, broker: &BrokerId) -> Self {
        Self {
            bundle: plan.explanation.bundle(bundle).cloned(),
            broker: plan.explanation.broker(broker).cloned(),
            blocked: plan.explanation.blocked,
            limits: plan.explanation.limits.clone(),
        }
    }
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    lz4_flex::block::compress_prepend_size(bytes)
}

fn decompress(bytes: &[u8]) -> Result<Vec<u8>, lz4_flex::block::DecompressError> {
    lz4_flex::block::decompress_size_prepended(bytes)
}

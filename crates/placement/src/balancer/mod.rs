//! Whole load managers behind one trait.
//!
//! A *profile* is what runs in a cluster under one name: placement, shedder, splitter, settings and clocks together. It has
//! two sides: a [`Reporter`] at each broker, which decides what to report and when, and a [`Balancer`] at the leader,
//! which takes reports in and decides. [`Registry::profile`](crate::Registry::profile) finds one by its name.

mod measurement;
mod modular;
mod profile;
mod simple;
mod transfer;

pub use measurement::{
    BUCKETS, BrokerInfo, BundleDetail, Measurement, OwnBundle, OwnReport, Report, Reported, Reporter,
};
pub use modular::{ModularBalancer, ModularProfile};
pub use profile::{Clocks, Manager, Profile};
pub use simple::{SimpleBalancer, SimpleProfile};
pub use transfer::{TransferBalancer, TransferProfile};

use rand::RngCore;

use crate::constraints::Constraints;
use crate::explain::{Move, Plan};
use crate::names::{BrokerId, BundleName};
use crate::settings::Settings;

/// The leader's side of a profile, whole and stateful. All state changes by what it is told; times are milliseconds since
/// 1970. The same calls give the same answers, bit for bit.
///
/// What is true at once in a cluster (who is a member, who owns a bundle) is told at once; load comes by reports.
pub trait Balancer: Send {
    /// The short name in settings, records and explanations.
    fn name(&self) -> &str;

    /// A broker joined the cluster, or came back.
    fn broker_joined(&mut self, broker: &BrokerId, info: &BrokerInfo, now: i64);

    /// A broker left. Its bundles are told of one by one with [`Balancer::owner`].
    fn broker_left(&mut self, broker: &BrokerId, now: i64);

    /// An operator wants a broker to be empty, or takes that back. A policy without planned drains ignores it.
    fn drain(&mut self, _broker: &BrokerId, _wanted: bool) {}

    /// A bundle has a new owner, or none.
    fn owner(&mut self, bundle: &BundleName, owner: Option<&BrokerId>, now: i64);

    /// A broker's report arrived. One of another kind of manager is passed over.
    fn report(&mut self, broker: &BrokerId, report: &Report, settings: &Settings, now: i64);

    /// One cycle. Whoever carries the plan out tells [`Balancer::finished`] of each move and [`Balancer::split`] of each
    /// split.
    fn decide(&mut self, constraints: &Constraints<'_>, now: i64, rng: &mut dyn RngCore) -> Plan;

    /// Chooses a broker for a bundle without an owner; `None` if nobody may take it.
    fn place(
        &mut self,
        bundle: &BundleName,
        constraints: &Constraints<'_>,
        now: i64,
        rng: &mut dyn RngCore,
    ) -> Option<BrokerId>;

    /// A move of a plan came to its end.
    fn finished(&mut self, done: &Move, succeeded: bool, now: i64);

    /// A bundle was replaced by its parts, which are at the same broker.
    fn split(&mut self, parent: &BundleName, children: &[BundleName], now: i64);

    /// The next cycle is to give its verdict on this bundle even if it does nothing about it, where the policy does not do
    /// so anyway. It decides nothing else because of it.
    fn ask(&mut self, _bundle: &BundleName) {}

    /// Everything the next decision depends on, as bytes that only this policy reads.
    fn snapshot(&self) -> Vec<u8>;

    /// Takes up where a balancer with this [`snapshot`](Balancer::snapshot) was.
    ///
    /// # Errors
    /// [`SnapshotError`].
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError>;
}

/// Bytes that are no snapshot of the policy. Nothing was changed; the same bytes will never do.
#[derive(Debug, thiserror::Error)]
#[error("not a snapshot of the policy {policy}: {reason}")]
pub struct SnapshotError {
    /// The policy that was to read it.
    pub policy: String,
    /// What is wrong.
    pub reason: String,
}

impl SnapshotError {
    pub(crate) fn new(policy: &str, reason: &dyn std::fmt::Display) -> Self {
        Self { policy: policy.to_owned(), reason: reason.to_string() }
    }
}

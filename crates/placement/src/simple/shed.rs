//! Relieves overloaded brokers, one bundle each.

use std::collections::BTreeMap;

use super::{Bottleneck, Ranking};
use crate::bundle::special::Special;
use crate::explain::{Block, BrokerRule, BundleRule, Explanation, Move, MoveReason, Plan};
use crate::load::{BundleStats, HostUsage};
use crate::names::{BrokerId, BundleName};
use crate::settings::Settings;

/// A broker as the Simple manager sheds from it.
#[derive(Clone, Debug)]
pub struct HostedBundles<'a> {
    /// The broker.
    pub broker: &'a BrokerId,
    /// Use of its host.
    pub usage: HostUsage,
    /// Its ranking.
    pub ranking: Ranking,
    /// Its bundles.
    pub stats: &'a BTreeMap<BundleName, BundleStats>,
}

/// One cycle: a broker with CPU, direct memory or bandwidth above the overload threshold gives the bundle that needs the
/// most of its scarcest resource, if some other broker that may take it is below the comfort level in all four. Bundles in
/// `recent` stay.
#[must_use]
pub fn shed(
    brokers: &[HostedBundles<'_>],
    recent: &BTreeMap<BundleName, i64>,
    may_take: &dyn Fn(&BundleName, &BrokerId) -> bool,
    settings: &Settings,
) -> Plan {
    let overload = settings.load_balancer_broker_overloaded_threshold_percentage;
    let comfort = settings.load_balancer_broker_comfort_load_level_percentage;
    let mut plan = Plan::empty(Explanation::of("simple"));
    plan.explanation.limit("overload threshold %", overload);
    plan.explanation.limit("comfort level %", comfort);
    let is_comfortable = |other: &HostedBundles<'_>| f64::from(other.usage.max_percent()) < comfort;
    for host in brokers {
        let used = f64::from(host.usage.max_percent());
        let comfortable: Vec<&BrokerId> = brokers
            .iter()
            .filter(|other| other.broker != host.broker && is_comfortable(other))
            .map(|other| other.broker)
            .collect();
        let rule = if used <= overload {
            BrokerRule::WithinLimits
        } else if host.stats.len() < 2 {
            if host.stats.is_empty() { BrokerRule::NoBundles } else { BrokerRule::SoleBundle }
        } else {
            let has_taker = |bundle: &BundleName| comfortable.iter().any(|broker| may_take(bundle, broker));
            relieve(host, recent, &has_taker, &mut plan)
        };
        plan.explanation.judge_broker(host.broker, used, rule);
    }
    if plan.moves.is_empty() {
        let idle = plan.explanation.brokers.iter().all(|verdict| verdict.rule == BrokerRule::WithinLimits);
        plan.explanation.blocked = Some(if idle { Block::Balanced } else { Block::NoBundles });
    }
    plan
}

fn relieve(
    host: &HostedBundles<'_>,
    recent: &BTreeMap<BundleName, i64>,
    has_taker: &dyn Fn(&BundleName) -> bool,
    plan: &mut Plan,
) -> BrokerRule {
    let bottleneck = host.ranking.bottleneck();
    let need = |stats: &BundleStats| match bottleneck {
        Bottleneck::Cpu => stats.rate(),
        Bottleneck::Memory => stats.topics.saturating_add(stats.sessions()) as f64,
        Bottleneck::BandwidthIn => stats.msg_throughput_in,
        Bottleneck::BandwidthOut => stats.msg_throughput_out,
    };
    let mut bundles: Vec<(&BundleName, f64)> = host.stats.iter().map(|(name, stats)| (name, need(stats))).collect();
    bundles.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut outcome = BrokerRule::NothingMovable;
    for (bundle, need) in bundles {
        let rule = if outcome == BrokerRule::Sheds {
            BundleRule::EnoughChosen
        } else if Special::is_pinned(bundle.namespace()) {
            BundleRule::Pinned
        } else if recent.contains_key(bundle) {
            BundleRule::RecentlyMoved
        } else if !has_taker(bundle) {
            BundleRule::NoDestination
        } else {
            outcome = BrokerRule::Sheds;
            let (from, reason) = (host.broker.clone(), MoveReason::Overloaded);
            plan.moves.push(Move { bundle: bundle.clone(), from, to: None, reason });
            BundleRule::Moves
        };
        plan.explanation.judge_bundle(bundle, host.broker, need, rule);
    }
    outcome
}

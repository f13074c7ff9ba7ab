//! Evens out load by moving bundles from the most to the least loaded broker.

mod pair;
mod rules;
mod stats;

pub use rules::TransferRules;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use self::pair::{Outcome, Pair};
use self::stats::LoadStats;
use super::RecentUnloads;
use crate::explain::{Block, BrokerRule, Explanation, MoveReason, Plan, Projection};
use crate::load::{BrokerLoadData, TopBundles};
use crate::names::BrokerId;
use crate::settings::Settings;

/// What brokers published.
#[derive(Clone, Copy, Debug)]
pub struct ClusterLoad<'a> {
    /// The load of each broker.
    pub loads: &'a BTreeMap<BrokerId, BrokerLoadData>,
    /// The busiest bundles of each broker.
    pub top_bundles: &'a BTreeMap<BrokerId, TopBundles>,
    /// The brokers that are registered; `None` when the registry cannot be read.
    pub available: Option<&'a BTreeSet<BrokerId>>,
}

/// Pulsar's `TransferShedder`.
///
/// While the standard deviation of load is above its target, or the least loaded broker is far below the average, or the
/// most loaded one is both overloaded and far above the average, for long enough, it pairs the most with the least loaded
/// broker and moves bundles until half of their difference has moved. When the next bundle is too big it may be exchanged
/// for smaller ones. Brokers with equal load are taken by id.
///
/// Where Pulsar 4.0 is known to go wrong, this does not: traffic that comes back in an exchange always counts, brokers
/// whose report is outdated take no part, bundles that come back are checked like those that leave, and a broker without
/// load gives nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferShedder {
    hits: u32,
    recent: RecentUnloads,
}

/// A broker that takes part, in ascending order of load.
struct Member<'a> {
    id: &'a BrokerId,
    load: &'a BrokerLoadData,
}

impl TransferShedder {
    /// For how many cycles in a row the condition has held.
    #[must_use]
    pub fn hits(&self) -> u32 {
        self.hits
    }

    /// What was unloaded a short while ago. Whoever carries out a plan notes here what succeeded.
    pub fn recent(&mut self) -> &mut RecentUnloads {
        &mut self.recent
    }

    /// One cycle at `now`, in milliseconds since 1970.
    pub fn decide(&mut self, load: &ClusterLoad<'_>, rules: &dyn TransferRules, now: i64, settings: &Settings) -> Plan {
        let mut explanation = Explanation::of("transfer");
        let Some(available) = load.available else {
            return Plan::blocked(explanation, Block::RegistryUnavailable);
        };
        let grace = settings.load_balancer_shedding_grace_period_minutes.saturating_mul(60_000);
        self.recent.forget_bundles(now, grace);
        let members = match self.members(load, available, now, settings, &mut explanation) {
            Ok(members) => members,
            Err(block) => return Plan::blocked(explanation, block),
        };
        let stats = LoadStats::of(members.iter().map(|member| member.load.weighted_max_ema));
        let target = settings.load_balancer_broker_load_target_std;
        explanation.limit("average", stats.average());
        explanation.limit("standard deviation", stats.deviation());
        explanation.limit("target standard deviation", target);
        let condition = Condition { members: &members, settings };
        let holds = condition.reason(&stats, 0, members.len() - 1).is_some();
        self.hits = if holds { self.hits.saturating_add(1) } else { 0 };
        explanation.limit("hits", f64::from(self.hits));
        if self.hits <= settings.load_balancer_shedding_condition_hit_count_threshold {
            let block = if holds { Block::HitCount } else { Block::Balanced };
            return Plan::blocked(explanation, block);
        }
        let mut plan = Plan::empty(explanation);
        let why_nothing = self.pair_up(&condition, stats, load, rules, &mut plan);
        if plan.moves.is_empty() {
            plan.explanation.blocked = Some(why_nothing);
        } else {
            self.hits = 0;
        }
        plan
    }

    /// The brokers whose load counts, by ascending load, or what keeps the cycle from acting.
    fn members<'a>(
        &mut self,
        load: &ClusterLoad<'a>,
        available: &BTreeSet<BrokerId>,
        now: i64,
        settings: &Settings,
        explanation: &mut Explanation,
    ) -> Result<Vec<Member<'a>>, Block> {
        let lifetime = settings.load_balancer_broker_load_data_ttl_in_seconds.saturating_mul(1_000);
        let rest = settings.load_balance_shedding_delay_in_seconds.saturating_mul(1_000);
        let mut members = Vec::with_capacity(load.loads.len());
        let mut outdated = false;
        for (id, load) in load.loads {
            if now.saturating_sub(load.updated_at) > lifetime {
                outdated = true;
                explanation.judge_broker(id, load.weighted_max_ema, BrokerRule::OutdatedData);
                continue;
            }
            if let Some(unloaded) = self.recent.brokers.get(id) {
                if load.updated_at.saturating_sub(*unloaded) < rest {
                    return Err(Block::CoolingDown);
                }
                self.recent.brokers.remove(id);
            }
            members.push(Member { id, load });
        }
        if members.is_empty() {
            return Err(if outdated { Block::OutdatedData } else { Block::NoBrokers });
        }
        if available.iter().any(|broker| !load.loads.contains_key(broker)) {
            return Err(Block::NoLoadData);
        }
        members.sort_by(|a, b| a.load.weighted_max_ema.total_cmp(&b.load.weighted_max_ema));
        Ok(members)
    }

    /// Moves bundles between pairs of brokers until the condition no longer holds. Returns why nothing moved, if nothing
    /// did.
    fn pair_up(
        &self,
        condition: &Condition<'_>,
        mut stats: LoadStats,
        load: &ClusterLoad<'_>,
        rules: &dyn TransferRules,
        plan: &mut Plan,
    ) -> Block {
        let settings = condition.settings;
        let (mut low, mut high) = (0, condition.members.len() - 1);
        let (mut done, mut without_data, mut without_bundles) = (0, 0, 0);
        while done < settings.load_balancer_max_number_of_broker_shedding_per_cycle && low < high {
            let Some(reason) = condition.reason(&stats, low, high) else { break };
            let (max, min) = (&condition.members[high], &condition.members[low]);
            high -= 1;
            let pair = Pair { max, min, reason, rules, recent: &self.recent, settings };
            let outcome = pair.exchange(load, plan);
            plan.explanation.judge_broker(max.id, max.load.weighted_max_ema, outcome.rule());
            match outcome {
                Outcome::NoLoadData => without_data += 1,
                Outcome::Moved { throughput } => {
                    plan.explanation.judge_broker(min.id, min.load.weighted_max_ema, BrokerRule::Takes);
                    let moved = stats.transfer(max.load, min.load, throughput);
                    for (member, change) in [(max, -moved), (min, moved)] {
                        let before = member.load.weighted_max_ema;
                        let broker = member.id.clone();
                        plan.explanation.projected.push(Projection { broker, before, after: before + change });
                    }
                    done += 1;
                    low += 1;
                }
                Outcome::SoleBundle | Outcome::NothingMovable => without_bundles += 1,
            }
        }
        plan.explanation.limit("standard deviation after", stats.deviation());
        if without_data > 0 {
            Block::NoLoadData
        } else if without_bundles > 0 {
            Block::NoBundles
        } else {
            Block::Balanced
        }
    }
}

/// Whether, and why, load between brokers should be evened out.
struct Condition<'a> {
    members: &'a [Member<'a>],
    settings: &'a Settings,
}

impl Condition<'_> {
    /// The reason to move load from member `high` to member `low`.
    fn reason(&self, stats: &LoadStats, low: usize, high: usize) -> Option<MoveReason> {
        if stats.deviation() > self.settings.load_balancer_broker_load_target_std {
            Some(MoveReason::Overloaded)
        } else if self.is_under(stats, low, high) {
            Some(MoveReason::Underloaded)
        } else if self.is_over(stats, high) {
            Some(MoveReason::Overloaded)
        } else {
            None
        }
    }

    /// Far below the average load, or far below the traffic of the most loaded broker.
    fn is_under(&self, stats: &LoadStats, low: usize, high: usize) -> bool {
        let share = (self.settings.load_balancer_broker_load_target_std / 2.0).clamp(0.0, 0.5);
        let (load, most) = (self.members[low].load, self.members[high].load);
        load.weighted_max_ema < stats.average() * share || load.msg_throughput_ema < most.msg_throughput_ema * share
    }

    /// Above the overload threshold and far above the average load.
    fn is_over(&self, stats: &LoadStats, high: usize) -> bool {
        let load = self.members[high].load.weighted_max_ema;
        load > self.settings.overload_threshold()
            && load > stats.average() + self.settings.load_balancer_broker_load_target_std
    }
}

#[cfg(test)]
mod tests;

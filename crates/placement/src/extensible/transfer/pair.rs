//! The exchange between one pair of brokers.

use super::{ClusterLoad, Member, TransferRules};
use crate::explain::{BrokerRule, BundleRule, Move, MoveReason, Plan};
use crate::extensible::RecentUnloads;
use crate::load::TopBundle;
use crate::names::{BrokerId, BundleName};
use crate::settings::Settings;

/// A taker whose peer would keep more than this share of its traffic is not relieved enough by an exchange.
const WORTHWHILE: f64 = 0.75;

/// The most loaded broker gives to the least loaded one.
pub(super) struct Pair<'a> {
    pub(super) max: &'a Member<'a>,
    pub(super) min: &'a Member<'a>,
    pub(super) reason: MoveReason,
    pub(super) rules: &'a dyn TransferRules,
    pub(super) recent: &'a RecentUnloads,
    pub(super) settings: &'a Settings,
}

/// How the exchange of a pair ended.
pub(super) enum Outcome {
    NoLoadData,
    SoleBundle,
    NothingMovable,
    /// This much more traffic, in bytes per second, leaves the most loaded broker than comes back.
    Moved {
        throughput: f64,
    },
}

impl Outcome {
    pub(super) fn rule(&self) -> BrokerRule {
        match self {
            Self::NoLoadData => BrokerRule::NoLoadData,
            Self::SoleBundle => BrokerRule::SoleBundle,
            Self::NothingMovable => BrokerRule::NothingMovable,
            Self::Moved { .. } => BrokerRule::Sheds,
        }
    }
}

/// How far the exchange of a pair is.
struct Exchange<'a> {
    /// Bytes per second that should leave.
    goal: f64,
    /// Bytes per second that leave.
    marked: f64,
    /// Bytes per second that come back.
    gained: f64,
    /// Bundles the most loaded broker keeps.
    left: usize,
    /// The bundles of the least loaded broker that were not looked at yet.
    returns: std::slice::Iter<'a, TopBundle>,
}

/// What happens to a bundle.
enum Choice {
    Take,
    Skip(BundleRule),
    /// Neither this one nor any after it.
    Stop(BundleRule),
}

/// Smaller bundles that come back for a big one.
struct SwapBack {
    moves: Vec<Move>,
    throughput: f64,
}

impl Pair<'_> {
    /// Chooses what moves, until half of the difference in load is on its way.
    pub(super) fn exchange(&self, load: &ClusterLoad<'_>, plan: &mut Plan) -> Outcome {
        let top = load.top_bundles.get(self.max.id).map_or(&[][..], |top| &top.top_bundles_load_data);
        match top {
            [] => return Outcome::NoLoadData,
            [only] => {
                self.judge(only, self.max.id, BundleRule::LastOfBroker, plan);
                return Outcome::SoleBundle;
            }
            _ => {}
        }
        let (high, low) = (self.max.load.weighted_max_ema, self.min.load.weighted_max_ema);
        let goal = self.max.load.throughput() * ((high - low) / 2.0) / high;
        if high <= 0.0 || !goal.is_finite() {
            return Outcome::NothingMovable;
        }
        let returns = load.top_bundles.get(self.min.id).map_or(&[][..], |top| &top.top_bundles_load_data);
        let mut exchange = Exchange { goal, marked: 0.0, gained: 0.0, left: top.len(), returns: returns.iter() };
        let mut stop = None;
        for bundle in top {
            let choice = stop.map_or_else(|| self.consider(bundle, &mut exchange, plan), Choice::Stop);
            let rule = match choice {
                Choice::Take => {
                    let to = self.settings.load_balancer_transfer_enabled.then_some(self.min.id);
                    plan.moves.push(self.unload(&bundle.bundle_name, self.max.id, to));
                    exchange.marked += bundle.stats.throughput();
                    exchange.left -= 1;
                    BundleRule::Moves
                }
                Choice::Skip(rule) => rule,
                Choice::Stop(rule) => *stop.insert(rule),
            };
            self.judge(bundle, self.max.id, rule, plan);
        }
        if exchange.marked > 0.0 {
            Outcome::Moved { throughput: exchange.marked - exchange.gained }
        } else {
            Outcome::NothingMovable
        }
    }

    /// Whether the next bundle of the most loaded broker goes. What has to come back for it is then in the plan.
    fn consider(&self, bundle: &TopBundle, exchange: &mut Exchange<'_>, plan: &mut Plan) -> Choice {
        if let Err(rule) = self.may_move(bundle, self.max.id, self.min.id) {
            return Choice::Skip(rule);
        }
        let throughput = bundle.stats.throughput();
        if exchange.left <= 1 {
            return Choice::Stop(BundleRule::LastOfBroker);
        }
        if throughput == 0.0 {
            return Choice::Skip(BundleRule::NoTraffic);
        }
        if exchange.marked - exchange.gained + throughput > exchange.goal {
            let Some(swap) = self.swap_back(throughput, exchange, plan) else {
                let none_yet = exchange.marked == 0.0;
                return Choice::Stop(if none_yet { BundleRule::TooBig } else { BundleRule::EnoughChosen });
            };
            exchange.gained += swap.throughput;
            plan.moves.extend(swap.moves);
        }
        Choice::Take
    }

    /// Finds smaller bundles of the least loaded broker to come back, so that a bundle of `throughput` can go. The search
    /// goes on where the last one of the pair stopped.
    fn swap_back(&self, throughput: f64, exchange: &mut Exchange<'_>, plan: &mut Plan) -> Option<SwapBack> {
        if !self.settings.load_balancer_transfer_enabled {
            return None;
        }
        let most = self.max.load.throughput();
        let leaving = exchange.marked - exchange.gained + throughput;
        let mut max_after = most - leaving;
        let mut min_after = self.min.load.throughput() + leaving;
        let mut swap = SwapBack { moves: Vec::new(), throughput: 0.0 };
        let mut chosen = Vec::new();
        for bundle in exchange.returns.by_ref() {
            if self.may_move(bundle, self.min.id, self.max.id).is_err() {
                continue;
            }
            let back = bundle.stats.throughput();
            if back == 0.0 || max_after + back >= most || min_after - back >= most {
                continue;
            }
            max_after += back;
            min_after -= back;
            swap.throughput += back;
            swap.moves.push(self.unload(&bundle.bundle_name, self.min.id, Some(self.max.id)));
            chosen.push(bundle);
            if min_after <= max_after && max_after < most * WORTHWHILE {
                chosen.iter().for_each(|bundle| self.judge(bundle, self.min.id, BundleRule::SwapsBack, plan));
                return Some(swap);
            }
        }
        None
    }

    /// Whether a bundle of `from` may go to `to` at all.
    fn may_move(&self, bundle: &TopBundle, from: &BrokerId, to: &BrokerId) -> Result<(), BundleRule> {
        let name = &bundle.bundle_name;
        if !self.rules.is_owner(name, from) {
            return Err(BundleRule::NotOwned);
        }
        if self.settings.load_balancer_shedding_excluded_namespaces.contains(name.namespace()) {
            return Err(BundleRule::ExcludedNamespace);
        }
        if self.recent.bundles.contains_key(name) {
            return Err(BundleRule::RecentlyMoved);
        }
        self.rules.may_transfer(name, from, to)
    }

    fn unload(&self, bundle: &BundleName, from: &BrokerId, to: Option<&BrokerId>) -> Move {
        Move { bundle: bundle.clone(), from: from.clone(), to: to.cloned(), reason: self.reason }
    }

    fn judge(&self, bundle: &TopBundle, broker: &BrokerId, rule: BundleRule, plan: &mut Plan) {
        plan.explanation.judge_bundle(&bundle.bundle_name, broker, bundle.stats.throughput(), rule);
    }
}

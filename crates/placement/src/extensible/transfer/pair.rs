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
        if high <= 0.0 {
            return Outcome::NothingMovable;
        }
        let goal = self.max.load.throughput() * ((high - low) / 2.0) / high;
        let mut returns = load.top_bundles.get(self.min.id).map(|top| top.top_bundles_load_data.iter());
        let (mut marked, mut gained) = (0.0, 0.0);
        let mut left = top.len();
        let mut stop = None;
        for bundle in top {
            if let Some(rule) = stop {
                self.judge(bundle, self.max.id, rule, plan);
                continue;
            }
            if let Err(rule) = self.may_move(bundle, self.max.id, self.min.id) {
                self.judge(bundle, self.max.id, rule, plan);
                continue;
            }
            let throughput = bundle.stats.throughput();
            if left <= 1 {
                stop = Some(BundleRule::LastOfBroker);
            } else if throughput == 0.0 {
                self.judge(bundle, self.max.id, BundleRule::NoTraffic, plan);
                continue;
            } else if marked - gained + throughput > goal {
                match self.swap_back(throughput, marked, gained, returns.as_mut(), plan) {
                    Some(swap) => {
                        gained += swap.throughput;
                        plan.moves.extend(swap.moves);
                    }
                    None => stop = Some(if marked > 0.0 { BundleRule::EnoughChosen } else { BundleRule::TooBig }),
                }
            }
            if let Some(rule) = stop {
                self.judge(bundle, self.max.id, rule, plan);
                continue;
            }
            self.judge(bundle, self.max.id, BundleRule::Moves, plan);
            let to = self.settings.load_balancer_transfer_enabled.then_some(self.min.id);
            plan.moves.push(self.unload(&bundle.bundle_name, self.max.id, to));
            marked += throughput;
            left -= 1;
        }
        if marked > 0.0 { Outcome::Moved { throughput: marked - gained } } else { Outcome::NothingMovable }
    }

    /// Finds smaller bundles of the least loaded broker to come back, so that a bundle of `throughput` can go. `returns`
    /// goes on where the last search of the pair stopped.
    fn swap_back<'b>(
        &self,
        throughput: f64,
        marked: f64,
        gained: f64,
        returns: Option<&mut impl Iterator<Item = &'b TopBundle>>,
        plan: &mut Plan,
    ) -> Option<SwapBack> {
        if !self.settings.load_balancer_transfer_enabled {
            return None;
        }
        let most = self.max.load.throughput();
        let mut max_after = most - marked + gained - throughput;
        let mut min_after = self.min.load.throughput() + marked - gained + throughput;
        let mut swap = SwapBack { moves: Vec::new(), throughput: 0.0 };
        let mut chosen = Vec::new();
        for bundle in returns? {
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

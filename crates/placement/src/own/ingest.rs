//! Takes reports in.

use super::slot::{News, Traffic};
use super::{Detail, NEWS, OwnBalancer, seconds};
use crate::balancer::{OwnBundle, OwnReport};
use crate::names::BrokerId;

/// Share of a difference by which the costs of a broker's messages are corrected with each report …
const STEP: f32 = 0.05;

/// … and those of bundles that have just come.
const FRESH_STEP: f32 = 0.3;

/// Nothing is learnt while more than this share of a broker's messages is due to what may pass.
const MOST_ODD: f64 = 0.01;

/// Less than this share of a broker's use says nothing about what has just come.
const LEAST_FRESH: f64 = 0.05;

/// A message costs at most so many times the mean of its broker, and at least the inverse of it.
const DEAREST: f32 = 5.0;

impl OwnBalancer {
    pub(super) fn ingest(&mut self, id: &BrokerId, report: &OwnReport, now: i64) {
        let Some(&index) = self.by_id.get(id) else { return };
        let Some(broker) = self.brokers.get_mut(index as usize) else { return };
        // Reports overtake each other; only the newest counts.
        if !broker.present || broker.reported.is_some_and(|at| at >= report.at) {
            return;
        }
        broker.reported = Some(report.at);
        broker.host = report.host;
        broker.own = report.own;
        // Of one report, so that a spike is in both.
        let cached = report.bundles.iter().map(|bundle| f64::from(bundle.memory)).sum::<f64>() * super::input::MB;
        let own = report.own.memory;
        broker.overhead = if own.limit > 0.0 { (own.usage - cached).max(0.0) } else { 0.0 };
        let limits = broker.limits();
        let at = seconds(report.at);
        let (mut wavered, mut news, mut odd) = (0.0, 0.0, 0.0);
        let mut served = Vec::with_capacity(report.bundles.len());
        for bundle in &report.bundles {
            // Who owns what is told at once; a report that knows of something else is older.
            let Some(slot) = self.slot_of(&bundle.bundle) else { continue };
            let known = &mut self.slots[slot as usize];
            if known.owner != index {
                continue;
            }
            known.topics = bundle.topics;
            match known.sample(traffic(bundle), at, &mut self.excursions) {
                News::Wavered(change) => wavered += f64::from(change) * share_of(&known.mean, &limits),
                News::Odd => odd += f64::from(bundle.rate),
                News::Changed(more) => news += share_of(&more, &limits),
            }
            served.push((slot, bundle.rate));
        }
        let broker = &mut self.brokers[index as usize];
        broker.wavering.add(wavered);
        broker.wavering.close(at);
        if now.saturating_sub(broker.news) > NEWS {
            broker.more = 0.0;
        }
        if news > 0.0 {
            broker.news = now;
            broker.more += news;
        }
        for detail in &report.details {
            if let Some(slot) = self.slot_of(&detail.bundle).filter(|slot| self.slots[*slot as usize].owner == index) {
                let detail = Detail { buckets: detail.buckets, largest_topic: detail.largest_topic };
                self.details.insert(slot, detail);
            }
        }
        let rate: f64 = served.iter().map(|(_, rate)| f64::from(*rate)).sum();
        // What passes would teach a wrong cost.
        if odd <= MOST_ODD * rate {
            self.learn_costs(index, &served, at);
        }
        self.placing = None;
    }

    /// Brings what the broker's messages are thought to cost nearer to what its processors are used. Of a bundle that has
    /// just come least is known, so those answer for the difference first.
    fn learn_costs(&mut self, index: u32, served: &[(u32, f32)], now: u32) {
        let broker = &self.brokers[index as usize];
        let cpu = if broker.own.cpu.limit > 0.0 { broker.own.cpu } else { broker.host.cpu };
        let rate: f64 = served.iter().map(|(_, rate)| f64::from(*rate)).sum();
        if cpu.limit <= 0.0 || rate <= 0.0 || !self.pending.is_empty() {
            return;
        }
        #[expect(clippy::cast_possible_truncation, reason = "single precision is enough for a cost")]
        let mean = (cpu.usage / rate) as f32;
        let (mut settled, mut fresh) = (0.0, 0.0);
        for (slot, rate) in served {
            let slot = &mut self.slots[*slot as usize];
            if slot.cost.is_nan() {
                slot.cost = mean;
            }
            let used = f64::from(slot.cost) * f64::from(*rate);
            *(if slot.has_just_come(now) { &mut fresh } else { &mut settled }) += used;
        }
        let only_fresh = fresh > LEAST_FRESH * settled;
        let (predicted, step) = if only_fresh { (fresh, FRESH_STEP) } else { (fresh + settled, STEP) };
        let wanted = if only_fresh { cpu.usage - settled } else { cpu.usage };
        if predicted <= 0.0 {
            return;
        }
        #[expect(clippy::cast_possible_truncation, reason = "single precision is enough for a factor")]
        let factor = 1.0 + step * ((wanted / predicted).clamp(0.25, 4.0) as f32 - 1.0);
        for (slot, _) in served {
            let slot = &mut self.slots[*slot as usize];
            if !only_fresh || slot.has_just_come(now) {
                slot.cost = (slot.cost * factor).clamp(mean / DEAREST, mean * DEAREST);
            }
        }
    }
}

/// What no measurement can be is taken for nothing.
fn traffic(bundle: &OwnBundle) -> Traffic {
    let values = [bundle.rate, bundle.throughput_in, bundle.throughput_out, bundle.memory];
    Traffic(values.map(|value| if value.is_finite() && value > 0.0 { value } else { 0.0 }))
}

/// The greatest share of a broker's bandwidth that traffic takes.
fn share_of(traffic: &Traffic, limits: &[f64]) -> f64 {
    let of = |bytes: f32, limit: f64| if limit > 0.0 { f64::from(bytes) * super::input::KBIT / limit } else { 0.0 };
    of(traffic.0[1], limits[1]).max(of(traffic.0[2], limits[2]))
}

//! What a live broker can measure of itself.

use std::collections::HashMap;

use plerion_placement::balancer::{BundleDetail, Measurement};
use plerion_placement::load::{BundleStats, HostUsage, ResourceUsage};

use super::World;
use super::vector::{CPU, IN, MEMORY, OUT, Resources};

/// Of so many of its busiest bundles a broker tells where the load lies.
const BUSIEST: usize = 10;

/// Where the load of bundles lies. It does not change while a bundle exists.
pub(super) type Details = HashMap<u32, BundleDetail>;

impl World {
    /// What the broker on `host` measures now. Of its processors it knows only the sum, as every broker does.
    pub(crate) fn measure(&mut self, host: usize, at: i64) -> Measurement {
        self.list_by_name(host);
        let bundles =
            self.owned[host].iter().map(|index| (self.bundles[*index as usize].name.clone(), self.stats(*index)));
        let bundles = bundles.collect();
        let own = self.used[host] + self.burden[host];
        let details = self.details_of_busiest(host);
        let capacity = self.hosts[host].capacity;
        Measurement {
            at,
            host: usage(own + self.foreign(host), &capacity),
            own: usage(own, &capacity),
            bundles,
            details,
            namespaces: self.bundle_counts.clone(),
        }
    }

    fn list_by_name(&mut self, host: usize) {
        if !std::mem::replace(&mut self.in_order[host], true) {
            let bundles = &self.bundles;
            self.owned[host].sort_unstable_by(|a, b| bundles[*a as usize].name.cmp(&bundles[*b as usize].name));
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are small and positive")]
    fn stats(&self, index: u32) -> BundleStats {
        let bundle = &self.bundles[index as usize];
        let root = &self.roots[bundle.root as usize];
        let part = f64::from(bundle.share) * self.drive.factor(bundle.root);
        let clients = self.clients(index) as u64;
        BundleStats {
            msg_rate_in: root.rates[0] * part,
            msg_throughput_in: root.base.0[IN] * part,
            msg_rate_out: root.rates[1] * part,
            msg_throughput_out: root.base.0[OUT] * part,
            consumer_count: clients - clients / 3,
            producer_count: clients / 3,
            topics: u64::from(bundle.topics),
            cache_size: (root.base.0[MEMORY] * part) as u64,
        }
    }

    fn details_of_busiest(&mut self, host: usize) -> Vec<BundleDetail> {
        let mut busiest: Vec<(f64, u32)> =
            self.owned[host].iter().map(|bundle| (self.load(*bundle).0[OUT], *bundle)).collect();
        if busiest.len() > BUSIEST {
            busiest.select_nth_unstable_by(BUSIEST, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            busiest.truncate(BUSIEST);
        }
        busiest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        busiest.into_iter().map(|(_, bundle)| self.detail(bundle)).collect()
    }

    fn detail(&mut self, index: u32) -> BundleDetail {
        if let Some(known) = self.details.get(&index) {
            return known.clone();
        }
        let bundle = &self.bundles[index as usize];
        let topics = self.topic_set(bundle.root);
        let part = topics.part(bundle.range);
        let detail = BundleDetail {
            bundle: bundle.name.clone(),
            buckets: topics.buckets(bundle.range),
            largest_topic: bundle.largest_topic,
            largest_topic_hash: part.largest_topic_hash,
        };
        self.details.insert(index, detail.clone());
        detail
    }
}

fn usage(used: Resources, capacity: &Resources) -> HostUsage {
    let of = |resource: usize, scale: f64| {
        // Host statistics come in steps; the last bits of a sum are nobody's to know.
        let rounded = (used.0[resource] * scale * 100.0).round() / 100.0;
        ResourceUsage::new(rounded, capacity.0[resource] * scale)
    };
    HostUsage {
        cpu: of(CPU, 100.0),
        memory: of(MEMORY, 1e-6),
        direct_memory: ResourceUsage::default(),
        bandwidth_in: of(IN, 8e-3),
        bandwidth_out: of(OUT, 8e-3),
    }
}

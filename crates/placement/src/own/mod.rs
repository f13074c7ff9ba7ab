//! Plerion's own policy: one plan per cycle that evens the cluster out in one round.
//!
//! It goes by the mean traffic of bundles, so that wavering moves nothing; a sudden change is believed once it has lasted
//! longer than those that pass. How far a broker may be above the lower bound before it acts follows from how much
//! brokers have been measured to waver, and a plan has to be worth what its moves cost.

mod broker;
mod cuts;
mod decide;
mod excursion;
mod ingest;
mod input;
mod names;
mod parts;
mod place;
mod reporter;
mod slot;
mod snapshot;
mod verdict;

use std::collections::HashMap;

use rand::RngCore;

use self::broker::Broker;
use self::excursion::Excursions;
use self::names::{Key, Names};
use self::slot::{NOBODY, Slot};
use crate::balancer::{BUCKETS, Balancer, BrokerInfo, Manager, Report, Reporter, SnapshotError};
use crate::constraints::Constraints;
use crate::explain::{Move, Plan};
use crate::names::{BrokerId, BundleName};
use crate::planner::RESOURCES;
use crate::registry::ManagerKind;
use crate::settings::Settings;

/// Plerion's own policy as a profile.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnProfile;

impl Manager for OwnProfile {
    fn class_name(&self) -> &'static str {
        ManagerKind::Modular.class_name()
    }

    fn balancer(&self) -> Box<dyn Balancer> {
        Box::new(OwnBalancer::default())
    }

    fn reporter(&self, _broker: &BrokerId, _info: &BrokerInfo) -> Box<dyn Reporter> {
        Box::new(reporter::OwnReporter)
    }
}

/// The leader of Plerion's own policy. It takes some 100 bytes for each bundle.
#[derive(Clone, Debug, Default)]
pub struct OwnBalancer {
    names: Names,
    slots: Vec<Slot>,
    free: Vec<u32>,
    brokers: Vec<Broker>,
    by_id: HashMap<BrokerId, u32>,
    details: HashMap<u32, Detail>,
    excursions: Excursions,
    /// Moves that were ordered and are not finished, and when.
    pending: Vec<(Key, i64)>,
    /// Until when the cluster is left to settle, in milliseconds since 1970.
    rests_until: i64,
    /// What is used on each broker, while bundles are placed one after the other.
    placing: Option<Vec<[f64; RESOURCES]>>,
    /// A bundle whose verdict is wanted even if nothing is done about it.
    asked: Option<BundleName>,
}

/// Where the load of a busy bundle lies.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Detail {
    buckets: [f32; BUCKETS],
    largest_topic: f32,
}

/// How long a cluster settles after moves before it is judged again, in milliseconds: until the reports of both ends are
/// in.
const SETTLE: i64 = 4_000;

/// So long a change counts as news, in milliseconds.
const NEWS: i64 = 60_000;

impl OwnBalancer {
    fn slot_of(&self, bundle: &BundleName) -> Option<u32> {
        let key = self.names.key(bundle)?;
        self.names.find(key, |slot| self.slots[slot as usize].key)
    }

    /// The slot of a bundle, made if it has none.
    fn slot_for(&mut self, bundle: &BundleName) -> Option<u32> {
        let key = self.names.learn(bundle)?;
        match self.names.find(key, |slot| self.slots[slot as usize].key) {
            Some(slot) => Some(slot),
            None => self.add_slot(key),
        }
    }

    fn add_slot(&mut self, key: Key) -> Option<u32> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                if self.slots.len() == self.slots.capacity() {
                    self.slots.reserve_exact(self.slots.len() / 8 + 16);
                }
                self.slots.push(Slot::new(key));
                u32::try_from(self.slots.len() - 1).ok()?
            }
        };
        self.slots[slot as usize] = Slot::new(key);
        let slots = &self.slots;
        self.names.insert(key, slot, |slot| slots[slot as usize].key);
        Some(slot)
    }

    fn remove_slot(&mut self, slot: u32) {
        self.names.remove(self.slots[slot as usize].key, slot);
        self.slots[slot as usize].free = true;
        self.slots[slot as usize].owner = NOBODY;
        self.details.remove(&slot);
        self.free.push(slot);
    }
}

impl Balancer for OwnBalancer {
    fn name(&self) -> &str {
        "plerion"
    }

    fn broker_joined(&mut self, broker: &BrokerId, info: &BrokerInfo, _now: i64) {
        if let Some(known) = self.by_id.get(broker).and_then(|known| self.brokers.get_mut(*known as usize)) {
            *known = Broker::new(broker.clone(), info.clone());
        } else if let Ok(index) = u32::try_from(self.brokers.len()) {
            self.by_id.insert(broker.clone(), index);
            self.brokers.push(Broker::new(broker.clone(), info.clone()));
        }
        self.placing = None;
    }

    fn broker_left(&mut self, broker: &BrokerId, _now: i64) {
        if let Some(known) = self.by_id.get(broker).and_then(|known| self.brokers.get_mut(*known as usize)) {
            known.present = false;
            known.reported = None;
        }
        self.placing = None;
    }

    fn drain(&mut self, broker: &BrokerId, wanted: bool) {
        if let Some(known) = self.by_id.get(broker).and_then(|known| self.brokers.get_mut(*known as usize)) {
            known.drains = wanted;
            self.rests_until = 0;
        }
    }

    fn owner(&mut self, bundle: &BundleName, owner: Option<&BrokerId>, now: i64) {
        let owner = owner.and_then(|owner| self.by_id.get(owner).copied()).unwrap_or(NOBODY);
        let Some(slot) = self.slot_for(bundle) else { return };
        let slot = &mut self.slots[slot as usize];
        if slot.owner != owner {
            if owner != NOBODY && slot.owner != NOBODY {
                slot.moved = seconds(now);
            }
            slot.owner = owner;
        }
    }

    fn report(&mut self, broker: &BrokerId, report: &Report, _settings: &Settings, now: i64) {
        if let Report::Own(report) = report {
            self.ingest(broker, report, now);
        }
    }

    fn decide(&mut self, constraints: &Constraints<'_>, now: i64, _rng: &mut dyn RngCore) -> Plan {
        self.placing = None;
        self.cycle(constraints, now)
    }

    fn place(
        &mut self,
        bundle: &BundleName,
        constraints: &Constraints<'_>,
        _now: i64,
        _rng: &mut dyn RngCore,
    ) -> Option<BrokerId> {
        self.choose(bundle, constraints)
    }

    fn finished(&mut self, done: &Move, _succeeded: bool, now: i64) {
        if let Some(key) = self.names.key(&done.bundle) {
            self.pending.retain(|(pending, _)| *pending != key);
        }
        self.rests_until = self.rests_until.max(now.saturating_add(SETTLE));
    }

    fn split(&mut self, parent: &BundleName, children: &[BundleName], _now: i64) {
        let Some(slot) = self.slot_of(parent) else { return };
        let was = self.slots[slot as usize];
        let detail = self.details.get(&slot).copied();
        self.remove_slot(slot);
        for child in children {
            let Some(slot) = self.slot_for(child) else { continue };
            let share = cuts::share_of(was.key, self.slots[slot as usize].key, detail.as_ref());
            let child = &mut self.slots[slot as usize];
            child.owner = was.owner;
            child.cost = was.cost;
            child.topics = was.topics;
            child.expect(was.mean.times(was.level * share));
        }
    }

    fn ask(&mut self, bundle: &BundleName) {
        self.asked = Some(bundle.clone());
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::write(self)
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        *self = snapshot::read(snapshot).map_err(|reason| SnapshotError::new("plerion", &reason))?;
        Ok(())
    }
}

/// Seconds since 1970.
fn seconds(now: i64) -> u32 {
    u32::try_from(now.max(0) / 1_000).unwrap_or(u32::MAX)
}

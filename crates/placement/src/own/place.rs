//! Bundles without an owner.

use super::OwnBalancer;
use super::input::load;
use crate::constraints::Constraints;
use crate::names::{BrokerId, BundleName};
use crate::planner::Class;

impl OwnBalancer {
    /// The broker that is used least with the bundle on it; the first one by id of equal ones. Bundles placed since the
    /// last report count. Only where nobody else may take it does a broker that has to be empty, or never reported, get it.
    pub(super) fn choose(&mut self, bundle: &BundleName, constraints: &Constraints<'_>) -> Option<BrokerId> {
        let slot = self.slot_for(bundle)?;
        let mut used = self.placing.take().unwrap_or_else(|| self.used());
        let slot = self.slots[slot as usize];
        let own = load(&slot);
        let mut members: Vec<u32> =
            (0_u32..).zip(&self.brokers).filter(|(_, broker)| broker.present).map(|(index, _)| index).collect();
        members.sort_by(|a, b| self.brokers[*a as usize].id.cmp(&self.brokers[*b as usize].id));
        let mut classes = Vec::new();
        let terms = self.terms_of(bundle, constraints, &members, &mut classes);
        let allows = |place: usize| match terms {
            None => true,
            Some(Class(class)) => classes.get(class as usize).is_none_or(|members| members[place]),
        };
        let mut best: Option<(bool, f64, u32)> = None;
        for (place, &member) in members.iter().enumerate().filter(|(place, _)| allows(*place)) {
            let broker = &self.brokers[member as usize];
            let host = self.host(member, &used[member as usize]);
            let shares = (0..own.len()).map(|r| {
                let taken = f64::from(host.foreign.0[r]) + used[member as usize][r] + own[r];
                taken / f64::from(host.capacity.0[r]).max(1e-9)
            });
            let level = shares.fold(0.0, f64::max);
            let is_last_resort = broker.drains || broker.reported.is_none();
            let candidate = (is_last_resort, level, member);
            if best.is_none_or(|(last, least, _)| (is_last_resort, level) < (last, least)) {
                best = Some(candidate);
            }
            debug_assert!(place < members.len());
        }
        if let Some((_, _, member)) = best {
            used[member as usize].iter_mut().zip(own).for_each(|(used, own)| *used += own);
        }
        self.placing = Some(used);
        best.map(|(_, _, member)| self.brokers[member as usize].id.clone())
    }

    fn terms_of(
        &self,
        bundle: &BundleName,
        constraints: &Constraints<'_>,
        members: &[u32],
        classes: &mut Vec<Vec<bool>>,
    ) -> Option<Class> {
        self.class(bundle.namespace(), constraints.non_persistent.contains(bundle), constraints, members, classes)
    }
}

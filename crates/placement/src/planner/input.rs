//! The cluster as the planner sees it.

use super::Vector;

/// A host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlanBroker {
    /// What it has of each resource. All 0 drains it: everything has to leave.
    pub capacity: Vector,
    /// What is used on it by others than its bundles, and cannot move.
    pub foreign: Vector,
    /// Utilisation up to which the host is left alone even where that is above the target.
    pub tolerates: f64,
}

/// A class of destinations, an index into [`PlanInput::classes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u32);

/// An anti-affinity group. Bundles of one group are never brought closer together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group(pub u32);

/// What can move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlanBundle {
    /// The broker that has it, an index into [`PlanInput::brokers`].
    pub owner: u32,
    /// What it uses of each resource.
    pub load: Vector,
    /// Where it may go; `None` is anywhere.
    pub class: Option<Class>,
    /// Its anti-affinity group.
    pub group: Option<Group>,
    /// Whether it has to stay where it is: it moved a moment ago, or belongs to its broker by name.
    pub held: bool,
}

/// Everything a plan is made from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanInput {
    /// The hosts.
    pub brokers: Vec<PlanBroker>,
    /// The bundles. One whose owner is not among the hosts is passed over.
    pub bundles: Vec<PlanBundle>,
    /// For each class, whether each host is in it.
    pub classes: Vec<Vec<bool>>,
}

impl PlanInput {
    /// Whether the policies allow `bundle` on host `broker`.
    #[must_use]
    pub fn allows(&self, bundle: &PlanBundle, broker: usize) -> bool {
        let Some(Class(class)) = bundle.class else { return true };
        let members = self.classes.get(class as usize);
        members.and_then(|members| members.get(broker)).copied().unwrap_or(false)
    }
}

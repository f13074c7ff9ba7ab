//! Only brokers with the same kind of load manager understand each other.

use super::{BrokerFilter, FilterError, FilterRequest};
use crate::names::BrokerId;

/// `broker_load_manager_class_filter`: keeps brokers whose load manager is the deciding one.
#[derive(Clone, Copy, Debug)]
pub struct ClassFilter {
    keep_unknown: bool,
}

impl ClassFilter {
    /// The Modular manager's: a broker that has not reported stays.
    pub const MODULAR: Self = Self { keep_unknown: true };
    /// The Extensible manager's: a broker without an entry goes.
    pub const EXTENSIBLE: Self = Self { keep_unknown: false };
}

impl BrokerFilter for ClassFilter {
    fn name(&self) -> &'static str {
        "broker_load_manager_class_filter"
    }

    fn apply(&self, request: &FilterRequest<'_>, candidates: &mut Vec<BrokerId>) -> Result<(), FilterError> {
        candidates.retain(|broker| match request.cluster.facts(broker) {
            Some(facts) => facts.load_manager_class == Some(request.load_manager_class),
            None => self.keep_unknown,
        });
        Ok(())
    }
}

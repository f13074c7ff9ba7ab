//! Brokers that serve as many topics as they may.

use super::{BrokerFilter, FilterError, FilterRequest};
use crate::names::BrokerId;

/// `broker_max_topic_count_filter`: removes brokers with too many topics (`loadBalancerBrokerMaxTopics`).
#[derive(Clone, Copy, Debug)]
pub struct MaxTopicsFilter {
    modular: bool,
}

impl MaxTopicsFilter {
    /// The Modular manager's: the limit itself is allowed, topics on their way count, and if nobody is below the limit
    /// everybody stays.
    pub const MODULAR: Self = Self { modular: true };
    /// The Extensible manager's: a broker at the limit goes, even the last one.
    pub const EXTENSIBLE: Self = Self { modular: false };
}

impl BrokerFilter for MaxTopicsFilter {
    fn name(&self) -> &'static str {
        "broker_max_topic_count_filter"
    }

    fn apply(&self, request: &FilterRequest<'_>, candidates: &mut Vec<BrokerId>) -> Result<(), FilterError> {
        let limit = request.settings.load_balancer_broker_max_topics;
        let fits = |broker: &BrokerId| {
            let facts = request.cluster.facts(broker).unwrap_or_default();
            if self.modular {
                facts.topics.saturating_add(facts.incoming_topics) <= limit
            } else {
                facts.topics < limit
            }
        };
        if !self.modular || candidates.iter().any(fits) {
            candidates.retain(fits);
        }
        Ok(())
    }
}

//! What is set for a topic alone.

use std::rc::Rc;
use std::time::Duration;

use plerion_managed_log::Retention;

use crate::Topic;

/// What holds for a topic in place of the settings; they hold where there is `None`. A limit of 0 is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Most producers.
    pub max_producers: Option<u32>,
    /// Most consumers, all subscriptions together.
    pub max_consumers: Option<u32>,
    /// Most consumers of each subscription.
    pub max_consumers_per_subscription: Option<u32>,
    /// Most subscriptions.
    pub max_subscriptions: Option<u32>,
    /// Most unacknowledged messages of a consumer.
    pub max_unacked_per_consumer: Option<u32>,
    /// Most unacknowledged messages of a subscription.
    pub max_unacked_per_subscription: Option<u32>,
    /// Whether subscriptions come into being by being used.
    pub auto_create_subscription: Option<bool>,
    /// Whether producers must encrypt.
    pub encryption_required: Option<bool>,
    /// Whether producers must bring a schema where there is one.
    pub enforce_schema: Option<bool>,
    /// Whether a producer's repeated messages are dropped.
    pub deduplication: Option<bool>,
    /// The age at which messages count as consumed; zero for never.
    pub message_ttl: Option<Duration>,
    /// How long consumed messages are kept.
    pub retention: Option<Retention>,
}

/// The limit in force where `setting` is overridden by `own`.
pub(crate) fn limit(own: Option<u32>, setting: Option<u32>) -> Option<u32> {
    own.or(setting).filter(|most| *most > 0)
}

impl Topic {
    /// What is set for this topic alone.
    pub fn overrides(&self) -> Rc<Overrides> {
        self.overrides.borrow().clone()
    }

    /// Follows `overrides` from now on. Who is attached stays, even beyond a limit. To deduplicate, or not to, takes
    /// [`Topic::set_deduplication`].
    pub fn set_overrides(&self, overrides: Overrides) {
        if **self.overrides.borrow() == overrides {
            return;
        }
        self.overrides.replace(Rc::new(overrides));
        self.refresh_settings();
    }
}

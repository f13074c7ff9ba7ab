//! Choices among names.

use std::ops::RangeInclusive;

use super::Kind;

/// Declares an enum whose members are written by a fixed name, in any case.
macro_rules! choice {
    ($(#[doc = $about:literal])+ pub enum $choice:ident { $($(#[doc = $doc:literal])+ $member:ident = $name:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $choice { $($(#[doc = $doc])+ $member,)+ }

        impl $choice {
            /// The name as it is written in a configuration and in policies.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$member => $name,)+ }
            }
        }

        impl Kind for $choice {
            type Value = Self;

            fn parse(text: &str, _: Option<&RangeInclusive<i64>>) -> Option<Self> {
                $(if text.eq_ignore_ascii_case($name) { return Some(Self::$member); })+
                None
            }

            fn accepts(_: Option<&RangeInclusive<i64>>) -> String {
                [$($name),+].join(" | ")
            }
        }
    };
}

choice! {
    /// What kind of topic is made when a client names one that is not there.
    pub enum TopicType {
        /// One log.
        NonPartitioned = "non-partitioned",
        /// As many logs as there are partitions.
        Partitioned = "partitioned",
    }
}

choice! {
    /// How consumers share a subscription.
    pub enum SubscriptionType {
        /// One consumer only.
        Exclusive = "Exclusive",
        /// Each message to any one consumer.
        Shared = "Shared",
        /// One consumer at a time, the others stand by.
        Failover = "Failover",
        /// Each key to one consumer.
        KeyShared = "Key_Shared",
    }
}

choice! {
    /// When a topic without producers and consumers counts as inactive.
    pub enum InactiveTopicMode {
        /// It has no subscription.
        NoSubscriptions = "delete_when_no_subscriptions",
        /// Its subscriptions have no backlog.
        SubscriptionsCaughtUp = "delete_when_subscriptions_caught_up",
    }
}

choice! {
    /// Which schema may follow which.
    pub enum SchemaStrategy {
        /// None may follow.
        AlwaysIncompatible = "ALWAYS_INCOMPATIBLE",
        /// Any may follow.
        AlwaysCompatible = "ALWAYS_COMPATIBLE",
        /// The new one reads what the last one wrote.
        Backward = "BACKWARD",
        /// The last one reads what the new one writes.
        Forward = "FORWARD",
        /// Both backward and forward.
        Full = "FULL",
        /// The new one reads what any before it wrote.
        BackwardTransitive = "BACKWARD_TRANSITIVE",
        /// Every one before it reads what the new one writes.
        ForwardTransitive = "FORWARD_TRANSITIVE",
        /// Both, with every one before it.
        FullTransitive = "FULL_TRANSITIVE",
    }
}

//! What a shard counts besides its topics' own totals.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($(#[$of:meta])* $name:ident { $($(#[$doc:meta])* $field:ident => $count:ident),* $(,)? }) => {
        $(#[$of])*
        #[derive(Debug, Default)]
        pub struct $name {
            $($(#[$doc])* pub $field: AtomicU64,)*
        }

        impl $name {
            $(pub(crate) fn $count(&self) {
                self.$field.fetch_add(1, Ordering::Relaxed);
            })*
        }
    };
}

counters! {
    /// Counters of one shard, since the broker started.
    ShardCounters {
        /// Connections accepted.
        opened => connections_opened,
        /// Connections ended.
        closed => connections_closed,
        /// Connections closed because the client broke the protocol.
        malformed => malformed_frame,
        /// Connections closed because the client stayed silent.
        silent => silent_client,
        /// Connections refused because there were too many.
        refused => connection_refused,
        /// Lookups answered.
        lookups => lookup,
        /// Requests answered with an error.
        errors => request_failed,
        /// Topics opened.
        loads => topic_loaded,
        /// Topics that could not be opened.
        load_failures => topic_load_failed,
    }
}

impl ShardCounters {
    /// Connections that are open.
    pub fn open_connections(&self) -> usize {
        let ended = self.closed.load(Ordering::Relaxed);
        usize::try_from(self.opened.load(Ordering::Relaxed).saturating_sub(ended)).unwrap_or(0)
    }
}

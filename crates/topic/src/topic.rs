//! A topic at work.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use plerion_managed_log::{LogSink, ManagedLog, OpenMode, RecoveredCursor, SnapshotSource};
use plerion_resources::names::TopicName;
use plerion_subscription::{Cursor, delayed, dispatcher};
use tokio::sync::Mutex;

use crate::dedup::Deduplication;
use crate::overrides::{Overrides, limit};
use crate::producer::Flow;
use crate::producers::Producers;
use crate::publish::PendingQueue;
use crate::subscription::Parts;
use crate::{Bundle, Context, Error, Subscription, nonpersistent};

/// A topic that is open on this shard.
pub struct Topic {
    pub(crate) context: Rc<Context>,
    name: TopicName,
    bundle: Option<Rc<Bundle>>,
    /// The log; a non-persistent topic has none.
    pub(crate) log: Option<ManagedLog>,
    pub(crate) state: Cell<State>,
    /// What the log failed with.
    failure: RefCell<Option<plerion_managed_log::Error>>,
    failed_at: Cell<Duration>,
    pub(crate) pending: RefCell<PendingQueue>,
    pub(crate) emptied: tokio::sync::Notify,
    pub(crate) dedup: RefCell<Deduplication>,
    pub(crate) producers: RefCell<Producers>,
    pub(crate) subscriptions: RefCell<BTreeMap<Arc<str>, Rc<Subscription>>>,
    pub(crate) broadcasts: RefCell<BTreeMap<Arc<str>, Rc<nonpersistent::Subscription>>>,
    /// Held by whoever makes a subscription.
    pub(crate) joining: Mutex<()>,
    touched: Cell<Duration>,
    /// What holds here in place of the settings.
    pub(crate) overrides: RefCell<Rc<Overrides>>,
    /// What was published since it was opened.
    pub published: Flow,
}

/// How far a topic's life has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    /// Its log takes no more: nobody may publish until it is opened anew.
    Failed,
    Closing,
    Closed,
}

impl Topic {
    /// Opens a persistent topic whose row is at `path`. Whether it was made, too. It does not deduplicate until
    /// [told to](Self::set_deduplication), and is not to be published to before.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it is not there and `mode` says not to make it, or what the stores say.
    pub async fn open(
        context: Rc<Context>,
        bundle: Rc<Bundle>,
        name: TopicName,
        path: &str,
        mode: OpenMode,
    ) -> Result<(Rc<Self>, bool), Error> {
        let opened = ManagedLog::open(&bundle.state_log, path, mode).await?;
        let topic = Rc::new(Self::new(context, name, Some(bundle), Some(opened.log.clone())));
        let sink: Weak<Self> = Rc::downgrade(&topic);
        opened.log.attach(sink.clone(), sink);
        topic.producers.borrow_mut().restore(opened.log.topic_epoch());
        for cursor in opened.cursors {
            topic.restore(&opened.log, cursor)?;
        }
        topic.dedup.replace(Deduplication::recorded(opened.dedup));
        Ok((topic, opened.created))
    }

    /// Opens a non-persistent topic.
    pub fn open_non_persistent(context: Rc<Context>, name: TopicName) -> Rc<Self> {
        Rc::new(Self::new(context, name, None, None))
    }

    fn new(context: Rc<Context>, name: TopicName, bundle: Option<Rc<Bundle>>, log: Option<ManagedLog>) -> Self {
        let touched = Cell::new(context.clock.monotonic());
        Self {
            producers: RefCell::default(),
            context,
            name,
            bundle,
            log,
            state: Cell::new(State::Open),
            failure: RefCell::default(),
            failed_at: Cell::default(),
            pending: RefCell::default(),
            emptied: tokio::sync::Notify::new(),
            dedup: RefCell::default(),
            subscriptions: RefCell::default(),
            broadcasts: RefCell::default(),
            joining: Mutex::new(()),
            touched,
            overrides: RefCell::default(),
            published: Flow::default(),
        }
    }

    fn restore(self: &Rc<Self>, log: &ManagedLog, recovered: RecoveredCursor) -> Result<(), Error> {
        let mut cursor = Cursor::restore(&recovered.snapshot).map_err(|cause| Error::CorruptCursor {
            topic: self.name.to_string(),
            cursor: recovered.name.clone(),
            cause,
        })?;
        cursor.trim(log);
        let name: Arc<str> = recovered.name.into();
        let parts = Parts {
            name: name.clone(),
            durable: true,
            properties: recovered.properties,
            cursor,
            kind: dispatcher::Kind::Exclusive,
        };
        self.subscriptions.borrow_mut().insert(name, Subscription::new(self, log, parts));
        Ok(())
    }

    /// The topic's name.
    pub fn name(&self) -> &TopicName {
        &self.name
    }

    /// The log, if messages are kept.
    pub fn log(&self) -> Option<&ManagedLog> {
        self.log.as_ref()
    }

    /// Whether it belongs to `bundle`.
    pub fn is_of(&self, bundle: &Rc<Bundle>) -> bool {
        self.bundle.as_ref().is_some_and(|own| Rc::ptr_eq(own, bundle))
    }

    pub(crate) fn bundle(&self) -> Option<&Rc<Bundle>> {
        self.bundle.as_ref()
    }

    /// Whether it can be used as it is.
    pub fn is_open(&self) -> bool {
        self.state.get() == State::Open
    }

    /// Whether its log has failed: consumers go on reading, but to publish it has to be opened anew. Gives how long ago
    /// that was, and why.
    pub fn failure(&self) -> Option<(Duration, Error)> {
        let failure = self.failure.borrow().clone()?;
        let ago = self.context.clock.monotonic().saturating_sub(self.failed_at.get());
        Some((ago, failure.into()))
    }

    /// The durable and non-durable subscriptions, by name.
    pub fn subscriptions(&self) -> Vec<Rc<Subscription>> {
        self.subscriptions.borrow().values().cloned().collect()
    }

    /// The subscriptions of a non-persistent topic, by name.
    pub fn broadcasts(&self) -> Vec<Rc<nonpersistent::Subscription>> {
        self.broadcasts.borrow().values().cloned().collect()
    }

    /// The subscription called `name`.
    pub fn subscription(&self, name: &str) -> Option<Rc<Subscription>> {
        self.subscriptions.borrow().get(name).cloned()
    }

    pub(crate) fn forget_subscription(&self, subscription: &Rc<Subscription>) {
        let mut subscriptions = self.subscriptions.borrow_mut();
        if subscriptions.get(&subscription.name).is_some_and(|current| Rc::ptr_eq(current, subscription)) {
            subscriptions.remove(&subscription.name);
        }
    }

    /// Notes that somebody uses the topic.
    pub(crate) fn touch(&self) {
        self.touched.set(self.context.clock.monotonic());
    }

    /// How long nobody has been attached; `None` while somebody is.
    pub fn idle(&self) -> Option<Duration> {
        let used = !self.producers.borrow().is_empty()
            || self.subscriptions.borrow().values().any(|subscription| subscription.consumer_count() > 0)
            || self.broadcasts.borrow().values().any(|subscription| subscription.consumer_count() > 0)
            || !self.pending.borrow().is_empty();
        (!used).then(|| self.context.clock.monotonic().saturating_sub(self.touched.get()))
    }

    /// The limits and choices for a subscription of this topic.
    pub(crate) fn dispatch_settings(&self, durable: bool) -> dispatcher::Settings {
        let settings = self.context.settings();
        let rules = &settings.subscriptions;
        let own = self.overrides();
        let unlimited = |most: Option<u32>| most.unwrap_or(0);
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        dispatcher::Settings {
            topic: self.name.to_string(),
            partition: self.name.partition_index(),
            durable,
            failover_ring: rules.failover_consistent_hashing,
            failover_delay_ms: millis(rules.failover_delay),
            key_shared_ring: rules.key_shared_consistent_hashing,
            key_shared_ring_points: rules.key_shared_ring_points,
            look_ahead_per_consumer: rules.key_shared_look_ahead_per_consumer.unwrap_or(0),
            look_ahead_per_subscription: rules.key_shared_look_ahead_per_subscription.unwrap_or(0),
            max_consumers: unlimited(limit(
                own.max_consumers_per_subscription,
                settings.topics.max_consumers_per_subscription,
            )),
            max_unacked_per_consumer: if durable {
                unlimited(limit(own.max_unacked_per_consumer, rules.max_unacked_per_consumer))
            } else {
                0
            },
            max_unacked_per_subscription: unlimited(limit(
                own.max_unacked_per_subscription,
                rules.max_unacked_per_subscription,
            )),
            max_read_entries: rules.max_read_entries,
            round_robin_messages: rules.max_round_robin_entries,
            delayed: delayed::Settings {
                enabled: rules.delayed_delivery,
                tick_ms: millis(rules.delayed_delivery_tick),
                strict: rules.delayed_delivery_strict,
            },
        }
    }

    /// Takes over changed limits.
    pub fn refresh_settings(&self) {
        for subscription in self.subscriptions() {
            let settings = self.dispatch_settings(subscription.durable);
            subscription.dispatcher.borrow_mut().set_settings(settings);
            subscription.pump();
        }
        for subscription in self.broadcasts() {
            let settings = self.dispatch_settings(false);
            subscription.dispatcher.borrow_mut().set_settings(settings);
        }
    }

    /// Nothing more is published until the topic is opened anew; who waits for a receipt is told.
    fn fail(&self, error: plerion_managed_log::Error) {
        let why = error.to_string();
        self.refuse_pending(&why);
        if self.state.get() != State::Open {
            return;
        }
        tracing::warn!(topic = %self.name, %error, "topic takes no more messages");
        self.state.set(State::Failed);
        self.failed_at.set(self.context.clock.monotonic());
        self.failure.replace(Some(error));
        self.detach_producers(&Error::NotWritable { topic: self.name.to_string(), why });
    }
}

impl LogSink for Topic {
    fn confirmed(&self, ledger: plerion_ledger::LedgerId, first_entry: u64, count: u64) {
        self.receipts(ledger, first_entry, count);
        // Clients never call back, so nobody changes the map meanwhile.
        self.subscriptions.borrow().values().for_each(Subscription::pump);
    }

    fn failed(&self, error: plerion_managed_log::Error) {
        self.fail(error);
    }
}

impl SnapshotSource for Topic {
    fn cursor_snapshot(&self, cursor: &str) -> Option<Bytes> {
        self.subscription(cursor)
            .filter(|subscription| subscription.durable)
            .map(|subscription| subscription.snapshot())
    }
}

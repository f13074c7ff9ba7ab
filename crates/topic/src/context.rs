//! What the topics of one shard share.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use plerion_clock::SharedClock;
use plerion_config::Settings;
use slotmap::SlotMap;

use crate::{AckSaves, Clients, Consumer, Producer};

slotmap::new_key_type! {
    /// An attached producer's place in its topic's shard; a stale key finds nothing.
    pub struct ProducerKey;
    /// An attached consumer's place in its topic's shard; a stale key finds nothing.
    pub struct ConsumerKey;
}

/// What the topics of one shard share.
pub struct Context {
    /// The way to the clients.
    pub clients: Rc<dyn Clients>,
    /// The time.
    pub clock: SharedClock,
    /// The settings in force.
    pub settings: RefCell<Arc<Settings>>,
    /// Every producer attached to a topic of this shard.
    pub producers: Attached<ProducerKey, Producer>,
    /// Every consumer attached to a topic of this shard.
    pub consumers: Attached<ConsumerKey, Consumer>,
    /// What the topics of this shard have done so far.
    pub totals: Totals,
    /// How long their subscriptions take to save what was acknowledged.
    pub ack_saves: Arc<AckSaves>,
}

impl Context {
    /// A context without topics.
    pub fn new(clients: Rc<dyn Clients>, clock: SharedClock, settings: Arc<Settings>) -> Rc<Self> {
        Rc::new(Self {
            clients,
            clock,
            settings: RefCell::new(settings),
            producers: Attached::default(),
            consumers: Attached::default(),
            totals: Totals::default(),
            ack_saves: Arc::default(),
        })
    }

    /// The settings in force now.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.borrow().clone()
    }
}

/// The attached ends of one kind, by key.
pub struct Attached<K: slotmap::Key, T>(RefCell<SlotMap<K, Rc<T>>>);

impl<K: slotmap::Key, T> Default for Attached<K, T> {
    fn default() -> Self {
        Self(RefCell::new(SlotMap::with_key()))
    }
}

impl<K: slotmap::Key, T> Attached<K, T> {
    /// The end with this key, while it is attached.
    pub fn get(&self, key: K) -> Option<Rc<T>> {
        self.0.borrow().get(key).cloned()
    }

    /// How many are attached.
    pub fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// Whether none is attached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn insert(&self, make: impl FnOnce(K) -> Rc<T>) -> Rc<T> {
        let mut map = self.0.borrow_mut();
        let key = map.insert_with_key(make);
        map[key].clone()
    }

    pub(crate) fn remove(&self, key: K) {
        self.0.borrow_mut().remove(key);
    }
}

/// Counters of everything the topics of a shard have done since it started.
#[derive(Debug, Default)]
pub struct Totals {
    /// Messages stored (a batch counts as its messages).
    pub messages_in: Cell<u64>,
    /// Bytes of entries stored.
    pub bytes_in: Cell<u64>,
    /// Messages handed to consumers.
    pub messages_out: Cell<u64>,
    /// Bytes of entries handed to consumers.
    pub bytes_out: Cell<u64>,
    /// SENDs answered as duplicates.
    pub duplicates: Cell<u64>,
    /// SENDs refused for a wrong checksum.
    pub checksum_errors: Cell<u64>,
    /// Entries that could not be read and were skipped.
    pub unreadable: Cell<u64>,
    /// Messages of non-persistent topics that no consumer could take.
    pub dropped: Cell<u64>,
}

impl Totals {
    pub(crate) fn add(counter: &Cell<u64>, by: u64) {
        counter.set(counter.get().wrapping_add(by));
    }
}

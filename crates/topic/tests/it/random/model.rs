//! What a topic's clients know for certain, and what follows from it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use plerion_subscription::Position;
use plerion_subscription::dispatcher::Kind;

use crate::recorder::Delivered;

/// Places: all before one, and single ones.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) below: Position,
    pub(super) single: BTreeSet<Position>,
}

impl Default for Places {
    fn default() -> Self {
        Self { below: Position::EARLIEST, single: BTreeSet::new() }
    }
}

impl Places {
    pub(super) fn contain(&self, position: Position) -> bool {
        position < self.below || self.single.contains(&position)
    }

    fn merge(&mut self, other: Self) {
        self.below = self.below.max(other.below);
        self.single.extend(other.single);
    }
}

/// A subscription as its clients see it.
#[derive(Default)]
pub(super) struct Subscription {
    /// Acknowledged, and that will never be forgotten.
    pub(super) durable: Places,
    /// Acknowledged to the topic as it is open now.
    pub(super) acked: Places,
    /// Acknowledged before a crash, which may have forgotten it.
    unknown: Places,
    /// What answers to requests will make durable.
    waiting: HashMap<u64, Places>,
    /// What consumers have now.
    pub(super) held: BTreeMap<Position, Held>,
}

impl Subscription {
    pub(super) fn ack(&mut self, places: Places, request: Option<u64>) {
        for position in self.held.keys().copied().filter(|position| places.contain(*position)).collect::<Vec<_>>() {
            self.held.remove(&position);
        }
        if let Some(request) = request {
            self.waiting.insert(request, places.clone());
        }
        self.acked.merge(places);
    }

    pub(super) fn confirmed(&mut self, request: u64) {
        if let Some(places) = self.waiting.remove(&request) {
            self.durable.merge(places);
        }
    }

    /// Everything acknowledged is durable now.
    pub(super) fn saved(&mut self) {
        let acked = std::mem::take(&mut self.acked);
        self.durable.merge(acked);
    }

    pub(super) fn crashed(&mut self) {
        let acked = std::mem::take(&mut self.acked);
        self.unknown.merge(acked);
        self.waiting.clear();
        self.held.clear();
    }

    pub(super) fn moved(&mut self, target: Position) {
        *self = Self { durable: Places { below: target, ..Places::default() }, ..Self::default() };
    }

    /// Whether an entry must still be delivered.
    pub(super) fn is_due(&self, position: Position) -> bool {
        ![&self.durable, &self.acked, &self.unknown].into_iter().any(|places| places.contain(position))
    }

    /// Takes note of a delivery to consumer `id`, which must be allowed.
    pub(super) fn delivered(&mut self, kind: Kind, message: &Delivered) {
        let position = message.position;
        assert!(!self.durable.contain(position), "{position} was acknowledged durably, and comes again");
        assert!(!self.acked.contain(position), "{position} was acknowledged, and comes again");
        let key = key(&message.body);
        if kind == Kind::KeyShared {
            let other = self.held.iter().find(|(_, held)| held.key == key && held.by != message.consumer);
            assert_eq!(other, None, "{position}: somebody else works on its key");
        }
        self.held.insert(position, Held { by: message.consumer, key });
    }
}

/// An entry at a consumer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) by: u64,
    key: u64,
}

/// The key a message was published with.
pub(super) fn key(body: &str) -> u64 {
    body.rsplit_once('-').unwrap().1.parse::<u64>().unwrap() % 5
}

/// A client that publishes messages numbered from 0 and sends each until it has its receipt.
#[derive(Default)]
pub(super) struct Sender {
    pub(super) next: u64,
    /// Sent, and not confirmed.
    pub(super) open: VecDeque<u64>,
    pub(super) session: Option<std::rc::Rc<plerion_topic::Producer>>,
}

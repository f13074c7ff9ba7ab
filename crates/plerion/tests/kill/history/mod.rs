//! What clients saw over all lives of a broker, and what must be true of it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use plerion_test_client::{Incoming, Position};
use tokio::time::Instant;

use crate::message::{self, Entry};
use crate::node::LastWords;
use crate::plan::{TOPICS, TopicPlan};

mod figures;
mod subscription;

pub(crate) use figures::Figures;
pub(crate) use subscription::{AckKind, SubscriptionHistory};

/// How old an acknowledgement without an answer may be when a crash forgets it.
const MAY_FORGET: Duration = Duration::from_millis(100);

/// What clients saw.
pub(crate) struct History {
    seed: u64,
    /// Lives of the broker that have begun.
    pub(crate) life: u64,
    pub(crate) topics: Vec<TopicHistory>,
    pub(crate) figures: Figures,
    /// The slowest answer to an acknowledgement in this life.
    slowest_ack: Duration,
    /// How late the machine had run threads before this life.
    late_before: Duration,
}

/// What clients saw of a topic.
pub(crate) struct TopicHistory {
    plan: &'static TopicPlan,
    pub(crate) producers: Vec<ProducerHistory>,
    pub(crate) subscriptions: Vec<SubscriptionHistory>,
    /// What is known to be where, and whether a receipt named that place.
    entries: BTreeMap<Position, (Entry, bool)>,
    /// The greatest position seen in earlier lives.
    before: Option<Position>,
}

/// What a producer did and saw.
#[derive(Default)]
pub(crate) struct ProducerHistory {
    /// The number of its next new message.
    pub(crate) next: u64,
    /// All messages below this number have a receipt.
    pub(crate) receipted: u64,
    /// What was sent and has no receipt.
    pub(crate) unreceipted: VecDeque<Entry>,
    last: Option<Position>,
    /// Where its entries are, if the topic deduplicates.
    places: BTreeMap<u64, Position>,
}

impl History {
    /// Nothing has happened. `may_reopen` says whether topics may be closed and opened again within a life.
    pub(crate) fn new(seed: u64, may_reopen: bool) -> Self {
        let topics = TOPICS.iter().map(|plan| TopicHistory::new(plan, may_reopen)).collect();
        Self {
            seed,
            life: 0,
            topics,
            figures: Figures::default(),
            slowest_ack: Duration::ZERO,
            late_before: Duration::ZERO,
        }
    }

    /// Fails with everything needed to look into it.
    pub(crate) fn violated(&self, what: &str) -> ! {
        panic!("seed {}, life {}: {what}", self.seed, self.life)
    }

    fn require(&self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.violated(&what());
        }
    }

    /// A new life begins.
    pub(crate) fn born(&mut self) {
        self.life += 1;
        self.slowest_ack = Duration::ZERO;
        for topic in &mut self.topics {
            topic.before = topic.entries.last_key_value().map(|(position, _)| *position);
            topic.producers.iter_mut().for_each(|producer| producer.last = None);
            topic.subscriptions.iter_mut().for_each(SubscriptionHistory::born);
        }
    }

    /// The life ended at `at`. All in all, the machine has run threads `late` by that much.
    pub(crate) fn died(&mut self, at: Instant, last_words: Option<LastWords>, late: Duration) {
        self.figures.kills += 1;
        let waits = self.topics.iter().flat_map(|topic| &topic.subscriptions).map(|of| of.longest_wait(at)).max();
        // What the machine takes for a save that is asked for at once, and for running a thread.
        let machine = late.saturating_sub(std::mem::replace(&mut self.late_before, late))
            + self.slowest_ack.max(waits.unwrap_or_default());
        let may_forget = last_words.map_or(MAY_FORGET + machine, |words| words.unsaved.unwrap_or_default());
        if let Some(words) = last_words {
            let slowest = words.slowest_save.max(may_forget);
            self.figures.slowest_save = self.figures.slowest_save.max(slowest);
            self.require(slowest <= MAY_FORGET + machine, || format!("{words:?}, where the machine needs {machine:?}"));
        }
        for subscription in self.topics.iter_mut().flat_map(|topic| &mut topic.subscriptions) {
            subscription.died(at, may_forget);
        }
    }

    /// A producer got a receipt for an entry; without a position if the broker had it already.
    pub(crate) fn receipt(&mut self, topic: usize, entry: Entry, position: Option<Position>, resent: bool) {
        let history = &self.topics[topic];
        let producer = &history.producers[entry.producer];
        let who = history.plan.producers[entry.producer].name;
        self.require(producer.receipted == entry.first, || format!("{who}: receipt for {entry:?} out of order"));
        match position {
            None => {
                let plausible = resent && history.plan.deduplicates;
                self.require(plausible, || format!("{who}: {entry:?} was taken for a duplicate"));
                self.figures.duplicates += 1;
            }
            Some(position) => {
                let follows = producer.last < Some(position) && history.before < Some(position);
                let (last, before) = (producer.last, history.before);
                self.require(follows, || {
                    format!("{who}: receipt {position:?} after {last:?}, in an earlier life {before:?}")
                });
                let again = history.entries.get(&position).is_some_and(|(_, receipted)| *receipted);
                self.require(!again, || format!("{who}: receipt {position:?} was given before"));
                self.found(topic, entry, position);
            }
        }
        self.figures.receipts += 1;
        let history = &mut self.topics[topic];
        if let Some(position) = position
            && let Some((_, receipted)) = history.entries.get_mut(&position)
        {
            *receipted = true;
        }
        let producer = &mut history.producers[entry.producer];
        producer.last = position.or(producer.last);
        producer.receipted += entry.count;
        producer.unreceipted.pop_front();
    }

    /// A consumer got an entry.
    pub(crate) fn delivery(&mut self, topic: usize, subscription: usize, incoming: &Incoming) {
        self.require(incoming.has_checksum, || format!("{:?} came without a checksum", incoming.position));
        let entry = self.read(topic, incoming);
        self.found(topic, entry, incoming.position);
        let plan = self.topics[topic].plan.producers;
        let outcome = self.topics[topic].subscriptions[subscription].delivered(plan, entry, incoming.position);
        match outcome {
            Ok(forgotten) => self.figures.delivered(forgotten),
            Err(what) => {
                let name = self.topics[topic].plan.subscriptions[subscription].name;
                self.violated(&format!("{name} on {}: {what}", self.topics[topic].plan.name));
            }
        }
    }

    /// A consumer got the answer to an acknowledgement it sent at `sent`.
    pub(crate) fn ack_answered(&mut self, topic: usize, subscription: usize, sent: Instant, acked: &[Position]) {
        let took = sent.elapsed();
        self.slowest_ack = self.slowest_ack.max(took);
        self.figures.slowest_ack = self.figures.slowest_ack.max(took);
        self.topics[topic].subscriptions[subscription].answered(acked);
    }

    /// The broker has taken acknowledgements that asked for no answer.
    pub(crate) fn ack_taken(&mut self, topic: usize, subscription: usize, acked: &[Position]) {
        self.topics[topic].subscriptions[subscription].taken(acked, Instant::now());
    }

    /// Whether each subscription got everything that has a receipt, and acknowledged all of it durably.
    pub(crate) fn is_drained(&self, topic: usize, subscription: usize) -> bool {
        let history = &self.topics[topic];
        history.producers.iter().all(|producer| producer.receipted == producer.next)
            && history.subscriptions[subscription].has_all(&history.producers)
            && history.subscriptions[subscription].is_settled()
    }

    /// What keeps a subscription from being drained.
    pub(crate) fn missing(&self) -> String {
        let mut text = String::new();
        for topic in &self.topics {
            for (plan, producer) in topic.plan.producers.iter().zip(&topic.producers) {
                text += &format!("{}: {} receipts of {}; ", plan.name, producer.receipted, producer.next);
            }
            for (plan, subscription) in topic.plan.subscriptions.iter().zip(&topic.subscriptions) {
                text += &format!("{}: {}\n", plan.name, subscription.missing(&topic.producers));
            }
        }
        text
    }

    /// Reads who sent an entry, and compares its content with what was sent.
    fn read(&self, topic: usize, incoming: &Incoming) -> Entry {
        let plans = self.topics[topic].plan.producers;
        let position = incoming.position;
        let producer = plans.iter().position(|plan| plan.name == incoming.metadata.producer_name);
        let Some(producer) = producer else {
            self.violated(&format!("{position:?} is of {}, who never sent", incoming.metadata.producer_name));
        };
        let messages = incoming.messages();
        let entry = Entry { producer, first: incoming.metadata.sequence_id, count: messages.len() as u64 };
        for (number, message) in (entry.first..).zip(messages) {
            let same = message.body == message::body(&plans[producer], number);
            self.require(same && message.sequence_id == number, || format!("{position:?} is not {entry:?} as sent"));
        }
        entry
    }

    /// An entry is known to be at a position.
    fn found(&mut self, topic: usize, entry: Entry, position: Position) {
        let history = &self.topics[topic];
        let (there, _) = history.entries.get(&position).copied().unwrap_or((entry, false));
        self.require(there == entry, || format!("{position:?} is {there:?} and {entry:?}"));
        if history.plan.deduplicates {
            let place = history.producers[entry.producer].places.get(&entry.first).copied().unwrap_or(position);
            self.require(place == position, || format!("{entry:?} is stored at {place:?} and at {position:?}"));
        }
        let history = &mut self.topics[topic];
        history.entries.entry(position).or_insert((entry, false));
        if history.plan.deduplicates {
            history.producers[entry.producer].places.insert(entry.first, position);
        }
    }
}

impl TopicHistory {
    fn new(plan: &'static TopicPlan, may_reopen: bool) -> Self {
        let subscription = |of| SubscriptionHistory::new(of, plan.producers, may_reopen);
        let subscriptions = plan.subscriptions.iter().map(subscription).collect();
        let producers = plan.producers.iter().map(|_| ProducerHistory::default()).collect();
        Self { plan, producers, subscriptions, entries: BTreeMap::new(), before: None }
    }
}

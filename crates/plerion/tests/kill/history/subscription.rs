use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use plerion_test_client::Position;
use tokio::time::Instant;

use super::ProducerHistory;
use crate::message::{self, Entry};
use crate::plan::{Order, ProducerPlan, SubscriptionPlan};

/// What the consumers of a subscription saw and acknowledged.
pub(crate) struct SubscriptionHistory {
    order: Order,
    /// Of each producer: which of its messages were delivered, and how many.
    delivered: Vec<(Vec<bool>, u64)>,
    /// The number that was delivered last for the first time, by producer and key.
    first_deliveries: HashMap<(usize, Option<String>), u64>,
    this_life: HashSet<Position>,
    /// Delivered, and not acknowledged.
    open: BTreeSet<Position>,
    acked: HashMap<Position, Acked>,
    /// Acknowledged in this life.
    fresh: Vec<Position>,
    /// How many acknowledgements of this life wait for their answer.
    waiting: usize,
    life: u64,
    /// Whether topics may be closed and opened again within a life, because the disk fails.
    may_reopen: bool,
}

/// How an entry was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Acked {
    /// In this life, that long before its end, so that it must never come again.
    Durably(u64, AckKind, Duration),
    /// In this life, and no answer has come.
    At(Instant, AckKind),
    /// In this life, without asking for an answer; by then the broker had taken it.
    Taken(Instant),
    /// In an earlier life, so shortly before its end that it may come again.
    Before(Duration, AckKind),
}

/// Whether an acknowledgement asks for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckKind {
    Plain,
    Request,
}

impl SubscriptionHistory {
    pub(super) fn new(plan: &SubscriptionPlan, producers: &[ProducerPlan], may_reopen: bool) -> Self {
        Self {
            order: plan.order,
            delivered: producers.iter().map(|_| Default::default()).collect(),
            first_deliveries: HashMap::new(),
            this_life: HashSet::new(),
            open: BTreeSet::new(),
            acked: HashMap::new(),
            fresh: Vec::new(),
            waiting: 0,
            life: 0,
            may_reopen,
        }
    }

    pub(super) fn born(&mut self) {
        self.this_life.clear();
        self.waiting = 0;
        self.life += 1;
    }

    /// An entry came. Returns the age of its acknowledgement if a crash forgot that.
    pub(super) fn delivered(
        &mut self,
        plans: &[ProducerPlan],
        entry: Entry,
        position: Position,
    ) -> Result<Option<Duration>, String> {
        let again = !self.this_life.insert(position);
        if again && !self.may_reopen {
            return Err(format!("{position:?} came twice to one session"));
        }
        let forgotten = match self.acked.remove(&position) {
            Some(Acked::Before(age, kind)) => (kind == AckKind::Plain).then_some(age),
            Some(Acked::At(_, kind)) if again => {
                self.waiting -= usize::from(kind == AckKind::Request);
                None
            }
            Some(Acked::Taken(_)) if again => None,
            Some(how) => return Err(format!("{position:?} was acknowledged ({how:?}) and came again")),
            None => None,
        };
        self.open.insert(position);
        for number in entry.first..entry.first + entry.count {
            self.first_delivery(&plans[entry.producer], entry.producer, number)?;
        }
        Ok(forgotten)
    }

    fn first_delivery(&mut self, plan: &ProducerPlan, producer: usize, number: u64) -> Result<(), String> {
        let (delivered, distinct) = &mut self.delivered[producer];
        let place = usize::try_from(number).expect("few messages");
        if delivered.len() <= place {
            delivered.resize(place + 1, false);
        }
        if std::mem::replace(&mut delivered[place], true) {
            return Ok(());
        }
        *distinct += 1;
        if self.order == Order::None {
            return Ok(());
        }
        let key = (self.order == Order::Key).then(|| message::key(plan, number)).flatten();
        let before = self.first_deliveries.insert((producer, key.clone()), number);
        let in_order = match self.order {
            Order::Producer => number == before.map_or(0, |before| before + 1),
            _ => before.is_none_or(|before| before < number),
        };
        let text = || format!("message {number} of {} (key {key:?}) came first after {before:?}", plan.name);
        if in_order { Ok(()) } else { Err(text()) }
    }

    /// A consumer acknowledges one entry. Returns whether it had not before.
    pub(crate) fn ack(&mut self, position: Position, kind: AckKind, at: Instant) -> bool {
        let was_open = self.open.remove(&position);
        if was_open {
            self.acked.insert(position, Acked::At(at, kind));
            self.fresh.push(position);
            self.waiting += usize::from(kind == AckKind::Request);
        }
        was_open
    }

    /// A consumer acknowledges all entries up to one. Returns which these are.
    ///
    /// # Errors
    /// Some of them were delivered in an earlier life, and passed over in this one.
    pub(crate) fn ack_up_to(&mut self, last: Position, kind: AckKind, at: Instant) -> Result<Vec<Position>, String> {
        let covered: Vec<_> = self.open.range(..=last).copied().collect();
        for position in &covered {
            if !self.this_life.contains(position) {
                return Err(format!("{position:?}, not acknowledged, was passed over on the way to {last:?}"));
            }
            self.ack(*position, kind, at);
        }
        Ok(covered)
    }

    pub(super) fn answered(&mut self, positions: &[Position]) {
        for position in positions {
            if matches!(self.acked.get(position), Some(Acked::At(..))) {
                self.waiting -= 1;
            }
            self.acked.insert(*position, Acked::Durably(self.life, AckKind::Request, Duration::ZERO));
        }
    }

    /// The broker has taken acknowledgements that asked for no answer.
    pub(super) fn taken(&mut self, positions: &[Position], at: Instant) {
        for position in positions {
            if let Some(how @ Acked::At(_, AckKind::Plain)) = self.acked.get_mut(position) {
                *how = Acked::Taken(at);
            }
        }
    }

    /// How long the oldest acknowledgement has waited for its answer by `at`.
    pub(super) fn longest_wait(&self, at: Instant) -> Duration {
        let waits = |position| match self.acked.get(position) {
            Some(Acked::At(sent, AckKind::Request)) => Some(at.saturating_duration_since(*sent)),
            _ => None,
        };
        self.fresh.iter().filter_map(waits).max().unwrap_or_default()
    }

    pub(super) fn died(&mut self, at: Instant, may_forget: Duration) {
        for position in std::mem::take(&mut self.fresh) {
            let Some(how) = self.acked.get_mut(&position) else { continue };
            let age = |since| at.saturating_duration_since(since);
            match *how {
                Acked::Taken(since) if age(since) > may_forget => {
                    *how = Acked::Durably(self.life, AckKind::Plain, age(since));
                }
                Acked::Taken(since) => *how = Acked::Before(age(since), AckKind::Plain),
                Acked::At(since, kind) => *how = Acked::Before(age(since), kind),
                Acked::Durably(..) | Acked::Before(..) => {}
            }
        }
    }

    /// Whether everything was delivered that its producers sent.
    pub(super) fn has_all(&self, producers: &[ProducerHistory]) -> bool {
        self.delivered.iter().zip(producers).all(|((_, distinct), producer)| *distinct == producer.next)
    }

    /// Whether nothing waits for an acknowledgement or its answer.
    pub(super) fn is_settled(&self) -> bool {
        self.open.is_empty() && self.waiting == 0
    }

    pub(super) fn missing(&self, producers: &[ProducerHistory]) -> String {
        let missing = |((delivered, _), producer): (&(Vec<bool>, u64), &ProducerHistory)| {
            let got = |number: &u64| delivered.get(*number as usize).is_some_and(|delivered| *delivered);
            (0..producer.receipted).filter(|number| !got(number)).take(10).collect::<Vec<_>>()
        };
        let missing: Vec<_> = self.delivered.iter().zip(producers).map(missing).collect();
        let open: Vec<_> = self.open.iter().take(10).collect();
        format!("receipted but never delivered, by producer: {missing:?}; not acknowledged: {open:?}")
    }
}

//! Who may publish to a topic.
//!
//! Producer names are unique among the connected producers of a topic, and a producer may want the topic for itself
//! alone. Each exclusive acquisition raises the *topic epoch*, which outlives the producer: one that comes back with an
//! older epoch was fenced meanwhile.

mod refusal;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

pub use refusal::{Code, Refusal};

/// A producer session's number, given by the user of a registry and never used again for another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProducerKey(pub u64);

/// How a producer shares its topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// With other producers.
    #[default]
    Shared,
    /// With none, or not at all.
    Exclusive,
    /// With none, as soon as there is none.
    WaitForExclusive,
    /// With none; those that are there have to go.
    ExclusiveWithFencing,
}

/// Who wants to publish, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Producer {
    /// The session.
    pub key: ProducerKey,
    /// The connection it uses.
    pub connection: u64,
    /// Its number on that connection.
    pub producer_id: u64,
    /// Whatever tells its client from others, on any connection: the same for the same client.
    pub client: u64,
    /// Its name.
    pub name: String,
    /// Whether the application chose the name.
    pub user_provided_name: bool,
    /// Counts the reconnections of this producer.
    pub epoch: u64,
    /// How it shares the topic.
    pub access: Access,
    /// The topic epoch it had when it was connected last.
    pub topic_epoch: Option<u64>,
}

impl Producer {
    /// Whether this is `other`, come back: the same producer of the same connection; one whose generated name nobody
    /// else can have, not older; or one of a chosen name, by its client on another connection, newer.
    fn succeeds(&self, other: &Self) -> bool {
        self.name == other.name
            && ((self.connection, self.producer_id) == (other.connection, other.producer_id)
                || (!self.user_provided_name && !other.user_provided_name && self.epoch >= other.epoch)
                || (self.client == other.client && self.epoch > other.epoch))
    }
}

/// What to do now that a producer was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Whether it may publish; else it waits for [`Producers::remove`] to name it.
    pub ready: bool,
    /// Its topic epoch, if it has the topic for itself; to be stored durably before the producer is told.
    pub topic_epoch: Option<u64>,
    /// An earlier session of the same producer, to be closed; no longer registered.
    pub replaced: Option<ProducerKey>,
    /// Producers, connected or waiting, that are fenced and to be closed; no longer registered.
    pub fenced: Vec<ProducerKey>,
}

/// A waiting producer that has the topic for itself now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// Who.
    pub key: ProducerKey,
    /// Its topic epoch; to be stored durably before the producer is told.
    pub topic_epoch: u64,
}

/// The producers of one topic.
#[derive(Clone, Debug, Default)]
pub struct Producers {
    connected: BTreeMap<ProducerKey, Producer>,
    exclusive: Option<ProducerKey>,
    waiting: VecDeque<Producer>,
    topic_epoch: Option<u64>,
    max: usize,
}

impl Producers {
    /// No producers. `topic_epoch` is what was stored last; `max` limits the number of connected producers, 0: none.
    pub fn new(topic_epoch: Option<u64>, max: usize) -> Self {
        Self { topic_epoch, max, ..Self::default() }
    }

    /// Puts another limit into force for newcomers.
    pub fn set_max(&mut self, max: usize) {
        self.max = max;
    }

    /// The topic epoch, if anyone ever had the topic for itself.
    pub fn topic_epoch(&self) -> Option<u64> {
        self.topic_epoch
    }

    /// Whether a producer is connected and may publish.
    pub fn contains(&self, key: ProducerKey) -> bool {
        self.connected.contains_key(&key)
    }

    /// How many producers are connected.
    pub fn len(&self) -> usize {
        self.connected.len()
    }

    /// Whether no producer is connected.
    pub fn is_empty(&self) -> bool {
        self.connected.is_empty()
    }

    /// How many producers wait.
    pub fn waiting_len(&self) -> usize {
        self.waiting.len()
    }

    /// The producers that may publish.
    pub fn connected(&self) -> impl Iterator<Item = &Producer> {
        self.connected.values()
    }

    /// Lets a producer in.
    ///
    /// # Errors
    /// If it may not publish; nothing changes then. See [`Refusal::check_first`].
    pub fn add(&mut self, producer: Producer) -> Result<Admission, Refusal> {
        let replaced = self.predecessor(&producer)?;
        self.check_exclusive(&producer, replaced)?;
        let others = self.connected.len() - usize::from(replaced.is_some());
        if self.max > 0 && others >= self.max && producer.access != Access::ExclusiveWithFencing {
            return Err(Refusal::TooMany);
        }
        if let Some(old) = replaced {
            self.drop_connected(old);
        }
        let mut admission = Admission { ready: true, topic_epoch: None, replaced, fenced: Vec::new() };
        match producer.access {
            Access::Shared => {}
            Access::WaitForExclusive if !self.connected.is_empty() => {
                // A client that asks again has given up its first request.
                self.waiting.retain(|other| !producer.succeeds(other));
                self.waiting.push_back(producer);
                return Ok(Admission { ready: false, ..admission });
            }
            Access::ExclusiveWithFencing => {
                admission.fenced.extend(std::mem::take(&mut self.connected).into_keys());
                admission.fenced.extend(self.waiting.drain(..).map(|waiter| waiter.key));
                admission.topic_epoch = Some(self.acquire(&producer));
            }
            Access::Exclusive | Access::WaitForExclusive => admission.topic_epoch = Some(self.acquire(&producer)),
        }
        self.connected.insert(producer.key, producer);
        Ok(admission)
    }

    /// Takes a producer out, connected or waiting; unknown ones are ignored. Names the waiting producer that may
    /// publish now, if any.
    pub fn remove(&mut self, key: ProducerKey) -> Option<Promotion> {
        self.waiting.retain(|waiter| waiter.key != key);
        self.drop_connected(key);
        if !self.connected.is_empty() {
            return None;
        }
        let next = self.waiting.pop_front()?;
        let promotion = Promotion { key: next.key, topic_epoch: self.acquire(&next) };
        self.connected.insert(next.key, next);
        Some(promotion)
    }

    /// The connected session that `newcomer` replaces.
    fn predecessor(&self, newcomer: &Producer) -> Result<Option<ProducerKey>, Refusal> {
        match self.connected.values().find(|other| other.name == newcomer.name) {
            None => Ok(None),
            Some(other) if newcomer.succeeds(other) => Ok(Some(other.key)),
            // Whoever fences closes the holder of the name with all others.
            Some(_) if newcomer.access == Access::ExclusiveWithFencing => Ok(None),
            Some(other) => Err(Refusal::NameTaken { name: other.name.clone(), holder: other.key }),
        }
    }

    /// Whether the access mode allows `newcomer` in, once `replaced` is gone.
    fn check_exclusive(&self, newcomer: &Producer, replaced: Option<ProducerKey>) -> Result<(), Refusal> {
        let holder = self.exclusive.filter(|holder| Some(*holder) != replaced);
        let holder = holder.and_then(|holder| self.connected.get(&holder)).map(|holder| holder.name.clone());
        let others = self.connected.keys().any(|key| Some(*key) != replaced);
        // Who waits is served before newcomers, but not before those that were here and come back.
        let first_waiting = self.waiting.front().filter(|_| replaced.is_none()).map(|waiter| waiter.name.clone());
        match newcomer.access {
            Access::Shared => match holder.or(first_waiting) {
                Some(holder) => return Err(Refusal::ExclusiveTaken { holder, fenced: false }),
                None => return Ok(()),
            },
            Access::Exclusive => {
                if let Some(holder) = holder.or(first_waiting) {
                    return Err(Refusal::ExclusiveTaken { holder, fenced: true });
                }
                if others {
                    return Err(Refusal::SharedPresent);
                }
            }
            Access::WaitForExclusive | Access::ExclusiveWithFencing => {}
        }
        match (newcomer.topic_epoch, self.topic_epoch) {
            (Some(own), Some(current)) if own < current => Err(Refusal::EpochMoved { current, own }),
            _ => Ok(()),
        }
    }

    /// Makes `producer` the exclusive one: under the epoch it had if that is the current one, else under a new one.
    fn acquire(&mut self, producer: &Producer) -> u64 {
        let epoch = match self.topic_epoch {
            None => 0,
            Some(current) if producer.topic_epoch == Some(current) => current,
            Some(current) => current.saturating_add(1),
        };
        self.topic_epoch = Some(epoch);
        self.exclusive = Some(producer.key);
        epoch
    }

    fn drop_connected(&mut self, key: ProducerKey) {
        self.connected.remove(&key);
        if self.exclusive == Some(key) {
            self.exclusive = None;
        }
    }
}

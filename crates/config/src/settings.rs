//! The typed settings, and how they come from texts.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::kind::Kind;
use crate::section::{Cluster, Deduplication, Network, Retention, Storage, Subscriptions, Topics};
use crate::source::Assignment;
use crate::{Key, Origin, Problem, Problems, key};

/// A value as it was given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Given {
    text: String,
    origin: Origin,
}

impl Given {
    /// `text` without surrounding blanks. Nothing is the default, where it is not a value of its own: that is how
    /// Pulsar's own files leave a key unset.
    fn new(key: &Key, text: &str, origin: Origin) -> Self {
        let text = text.trim();
        let text = if text.is_empty() && !key.takes_nothing { key.default } else { text };
        Self { text: text.to_owned(), origin }
    }
}

/// The text of every key.
pub(crate) type Texts = BTreeMap<&'static str, Given>;

/// Reads one value, or adds the problem there is with it.
pub(crate) fn read<K: Kind>(
    texts: &Texts,
    key: &'static str,
    within: Option<&RangeInclusive<i64>>,
    problems: &mut Vec<Problem>,
) -> Option<K::Value> {
    let Given { text, origin } = texts.get(key)?;
    let value = K::parse(text, within);
    if value.is_none() {
        let (value, origin) = (text.clone(), origin.clone());
        problems.push(Problem::BadValue { key, value, origin, accepts: K::accepts(within) });
    }
    value
}

/// The settings of a broker: valid, and consistent with each other. A changed setting makes new `Settings`.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Addresses, connections and what one of them may use.
    pub network: Network,
    /// The cluster, its metadata and its tenants.
    pub cluster: Cluster,
    /// Which topics there may be, who makes and removes them, and their bounds.
    pub topics: Topics,
    /// How messages get to consumers, and come back.
    pub subscriptions: Subscriptions,
    /// Recognising messages that a producer sends again.
    pub deduplication: Deduplication,
    /// How long messages stay, and how much backlog there may be.
    pub retention: Retention,
    /// The data directory and what is in it.
    pub storage: Storage,
    texts: Texts,
}

impl Default for Settings {
    fn default() -> Self {
        Self::from_texts(default_texts()).expect("every default is valid: a test makes this value")
    }
}

impl Settings {
    /// The defaults, changed by `assignments` to keys that have an effect; of several to one key the last counts.
    pub(crate) fn with(assignments: impl IntoIterator<Item = (&'static Key, Assignment)>) -> Result<Self, Problems> {
        let mut texts = default_texts();
        for (key, Assignment { value, origin, .. }) in assignments {
            texts.insert(key.name, Given::new(key, &value, origin));
        }
        Self::from_texts(texts)
    }

    /// These settings with one of them changed.
    pub(crate) fn changed(&self, key: &'static Key, value: &str, origin: Origin) -> Result<Self, Problems> {
        let mut texts = self.texts.clone();
        texts.insert(key.name, Given::new(key, value, origin));
        Self::from_texts(texts)
    }

    fn from_texts(texts: Texts) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let network = Network::read(&texts, &mut problems);
        let cluster = Cluster::read(&texts, &mut problems);
        let topics = Topics::read(&texts, &mut problems);
        let subscriptions = Subscriptions::read(&texts, &mut problems);
        let deduplication = Deduplication::read(&texts, &mut problems);
        let retention = Retention::read(&texts, &mut problems);
        let storage = Storage::read(&texts, &mut problems);

        let mut conflicts = Vec::new();
        if let Some(network) = &network {
            network.conflicts(&mut conflicts);
        }
        if let Some(storage) = &storage {
            storage.conflicts(&mut conflicts);
        }
        problems.extend(conflicts.into_iter().map(Problem::Conflict));
        if !problems.is_empty() {
            return Err(Problems(problems));
        }

        let whole = || {
            Some(Self {
                network: network?,
                cluster: cluster?,
                topics: topics?,
                subscriptions: subscriptions?,
                deduplication: deduplication?,
                retention: retention?,
                storage: storage?,
                texts,
            })
        };
        Ok(whole().expect("a section that cannot be read adds a problem"))
    }

    /// The value of a key as it was given; `None` when no key of that name has an effect.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(|given| given.text.as_str())
    }

    /// Who set the value of a key; `None` when no key of that name has an effect.
    pub fn origin(&self, name: &str) -> Option<&Origin> {
        self.texts.get(name).map(|given| &given.origin)
    }

    /// Every key that has an effect, with its value as it was given, in the order of names.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.texts.iter().map(|(name, given)| (*name, given.text.as_str()))
    }
}

fn default_texts() -> Texts {
    key::keys().map(|key| (key.name, Given::new(key, key.default, Origin::Default))).collect()
}

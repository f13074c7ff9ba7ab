//! The bundles of a scenario and how their load changes.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::values::{Amount, Count, Level, Seconds, Share, Usage};

/// How much load each bundle has, before anything changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// The bundle of rank k has k to the power of −`exponent`.
    #[default]
    Zipf,
    /// The logarithm is normally distributed with `exponent` as its deviation.
    LogNormal,
    /// All have the same.
    Equal,
}

/// Where the bundles are at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Each on a host drawn by capacity.
    #[default]
    Random,
    /// Hosts are used alike, as well as bundles allow.
    Even,
    /// The first host is used (1 + `skew`) times the mean, the last one (1 − `skew`) times.
    Skewed,
}

/// The bundles and what they cost.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bundles {
    /// How many.
    pub count: Count,
    /// Namespaces they belong to; by default one for each 100 bundles.
    pub namespaces: Option<Count>,
    /// Tenants the namespaces belong to; by default one for each 10 namespaces.
    pub tenants: Option<Count>,
    /// How loads differ.
    #[serde(default)]
    pub sizes: Sizes,
    /// Exponent of Zipf's law, or deviation of the logarithm.
    #[serde(default = "default_exponent")]
    pub exponent: Level,
    /// Outgoing bandwidth all bundles use, as a share of the cluster's.
    #[serde(default = "default_out")]
    pub out: Usage,
    /// Processor time all bundles use, as a share of the cluster's.
    #[serde(default = "default_cpu")]
    pub cpu: Usage,
    /// Memory all bundles use, as a share of the cluster's.
    #[serde(default = "default_memory")]
    pub memory: Usage,
    /// Messages dispatched for one published.
    #[serde(default = "default_fan_out")]
    pub fan_out: Amount,
    /// Bytes of a message.
    #[serde(default = "default_message_bytes")]
    pub message_bytes: Amount,
    /// Deviation of the logarithm of a bundle's processor time for a message, cut at a quarter and four times the
    /// median. No policy sees it.
    #[serde(default = "default_cost_spread")]
    pub cost_spread: Level,
    /// Topics of a bundle, on average.
    #[serde(default = "default_topics")]
    pub topics: Count,
    /// Exponent of Zipf's law by which a bundle's topics share its load.
    #[serde(default = "default_topic_exponent")]
    pub topic_exponent: Level,
    /// Clients attached to a topic.
    #[serde(default = "default_clients")]
    pub clients: Count,
    /// Whether bundles can be split.
    #[serde(default = "yes")]
    pub split: bool,
    /// Share of the namespaces, and of the hosts, that are set apart for each other by an isolation policy.
    #[serde(default = "none")]
    pub isolated: Share,
    /// Where the bundles are at the start.
    #[serde(default)]
    pub start: Start,
    /// Skew of a skewed start.
    #[serde(default = "default_skew")]
    pub skew: Share,
    /// Outgoing bandwidth used on each host at the start, by its own bundles; replaces `start` and `out`.
    pub usage: Option<Spanned<Vec<Usage>>>,
}

fn default_exponent() -> Level {
    Level(0.8)
}

fn default_out() -> Usage {
    Usage(0.5)
}

fn default_cpu() -> Usage {
    Usage(0.35)
}

fn default_memory() -> Usage {
    Usage(0.2)
}

fn default_fan_out() -> Amount {
    Amount(2.0)
}

fn default_message_bytes() -> Amount {
    Amount(1_024.0)
}

fn default_cost_spread() -> Level {
    Level(0.6)
}

fn default_topics() -> Count {
    Count(20)
}

fn default_topic_exponent() -> Level {
    Level(0.5)
}

fn default_clients() -> Count {
    Count(3)
}

fn yes() -> bool {
    true
}

fn none() -> Share {
    Share(0.0)
}

fn default_skew() -> Share {
    Share(0.5)
}

impl Bundles {
    /// So many bundles, with the defaults.
    #[must_use]
    pub fn usual(count: u32) -> Self {
        Self {
            count: Count(count),
            namespaces: None,
            tenants: None,
            sizes: Sizes::default(),
            exponent: default_exponent(),
            out: default_out(),
            cpu: default_cpu(),
            memory: default_memory(),
            fan_out: default_fan_out(),
            message_bytes: default_message_bytes(),
            cost_spread: default_cost_spread(),
            topics: default_topics(),
            topic_exponent: default_topic_exponent(),
            clients: default_clients(),
            split: true,
            isolated: none(),
            start: Start::default(),
            skew: default_skew(),
            usage: None,
        }
    }
}

/// What changes the load over time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Load {
    /// Day and night, each tenant at a time of its own.
    pub diurnal: Option<Diurnal>,
    /// Noise.
    pub noise: Option<Noise>,
    /// Bundles that change from one moment to the next, and stay changed.
    pub step: Vec<Step>,
    /// Crowds that come and go.
    pub flash: Vec<Flash>,
    /// Namespaces that grow.
    pub growth: Option<Growth>,
    /// Recorded load, instead of a generated one.
    pub trace: Option<TraceFile>,
}

/// Load that rises and falls as a sine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Diurnal {
    /// Length of a day.
    pub period: Seconds,
    /// The load swings between (1 − `depth`) and (1 + `depth`) times its mean.
    pub depth: Share,
    /// Share of a day over which the tenants' noons are spread.
    pub spread: Share,
}

/// Load that wavers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Noise {
    /// After this time the correlation has fallen to 1/e.
    pub correlation: Seconds,
    /// Deviation of each bundle by itself.
    pub sd: Share,
    /// At most so far from the mean.
    pub clip: Share,
    /// Deviation that the bundles of a tenant have in common.
    #[serde(default = "none")]
    pub tenant_sd: Share,
    /// Share of the time in which a bundle has a spike.
    #[serde(default = "none")]
    pub spikes: Share,
    /// What a spike multiplies the load by.
    #[serde(default = "default_spike_factor")]
    pub spike_factor: Amount,
    /// How long a spike lasts.
    #[serde(default = "default_spike_length")]
    pub spike_length: Seconds,
}

fn default_spike_factor() -> Amount {
    Amount(5.0)
}

fn default_spike_length() -> Seconds {
    Seconds(10.0)
}

/// One bundle that changes and stays changed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Step {
    /// When, at the earliest.
    pub from: Seconds,
    /// When, at the latest; the seed decides. By default as `from`.
    pub to: Option<Seconds>,
    /// The bundle is drawn among those with at least this share of their broker's load …
    #[serde(default = "default_least")]
    pub least: Share,
    /// … and at most this one.
    #[serde(default = "default_most")]
    pub most: Share,
    /// What its load is multiplied by.
    pub factor: Amount,
}

fn default_least() -> Share {
    Share(0.1)
}

fn default_most() -> Share {
    Share(0.3)
}

/// A crowd that comes and goes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Flash {
    /// When it begins to come.
    pub at: Seconds,
    /// How long it takes to be complete.
    pub rise: Seconds,
    /// How long it stays.
    pub hold: Seconds,
    /// How long it takes to be gone.
    pub fall: Seconds,
    /// Share of the namespaces it comes to.
    pub namespaces: Share,
    /// What it multiplies their load by.
    pub factor: Amount,
}

/// Namespaces that grow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Growth {
    /// What is added in an hour, as a share of the load at the start.
    pub per_hour: Level,
    /// Share of the namespaces that grow.
    pub namespaces: Share,
}

/// Recorded load. The file has the columns `seconds,bundle,broker,rate_in,rate_out,bytes_in,bytes_out`, the numbers per
/// second, sorted by time; a bundle keeps its load until its next line. `broker` counts the hosts from 0 and matters in
/// a bundle's first line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TraceFile {
    /// The file, relative to the scenario's.
    pub file: PathBuf,
}

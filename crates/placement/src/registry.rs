//! Policies by name: Pulsar's class names, short names, and whatever a user adds.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::balancer::{Manager, ModularProfile, Profile, SimpleProfile, TransferProfile};
use crate::bundle::split::{
    FlowOrQpsEquallyDivide, RangeEquallyDivide, SpecifiedPositionsDivide, SplitAlgorithm, TopicCountEquallyDivide,
};
use crate::filter::{
    AntiAffinityFilter, BrokerFilter, ClassFilter, EvenBundlesFilter, IsolationFilter, MaxTopicsFilter, VersionFilter,
};
use crate::modular::ModularManager;
use crate::modular::place::{
    AvgPlacement, LeastLongTermMessageRate, LeastResourceUsageWithWeight, Placement, RoundRobin,
};
use crate::modular::shed::{AvgShedder, OverloadShedder, Shedder, ThresholdShedder, UniformLoadShedder};
use crate::own::OwnProfile;

const IMPL: &str = "org.apache.pulsar.broker.loadbalance.impl.";
const EXTENSIONS: &str = "org.apache.pulsar.broker.loadbalance.extensions.";

/// Which load manager runs (`loadManagerClassName`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ManagerKind {
    /// Quotas and rankings.
    Simple,
    /// A leader with averages; the default of a cluster.
    #[default]
    Modular,
    /// The state channel with transfers (PIP-192).
    Extensible,
    /// No balancing; the default of a lone broker.
    Noop,
}

impl ManagerKind {
    /// The class name brokers publish for this manager.
    #[must_use]
    pub const fn class_name(self) -> &'static str {
        match self {
            Self::Simple => "org.apache.pulsar.broker.loadbalance.impl.SimpleLoadManagerImpl",
            Self::Modular => "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl",
            Self::Extensible => "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl",
            Self::Noop => "org.apache.pulsar.broker.loadbalance.NoopLoadManager",
        }
    }

    /// The manager with this class name or short name. Pulsar's internal wrapper classes are accepted too.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let short = name.strip_prefix(IMPL).or_else(|| name.strip_prefix(EXTENSIONS)).unwrap_or(name);
        match short {
            "simple" | "SimpleLoadManagerImpl" => Some(Self::Simple),
            "modular" | "ModularLoadManagerImpl" | "ModularLoadManagerWrapper" => Some(Self::Modular),
            "extensible" | "ExtensibleLoadManagerImpl" | "ExtensibleLoadManagerWrapper" => Some(Self::Extensible),
            "noop" | "org.apache.pulsar.broker.loadbalance.NoopLoadManager" => Some(Self::Noop),
            _ => None,
        }
    }

    /// The manager a cluster runs with this setting: an unknown or blank name means Simple. The second value is what
    /// has to be reported to the operator, loudly.
    #[must_use]
    pub fn named_or_simple(name: &str) -> (Self, Option<UnknownPolicy>) {
        match Self::named(name) {
            Some(kind) => (kind, None),
            None if name.trim().is_empty() => (Self::Simple, None),
            None => (Self::Simple, Some(UnknownPolicy::new("load manager", name, manager_names()))),
        }
    }
}

fn manager_names() -> Vec<String> {
    ["simple", "modular", "extensible", "noop"].map(str::to_owned).to_vec()
}

/// A name under which no policy is registered. The setting has to be corrected; a retry is pointless.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {kind} {name:?}; known are {}", known.join(", "))]
pub struct UnknownPolicy {
    /// What was looked for.
    pub kind: &'static str,
    /// The name that was given.
    pub name: String,
    /// The short names that are known.
    pub known: Vec<String>,
}

impl UnknownPolicy {
    fn new(kind: &'static str, name: &str, known: Vec<String>) -> Self {
        Self { kind, name: name.to_owned(), known }
    }
}

/// A setting of the Modular manager that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManagerError {
    /// A policy's name is unknown.
    #[error(transparent)]
    Unknown(#[from] UnknownPolicy),
    /// The placement `avg` does what the shedder `avg` planned, and there is another shedder.
    #[error("the placement avg needs the shedder avg, not {shedder:?}: set both or neither")]
    AvgAlone {
        /// The shedder that was set.
        shedder: String,
    },
}

type Make<T> = Box<dyn Fn() -> Box<T> + Send + Sync>;

/// The policies of one kind.
struct Shelf<T: ?Sized> {
    kind: &'static str,
    makers: BTreeMap<String, Make<T>>,
}

impl<T: ?Sized> Shelf<T> {
    fn new(kind: &'static str) -> Self {
        Self { kind, makers: BTreeMap::new() }
    }

    fn add(&mut self, name: &str, make: impl Fn() -> Box<T> + Send + Sync + 'static) {
        self.makers.insert(name.to_owned(), Box::new(make));
    }

    /// The policy called `name`, or `…impl.<name>` as a class.
    fn make(
        &self,
        name: &str,
        class_short_name: &dyn Fn(&str) -> Option<&'static str>,
    ) -> Result<Box<T>, UnknownPolicy> {
        let class = name.strip_prefix(IMPL).and_then(class_short_name);
        let make = self.makers.get(name).or_else(|| self.makers.get(class?));
        let known = || self.makers.keys().cloned().collect();
        make.map(|make| make()).ok_or_else(|| UnknownPolicy::new(self.kind, name, known()))
    }
}

/// Every policy that can be named in the settings. A user's own ones are added before a manager is made.
pub struct Registry {
    placements: Shelf<dyn Placement>,
    shedders: Shelf<dyn Shedder>,
    splitters: Shelf<dyn SplitAlgorithm>,
    filters: Shelf<dyn BrokerFilter>,
    managers: BTreeMap<String, Arc<dyn Manager>>,
}

impl Default for Registry {
    /// The policies of this crate.
    fn default() -> Self {
        let mut registry = Self {
            placements: Shelf::new("placement"),
            shedders: Shelf::new("shedder"),
            splitters: Shelf::new("split algorithm"),
            filters: Shelf::new("filter"),
            managers: BTreeMap::new(),
        };
        registry.add_placement("least-long-term-message-rate", || Box::new(LeastLongTermMessageRate));
        registry.add_placement("least-resource-usage-with-weight", || Box::<LeastResourceUsageWithWeight>::default());
        registry.add_placement("round-robin", || Box::<RoundRobin>::default());
        registry.add_placement("avg", || Box::<AvgPlacement>::default());
        registry.add_shedder("threshold", || Box::<ThresholdShedder>::default());
        registry.add_shedder("overload", || Box::new(OverloadShedder));
        registry.add_shedder("uniform", || Box::new(UniformLoadShedder));
        registry.add_shedder("avg", || Box::<AvgShedder>::default());
        registry.add_splitter("range_equally_divide", || Box::new(RangeEquallyDivide));
        registry.add_splitter("topic_count_equally_divide", || Box::new(TopicCountEquallyDivide));
        registry.add_splitter("specified_positions_divide", || Box::<SpecifiedPositionsDivide>::default());
        registry.add_splitter("flow_or_qps_equally_divide", || Box::new(FlowOrQpsEquallyDivide));
        registry.add_filter("broker_load_manager_class_filter", || Box::new(ClassFilter::EXTENSIBLE));
        registry.add_filter("broker_max_topic_count_filter", || Box::new(MaxTopicsFilter::EXTENSIBLE));
        registry.add_filter("broker_version_filter", || Box::new(VersionFilter));
        registry.add_filter("broker_anti_affinity_group_filter", || Box::new(AntiAffinityFilter));
        registry.add_filter("broker_isolation_policies_filter", || Box::new(IsolationFilter));
        registry.add_filter("even_bundles_filter", || Box::new(EvenBundlesFilter));
        let rate = || -> Box<dyn Placement> { Box::new(LeastLongTermMessageRate) };
        registry.add_manager("threshold", ModularProfile::new(rate, || Box::<ThresholdShedder>::default()));
        registry.add_manager("overload", ModularProfile::new(rate, || Box::new(OverloadShedder)));
        registry.add_manager("uniform", ModularProfile::new(rate, || Box::new(UniformLoadShedder)));
        let avg = ModularProfile::new(|| Box::<AvgPlacement>::default(), || Box::<AvgShedder>::default());
        registry.add_manager("avg", avg);
        registry.add_manager("transfer-shedder", TransferProfile);
        registry.add_manager("simple", SimpleProfile);
        registry.add_manager("plerion", OwnProfile);
        registry
    }
}

impl Registry {
    /// Adds a placement, or replaces the one of this name.
    pub fn add_placement(&mut self, name: &str, make: impl Fn() -> Box<dyn Placement> + Send + Sync + 'static) {
        self.placements.add(name, make);
    }

    /// Adds a shedder, or replaces the one of this name.
    pub fn add_shedder(&mut self, name: &str, make: impl Fn() -> Box<dyn Shedder> + Send + Sync + 'static) {
        self.shedders.add(name, make);
    }

    /// Adds a split algorithm, or replaces the one of this name.
    pub fn add_splitter(&mut self, name: &str, make: impl Fn() -> Box<dyn SplitAlgorithm> + Send + Sync + 'static) {
        self.splitters.add(name, make);
    }

    /// Adds a filter, or replaces the one of this name.
    pub fn add_filter(&mut self, name: &str, make: impl Fn() -> Box<dyn BrokerFilter> + Send + Sync + 'static) {
        self.filters.add(name, make);
    }

    /// Adds a manager that can run as a profile, or replaces the one of this name.
    pub fn add_manager(&mut self, name: &str, manager: impl Manager + 'static) {
        self.managers.insert(name.to_owned(), Arc::new(manager));
    }

    /// The names of [`Registry::profile`] without clocks.
    pub fn profile_names(&self) -> impl Iterator<Item = &str> {
        self.managers.keys().map(String::as_str)
    }

    /// A whole load manager by its name: at Pulsar's clocks as `threshold` or `threshold@pulsar`, at Plerion's as
    /// `threshold@fast`. `plerion` runs at its own.
    ///
    /// # Errors
    /// [`UnknownPolicy`].
    pub fn profile(&self, name: &str) -> Result<Profile, UnknownPolicy> {
        let (manager, clocks) =
            name.split_once('@').unwrap_or((name, if name == "plerion" { "fast" } else { "pulsar" }));
        let known = || self.managers.keys().flat_map(|name| [name.clone(), format!("{name}@fast")]).collect();
        let unknown = || UnknownPolicy::new("profile", name, known());
        let manager = Arc::clone(self.managers.get(manager).ok_or_else(unknown)?);
        match clocks {
            "pulsar" => Ok(Profile::at_pulsars_clocks(name, manager)),
            "fast" => Ok(Profile::at_fast_clocks(name, manager)),
            _ => Err(unknown()),
        }
    }

    /// The placement of `loadBalancerLoadPlacementStrategy`.
    ///
    /// # Errors
    /// [`UnknownPolicy`].
    pub fn placement(&self, name: &str) -> Result<Box<dyn Placement>, UnknownPolicy> {
        self.placements.make(name, &|class| match class {
            "LeastLongTermMessageRate" => Some("least-long-term-message-rate"),
            "LeastResourceUsageWithWeight" => Some("least-resource-usage-with-weight"),
            "RoundRobinBrokerSelector" => Some("round-robin"),
            "AvgShedder" => Some("avg"),
            _ => None,
        })
    }

    /// The shedder of `loadBalancerLoadSheddingStrategy` for the Modular manager.
    ///
    /// # Errors
    /// [`UnknownPolicy`].
    pub fn shedder(&self, name: &str) -> Result<Box<dyn Shedder>, UnknownPolicy> {
        self.shedders.make(name, &|class| match class {
            "ThresholdShedder" => Some("threshold"),
            "OverloadShedder" => Some("overload"),
            "UniformLoadShedder" => Some("uniform"),
            "AvgShedder" => Some("avg"),
            _ => None,
        })
    }

    /// The algorithm of a split request or of `defaultNamespaceBundleSplitAlgorithm`.
    ///
    /// # Errors
    /// [`UnknownPolicy`].
    pub fn splitter(&self, name: &str) -> Result<Box<dyn SplitAlgorithm>, UnknownPolicy> {
        self.splitters.make(name, &|_| None)
    }

    /// The filter of this name, as the Extensible manager applies it.
    ///
    /// # Errors
    /// [`UnknownPolicy`].
    pub fn filter(&self, name: &str) -> Result<Box<dyn BrokerFilter>, UnknownPolicy> {
        self.filters.make(name, &|_| None)
    }

    /// A Modular manager with the placement and the shedder of these names.
    ///
    /// # Errors
    /// [`ManagerError`].
    pub fn modular_manager(&self, placement: &str, shedder: &str) -> Result<ModularManager, ManagerError> {
        let (placement, chosen) = (self.placement(placement)?, self.shedder(shedder)?);
        if placement.name() == "avg" && chosen.name() != "avg" {
            return Err(ManagerError::AvgAlone { shedder: shedder.to_owned() });
        }
        Ok(ModularManager::new(placement, chosen))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("placements", &self.placements.makers.keys())
            .field("shedders", &self.shedders.makers.keys())
            .field("splitters", &self.splitters.makers.keys())
            .field("filters", &self.filters.makers.keys())
            .finish()
    }
}

#[cfg(test)]
mod tests;

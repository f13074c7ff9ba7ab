//! Namespace names: `tenant/namespace`, and the older `tenant/cluster/namespace`.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{InvalidName, check_entity};

/// A namespace's name. Cloning shares it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NamespaceName(Arc<str>);

impl NamespaceName {
    /// The namespace of topics that are named without one.
    pub const DEFAULT: &'static str = "public/default";
    /// The namespace of the cluster's own topics.
    pub const SYSTEM: &'static str = "pulsar/system";

    /// The name of a tenant's namespace.
    pub fn new(tenant: &str, namespace: &str) -> Result<Self, InvalidName> {
        Self::of_parts(&[tenant, namespace])
    }

    /// The name of a namespace in the older form that includes a cluster.
    pub(super) fn with_cluster(tenant: &str, cluster: &str, namespace: &str) -> Result<Self, InvalidName> {
        Self::of_parts(&[tenant, cluster, namespace])
    }

    fn of_parts(parts: &[&str]) -> Result<Self, InvalidName> {
        let name = parts.join("/");
        if parts.iter().any(|part| part.is_empty()) {
            return Err(InvalidName(format!("Invalid namespace format. namespace: {name}")));
        }
        parts.iter().try_for_each(|part| check_entity(part))?;
        Ok(Self(name.into()))
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The tenant that owns the namespace.
    pub fn tenant(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }

    /// The cluster, for a name of the older form.
    pub fn cluster(&self) -> Option<&str> {
        let mut parts = self.0.split('/').skip(1);
        let cluster = parts.next();
        parts.next().and(cluster)
    }

    /// The name within the tenant.
    pub fn local_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The broker that owns this namespace for its health checks: `pulsar/host:port`, or the older
    /// `pulsar/cluster/host:port`.
    pub fn heartbeat_broker(&self) -> Option<&str> {
        self.owned_by_broker("pulsar", self.cluster().is_some())
    }

    /// The broker that should own this namespace while it is alive: `sla-monitor/cluster/host:port`.
    pub fn sla_broker(&self) -> Option<&str> {
        self.owned_by_broker("sla-monitor", true)
    }

    /// Whether the namespace serves the monitoring of one broker.
    pub fn is_sla_or_heartbeat(&self) -> bool {
        self.heartbeat_broker().is_some() || self.sla_broker().is_some()
    }

    /// Whether the namespace serves the cluster rather than its users.
    pub fn is_system_service(&self) -> bool {
        &*self.0 == Self::SYSTEM || self.is_sla_or_heartbeat()
    }

    fn owned_by_broker(&self, tenant: &str, has_cluster: bool) -> Option<&str> {
        let broker = self.local_name();
        let (host, port) = broker.split_once(':')?;
        let is_broker = !host.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        (self.tenant() == tenant && self.cluster().is_some() == has_cluster && is_broker).then_some(broker)
    }
}

impl FromStr for NamespaceName {
    type Err = InvalidName;

    /// Parses `tenant/namespace` or `tenant/cluster/namespace`; slashes at the end are dropped.
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        if text.is_empty() {
            return Err(InvalidName("Invalid null namespace: ".to_owned()));
        }
        let parts: Vec<&str> = text.trim_end_matches('/').split('/').collect();
        let parsed = if matches!(parts.len(), 2 | 3) { Self::of_parts(&parts).ok() } else { None };
        parsed.ok_or_else(|| {
            InvalidName(format!(
                "Invalid namespace format. expected <tenant>/<namespace> or <tenant>/<cluster>/<namespace> but got: \
                 {text}"
            ))
        })
    }
}

impl Borrow<str> for NamespaceName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NamespaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NamespaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

//! Namespaces whose owner is fixed, or that the balancer treats apart.

/// What a namespace's name says about its placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special<'a> {
    /// `pulsar/<broker>` (or, in the old form, `pulsar/<cluster>/<host:port>`): owned by that broker alone, always.
    Heartbeat {
        /// The broker's id, `host:port`.
        broker: &'a str,
    },
    /// `sla-monitor/<broker>` (or `sla-monitor/<cluster>/<broker>`): owned by that broker while it is active.
    SlaMonitor {
        /// The broker's id, `host:port`.
        broker: &'a str,
    },
    /// `pulsar/system`: ordinary bundles, but spread evenly whatever the settings say, and never shed.
    System,
}

impl<'a> Special<'a> {
    /// Classifies a namespace (`tenant/namespace`); `None` for an ordinary one.
    #[must_use]
    pub fn of(namespace: &'a str) -> Option<Self> {
        if namespace == "pulsar/system" {
            return Some(Self::System);
        }
        let (tenant, rest) = namespace.split_once('/')?;
        let broker = match rest.split_once('/') {
            Some((cluster, broker)) if !cluster.is_empty() => broker,
            Some(_) => return None,
            None => rest,
        };
        if !is_broker_id(broker) {
            return None;
        }
        match tenant {
            "pulsar" => Some(Self::Heartbeat { broker }),
            "sla-monitor" => Some(Self::SlaMonitor { broker }),
            _ => None,
        }
    }

    /// Whether the namespace belongs to one broker, so that no policy may move its bundle.
    #[must_use]
    pub fn is_pinned(namespace: &'a str) -> bool {
        matches!(Self::of(namespace), Some(Self::Heartbeat { .. } | Self::SlaMonitor { .. }))
    }
}

/// `host:port`, with a host free of separators and a numeric port.
fn is_broker_id(text: &str) -> bool {
    match text.split_once(':') {
        Some((host, port)) => {
            !host.is_empty()
                && !host.contains('/')
                && !port.is_empty()
                && port.bytes().all(|byte| byte.is_ascii_digit())
        }
        None => false,
    }
}

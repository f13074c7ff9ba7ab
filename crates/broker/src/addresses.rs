//! Where clients are told to connect to.

use plerion_config::{Scheme, Settings};

/// The addresses of this broker, by listener.
#[derive(Debug)]
pub(crate) struct Addresses {
    settings: std::sync::Arc<Settings>,
    broker_port: Option<u16>,
    web_port: Option<u16>,
}

/// The addresses one kind of client is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertised {
    /// `pulsar://host:port`.
    pub broker: Option<String>,
    /// `pulsar+ssl://host:port`.
    pub broker_tls: Option<String>,
    /// `http://host:port`.
    pub web: Option<String>,
    /// `https://host:port`.
    pub web_tls: Option<String>,
}

/// A client asked for a listener this broker does not have.
#[derive(Debug, thiserror::Error)]
#[error("the broker do not have {0} listener")]
pub(crate) struct NoListener(String);

impl Addresses {
    /// The addresses by `settings`, with the ports that were really bound.
    pub(crate) fn new(settings: std::sync::Arc<Settings>, broker_port: Option<u16>, web_port: Option<u16>) -> Self {
        Self { settings, broker_port, web_port }
    }

    /// The addresses of `listener`, or of the default one.
    ///
    /// # Errors
    /// [`NoListener`] for a name that is not configured; some clients look for its text.
    pub(crate) fn of(&self, listener: Option<&str>) -> Result<Advertised, NoListener> {
        let network = &self.settings.network;
        let listener = listener.filter(|name| !name.is_empty());
        let find = |scheme: Scheme| network.advertised(listener, scheme).map(|at| url(scheme, &at.host, at.port));
        let found = Advertised {
            broker: find(Scheme::Pulsar),
            broker_tls: find(Scheme::PulsarTls),
            web: find(Scheme::Http),
            web_tls: find(Scheme::Https),
        };
        if let Some(name) = listener
            && found.broker.is_none()
            && found.broker_tls.is_none()
        {
            return Err(NoListener(name.to_owned()));
        }
        let host = network.advertised_host();
        let own = |scheme, port: Option<u16>| port.map(|port| url(scheme, host, port));
        Ok(match found {
            Advertised { broker: None, broker_tls: None, .. } => Advertised {
                broker: own(Scheme::Pulsar, self.broker_port),
                web: own(Scheme::Http, self.web_port),
                ..Advertised::default()
            },
            found => Advertised { web: found.web.or_else(|| own(Scheme::Http, self.web_port)), ..found },
        })
    }

    /// This broker's name among its peers: `host:web port`.
    pub(crate) fn broker_id(&self) -> String {
        let port = self.web_port.or(self.broker_port).unwrap_or(0);
        format!("{}:{port}", self.settings.network.advertised_host())
    }
}

fn url(scheme: Scheme, host: &str, port: u16) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    format!("{}://{host}:{port}", scheme.as_str())
}

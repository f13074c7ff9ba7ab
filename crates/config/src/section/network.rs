//! Addresses, connections and what one of them may use.

use std::time::Duration;

use crate::key::declare;
use crate::kind::address::{Endpoint, Endpoints, Host, Port, Scheme, is_loopback};
use crate::kind::number::{Bytes, Count, Megabytes, Millis, OrNone, Seconds};
use crate::kind::{Name, OrEmpty, Switch};

declare! {
    /// Addresses, connections and what one of them may use.
    pub struct Network, "Network";

    /// Port of the binary protocol.
    "brokerServicePort" => broker_port: Option<u16> as Port = "6650";

    /// Port of the admin REST interface and of `/metrics`.
    "webServicePort" => web_port: Option<u16> as Port = "8080";

    /// Address that both ports are opened on. An address other than loopback also needs listenOffLoopback.
    "bindAddress" => bind_address: String as Host = "127.0.0.1";

    /// More sockets to open, each for a listener named in advertisedListeners.
    "bindAddresses" => bind_addresses: Vec<Endpoint> as Endpoints = "";

    /// Permits addresses that other machines can reach. Connections are neither authenticated nor encrypted: whoever
    /// reaches the ports can read, write and delete everything.
    "listenOffLoopback" => listen_off_loopback: bool as Switch = "false";

    /// Host name or address that clients are told to connect to. When empty: bindAddress, or localhost where that
    /// stands for every address of the machine.
    "advertisedAddress" => advertised_address: Option<String> as OrEmpty<Host> = "";

    /// Addresses that clients are told to connect to, by the name of the listener they ask for.
    "advertisedListeners" => advertised_listeners: Vec<Endpoint> as Endpoints = "";

    /// The listener of advertisedListeners whose addresses are given to those who ask for none. When empty: the first.
    "internalListenerName" => internal_listener: Option<String> as OrEmpty<Name> = "";

    /// Shard threads, each of which serves its share of the connections and bundles. None: one for every two processors.
    "numIOThreads" => shards: Option<u32> as OrNone<Count>[1..=1024] = "";

    /// Largest message, with its metadata, that is taken. A frame may be 10 KiB longer.
    "maxMessageSize" => max_message_size: u64 as Bytes[1024..=536_870_912] = "5242880";

    /// How long a connection may stay silent before it is pinged; after as long again without an answer it is closed.
    "keepAliveIntervalSeconds" => keep_alive_interval: Duration as Seconds[1..=86_400] = "30";

    /// How long the holder of an exclusive place is given to answer a ping when another client asks for the place.
    /// None: it is not asked.
    "connectionLivenessCheckTimeoutMillis" => liveness_check_timeout: Option<Duration> as OrNone<Millis>[1..=600_000]
        = "5000";

    /// Messages of one connection that are being stored before no more is read from it.
    "maxPendingPublishRequestsPerConnection" => max_pending_publishes: u32 as Count[1..=1_000_000] = "1000";

    /// Memory for messages that are being stored, over all connections. When it is used up no more is read from the
    /// connections that publish. None: no bound.
    "maxMessagePublishBufferSizeInMB" => publish_buffer: Option<u64> as OrNone<Megabytes> = "256", dynamic;

    /// How many lookups and requests for partition metadata are served at once; more are refused as too many.
    "maxConcurrentLookupRequest" => max_lookups: u32 as Count[1..=10_000_000] = "50000", dynamic;

    /// How many connections are served at once; more are closed.
    "brokerMaxConnections" => max_connections: Option<u32> as OrNone<Count> = "0";

    /// How long an orderly shutdown may take; then the process ends. Nothing acknowledged is lost either way.
    "brokerShutdownTimeoutMs" => shutdown_timeout: Duration as Millis[0..=3_600_000] = "60000", dynamic;
}

/// A socket to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// The listener it belongs to; `None` for the one that needs no name.
    pub listener: Option<String>,
    /// What is spoken there.
    pub scheme: Scheme,
    /// Host name or IP address, without brackets.
    pub host: String,
    /// The port, 0 for any free one.
    pub port: u16,
}

impl Network {
    /// Every socket to open.
    pub fn binds(&self) -> Vec<Bind> {
        let main = [(Scheme::Pulsar, self.broker_port), (Scheme::Http, self.web_port)];
        let unnamed = main.into_iter().filter_map(|(scheme, port)| {
            Some(Bind { listener: None, scheme, host: self.bind_address.clone(), port: port? })
        });
        let named = self.bind_addresses.iter().cloned().map(|Endpoint { listener, scheme, host, port }| Bind {
            listener: Some(listener),
            scheme,
            host,
            port,
        });
        unnamed.chain(named).collect()
    }

    /// The host that clients are told to connect to where no listener says otherwise.
    pub fn advertised_host(&self) -> &str {
        let every = matches!(self.bind_address.as_str(), "0.0.0.0" | "::");
        match &self.advertised_address {
            Some(address) => address,
            None if every => "localhost",
            None => &self.bind_address,
        }
    }

    /// The address of the listener called `listener`, or of the internal one when `None`. `None`: no such listener,
    /// or nothing is advertised by listener.
    pub fn advertised(&self, listener: Option<&str>, scheme: Scheme) -> Option<&Endpoint> {
        let first = || self.advertised_listeners.first().map(|endpoint| endpoint.listener.as_str());
        let listener = listener.or(self.internal_listener.as_deref()).or_else(first)?;
        self.advertised_listeners.iter().find(|endpoint| endpoint.listener == listener && endpoint.scheme == scheme)
    }

    /// What contradicts what.
    pub(crate) fn conflicts(&self, conflicts: &mut Vec<String>) {
        for bind in self.binds() {
            if bind.scheme.is_tls() {
                conflicts.push(format!("bindAddresses: {} needs TLS, which is not supported", bind.scheme.as_str()));
            }
            if !self.listen_off_loopback && !is_loopback(&bind.host) {
                conflicts.push(format!(
                    "{}:{} can be reached from other machines, and connections are neither authenticated nor \
                     encrypted: bind to 127.0.0.1, or permit it with listenOffLoopback=true",
                    bind.host, bind.port
                ));
            }
        }
        let is_advertised = |name: &str| self.advertised_listeners.iter().any(|endpoint| endpoint.listener == name);
        if let Some(name) = self.internal_listener.as_deref().filter(|name| !is_advertised(name)) {
            conflicts.push(format!("internalListenerName: advertisedListeners has no listener called {name}"));
        }
    }
}

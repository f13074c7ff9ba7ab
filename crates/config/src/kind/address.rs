//! Hosts, ports and listeners.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::Kind;

/// A TCP port, nothing for "not served", 0 for any free one.
pub(crate) struct Port;

impl Kind for Port {
    type Value = Option<u16>;
    const TAKES_NOTHING: bool = true;

    fn parse(text: &str, _: Option<&RangeInclusive<i64>>) -> Option<Self::Value> {
        if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
    }

    fn accepts(_: Option<&RangeInclusive<i64>>) -> String {
        "a port from 1 to 65535, 0 for any free one, or nothing for none".into()
    }
}

/// A host name or an IP address, without a port.
pub(crate) struct Host;

impl Kind for Host {
    type Value = String;

    fn parse(text: &str, _: Option<&RangeInclusive<i64>>) -> Option<String> {
        let unbracketed = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        is_host(unbracketed).then(|| unbracketed.to_owned())
    }

    fn accepts(_: Option<&RangeInclusive<i64>>) -> String {
        "a host name or an IP address, without a port".into()
    }
}

fn is_host(text: &str) -> bool {
    let is_name = || text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    text.parse::<IpAddr>().is_ok() || (!text.is_empty() && is_name())
}

/// Whether a socket bound to `host` can be reached from this machine only.
pub(crate) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// What is spoken at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// The binary protocol.
    Pulsar,
    /// The binary protocol over TLS.
    PulsarTls,
    /// HTTP.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// The scheme as it is written in a URL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pulsar => "pulsar",
            Self::PulsarTls => "pulsar+ssl",
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// Whether it needs TLS.
    pub const fn is_tls(self) -> bool {
        matches!(self, Self::PulsarTls | Self::Https)
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Pulsar, Self::PulsarTls, Self::Http, Self::Https].into_iter().find(|scheme| scheme.as_str() == text)
    }
}

/// An address of a named listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The listener's name.
    pub listener: String,
    /// What is spoken there.
    pub scheme: Scheme,
    /// Host name or IP address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Endpoint {
    fn parse(text: &str) -> Option<Self> {
        let (listener, url) = text.split_once(':')?;
        let (scheme, authority) = url.split_once("://")?;
        let (host, port) = authority.strip_suffix('/').unwrap_or(authority).rsplit_once(':')?;
        let listener = Some(listener.trim()).filter(|name| !name.is_empty())?.to_owned();
        Some(Self {
            listener,
            scheme: Scheme::parse(scheme)?,
            host: Host::parse(host, None)?,
            port: port.parse().ok()?,
        })
    }

    /// The address as a URL.
    pub fn url(&self) -> String {
        url(self.scheme, &self.host, self.port)
    }
}

/// `scheme://host:port`, with an IPv6 address in brackets.
pub(crate) fn url(scheme: Scheme, host: &str, port: u16) -> String {
    let scheme = scheme.as_str();
    if host.contains(':') { format!("{scheme}://[{host}]:{port}") } else { format!("{scheme}://{host}:{port}") }
}

/// A list of listeners' addresses, separated by commas and possibly empty; each listener has at most one address per scheme.
pub(crate) struct Endpoints;

impl Kind for Endpoints {
    type Value = Vec<Endpoint>;
    const TAKES_NOTHING: bool = true;

    fn parse(text: &str, _: Option<&RangeInclusive<i64>>) -> Option<Self::Value> {
        let mut endpoints: Vec<Endpoint> = Vec::new();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let new = Endpoint::parse(item)?;
            if endpoints.iter().any(|old| old.listener == new.listener && old.scheme == new.scheme) {
                return None;
            }
            endpoints.push(new);
        }
        Some(endpoints)
    }

    fn accepts(_: Option<&RangeInclusive<i64>>) -> String {
        "a list, separated by commas, of LISTENER:SCHEME://HOST:PORT with the schemes pulsar, pulsar+ssl, http, https, \
         each listener naming a scheme once, or nothing"
            .into()
    }
}

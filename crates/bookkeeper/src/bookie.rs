//! Bookies: their ids, and where they are found.

use std::fmt;
use std::sync::Arc;

use prost::Message;

/// The name of a bookie. Usually `host:port`, but it may be any name: what can be dialled is its [`Address`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BookieId(Arc<str>);

impl BookieId {
    /// The bookie of this name; `None` if no bookie can be called that.
    pub fn new(name: &str) -> Option<Self> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'-' | b'_' | b'.');
        (!name.is_empty() && name.bytes().all(allowed)).then(|| Self(Arc::from(name)))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name read as an address, which is how bookies without a registered endpoint are found.
    pub fn as_address(&self) -> Option<Address> {
        let (host, port) = self.0.rsplit_once(':')?;
        let port = port.parse().ok().filter(|port| *port != 0)?;
        (!host.is_empty()).then(|| Address { host: host.to_owned(), port })
    }
}

impl fmt::Display for BookieId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for BookieId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a bookie listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// A name or an IP address.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[derive(Clone, PartialEq, Message)]
struct ServiceInfo {
    #[prost(message, repeated, tag = "6")]
    endpoints: Vec<Endpoint>,
}

#[derive(Clone, PartialEq, Message)]
struct Endpoint {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(int32, tag = "2")]
    port: i32,
    #[prost(string, tag = "3")]
    host: String,
    #[prost(string, tag = "4")]
    protocol: String,
}

/// The address in a bookie's registration; an empty registration is one of the old form, for which the id is the
/// address. `None` if neither gives one.
pub fn registered_address(id: &BookieId, registration: &[u8]) -> Option<Address> {
    if registration.is_empty() {
        return id.as_address();
    }
    let info = ServiceInfo::decode(registration).ok()?;
    let endpoint = info.endpoints.into_iter().find(|endpoint| endpoint.protocol == "bookie-rpc")?;
    let port = u16::try_from(endpoint.port).ok().filter(|port| *port != 0)?;
    (!endpoint.host.is_empty()).then_some(Address { host: endpoint.host, port })
}

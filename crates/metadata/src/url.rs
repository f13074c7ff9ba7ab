//! Which engine, and where, in one text.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::path;

/// Where metadata is kept, as `metadataStoreUrl` says it.
///
/// | Text | Store |
/// |---|---|
/// | `memory:`, `memory:NAME` | in this process, gone with it; the name is for people |
/// | `embedded:`, `embedded:FILE` | in a file of this process, by default the one the program has for it |
/// | `zk:HOST:PORT,HOST:PORT/ROOT`, or without `zk:` | on ZooKeeper, below ROOT if there is one |
/// | `etcd:http://HOST:PORT,http://HOST:PORT/ROOT` | on etcd, below ROOT if there is one; `http://` may be left out |
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// In memory.
    Memory,
    /// In a file, or the program's own file.
    Embedded(Option<PathBuf>),
    /// On ZooKeeper: servers and root as its clients write them.
    Zookeeper(String),
    /// On etcd.
    Etcd {
        /// The servers, with commas between them.
        addresses: String,
        /// The path that stands for the root.
        root: String,
    },
}

/// Why a text says no store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It begins as no known kind of store does.
    #[error("{url:?} names no metadata store: use memory:, embedded:, zk:HOST:PORT or etcd:http://HOST:PORT")]
    UnknownScheme {
        /// The text.
        url: String,
    },
    /// A server lacks its host or port.
    #[error("{server:?} in {url:?} is no server: HOST:PORT is expected")]
    BadServer {
        /// The text.
        url: String,
        /// The part that names no server.
        server: String,
    },
    /// The path after the servers is not of the form `/a/b`.
    #[error("the path {root:?} in {url:?} is not of the form /a/b")]
    BadRoot {
        /// The text.
        url: String,
        /// The path.
        root: String,
    },
    /// etcd is to be reached over TLS, which this program cannot.
    #[error("{url:?} asks for TLS to etcd, which is not supported: use http://")]
    Tls {
        /// The text.
        url: String,
    },
}

impl StoreUrl {
    /// Whether several processes can share the store. The others serve one process only.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Zookeeper(_) | Self::Etcd { .. })
    }
}

impl FromStr for StoreUrl {
    type Err = UrlError;

    fn from_str(url: &str) -> Result<Self, UrlError> {
        let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
        match scheme {
            "memory" => Ok(Self::Memory),
            "embedded" => Ok(Self::Embedded(Some(rest).filter(|file| !file.is_empty()).map(PathBuf::from))),
            "zk" => zookeeper(url, rest),
            "etcd" => etcd(url, rest),
            _ if zookeeper(url, url).is_ok() => zookeeper(url, url),
            _ => Err(UrlError::UnknownScheme { url: url.to_owned() }),
        }
    }
}

fn zookeeper(url: &str, rest: &str) -> Result<StoreUrl, UrlError> {
    let (servers, root) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    check_servers(url, servers.split(','))?;
    let root = check_root(url, root)?;
    Ok(StoreUrl::Zookeeper(if root == "/" { servers.to_owned() } else { format!("{servers}{root}") }))
}

fn etcd(url: &str, rest: &str) -> Result<StoreUrl, UrlError> {
    if rest.contains("https://") {
        return Err(UrlError::Tls { url: url.to_owned() });
    }
    let last = rest.rfind(',').map_or(0, |comma| comma + 1);
    let host = rest[last..].find("://").map_or(last, |scheme| last + scheme + "://".len());
    let (addresses, root) = rest.split_at(rest[host..].find('/').map_or(rest.len(), |slash| host + slash));
    let servers = addresses.split(',').map(|address| address.strip_prefix("http://").unwrap_or(address));
    check_servers(url, servers)?;
    let root = check_root(url, root)?;
    Ok(StoreUrl::Etcd { addresses: addresses.to_owned(), root: root.to_owned() })
}

fn check_servers<'a>(url: &str, servers: impl Iterator<Item = &'a str>) -> Result<(), UrlError> {
    for server in servers {
        let is_server = server.rsplit_once(':').is_some_and(|(host, port)| {
            let is_host = |c: char| c.is_alphanumeric() || "-._[]:%".contains(c);
            !host.is_empty() && host.chars().all(is_host) && port.parse::<u16>().is_ok_and(|port| port > 0)
        });
        if !is_server {
            return Err(UrlError::BadServer { url: url.to_owned(), server: server.to_owned() });
        }
    }
    Ok(())
}

/// The root without a slash at its end.
fn check_root<'a>(url: &str, root: &'a str) -> Result<&'a str, UrlError> {
    let trimmed = root.strip_suffix('/').unwrap_or(root);
    let trimmed = if trimmed.is_empty() { "/" } else { trimmed };
    match path::validate(trimmed) {
        Ok(()) => Ok(trimmed),
        Err(_) => Err(UrlError::BadRoot { url: url.to_owned(), root: root.to_owned() }),
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::Embedded(None) => f.write_str("embedded:"),
            Self::Embedded(Some(file)) => write!(f, "embedded:{}", file.display()),
            Self::Zookeeper(address) => write!(f, "zk:{address}"),
            Self::Etcd { addresses, root } if root == "/" => write!(f, "etcd:{addresses}"),
            Self::Etcd { addresses, root } => write!(f, "etcd:{addresses}{root}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_say_engine_and_place() {
        let etcd = |addresses: &str, root: &str| StoreUrl::Etcd { addresses: addresses.into(), root: root.into() };
        for (url, store, written) in [
            ("memory:", StoreUrl::Memory, "memory:"),
            ("memory:local", StoreUrl::Memory, "memory:"),
            ("embedded:", StoreUrl::Embedded(None), "embedded:"),
            ("embedded:/data/metadata", StoreUrl::Embedded(Some("/data/metadata".into())), "embedded:/data/metadata"),
            ("zk:a:2181", StoreUrl::Zookeeper("a:2181".into()), "zk:a:2181"),
            (
                "zk:a:2181,b:2182/pulsar/one/",
                StoreUrl::Zookeeper("a:2181,b:2182/pulsar/one".into()),
                "zk:a:2181,b:2182/pulsar/one",
            ),
            (
                "my-host.example:2181,[::1]:2181",
                StoreUrl::Zookeeper("my-host.example:2181,[::1]:2181".into()),
                "zk:my-host.example:2181,[::1]:2181",
            ),
            ("etcd:http://a:2379", etcd("http://a:2379", "/"), "etcd:http://a:2379"),
            ("etcd:a:2379,http://b:2379/x/y", etcd("a:2379,http://b:2379", "/x/y"), "etcd:a:2379,http://b:2379/x/y"),
        ] {
            assert_eq!(url.parse(), Ok(store.clone()), "{url}");
            assert_eq!(store.to_string(), written);
            assert_eq!(written.parse(), Ok(store.clone()));
            assert_eq!(store.is_shared(), url.contains(":2"), "{url}");
        }
    }

    #[test]
    fn what_is_no_store_is_refused_with_what_is_wrong() {
        let url = |text: &str| text.to_owned();
        for text in ["", "rocksdb:/data", "oxia://host:6648/default", "http", "host:port"] {
            assert_eq!(text.parse::<StoreUrl>(), Err(UrlError::UnknownScheme { url: url(text) }), "{text}");
        }
        for (text, server) in [
            ("zk:", ""),
            ("zk:a", "a"),
            ("zk:a:0", "a:0"),
            ("etcd:http://a:2379,,", ""),
            ("etcd:ftp://a:1", "ftp://a:1"),
        ] {
            assert_eq!(
                text.parse::<StoreUrl>(),
                Err(UrlError::BadServer { url: url(text), server: url(server) }),
                "{text}"
            );
        }
        let bad_root = UrlError::BadRoot { url: url("zk:a:1//b"), root: url("//b") };
        assert_eq!("zk:a:1//b".parse::<StoreUrl>(), Err(bad_root));
        assert_eq!("etcd:https://a:1".parse::<StoreUrl>(), Err(UrlError::Tls { url: url("etcd:https://a:1") }));
    }
}

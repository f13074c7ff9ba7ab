//! Making a session.

use std::time::Duration;

use zookeeper_client::{Acls, Client, CreateMode, Error};

/// How a handle keeps its session.
#[derive(Debug, Clone)]
pub struct ZookeeperOptions {
    /// How long the servers wait for a silent client before its session is over. They may grant another time.
    pub session_timeout: Duration,
}

impl Default for ZookeeperOptions {
    fn default() -> Self {
        Self { session_timeout: Duration::from_secs(6) }
    }
}

/// Where the servers are and which part of their tree is used.
#[derive(Debug, Clone)]
pub(super) struct Servers {
    hosts: String,
    /// The path that stands for the root, if it is not the root.
    root: Option<String>,
    options: ZookeeperOptions,
}

impl Servers {
    /// From `host:port,host:port/root`.
    pub(super) fn new(address: &str, options: ZookeeperOptions) -> Self {
        let (hosts, root) = match address.find('/') {
            Some(slash) => {
                (&address[..slash], Some(address[slash..].trim_end_matches('/')).filter(|root| !root.is_empty()))
            }
            None => (address, None),
        };
        Self { hosts: hosts.to_owned(), root: root.map(str::to_owned), options }
    }

    /// The time after which a silent client's session is over, as asked for.
    pub(super) fn patience(&self) -> Duration {
        self.options.session_timeout
    }

    /// Whether `/` is the servers' own root, with what they keep there.
    pub(super) fn is_whole(&self) -> bool {
        self.root.is_none()
    }

    /// A client with a new session.
    pub(super) async fn connect(&self) -> Result<Client, Error> {
        let client =
            Client::connector().with_session_timeout(self.options.session_timeout).connect(&self.hosts).await?;
        let Some(root) = &self.root else { return Ok(client) };
        match client.mkdir(root, &CreateMode::Persistent.with_acls(Acls::anyone_all())).await {
            Ok(()) | Err(Error::NodeExists) => {}
            Err(error) => return Err(error),
        }
        client.chroot(root.as_str()).map_err(|_| Error::BadArguments(&"the root path is not valid"))
    }
}

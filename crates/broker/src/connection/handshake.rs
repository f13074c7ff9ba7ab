//! How a connection begins, and how it is kept alive.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use plerion_wire::{Command, encode, proto, version};

use super::Connection;
use super::reader::Ended;
use crate::authorizer::Role;
use crate::shard::Shard;

/// How long a client may take to introduce itself.
const INTRODUCTION: Duration = Duration::from_secs(30);

/// What is agreed with a client.
#[derive(Default)]
pub(crate) struct Session {
    ready: bool,
    /// `client_version` of CONNECT.
    pub(crate) client_version: Arc<str>,
    /// The protocol version both sides speak.
    pub(crate) protocol_version: i32,
    /// Who the client is.
    pub(crate) role: Role,
}

impl Session {
    /// Whether the handshake is done.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready
    }

    /// Whether the client sees what comes for a consumer only some time after the answer to SUBSCRIBE: the one in Go
    /// registers a consumer after it has handled that answer, and drops what comes before.
    pub(crate) fn registers_late(&self) -> bool {
        self.client_version.starts_with("Pulsar-Go")
    }

    /// Whether the client takes REACHED_END_OF_TOPIC. Clients in C++ and Go close the connection on it.
    pub(crate) fn takes_end_of_topic(&self) -> bool {
        version::supports_reached_end_of_topic(self.protocol_version)
            && !["Pulsar-CPP", "Pulsar-Go", "Pulsar Go"].iter().any(|name| self.client_version.starts_with(name))
    }
}

/// Handles a command that arrived before the handshake was done: only CONNECT may.
pub(super) fn before_ready(shard: &Rc<Shard>, connection: &Rc<Connection>, command: Command<'_>) -> Result<(), Ended> {
    let Command::Other(command) = command else {
        return Err(Ended::Protocol("the first command must be CONNECT".into()));
    };
    let Some(connect) = command.connect else {
        return Err(Ended::Protocol("the first command must be CONNECT".into()));
    };
    let mut session = connection.session.borrow_mut();
    session.ready = true;
    session.client_version = connect.client_version.as_str().into();
    session.protocol_version = version::negotiate(connect.protocol_version.unwrap_or(0));
    let settings = shard.settings();
    let connected = proto::CommandConnected {
        server_version: concat!("Plerion ", env!("CARGO_PKG_VERSION")).into(),
        protocol_version: Some(session.protocol_version),
        max_message_size: i32::try_from(settings.network.max_message_size).ok(),
        feature_flags: Some(proto::FeatureFlags {
            supports_topic_watchers: Some(settings.topics.match_patterns),
            supports_get_partitioned_metadata_without_auto_creation: Some(true),
            ..Default::default()
        }),
    };
    drop(session);
    connection.send(&connected.into());
    Ok(())
}

/// Pings a silent client and resolves when it stays silent, or when it never introduced itself.
pub(super) async fn keep_alive(shard: &Rc<Shard>, connection: &Rc<Connection>) -> Ended {
    let interval = shard.keep_alive();
    tokio::time::sleep(interval.min(INTRODUCTION)).await;
    if !connection.session().is_ready() {
        shard.counters().silent_client();
        return Ended::Silent;
    }
    loop {
        let silence = shard.clock().monotonic().saturating_sub(connection.heard.get());
        if silence < interval {
            tokio::time::sleep(interval - silence).await;
            continue;
        }
        if !version::supports_keep_alive(connection.session().protocol_version) {
            tokio::time::sleep(interval).await;
            continue;
        }
        if !is_alive(connection, interval).await {
            shard.counters().silent_client();
            return Ended::Silent;
        }
    }
}

/// Pings the client; whether it answers within `patience`.
pub(crate) async fn is_alive(connection: &Connection, patience: Duration) -> bool {
    let pong = connection.ponged.notified();
    connection.write(|buf| buf.extend_from_slice(&encode::PING), Bytes::new());
    tokio::select! {
        answered = tokio::time::timeout(patience, pong) => answered.is_ok(),
        () = connection.until_closed() => false,
    }
}

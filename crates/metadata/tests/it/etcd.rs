//! What the engine on etcd promises beyond the contract.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use plerion_metadata::{Election, EtcdOptions, EtcdStore, Expect, NotificationKind, SharedMetadataStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::cluster::proxy::Network;
use crate::cluster::server::Server;
use crate::cluster::{Cluster, put, soon};
use crate::failures::{Follower, Scene, nothing_is_lost_while};

/// Makes etcd forget what happened before `revision`.
async fn compact(port: u16, revision: u64) {
    let body = format!("{{\"revision\":{revision}}}");
    let request = format!(
        "POST /v3/kv/compaction HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut connection = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
#[ignore = "needs etcd"]
async fn a_watch_that_missed_what_was_compacted_says_so() {
    let scene = Scene::new(Server::etcd(), Cluster::etcd_at, Cluster::in_space_of).await;
    let (writer, reader) = (scene.cluster.store().await, scene.behind.store().await);
    put(&writer, "/w/deleted", "x").await;
    let mut follower = Follower::new(&reader, "/w").await;
    let mut told = reader.watch("/w").await.unwrap();
    scene.proxy.set(Network::Cut);
    writer.delete("/w/deleted", Expect::Any).await.unwrap();
    for _ in 0..10 {
        put(&writer, "/w/changed", "x").await;
    }
    let last = put(&writer, "/w/made", "x").await.stat.modified;
    compact(scene.server.port, last).await;
    scene.proxy.set(Network::Open);
    follower.until(|rows| rows.contains_key("/w/made") && !rows.contains_key("/w/deleted")).await;
    let first = soon(told.next()).await.unwrap();
    assert_eq!((first.path.as_str(), first.kind), ("/w", NotificationKind::Invalidated));
    // And goes on from there.
    let written = put(&writer, "/w/later", "x").await;
    let next = soon(told.next()).await.unwrap();
    assert_eq!(
        (next.path.as_str(), next.kind, next.revision),
        ("/w/later", NotificationKind::Created, written.stat.modified)
    );
}

#[tokio::test]
#[ignore = "needs etcd"]
async fn three_servers_go_on_without_any_one_of_them() {
    let mut servers = Server::etcd_cluster();
    for server in &servers {
        server.ready().await;
    }
    let addresses: Vec<_> = servers.iter().map(|server| format!("http://127.0.0.1:{}", server.port)).collect();
    let cluster = Cluster::Etcd(addresses.join(","), "/".to_owned());
    let options = EtcdOptions { session_timeout: Duration::from_secs(20) };
    let leader: SharedMetadataStore = Arc::new(EtcdStore::connect(&addresses.join(","), "/", &options).await.unwrap());
    let election = Election::new(Arc::clone(&leader), "/leader", Bytes::from_static(b"one"));
    let leadership = soon(election.campaign()).await.unwrap();
    let servers = &mut servers;
    nothing_is_lost_while(&cluster, async move || {
        // One of them leads.
        for server in servers.iter_mut() {
            server.restart();
            server.ready().await;
            // It is a member again, and the next can be missed.
            let alone = Cluster::Etcd(format!("127.0.0.1:{}", server.port), "/alone".to_owned());
            put(&alone.store().await, "/back", "x").await;
        }
    })
    .await;
    // No session was lost on the way.
    let row = soon(leader.get("/leader")).await.unwrap().unwrap();
    assert_eq!((row.stat.created, row.stat.created_by_self), (leadership.epoch(), true));
    soon(leadership.resign()).await.unwrap();
}

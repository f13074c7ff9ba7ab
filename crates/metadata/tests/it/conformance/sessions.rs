//! Ephemeral rows and the sessions they live with.

use bytes::Bytes;
use futures::StreamExt;
use plerion_metadata::{Expect, NotificationKind, PutOptions, SessionEvent, SessionEvents};

use crate::cluster::{Cluster, put, soon, until_gone};

pub(crate) async fn ephemeral_rows_end_with_their_handle(cluster: &Cluster) {
    let (owner, other) = (cluster.open().await, cluster.store().await);
    for (path, options) in [("/b/1", PutOptions::EPHEMERAL), ("/b/2", PutOptions::EPHEMERAL.eventual())] {
        owner.store.put(path, Bytes::new(), Expect::Absent, options).await.unwrap();
    }
    put(&owner.store, "/b/stays", "x").await;
    let mut watch = other.watch("/b").await.unwrap();
    assert_eq!(other.children("/b").await.unwrap(), ["1", "2", "stays"]);
    drop(owner);
    if cluster.is_local() {
        assert_eq!(other.children("/b").await.unwrap(), ["stays"]);
    }
    let mut gone = Vec::new();
    while gone.len() < 2 {
        let event = soon(watch.next()).await.unwrap();
        match event.kind {
            NotificationKind::Deleted => gone.push(event.path),
            kind => assert_eq!((event.path.as_str(), kind), ("/b", NotificationKind::ChildrenChanged)),
        }
    }
    gone.sort();
    assert_eq!(gone, ["/b/1", "/b/2"]);
    assert_eq!(other.children("/b").await.unwrap(), ["stays"]);
}

pub(crate) async fn ephemeral_rows_end_with_an_expired_session(cluster: &Cluster) {
    let (owner, other) = (cluster.open().await, cluster.store().await);
    let mut events = owner.store.session_events();
    owner.store.put("/e", Bytes::new(), Expect::Absent, PutOptions::EPHEMERAL).await.unwrap();
    other.put("/e", Bytes::from_static(b"2"), Expect::Version(0), PutOptions::PERSISTENT).await.unwrap();
    owner.expire().await;
    assert_eq!(fate(&mut events).await, Some(SessionEvent::SessionLost));
    assert_eq!(fate(&mut events).await, Some(SessionEvent::SessionReestablished));
    until_gone(&other, "/e").await;

    // The handle goes on with its new session.
    owner.store.put("/e", Bytes::new(), Expect::Absent, PutOptions::EPHEMERAL).await.unwrap();
    assert!(owner.store.get("/e").await.unwrap().unwrap().stat.created_by_self);
    drop(owner);
    assert_eq!(fate(&mut events).await, None);
    until_gone(&other, "/e").await;
}

/// The next event that decides over the session.
async fn fate(events: &mut SessionEvents) -> Option<SessionEvent> {
    loop {
        match soon(events.next()).await {
            Some(SessionEvent::ConnectionLost | SessionEvent::Reconnected) => {}
            event => return event,
        }
    }
}

pub(crate) async fn a_row_keeps_its_kind(cluster: &Cluster) {
    let (one, two) = (cluster.open().await, cluster.store().await);
    put(&one.store, "/stays", "x").await;
    let stat = one.store.put("/stays", Bytes::new(), Expect::Any, PutOptions::EPHEMERAL).await.unwrap().stat;
    assert!(!stat.ephemeral);
    one.store.put("/goes", Bytes::new(), Expect::Any, PutOptions::EPHEMERAL).await.unwrap();
    two.delete("/goes", Expect::Any).await.unwrap();
    // Made again by somebody else, it is another row.
    put(&two, "/goes", "x").await;
    drop(one);
    assert_eq!(two.children("/").await.unwrap(), ["goes", "stays"]);
}

pub(crate) async fn rows_know_their_session(cluster: &Cluster) {
    let (owner, other) = (cluster.open().await, cluster.store().await);
    let written = owner.store.put("/mine", Bytes::new(), Expect::Any, PutOptions::EPHEMERAL).await.unwrap();
    assert!(written.stat.ephemeral && written.stat.created_by_self);
    let seen = other.get("/mine").await.unwrap().unwrap().stat;
    assert!(seen.ephemeral && !seen.created_by_self);
    assert!(!put(&owner.store, "/plain", "x").await.stat.created_by_self);
}

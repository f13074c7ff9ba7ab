//! What watches tell.

use bytes::Bytes;
use futures::StreamExt;
use futures::future::join_all;
use plerion_metadata::NotificationKind::{ChildrenChanged, Created, Deleted, Invalidated, Modified};
use plerion_metadata::{Expect, Notification, NotificationKind, PutOptions, SharedMetadataStore, Watch, path};

use crate::cluster::{Cluster, put, soon};

/// The name of the row that ends what a watch is asked for.
const LAST: &str = "~last";

/// Everything a watch of `prefix` has to tell up to now.
async fn told(watch: &mut Watch, store: &SharedMetadataStore, prefix: &str) -> Vec<Notification> {
    let last = path::child(prefix, LAST);
    put(store, &last, "x").await;
    let mut events = Vec::new();
    loop {
        let event = soon(watch.next()).await.unwrap();
        if event.path == last {
            break;
        }
        events.push(event);
    }
    let parent = soon(watch.next()).await.unwrap();
    assert_eq!((parent.path.as_str(), parent.kind), (prefix, ChildrenChanged));
    store.delete(&last, Expect::Any).await.unwrap();
    for _ in 0..2 {
        soon(watch.next()).await.unwrap();
    }
    events
}

fn kinds(events: &[Notification]) -> Vec<(&str, NotificationKind)> {
    events.iter().map(|event| (event.path.as_str(), event.kind)).collect()
}

pub(crate) async fn a_watch_tells_of_every_change_in_order(cluster: &Cluster) {
    let (writer, watcher) = (cluster.store().await, cluster.store().await);
    put(&writer, "/w/before", "x").await;
    let mut watch = watcher.watch("/w").await.unwrap();
    let created = put(&writer, "/w/a", "1").await;
    let eventual = PutOptions::PERSISTENT.eventual();
    writer.put("/w/a", Bytes::new(), Expect::Any, eventual).await.unwrap();
    put(&writer, "/w/a", "3").await;
    writer.delete("/w/a", Expect::Any).await.unwrap();
    let _ = writer.delete("/w/a", Expect::Any).await.unwrap_err();
    let events = told(&mut watch, &writer, "/w").await;
    let expected = [
        ("/w/a", Created),
        ("/w", ChildrenChanged),
        ("/w/a", Modified),
        ("/w/a", Modified),
        ("/w/a", Deleted),
        ("/w", ChildrenChanged),
    ];
    assert_eq!(kinds(&events), expected);
    // An engine that is not told the revision of a change says one at which it had happened.
    let first = events[0].revision;
    assert!(first == created.stat.modified || (!cluster.is_local() && first > created.stat.modified));
    assert!(events.windows(2).all(|pair| pair[0].revision <= pair[1].revision));
}

pub(crate) async fn a_watch_is_bounded_by_segments(cluster: &Cluster) {
    let store = cluster.store().await;
    let mut inner = store.watch("/w/a").await.unwrap();
    let mut root = store.watch("/").await.unwrap();
    for path in ["/w/a", "/w/ab", "/w/a/x/y", "/w"] {
        put(&store, path, "x").await;
    }
    let expected = [("/w/a", Created), ("/w/a/x/y", Created), ("/w/a/x", ChildrenChanged)];
    assert_eq!(kinds(&told(&mut inner, &store, "/w/a").await), expected);
    // What ended the other is eight events of its own, less its end.
    let all = told(&mut root, &store, "/").await;
    let all = all.iter().filter(|event| !event.path.ends_with(LAST)).count();
    assert_eq!(all, 8 + 2);
}

pub(crate) async fn a_seen_change_is_readable(cluster: &Cluster) {
    let (writer, reader) = (cluster.store().await, cluster.store().await);
    let mut watch = reader.watch("/s").await.unwrap();
    let write = async {
        for at in 0..50 {
            let options = if at % 3 == 0 { PutOptions::PERSISTENT.eventual() } else { PutOptions::PERSISTENT };
            writer.put("/s/x", Bytes::new(), Expect::Any, options).await.unwrap();
        }
    };
    let read = async {
        let mut revision = 0;
        for _ in 0..51 {
            let event = soon(watch.next()).await.unwrap();
            let stat = reader.get("/s/x").await.unwrap().unwrap().stat;
            assert!(stat.modified >= event.revision && event.revision >= revision);
            revision = event.revision;
        }
    };
    tokio::join!(read, write);
}

pub(crate) async fn a_slow_watcher_is_told_to_read_again(cluster: &Cluster) {
    let store = cluster.store().await;
    let mut watch = store.watch("/f").await.unwrap();
    let eventual = PutOptions::PERSISTENT.eventual();
    for _ in 0..200 {
        join_all((0..100).map(async |_| store.put("/f/x", Bytes::new(), Expect::Any, eventual).await.unwrap())).await;
    }
    let events = told(&mut watch, &store, "/f").await;
    let is_told_to_read = (events[0].path.as_str(), events[0].kind) == ("/f", Invalidated);
    if cluster.is_local() {
        assert!(is_told_to_read);
        assert_eq!(kinds(&events[1..2]), [("/f/x", Modified)]);
    } else {
        // Who is told late may keep up with what is told.
        let told = events.iter().filter(|event| event.path == "/f/x").count();
        assert!(is_told_to_read || told == 20_000, "{told} of 20 000 changes");
    }
}

pub(crate) async fn concurrent_changes_are_all_told(cluster: &Cluster) {
    let stores = cluster.stores(8).await;
    let mut watch = stores[0].watch("/c").await.unwrap();
    join_all(stores.iter().enumerate().map(async |(at, store)| {
        for _ in 0..20 {
            put(store, &format!("/c/{at}"), "x").await;
        }
    }))
    .await;
    let events = told(&mut watch, &stores[0], "/c").await;
    for at in 0..8 {
        let path = format!("/c/{at}");
        let revisions: Vec<_> = events.iter().filter(|event| event.path == path).map(|event| event.revision).collect();
        assert_eq!(revisions.len(), 20);
        assert!(revisions.is_sorted());
    }
}

//! What watches tell.

use bytes::Bytes;
use futures::future::join_all;
use futures::{FutureExt, StreamExt};
use plerion_metadata::NotificationKind::{ChildrenChanged, Created, Deleted, Invalidated, Modified};
use plerion_metadata::{Expect, Notification, NotificationKind, PutOptions, Watch};

use crate::cluster::{Cluster, put};

/// Everything a watch has to tell up to now.
fn told(watch: &mut Watch) -> Vec<Notification> {
    std::iter::from_fn(|| watch.next().now_or_never().flatten()).collect()
}

fn kinds(events: &[Notification]) -> Vec<(&str, NotificationKind)> {
    events.iter().map(|event| (event.path.as_str(), event.kind)).collect()
}

pub(crate) async fn a_watch_tells_of_every_change_in_order(cluster: &Cluster) {
    let (writer, watcher) = (cluster.store(), cluster.store());
    put(&writer, "/w/before", "x").await;
    let mut watch = watcher.watch("/w").await.unwrap();
    let created = put(&writer, "/w/a", "1").await;
    let eventual = PutOptions::PERSISTENT.eventual();
    writer.put("/w/a", Bytes::new(), Expect::Any, eventual).await.unwrap();
    put(&writer, "/w/a", "3").await;
    writer.delete("/w/a", Expect::Any).await.unwrap();
    let _ = writer.delete("/w/a", Expect::Any).await.unwrap_err();
    let events = told(&mut watch);
    let expected = [
        ("/w/a", Created),
        ("/w", ChildrenChanged),
        ("/w/a", Modified),
        ("/w/a", Modified),
        ("/w/a", Deleted),
        ("/w", ChildrenChanged),
    ];
    assert_eq!(kinds(&events), expected);
    assert_eq!(events[0].revision, created.stat.modified);
    assert!(events.windows(2).all(|pair| pair[0].revision <= pair[1].revision));
}

pub(crate) async fn a_watch_is_bounded_by_segments(cluster: &Cluster) {
    let store = cluster.store();
    let mut inner = store.watch("/w/a").await.unwrap();
    let mut root = store.watch("/").await.unwrap();
    for path in ["/w/a", "/w/ab", "/w/a/x/y", "/w"] {
        put(&store, path, "x").await;
    }
    let expected = [("/w/a", Created), ("/w/a/x/y", Created), ("/w/a/x", ChildrenChanged)];
    assert_eq!(kinds(&told(&mut inner)), expected);
    assert_eq!(told(&mut root).len(), 8);
}

pub(crate) async fn a_seen_change_is_readable(cluster: &Cluster) {
    let (writer, reader) = (cluster.store(), cluster.store());
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
            let event = watch.next().await.unwrap();
            let stat = reader.get("/s/x").await.unwrap().unwrap().stat;
            assert!(stat.modified >= event.revision && event.revision >= revision);
            revision = event.revision;
        }
    };
    tokio::join!(read, write);
}

pub(crate) async fn a_slow_watcher_is_told_to_read_again(cluster: &Cluster) {
    let store = cluster.store();
    let mut watch = store.watch("/f").await.unwrap();
    let eventual = PutOptions::PERSISTENT.eventual();
    for _ in 0..20_000 {
        store.put("/f/x", Bytes::new(), Expect::Any, eventual).await.unwrap();
    }
    let events = told(&mut watch);
    assert_eq!((events[0].path.as_str(), events[0].kind), ("/f", Invalidated));
    assert_eq!(kinds(&events[1..2]), [("/f/x", Modified)]);
}

pub(crate) async fn concurrent_changes_are_all_told(cluster: &Cluster) {
    let stores: Vec<_> = (0..8).map(|_| cluster.store()).collect();
    let mut watch = stores[0].watch("/c").await.unwrap();
    join_all(stores.iter().enumerate().map(async |(at, store)| {
        for _ in 0..20 {
            put(store, &format!("/c/{at}"), "x").await;
        }
    }))
    .await;
    let events = told(&mut watch);
    for at in 0..8 {
        let path = format!("/c/{at}");
        let revisions: Vec<_> = events.iter().filter(|event| event.path == path).map(|event| event.revision).collect();
        assert_eq!(revisions.len(), 20);
        assert!(revisions.is_sorted());
    }
}

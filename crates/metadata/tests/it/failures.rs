//! Networks and servers that fail, and what a store on servers makes of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::join_all;
use plerion_metadata::{
    Election, Error, Expect, NotificationKind, PutOptions, SessionEvent, SharedMetadataStore, Watch, put_settled,
};

use crate::cluster::proxy::{Network, Proxy};
use crate::cluster::server::Server;
use crate::cluster::{Cluster, SESSION, put, soon, until_gone, value};

/// A server, its store, and the same store behind a network.
pub(crate) struct Scene {
    pub(crate) server: Server,
    pub(crate) cluster: Cluster,
    pub(crate) behind: Cluster,
    pub(crate) proxy: Proxy,
}

impl Scene {
    pub(crate) async fn new(
        server: Server,
        at: impl Fn(u16) -> Cluster,
        in_space_of: impl Fn(&Cluster, u16) -> Cluster,
    ) -> Self {
        server.ready().await;
        let proxy = Proxy::to(server.port).await;
        let cluster = at(server.port);
        let behind = in_space_of(&cluster, proxy.port);
        // Also waits until the server serves.
        put(&cluster.store().await, "/begun", "x").await;
        Self { server, cluster, behind, proxy }
    }
}

/// Who knows the values of rows by following a watch: reads what it tells of, and everything only if it may have
/// missed something.
pub(crate) struct Follower {
    watch: Watch,
    store: SharedMetadataStore,
    prefix: &'static str,
    rows: BTreeMap<String, Bytes>,
}

impl Follower {
    pub(crate) async fn new(store: &SharedMetadataStore, prefix: &'static str) -> Self {
        let watch = store.watch(prefix).await.unwrap();
        let mut follower = Self { watch, store: Arc::clone(store), prefix, rows: BTreeMap::new() };
        follower.read_all().await;
        follower
    }

    pub(crate) async fn until(&mut self, reached: impl Fn(&BTreeMap<String, Bytes>) -> bool) {
        soon(async {
            while !reached(&self.rows) {
                let event = self.watch.next().await.unwrap();
                match event.kind {
                    NotificationKind::Invalidated => self.read_all().await,
                    NotificationKind::ChildrenChanged => {}
                    NotificationKind::Deleted => drop(self.rows.remove(&event.path)),
                    NotificationKind::Created | NotificationKind::Modified => {
                        // A deleted row is told of later.
                        if let Some(row) = self.store.get(&event.path).await.unwrap() {
                            self.rows.insert(event.path, row.value);
                        }
                    }
                }
            }
        })
        .await;
    }

    async fn read_all(&mut self) {
        let rows = self.store.scan(self.prefix, None, 10_000).await.unwrap();
        self.rows = rows.into_iter().map(|(path, row)| (path, row.value)).collect();
        if let Some(row) = self.store.get(self.prefix).await.unwrap() {
            self.rows.insert(self.prefix.to_owned(), row.value);
        }
    }
}

pub(crate) async fn a_watch_misses_nothing_across_a_cut(scene: Scene) {
    let (writer, reader) = (scene.cluster.store().await, scene.behind.store().await);
    for path in ["/w/changed", "/w/deleted"] {
        put(&writer, path, "before").await;
    }
    let mut follower = Follower::new(&reader, "/w").await;
    for round in 0..3 {
        scene.proxy.set(Network::Cut);
        put(&writer, "/w/changed", "after").await;
        put(&writer, &format!("/w/made/{round}"), "after").await;
        writer.delete("/w/deleted", Expect::Any).await.unwrap();
        scene.proxy.set(Network::Open);
        follower
            .until(|rows| {
                let changed = rows.get("/w/changed").is_some_and(|value| value == "after");
                changed && rows.contains_key(&format!("/w/made/{round}")) && !rows.contains_key("/w/deleted")
            })
            .await;
        // The watch goes on after it.
        for path in ["/w/changed", "/w/deleted"] {
            put(&writer, path, "before").await;
        }
        let is_back = |rows: &BTreeMap<String, Bytes>| {
            ["/w/changed", "/w/deleted"].iter().all(|path| rows.get(*path).is_some_and(|value| value == "before"))
        };
        follower.until(is_back).await;
    }
}

pub(crate) async fn a_short_cut_keeps_the_session(scene: Scene) {
    let (owner, other) = (scene.behind.store().await, scene.cluster.store().await);
    let mut events = owner.session_events();
    owner.put("/mine", Bytes::new(), Expect::Absent, PutOptions::EPHEMERAL).await.unwrap();
    scene.proxy.set(Network::Cut);
    assert_eq!(soon(events.next()).await, Some(SessionEvent::ConnectionLost));
    scene.proxy.set(Network::Open);
    assert_eq!(soon(events.next()).await, Some(SessionEvent::Reconnected));
    assert!(owner.get("/mine").await.unwrap().unwrap().stat.created_by_self);
    assert!(other.exists("/mine").await.unwrap());
}

pub(crate) async fn a_silent_session_is_over_here_before_it_is_there(scene: Scene) {
    let (one, two) = (scene.behind.store().await, scene.cluster.store().await);
    let mut events = one.session_events();
    let candidate =
        |store: &SharedMetadataStore, name| Election::new(Arc::clone(store), "/leader", Bytes::from_static(name));
    let mut stale = candidate(&one, b"one").campaign().await.unwrap();
    one.put("/mine", Bytes::new(), Expect::Absent, PutOptions::EPHEMERAL).await.unwrap();
    scene.proxy.set(Network::Silent);
    let election = candidate(&two, b"two");
    let told = async {
        stale.lost().await;
        stale
    };
    let (stale, next) = soon(async { tokio::join!(biased; told, election.campaign()) }).await;
    let next = next.unwrap();
    assert!(next.epoch() > stale.epoch());
    assert_eq!(soon(events.next()).await, Some(SessionEvent::ConnectionLost));
    assert_eq!(soon(events.next()).await, Some(SessionEvent::SessionLost));

    // Whatever the old session still had on its way is not done.
    scene.proxy.set(Network::Open);
    assert_eq!(soon(events.next()).await, Some(SessionEvent::SessionReestablished));
    until_gone(&two, "/mine").await;
    let written = one.put("/mine", Bytes::new(), Expect::Absent, PutOptions::EPHEMERAL).await.unwrap();
    assert!(written.stat.created_by_self);
    assert_eq!(plerion_metadata::current_leader(&*one, "/leader").await.unwrap().unwrap().epoch, next.epoch());
}

pub(crate) async fn a_lost_answer_is_an_unknown_outcome(scene: Scene) {
    let (writer, other) = (scene.behind.store().await, scene.cluster.store().await);
    for (round, settled) in [false, true].into_iter().enumerate() {
        let path = format!("/u/{round}");
        // At such a version no engine has to read before it writes.
        for _ in 0..3 {
            put(&other, &path, "before").await;
        }
        scene.proxy.set(Network::Mute);
        let write = async {
            let (value, expect) = (Bytes::from_static(b"after"), Expect::Version(2));
            if settled {
                put_settled(&*writer, &path, value, expect, PutOptions::PERSISTENT).await
            } else {
                writer.put(&path, value, expect, PutOptions::PERSISTENT).await
            }
        };
        let mut seen = other.watch(&path).await.unwrap();
        let heal = async {
            while value(&other, &path).await.as_deref() != Some("after") {
                soon(seen.next()).await.unwrap();
            }
            scene.proxy.set(Network::Open);
        };
        let (outcome, ()) = soon(async { tokio::join!(write, heal) }).await;
        if settled {
            assert_eq!(outcome.unwrap().stat.version, 3);
        } else {
            assert!(matches!(outcome, Err(Error::UnknownOutcome { .. })), "{outcome:?}");
        }
        assert_eq!(soon(writer.get(&path)).await.unwrap().unwrap().stat.version, 3);
    }
}

/// Counts up by compare-and-set whatever happens to the server; returns how many attempts surely counted and how many
/// may have.
async fn count(store: &SharedMetadataStore, rounds: usize, sure: impl Fn()) -> (u64, u64) {
    let (mut counted, mut unclear) = (0, 0);
    for _ in 0..rounds {
        let Ok(row) = store.get("/count").await else { continue };
        let row = row.unwrap();
        let next: u64 = std::str::from_utf8(&row.value).unwrap().parse::<u64>().unwrap() + 1;
        let expect = Expect::Version(row.stat.version);
        match store.put("/count", next.to_string().into(), expect, PutOptions::PERSISTENT).await {
            Ok(_) => {
                counted += 1;
                sure();
            }
            Err(Error::UnknownOutcome { .. }) => unclear += 1,
            Err(error) => assert!(error.is_conflict() || error.is_retryable(), "{error}"),
        }
    }
    (counted, unclear)
}

/// Counts with several sessions while `disturb` does what it does after every so many.
pub(crate) async fn nothing_is_lost_while(cluster: &Cluster, disturb: impl AsyncFnOnce()) {
    let stores = cluster.stores(4).await;
    put(&stores[0], "/count", "0").await;
    let mut follower = Follower::new(&stores[0], "/count").await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let counting = join_all(stores.iter().map(|store| count(store, 150, || tell.send(()).unwrap())));
    let disturbing = async {
        for _ in 0..20 {
            told.recv().await.unwrap();
        }
        disturb().await;
    };
    let (counts, ()) = tokio::time::timeout(SESSION * 20, async { tokio::join!(counting, disturbing) }).await.unwrap();
    let (counted, unclear) = counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    let total: u64 = soon(value(&stores[0], "/count")).await.unwrap().parse().unwrap();
    assert!(
        counted > 100 && (counted..=counted + unclear).contains(&total),
        "{total} of {counted} and {unclear} unclear"
    );
    println!("{counted} counted, {unclear} unclear, {total} in all");
    follower.until(|rows| rows.get("/count").is_some_and(|value| *value == total.to_string())).await;
}

pub(crate) async fn a_killed_server_keeps_what_it_acknowledged(mut scene: Scene) {
    let server = &mut scene.server;
    nothing_is_lost_while(&scene.cluster, async move || {
        for _ in 0..2 {
            server.restart();
            server.ready().await;
        }
    })
    .await;
}

pub(crate) async fn a_stopped_server_goes_on(scene: Scene) {
    let server = &scene.server;
    nothing_is_lost_while(&scene.cluster, async move || {
        server.stop();
        // Long enough for handles to give their connections up.
        tokio::time::sleep(SESSION * 3 / 5).await;
        server.resume();
    })
    .await;
}

/// Runs each case on each engine that has servers of its own.
macro_rules! failures {
    ($engine:ident $reason:literal $server:expr, $at:expr, $in_space_of:expr) => {
        mod $engine {
            failures!(@ $reason, super::Scene::new($server, $at, $in_space_of);
                a_watch_misses_nothing_across_a_cut, a_short_cut_keeps_the_session,
                a_silent_session_is_over_here_before_it_is_there, a_lost_answer_is_an_unknown_outcome,
                a_killed_server_keeps_what_it_acknowledged, a_stopped_server_goes_on,
            );
        }
    };
    (@ $reason:literal, $scene:expr; $($case:ident),* $(,)?) => {
        $(
            #[tokio::test]
            #[ignore = $reason]
            async fn $case() {
                super::$case($scene.await).await;
            }
        )*
    };
}

failures! {
    zookeeper "needs ZooKeeper"
    crate::cluster::server::Server::zookeeper(),
    crate::cluster::Cluster::zookeeper_at,
    crate::cluster::Cluster::in_space_of
}

failures! {
    etcd "needs etcd"
    crate::cluster::server::Server::etcd(),
    crate::cluster::Cluster::etcd_at,
    crate::cluster::Cluster::in_space_of
}

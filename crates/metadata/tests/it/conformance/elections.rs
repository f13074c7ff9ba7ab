//! Leaders.

use std::sync::Arc;

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use plerion_metadata::{Election, Leader, current_leader, observe_leader};

use crate::cluster::{Cluster, Session, soon};

const PATH: &str = "/loadbalance/leader";

fn candidate(session: &Session, name: &'static str) -> Election {
    Election::new(Arc::clone(&session.store), PATH, Bytes::from_static(name.as_bytes()))
}

pub(crate) async fn the_first_candidate_leads(cluster: &Cluster) {
    let (one, two) = (cluster.open().await, cluster.open().await);
    assert_eq!(current_leader(&*one.store, PATH).await.unwrap(), None);
    let leadership = candidate(&one, "one").campaign().await.unwrap();
    assert!(candidate(&two, "two").try_lead().await.unwrap().is_none());
    let leader = Leader { value: Bytes::from_static(b"one"), epoch: leadership.epoch(), is_self: false };
    assert_eq!(current_leader(&*two.store, PATH).await.unwrap(), Some(leader.clone()));
    assert_eq!(current_leader(&*one.store, PATH).await.unwrap(), Some(Leader { is_self: true, ..leader }));
}

pub(crate) async fn leadership_passes_on(cluster: &Cluster) {
    let (one, two, three) = (cluster.open().await, cluster.open().await, cluster.open().await);
    let (second, third) = (candidate(&two, "two"), candidate(&three, "three"));
    let first = candidate(&one, "one").campaign().await.unwrap();
    let mut waiting = Box::pin(second.campaign());
    assert!((&mut waiting).now_or_never().is_none());
    let epoch = first.epoch();
    first.resign().await.unwrap();
    let next = soon(waiting).await.unwrap();
    assert!(next.epoch() > epoch);

    let mut waiting = Box::pin(third.campaign());
    assert!((&mut waiting).now_or_never().is_none());
    drop(second);
    drop(two);
    // Its store handle is the leadership's own now: the session ends with it.
    drop(next);
    soon(waiting).await.unwrap();
}

pub(crate) async fn a_lost_session_ends_leadership(cluster: &Cluster) {
    let (one, two) = (cluster.open().await, cluster.open().await);
    let mut leadership = candidate(&one, "one").campaign().await.unwrap();
    assert!(leadership.lost().now_or_never().is_none());
    one.expire().await;
    soon(leadership.lost()).await;
    let next = soon(candidate(&two, "two").campaign()).await.unwrap();
    // Resigning what is lost does not touch the next leader.
    leadership.resign().await.unwrap();
    assert_eq!(current_leader(&*two.store, PATH).await.unwrap().unwrap().epoch, next.epoch());
}

pub(crate) async fn observers_see_each_leader(cluster: &Cluster) {
    let (one, observer) = (cluster.open().await, cluster.store().await);
    let mut leaders = observe_leader(observer, PATH).await.unwrap();
    assert_eq!(soon(leaders.next()).await.unwrap().unwrap(), None);
    for name in ["a", "b"] {
        let leadership = candidate(&one, name).campaign().await.unwrap();
        let leader = soon(leaders.next()).await.unwrap().unwrap().unwrap();
        assert_eq!((&*leader.value, leader.epoch), (name.as_bytes(), leadership.epoch()));
        leadership.resign().await.unwrap();
        assert_eq!(soon(leaders.next()).await.unwrap().unwrap(), None);
    }
}

pub(crate) async fn a_dropped_campaign_is_taken_up(cluster: &Cluster) {
    let one = cluster.open().await;
    let election = candidate(&one, "one");
    drop(election.campaign().await.unwrap());
    let epoch = current_leader(&*one.store, PATH).await.unwrap().unwrap().epoch;
    assert_eq!(election.campaign().await.unwrap().epoch(), epoch);
}

/// apache/pulsar#24478: a broker whose session was lost went on as the owner it had been. Whoever leads is told before
/// the successor can be, and the successor's epoch tells their writes apart.
pub(crate) async fn bug_pulsar_24478_no_leader_acts_on_a_lost_session(cluster: &Cluster) {
    let (one, two) = (cluster.open().await, cluster.open().await);
    let mut stale = candidate(&one, "one").campaign().await.unwrap();
    let election = candidate(&two, "two");
    let mut waiting = Box::pin(election.campaign());
    assert!((&mut waiting).now_or_never().is_none());
    one.expire().await;
    let next = soon(waiting).await.unwrap();
    if cluster.is_local() {
        assert_eq!(stale.lost().now_or_never(), Some(()));
    }
    soon(stale.lost()).await;
    assert!(next.epoch() > stale.epoch());
    // The old row's epoch is no longer the current one, whatever the old leader remembers.
    let current = current_leader(&*one.store, PATH).await.unwrap().unwrap();
    assert_eq!((current.epoch, current.is_self), (next.epoch(), false));
}

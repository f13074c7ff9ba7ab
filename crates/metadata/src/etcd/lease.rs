//! The lease that stands for a session, and the one that follows when it is over.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};

use super::message::{
    LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseRevokeRequest,
    LeaseRevokeResponse,
};
use super::servers::{Failure, Servers};
use crate::row::NO_SESSION;
use crate::sessions::Session;
use crate::{Error, Result, SessionEvent, key};

const GRANT: &str = "/etcdserverpb.Lease/LeaseGrant";
const KEEP_ALIVE: &str = "/etcdserverpb.Lease/LeaseKeepAlive";
const REVOKE: &str = "/etcdserverpb.Lease/LeaseRevoke";
/// How long after a failed attempt the servers are tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// What everything that talks to the servers shares; the session ends with it.
pub(super) struct Link {
    pub(super) servers: Arc<Servers>,
    pub(super) session: Session,
    /// The key of the path that stands for the root.
    pub(super) root: String,
    /// The present session's lease; none between two.
    lease: watch::Sender<Option<i64>>,
    /// Makes a session look after its lease at once.
    doubt: Arc<Notify>,
}

/// A lease as it was granted.
struct Lease {
    id: i64,
    /// When its time begins at the latest.
    since: Instant,
    time: Duration,
}

impl Link {
    pub(super) async fn open(servers: Servers, root: &str) -> Result<Arc<Self>> {
        let servers = Arc::new(servers);
        let lease = grant(&servers).await.map_err(Failure::into_read_error)?;
        let link = Arc::new(Self {
            servers: Arc::clone(&servers),
            session: Session::new(lease.id.cast_unsigned()),
            root: key::encode(root),
            lease: watch::Sender::new(Some(lease.id)),
            doubt: Arc::default(),
        });
        tokio::spawn(supervise(Arc::downgrade(&link), servers, lease, Arc::clone(&link.doubt)));
        Ok(link)
    }

    /// The present session's lease; waits for as long as a session lasts if there is none.
    pub(super) async fn lease(&self) -> Result<i64> {
        let mut leases = self.lease.subscribe();
        let found = timeout(self.servers.patience, leases.wait_for(Option::is_some)).await;
        let lease = found.ok().and_then(Result::ok).and_then(|lease| *lease);
        lease.ok_or_else(|| Error::unavailable("there is no session with etcd"))
    }

    /// Ends when the link does.
    pub(super) fn end(&self) -> impl Future<Output = ()> + use<> {
        let mut leases = self.lease.subscribe();
        async move { while leases.changed().await.is_ok() {} }
    }

    /// Finds out at once whether the session is over.
    pub(super) fn doubt_session(&self) {
        self.doubt.notify_one();
    }

    pub(super) async fn end_session(&self) -> Result<()> {
        let id = self.lease().await?;
        let revoked = self.servers.write::<_, LeaseRevokeResponse>(REVOKE, LeaseRevokeRequest { id }).await;
        self.doubt_session();
        revoked.map(drop).map_err(Failure::into_read_error)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let Some(id) = *self.lease.borrow() else { return };
        let servers = Arc::clone(&self.servers);
        // Without a runtime the lease ends by its time.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let revoke = servers.write::<_, LeaseRevokeResponse>(REVOKE, LeaseRevokeRequest { id });
                if let Err(error) = revoke.await {
                    tracing::debug!(?error, "a session of etcd ends by its time");
                }
            });
        }
    }
}

async fn grant(servers: &Servers) -> Result<Lease, Failure> {
    let since = Instant::now();
    // Rounded up, so that it is never 0.
    let ttl = i64::try_from(servers.patience.as_millis().div_ceil(1_000)).unwrap_or(i64::MAX);
    let granted: LeaseGrantResponse = servers.read(GRANT, LeaseGrantRequest { ttl }).await?;
    Ok(Lease { id: granted.id, since, time: seconds(granted.ttl) })
}

fn seconds(ttl: i64) -> Duration {
    Duration::from_secs(u64::try_from(ttl).unwrap_or_default())
}

/// Keeps a session, and makes a new one whenever it is over, until the handle is gone.
async fn supervise(link: Weak<Link>, servers: Arc<Servers>, mut lease: Lease, doubt: Arc<Notify>) {
    loop {
        keep(&link, &servers, &lease, &doubt).await;
        {
            let Some(link) = link.upgrade() else { return };
            link.lease.send_replace(None);
            link.session.begin(NO_SESSION);
            link.session.tell(SessionEvent::SessionLost);
        }
        lease = loop {
            if link.strong_count() == 0 {
                return;
            }
            match grant(&servers).await {
                Ok(lease) => break lease,
                Err(error) => {
                    tracing::warn!(?error, "there is no session with etcd");
                    sleep(PAUSE).await;
                }
            }
        };
        let Some(link) = link.upgrade() else { return };
        link.session.begin(lease.id.cast_unsigned());
        link.lease.send_replace(Some(lease.id));
        link.session.tell(SessionEvent::SessionReestablished);
    }
}

/// Keeps a lease alive until it is over, as the servers say or may think: its time is counted from when the last
/// request that was answered had not been sent yet.
async fn keep(link: &Weak<Link>, servers: &Servers, lease: &Lease, doubt: &Notify) {
    let (mut end, mut time) = (lease.since + lease.time, lease.time);
    let mut is_connected = true;
    loop {
        let pause = if is_connected { time / 3 } else { PAUSE };
        tokio::select! {
            () = sleep(pause) => {}
            () = doubt.notified() => {}
        }
        let Some(strong) = link.upgrade() else { return };
        let began = Instant::now();
        if began >= end {
            return;
        }
        let connection = servers.current();
        let request = LeaseKeepAliveRequest { id: lease.id };
        let kept = servers.first_of::<_, LeaseKeepAliveResponse>(&connection, KEEP_ALIVE, request, end).await;
        match kept {
            Ok(LeaseKeepAliveResponse { ttl: ..=0 }) => return,
            Ok(LeaseKeepAliveResponse { ttl }) => {
                time = seconds(ttl);
                end = began + time;
                if !is_connected {
                    is_connected = true;
                    strong.session.tell(SessionEvent::Reconnected);
                }
            }
            Err(Failure::Refused(status)) if status.code() == tonic::Code::NotFound => return,
            Err(error) => {
                tracing::debug!(?error, "a session of etcd could not be kept alive");
                servers.give_up(&connection);
                if is_connected {
                    is_connected = false;
                    strong.session.tell(SessionEvent::ConnectionLost);
                }
            }
        }
    }
}

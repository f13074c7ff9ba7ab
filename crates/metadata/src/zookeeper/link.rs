//! The session of a handle, and the one that follows when it is over.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use zookeeper_client::{Client, Error as ZkError, SessionState, StateWatcher};

use super::connect::Servers;
use crate::row::NO_SESSION;
use crate::sessions::Session;
use crate::{Error, Result, SessionEvent};

/// How long after a failed attempt the servers are tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// What everything that talks to the servers shares; the session ends with it.
pub(super) struct Link {
    pub(super) servers: Servers,
    pub(super) session: Session,
    /// The client of the present session; none between two.
    client: watch::Sender<Option<Client>>,
}

impl Link {
    pub(super) async fn open(servers: Servers) -> Result<Arc<Self>> {
        let client = servers.connect().await.map_err(Error::unavailable)?;
        let (states, granted) = (client.state_watcher(), client.session_timeout());
        let session = Session::new(session_number(&client));
        let link = Arc::new(Self { servers, session, client: watch::Sender::new(Some(client)) });
        tokio::spawn(supervise(Arc::downgrade(&link), states, granted, link.servers.clone()));
        Ok(link)
    }

    /// The client of the present session; waits for as long as a session lasts if there is none.
    pub(super) async fn client(&self) -> Result<Client> {
        let mut clients = self.client.subscribe();
        let usable = |client: &Option<Client>| client.as_ref().is_some_and(|client| !client.state().is_terminated());
        let found = timeout(self.servers.patience(), clients.wait_for(usable)).await;
        match found {
            Ok(Ok(client)) => client.clone().ok_or(Error::Closed),
            Ok(Err(_)) => Err(Error::Closed),
            Err(_) => Err(Error::unavailable("there is no session with ZooKeeper")),
        }
    }

    /// The outcome of a call, which is as that of a broken connection if the session is over before it is known.
    pub(super) async fn guard<T>(
        &self,
        client: &Client,
        call: impl Future<Output = Result<T, ZkError>>,
    ) -> Result<T, ZkError> {
        tokio::select! {
            biased;
            outcome = call => outcome,
            () = self.end_of(client) => Err(ZkError::SessionExpired),
        }
    }

    /// Ends the present session; the next is made as if the servers had done it.
    pub(super) fn end_session(&self) {
        self.client.send_replace(None);
    }

    /// Waits until the session of `client` is over.
    pub(super) fn end_of(&self, client: &Client) -> impl Future<Output = ()> + use<> {
        let mut clients = self.client.subscribe();
        let id = client.session_id();
        async move {
            let is_other = |client: &Option<Client>| client.as_ref().is_none_or(|client| client.session_id() != id);
            // An error means that the handle is gone, and its session with it.
            let _ = clients.wait_for(is_other).await;
        }
    }
}

fn session_number(client: &Client) -> u64 {
    client.session_id().0.cast_unsigned()
}

/// Makes a new session whenever one is over, until the handle is gone.
async fn supervise(link: Weak<Link>, mut states: StateWatcher, mut granted: Duration, servers: Servers) {
    loop {
        watch_session(&link, &mut states, granted).await;
        {
            let Some(link) = link.upgrade() else { return };
            link.client.send_replace(None);
            link.session.begin(NO_SESSION);
            link.session.tell(SessionEvent::SessionLost);
        }
        let client = loop {
            if link.strong_count() == 0 {
                return;
            }
            match servers.connect().await {
                Ok(client) => break client,
                Err(error) => {
                    tracing::warn!(%error, "there is no session with ZooKeeper");
                    sleep(PAUSE).await;
                }
            }
        };
        (states, granted) = (client.state_watcher(), client.session_timeout());
        let Some(link) = link.upgrade() else { return };
        link.session.begin(session_number(&client));
        link.client.send_replace(Some(client));
        link.session.tell(SessionEvent::SessionReestablished);
    }
}

/// Tells of a session's connection until the session is over, as its servers say or must be taken to think.
///
/// A silent connection is given up after two fifths of the session's time, so that the servers may end the session
/// three fifths later. The handle must not believe in it any longer than they do.
async fn watch_session(link: &Weak<Link>, states: &mut StateWatcher, granted: Duration) {
    let mut lost_at: Option<Instant> = None;
    let tell = |event| {
        if let Some(link) = link.upgrade() {
            link.session.tell(event);
        }
    };
    loop {
        let state = match lost_at {
            None => states.changed().await,
            Some(at) => match timeout_at(at + granted * 3 / 5, states.changed()).await {
                Ok(state) => state,
                Err(_) => return,
            },
        };
        match state {
            SessionState::Disconnected if lost_at.is_none() => {
                lost_at = Some(Instant::now());
                tell(SessionEvent::ConnectionLost);
            }
            SessionState::SyncConnected | SessionState::ConnectedReadOnly if lost_at.take().is_some() => {
                tell(SessionEvent::Reconnected);
            }
            state if state.is_terminated() => return,
            _ => {}
        }
    }
}

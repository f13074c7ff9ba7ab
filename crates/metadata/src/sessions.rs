//! The session behind a store handle.

use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt;
use parking_lot::Mutex;

use crate::feed::{Feed, feed};
use crate::row::SessionId;
use crate::{SessionEvent, SessionEvents};

/// A handle's current session and those who want to hear of its end.
pub(crate) struct Session {
    id: AtomicU64,
    listeners: Mutex<Vec<Feed<SessionEvent>>>,
}

impl Session {
    pub(crate) fn new(id: SessionId) -> Self {
        Self { id: AtomicU64::new(id), listeners: Mutex::new(Vec::new()) }
    }

    pub(crate) fn id(&self) -> SessionId {
        self.id.load(Ordering::Acquire)
    }

    pub(crate) fn events(&self) -> SessionEvents {
        let (feed, listener) = feed();
        self.listeners.lock().push(feed);
        listener.boxed()
    }

    /// Moves the handle to a new session and tells that the old one is over.
    pub(crate) fn replace(&self, id: SessionId) {
        self.begin(id);
        self.tell(SessionEvent::SessionLost);
        self.tell(SessionEvent::SessionReestablished);
    }

    /// Moves the handle to a new session.
    pub(crate) fn begin(&self, id: SessionId) {
        self.id.store(id, Ordering::Release);
    }

    pub(crate) fn tell(&self, event: SessionEvent) {
        // Who is too far behind to know must stop what it does.
        self.listeners.lock().retain(|feed| feed.push(event, || SessionEvent::SessionLost));
    }
}

//! The durable cursors of a topic, as opaque states.

use std::rc::{Rc, Weak};
use std::sync::Arc;

use bytes::Bytes;

use super::{Inner, ManagedLog};
use crate::state_log::Membership;
use crate::topic_state::{self, Change, CursorState, TopicState};
use crate::{Error, Flush, Properties};

/// A durable cursor as it was found when the log was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredCursor {
    /// Its name.
    pub name: String,
    /// Its state, with everything that was recorded.
    pub snapshot: Bytes,
    /// Its properties.
    pub properties: Properties,
}

/// What the log itself keeps of a cursor.
pub(super) struct Cursor {
    pub(super) properties: Properties,
    /// Its state, until the topic answers for it.
    pub(super) held: Option<Bytes>,
}

impl ManagedLog {
    /// Makes a durable cursor with the given state. It is durable when the call returns.
    ///
    /// # Errors
    /// [`Error::CursorExists`], [`Error::StateLog`], or what the metadata store says.
    pub async fn create_cursor(&self, name: &str, snapshot: Bytes, properties: Properties) -> Result<(), Error> {
        let inner = &self.inner;
        inner.check()?;
        inner.written(inner.row.make_durable().await)?;
        if inner.cursors.borrow().contains_key(name) {
            return Err(Error::CursorExists { path: Arc::clone(&inner.path), cursor: name.to_owned() });
        }
        let cursor: Rc<str> = Rc::from(name);
        let made = Cursor { properties: properties.clone(), held: Some(snapshot.clone()) };
        inner.record(&Change::Created { cursor: Rc::clone(&cursor), snapshot, properties })?;
        inner.cursors.borrow_mut().insert(cursor, made);
        self.flush().await
    }

    /// Deletes a durable cursor, durably.
    ///
    /// # Errors
    /// [`Error::NoCursor`] or [`Error::StateLog`].
    pub async fn delete_cursor(&self, name: &str) -> Result<(), Error> {
        let inner = &self.inner;
        let cursor = inner.cursor(name)?;
        inner.record(&Change::Deleted { cursor })?;
        inner.cursors.borrow_mut().remove(name);
        self.flush().await
    }

    /// Replaces the properties of a cursor, durably.
    ///
    /// # Errors
    /// [`Error::NoCursor`] or [`Error::StateLog`].
    pub async fn set_cursor_properties(&self, name: &str, properties: Properties) -> Result<(), Error> {
        let inner = &self.inner;
        let cursor = inner.cursor(name)?;
        inner.record(&Change::Described { cursor, properties: properties.clone() })?;
        if let Some(cursor) = inner.cursors.borrow_mut().get_mut(name) {
            cursor.properties = properties;
        }
        self.flush().await
    }

    /// The properties of a cursor.
    pub fn cursor_properties(&self, name: &str) -> Option<Properties> {
        self.inner.cursors.borrow().get(name).map(|cursor| cursor.properties.clone())
    }

    /// The names of the durable cursors, in order.
    pub fn cursor_names(&self) -> Vec<String> {
        self.inner.cursors.borrow().keys().map(|name| name.to_string()).collect()
    }

    /// Records that a cursor moved; durable after the next [`flush`](Self::flush). From the first call on, the
    /// [`SnapshotSource`](super::SnapshotSource) answers for the cursor.
    ///
    /// # Errors
    /// [`Error::NoCursor`] or [`Error::StateLog`].
    pub fn record_cursor(&self, name: &str, delta: Bytes) -> Result<(), Error> {
        let cursor = self.inner.cursor(name)?;
        self.inner.record(&Change::Moved { cursor, delta })?;
        if let Some(cursor) = self.inner.cursors.borrow_mut().get_mut(name) {
            cursor.held = None;
        }
        Ok(())
    }

    /// Records the state of the deduplication; durable after the next [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`Error::StateLog`].
    pub fn record_dedup(&self, snapshot: Bytes) -> Result<(), Error> {
        self.inner.record(&Change::Dedup { snapshot: snapshot.clone() })?;
        self.inner.dedup.replace(Some(snapshot));
        Ok(())
    }

    /// Resolves when everything recorded before this call, by any topic of the bundle, is durable.
    pub fn flush(&self) -> Flush {
        self.inner.state_log.flush()
    }
}

impl Inner {
    fn cursor(&self, name: &str) -> Result<Rc<str>, Error> {
        let cursors = self.cursors.borrow();
        let found = cursors.get_key_value(name).map(|(name, _)| Rc::clone(name));
        found.ok_or_else(|| Error::NoCursor { path: Arc::clone(&self.path), cursor: name.to_owned() })
    }

    fn record(&self, change: &Change) -> Result<(), Error> {
        match &*self.membership.borrow() {
            Some(membership) => membership.record(change),
            None => Err(Error::Closed),
        }
    }

    /// Brings the present state into the row, if it has changed.
    pub(super) async fn save(self: &Rc<Self>) -> Result<(), Error> {
        let _turn = self.checkpointing.lock().await;
        let due = self.membership.borrow().as_ref().and_then(Membership::checkpoint_due);
        let Some(sequence) = due else { return Ok(()) };
        let state = self.present_state()?.encode();
        let written = topic_state::write(&self.context, &self.row, self.state_log.owner(), sequence, state).await;
        self.written(written)?;
        if let Some(membership) = &*self.membership.borrow() {
            membership.saved(sequence);
        }
        Ok(())
    }

    fn present_state(&self) -> Result<TopicState, Error> {
        let source = self.snapshots.borrow().as_ref().and_then(Weak::upgrade);
        let names: Vec<_> = self.cursors.borrow().keys().cloned().collect();
        let mut state = TopicState { dedup: self.dedup.borrow().clone(), ..TopicState::default() };
        for name in names {
            let present = source.as_ref().and_then(|source| source.cursor_snapshot(&name));
            let mut cursors = self.cursors.borrow_mut();
            let Some(cursor) = cursors.get_mut(&name) else { continue };
            if present.is_some() {
                cursor.held = None;
            }
            let Some(snapshot) = present.or_else(|| cursor.held.clone()) else {
                return Err(Error::NoCursor { path: Arc::clone(&self.path), cursor: name.to_string() });
            };
            let properties = cursor.properties.clone();
            state.cursors.insert(name, CursorState { snapshot, deltas: Vec::new(), properties });
        }
        Ok(state)
    }
}

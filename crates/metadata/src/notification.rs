//! What a store tells without being asked.

use futures::stream::BoxStream;

/// A change below a watched prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The path that changed.
    pub path: String,
    /// How it changed.
    pub kind: NotificationKind,
    /// Store-wide revision of the write, so that a reader can tell whether it has seen this change already.
    pub revision: u64,
}

/// How a path changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotificationKind {
    /// A row was created.
    Created,
    /// A row got a new value.
    Modified,
    /// A row was deleted, by a caller or with the session that made it.
    Deleted,
    /// A row was created or deleted directly below the path. Sent after that row's own notification, and only for
    /// its parent.
    ChildrenChanged,
    /// Changes at or below the path may have been missed: read again everything that depends on it. Sent when the
    /// watcher fell too far behind, or when a connection to the store was re-established.
    Invalidated,
}

/// The changes below a prefix; ends when the store is closed, on servers also when its handle is gone.
///
/// Who reads what a watch tells of is never wrong. Who does not must know that engines on servers may tell of more than
/// there was: a path that is no row, or a revision at which a change had happened in place of its own.
///
/// A watch sees every change made after the call that returned it. The changes of one path come in the order of
/// their revisions, and a change is readable when its notification arrives. Changes of different paths come in the
/// order in which they became visible to readers.
pub type Watch = BoxStream<'static, Notification>;

/// What happens to the session that owns a handle's ephemeral rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionEvent {
    /// The store cannot be reached; the session may still be alive there.
    ConnectionLost,
    /// The store can be reached again and the session is still alive.
    Reconnected,
    /// The session is over: its ephemeral rows are gone or will go without further notice. Whoever acts on the
    /// strength of one must stop.
    SessionLost,
    /// The handle has a new session, without any ephemeral row.
    SessionReestablished,
}

/// The events of a handle's session, from the call on; ends when the store is closed.
pub type SessionEvents = BoxStream<'static, SessionEvent>;

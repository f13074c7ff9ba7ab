//! Who is told of which change.

use futures::StreamExt;

use crate::feed::{Feed, feed};
use crate::{Notification, NotificationKind, Watch, path};

struct Watcher {
    prefix: String,
    feed: Feed<Notification>,
}

/// The watches of one engine. Engines call it under the lock that makes a change visible, which is what keeps
/// notifications in order.
#[derive(Default)]
pub(crate) struct Watchers(Vec<Watcher>);

impl Watchers {
    /// A watch of everything at and below `prefix`.
    pub(crate) fn watch(&mut self, prefix: &str) -> Watch {
        self.0.retain(|watcher| watcher.feed.is_heard());
        let (feed, listener) = feed();
        self.0.push(Watcher { prefix: prefix.to_owned(), feed });
        listener.boxed()
    }

    /// Tells of a row's change, and of its parent's children if the row came or went.
    pub(crate) fn publish(&mut self, path: &str, kind: NotificationKind, revision: u64) {
        self.send(path, kind, revision);
        if matches!(kind, NotificationKind::Created | NotificationKind::Deleted)
            && let Some(parent) = path::parent(path)
        {
            self.send(parent, NotificationKind::ChildrenChanged, revision);
        }
    }

    /// Ends every watch.
    pub(crate) fn close(&mut self) {
        self.0.clear();
    }

    fn send(&mut self, path: &str, kind: NotificationKind, revision: u64) {
        self.0.retain(|watcher| {
            let event = |path: &str, kind| Notification { path: path.to_owned(), kind, revision };
            !path::is_at_or_below(path, &watcher.prefix)
                || watcher.feed.push(event(path, kind), || event(&watcher.prefix, NotificationKind::Invalidated))
        });
    }
}

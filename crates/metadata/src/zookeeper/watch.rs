//! Watches, told by the servers' recursive ones.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use futures::{FutureExt, StreamExt};
use zookeeper_client::{
    AddWatchMode, Client, Error as ZkError, EventType, PersistentWatcher, SessionState, WatchedEvent,
};

use super::link::Link;
use super::node::{self, Node};
use crate::fed::Fed;
use crate::feed::{Feed, feed};
use crate::{Error, Notification, NotificationKind, Result, Watch, path};

/// How often a watch is asked for.
const ATTEMPTS: usize = 4;

pub(super) async fn watch(link: &Arc<Link>, path: &str) -> Result<Watch> {
    let (client, watcher) = begin(link, path).await?;
    let (feed, listener) = feed();
    let telling = Telling { link: Arc::downgrade(link), prefix: path.to_owned(), feed, places: HashSet::new() };
    let end = link.end_of(&client);
    let task = tokio::spawn(telling.run(watcher, end));
    Ok(Fed::new(listener, task.abort_handle()).boxed())
}

async fn begin(link: &Link, path: &str) -> Result<(Client, PersistentWatcher)> {
    let mut attempts = 0;
    loop {
        let client = link.client().await?;
        match link.guard(&client, client.watch(path, AddWatchMode::PersistentRecursive)).await {
            Ok(watcher) => return Ok((client, watcher)),
            Err(error) if node::is_unclear(&error) && attempts < ATTEMPTS => attempts += 1,
            Err(error) => return Err(node::read_error(path, &error)),
        }
    }
}

/// One watch being told.
struct Telling {
    link: Weak<Link>,
    prefix: String,
    feed: Feed<Notification>,
    /// Nodes known to be no rows.
    places: HashSet<String>,
}

impl Telling {
    async fn run(mut self, mut watcher: PersistentWatcher, end: impl Future<Output = ()> + Send + 'static) {
        let mut end = end.boxed();
        loop {
            let event = tokio::select! {
                biased;
                () = &mut end => None,
                event = watcher.changed() => Some(event),
            };
            let is_broken = match event {
                None => true,
                Some(event) if event.event_type == EventType::Session => match event.session_state {
                    SessionState::Disconnected => continue,
                    // The client does not renew recursive watches, and the servers do not tell what such a watch
                    // missed.
                    _ => true,
                },
                Some(event) => self.tell(event).await.is_err(),
            };
            if is_broken {
                let Some((client, renewed, link)) = self.renew().await else { return };
                end = link.end_of(&client).boxed();
                watcher = renewed;
                self.push(&self.prefix.clone(), NotificationKind::Invalidated, 0);
            }
        }
    }

    /// A new watch, as soon as there can be one; nothing once the handle is gone.
    async fn renew(&self) -> Option<(Client, PersistentWatcher, Arc<Link>)> {
        loop {
            let link = self.link.upgrade()?;
            match begin(&link, &self.prefix).await {
                Ok((client, watcher)) => return Some((client, watcher, link)),
                Err(Error::Closed) => return None,
                Err(error) => tracing::warn!(%error, path = self.prefix, "a watch is interrupted"),
            }
        }
    }

    async fn tell(&mut self, event: WatchedEvent) -> Result<(), ZkError> {
        let path = event.path.as_str();
        let is_told = event.zxid > 0;
        let was_place = self.places.contains(path);
        match event.event_type {
            EventType::NodeDeleted if was_place => {
                self.places.remove(path);
            }
            EventType::NodeDeleted => {
                let revision = if is_told { node::unsigned(event.zxid) } else { self.deleted_at(path).await? };
                self.push_with_parent(path, NotificationKind::Deleted, revision);
            }
            EventType::NodeDataChanged if is_told && !was_place => {
                self.push(path, NotificationKind::Modified, node::unsigned(event.zxid));
            }
            EventType::NodeCreated | EventType::NodeDataChanged => {
                let found = self.node(path).await?;
                let revision = match &found {
                    _ if is_told => node::unsigned(event.zxid),
                    Some(node) => node::unsigned(node.stat.mzxid),
                    None => self.deleted_at(path).await?,
                };
                if found.is_some_and(|node| node.is_place()) {
                    self.places.insert(path.to_owned());
                } else if was_place || event.event_type == EventType::NodeCreated {
                    self.places.remove(path);
                    self.push_with_parent(path, NotificationKind::Created, revision);
                } else {
                    self.push(path, NotificationKind::Modified, revision);
                }
            }
            EventType::Session | EventType::NodeChildrenChanged => {}
        }
        Ok(())
    }

    /// A revision at which the node that was at `path` was gone, and before any that is there now was made: servers
    /// before 3.9 do not tell.
    async fn deleted_at(&self, path: &str) -> Result<u64, ZkError> {
        // Whatever is read last was read after everything above it, which does not tell of later changes below.
        let mut bound = 0;
        let mut above: Vec<&str> = std::iter::successors(path::parent(path), |path| path::parent(path)).collect();
        above.reverse();
        for parent in above {
            match self.node(parent).await? {
                Some(node) => bound = node.stat.pzxid.max(node.stat.czxid),
                None => break,
            }
        }
        Ok(node::unsigned(match self.node(path).await? {
            Some(node) => node.stat.czxid - 1,
            None => bound,
        }))
    }

    async fn node(&self, path: &str) -> Result<Option<Node>, ZkError> {
        let link = self.link.upgrade().ok_or(ZkError::ClientClosed)?;
        let client = link.client().await.map_err(|_| ZkError::ConnectionLoss)?;
        match link.guard(&client, client.get_data(path)).await {
            Ok((value, stat)) => Ok(Some(Node { value, stat })),
            Err(ZkError::NoNode) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn push_with_parent(&self, path: &str, kind: NotificationKind, revision: u64) {
        self.push(path, kind, revision);
        if let Some(parent) = path::parent(path).filter(|parent| path::is_at_or_below(parent, &self.prefix)) {
            self.push(parent, NotificationKind::ChildrenChanged, revision);
        }
    }

    fn push(&self, path: &str, kind: NotificationKind, revision: u64) {
        let event = |path: &str, kind| Notification { path: path.to_owned(), kind, revision };
        self.feed.push(event(path, kind), || event(&self.prefix, NotificationKind::Invalidated));
    }
}

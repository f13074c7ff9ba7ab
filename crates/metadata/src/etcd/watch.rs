//! Watches, which go on where they were when a connection breaks.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::StreamExt;
use tokio::time::sleep;
use tonic::Status;

use super::lease::Link;
use super::message::{Event, WatchCommand, WatchCreateRequest, WatchRequest, WatchResponse};
use super::rows::unsigned;
use super::servers::Servers;
use crate::fed::Fed;
use crate::feed::{Feed, feed};
use crate::{Notification, NotificationKind, Result, Watch, key, path};

const WATCH: &str = "/etcdserverpb.Watch/Watch";
const DELETED: i32 = 1;
/// How long after a failed attempt the servers are tried again.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn watch(link: &Arc<Link>, path: &str) -> Result<Watch> {
    // Whatever is made from now on has a later revision.
    let next = link.revision().await? + 1;
    let (feed, listener) = feed();
    let servers = Arc::clone(&link.servers);
    let telling = Telling { link: Arc::downgrade(link), key: link.key_of(path), prefix: path.to_owned(), feed, next };
    let end = link.end();
    let task = tokio::spawn(async move {
        tokio::select! {
            () = end => {}
            () = telling.run(&servers) => {}
        }
    });
    Ok(Fed::new(listener, task.abort_handle()).boxed())
}

/// Why a stream of changes ended.
enum End {
    /// It is to be taken up again.
    Broken,
    /// What comes next was compacted away.
    Compacted,
}

/// One watch being told.
struct Telling {
    link: Weak<Link>,
    key: String,
    prefix: String,
    feed: Feed<Notification>,
    /// The first revision that is not told yet.
    next: i64,
}

impl Telling {
    async fn run(mut self, servers: &Servers) {
        loop {
            match self.follow(servers).await {
                Ok(End::Compacted) => {
                    if !self.skip().await {
                        return;
                    }
                    continue;
                }
                Ok(End::Broken) => {}
                Err(error) => tracing::debug!(%error, path = self.prefix, "a watch is interrupted"),
            }
            sleep(PAUSE).await;
        }
    }

    /// Tells until the stream ends.
    async fn follow(&mut self, servers: &Servers) -> Result<End, Status> {
        let connection = servers.current();
        let create = WatchCreateRequest {
            key: self.key.clone().into_bytes(),
            // The row and everything below it.
            range_end: key::below_end(&self.key).into_bytes(),
            start_revision: self.next,
            progress_notify: true,
        };
        let request = WatchRequest { command: Some(WatchCommand::Create(create)) };
        let told = async {
            let mut answers = servers.stream_of::<_, WatchResponse>(&connection, WATCH, request).await?;
            while let Some(answer) = answers.message().await? {
                if answer.compact_revision > 0 {
                    return Ok(End::Compacted);
                }
                if answer.canceled {
                    tracing::debug!(reason = answer.cancel_reason, path = self.prefix, "a watch was ended");
                    return Ok(End::Broken);
                }
                self.tell(&answer);
            }
            Ok(End::Broken)
        };
        let outcome = tokio::select! {
            outcome = told => outcome,
            () = servers.given_up(&connection) => return Ok(End::Broken),
        };
        if !matches!(outcome, Ok(End::Compacted)) {
            servers.give_up(&connection);
        }
        outcome
    }

    fn tell(&mut self, answer: &WatchResponse) {
        let Some(link) = self.link.upgrade() else { return };
        for Event { kind, kv } in &answer.events {
            let Some(kv) = kv else { continue };
            self.next = self.next.max(kv.mod_revision + 1);
            let Some(path) = link.path_of(&kv.key) else { continue };
            let kind = match kv.version {
                _ if *kind == DELETED => NotificationKind::Deleted,
                1 => NotificationKind::Created,
                _ => NotificationKind::Modified,
            };
            let revision = unsigned(kv.mod_revision);
            self.push(&path, kind, revision);
            if kind != NotificationKind::Modified
                && let Some(parent) = path::parent(&path).filter(|parent| path::is_at_or_below(parent, &self.prefix))
            {
                self.push(parent, NotificationKind::ChildrenChanged, revision);
            }
        }
        // A message without changes says up to where there are none.
        if answer.events.is_empty() && !answer.created {
            let revision = answer.header.as_ref().map_or(0, |header| header.revision);
            self.next = self.next.max(revision + 1);
        }
    }

    /// Goes on from now, and tells that changes were missed. False once the handle is gone.
    async fn skip(&mut self) -> bool {
        loop {
            let Some(link) = self.link.upgrade() else { return false };
            match link.revision().await {
                Ok(revision) => {
                    self.next = revision + 1;
                    self.push(&self.prefix, NotificationKind::Invalidated, unsigned(revision));
                    return true;
                }
                Err(error) => tracing::warn!(%error, path = self.prefix, "a watch is interrupted"),
            }
        }
    }

    fn push(&self, path: &str, kind: NotificationKind, revision: u64) {
        let event = |path: &str, kind| Notification { path: path.to_owned(), kind, revision };
        self.feed.push(event(path, kind), || event(&self.prefix, NotificationKind::Invalidated));
    }
}

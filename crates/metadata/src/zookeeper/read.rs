//! Reads, which are repeated when a connection breaks.

use std::collections::VecDeque;

use futures::future::{join, join_all};
use zookeeper_client::{Client, Error as ZkError};

use super::link::Link;
use super::node::{self, Node};
use crate::{Error, Record, Result, path};

/// How often a read is begun.
const ATTEMPTS: usize = 4;
/// Nodes that are asked for at once.
const BATCH: usize = 64;

/// The node that the servers keep for themselves.
const OWN: &str = "zookeeper";

impl Link {
    /// The node at `path` as of now.
    pub(super) async fn node(&self, path: &str) -> Result<Option<Node>> {
        self.read(path, |client| async move {
            let (synced, node) = join(client.sync("/"), client.get_data(path)).await;
            synced.and_then(|()| absent(node.map(|(value, stat)| Node { value, stat })))
        })
        .await
    }

    /// The row at `path` as of now.
    pub(super) async fn row(&self, path: &str) -> Result<Option<Node>> {
        Ok(self.node(path).await?.filter(|node| !node.is_place()))
    }

    /// The names of the nodes below `path`, sorted.
    async fn names(&self, path: &str) -> Result<Vec<String>> {
        let mut names = self
            .read(path, |client| async move {
                let (synced, names) = join(client.sync("/"), client.list_children(path)).await;
                synced.and_then(|()| absent(names))
            })
            .await?
            .unwrap_or_default();
        if path == "/" && self.servers.is_whole() {
            names.retain(|name| name != OWN);
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The names below `path` that are rows or have rows below them.
    pub(super) async fn children_page(&self, path: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let names = self.names(path).await?;
        let begin = after.map_or(0, |after| names.partition_point(|name| name.as_str() <= after));
        let mut page = Vec::new();
        for batch in names[begin..].chunks(limit.clamp(1, BATCH)) {
            let shown = join_all(batch.iter().map(|name| self.is_shown(path::child(path, name)))).await;
            for (name, shown) in batch.iter().zip(shown) {
                if page.len() == limit {
                    return Ok(page);
                }
                if shown? {
                    page.push(name.clone());
                }
            }
        }
        Ok(page)
    }

    async fn is_shown(&self, path: String) -> Result<bool> {
        let read = self.read(&path, |client| {
            let path = path.as_str();
            async move { client.check_stat(path).await }
        });
        let stat = read.await?;
        match stat {
            None => Ok(false),
            Some(stat) if !node::may_be_place(&stat) => Ok(true),
            Some(_) => match self.node(&path).await? {
                None => Ok(false),
                Some(node) if !node.is_place() => Ok(true),
                Some(node) => Ok(node.has_children() && self.has_rows_below(&path).await?),
            },
        }
    }

    pub(super) async fn has_rows_below(&self, path: &str) -> Result<bool> {
        // Boxed, because what it calls calls it for what lies below.
        Ok(!Box::pin(self.scan(path, None, 1)).await?.is_empty())
    }

    /// Rows below `path`, each before those below it, by names.
    pub(super) async fn scan(&self, path: &str, after: Option<&str>, limit: usize) -> Result<Vec<(String, Record)>> {
        let mut rows = Vec::new();
        let mut levels = vec![self.level(path, after).await?];
        let reader = self.session.id();
        while let Some(level) = levels.last_mut() {
            if rows.len() >= limit {
                break;
            }
            let Some((child, node)) = level.next(self, limit).await? else {
                levels.pop();
                continue;
            };
            let Some(node) = node else { continue };
            let is_after = after.is_none_or(|after| comes_after(&child, after));
            let has_children = node.has_children();
            if is_after && !node.is_place() {
                rows.push((child.clone(), node.record(reader)));
            }
            if has_children {
                let below = self.level(&child, after).await?;
                levels.push(below);
            }
        }
        Ok(rows)
    }

    /// The nodes below `path`, without those that a scan which has come to `after` is done with.
    async fn level(&self, path: &str, after: Option<&str>) -> Result<Level> {
        let mut names: VecDeque<String> = self.names(path).await?.into();
        let seen = after.filter(|after| path::is_at_or_below(after, path)).and_then(|after| {
            let rest = if path == "/" { after } else { &after[path.len()..] };
            rest.trim_start_matches('/').split('/').next().filter(|name| !name.is_empty())
        });
        if let Some(seen) = seen {
            while names.front().is_some_and(|name| name.as_str() < seen) {
                names.pop_front();
            }
        }
        Ok(Level { path: path.to_owned(), names, read: VecDeque::new() })
    }

    /// Calls until there is an answer or no sense in asking again.
    async fn read<T, F>(&self, path: &str, call: impl Fn(Client) -> F) -> Result<T>
    where
        F: Future<Output = Result<T, ZkError>>,
    {
        let mut attempts = 0;
        loop {
            let client = self.client().await?;
            match self.guard(&client, call(client.clone())).await {
                Ok(found) => return Ok(found),
                Err(error) if node::is_unclear(&error) && attempts < ATTEMPTS => attempts += 1,
                Err(error) => return Err(node::read_error(path, &error)),
            }
        }
    }
}

/// The nodes of one parent that a scan has yet to go through.
struct Level {
    path: String,
    names: VecDeque<String>,
    read: VecDeque<(String, Option<Node>)>,
}

impl Level {
    async fn next(&mut self, link: &Link, limit: usize) -> Result<Option<(String, Option<Node>)>> {
        if self.read.is_empty() {
            let batch = self.names.len().min(limit.clamp(1, BATCH));
            let paths: Vec<_> = self.names.drain(..batch).map(|name| path::child(&self.path, &name)).collect();
            let nodes = join_all(paths.iter().map(|path| link.node(path))).await;
            for (path, node) in paths.into_iter().zip(nodes) {
                self.read.push_back((path, node?));
            }
        }
        Ok(self.read.pop_front())
    }
}

/// Whether a scan comes to `path` after it has come to `after`.
fn comes_after(path: &str, after: &str) -> bool {
    path.split('/').gt(after.split('/'))
}

fn absent<T>(found: Result<T, ZkError>) -> Result<Option<T>, ZkError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(ZkError::NoNode) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Link {
    /// Fails if the path cannot be that of a node here.
    pub(super) fn check(&self, path: &str) -> Result<()> {
        let first = path[1.min(path.len())..].split('/').next();
        if self.servers.is_whole() && first == Some(OWN) {
            return Err(Error::InvalidPath { path: path.to_owned(), why: "ZooKeeper keeps /zookeeper for itself" });
        }
        Ok(())
    }
}

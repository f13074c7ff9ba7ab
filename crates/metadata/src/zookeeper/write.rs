//! Writes. Only the step that changes the row can have an unknown outcome; it is never repeated.

use bytes::Bytes;
use futures::future::join_all;
use zookeeper_client::{Acls, CreateMode, Error as ZkError, Stat as ZkStat};

use super::link::Link;
use super::node::{self, COUNTER, LAST_PLACE_VERSION, Node, PLACE};
use crate::{Error, Expect, MAX_VALUE_BYTES, PutOptions, Result, Written, path};

/// How often a write is decided anew because others changed what it rested on.
const ATTEMPTS: usize = 100;

/// What a step of a write came to.
enum Step {
    Done(ZkStat),
    /// The node is not as it was when the step was decided.
    Again,
}

impl Link {
    pub(super) async fn put(&self, path: &str, value: Bytes, expect: Expect, options: PutOptions) -> Result<Written> {
        if value.len() > MAX_VALUE_BYTES {
            return Err(Error::ValueTooLarge { path: path.to_owned(), size: value.len() });
        }
        self.check(path)?;
        if options.sequential {
            return self.put_numbered(path, &value, options.ephemeral).await;
        }
        for _ in 0..ATTEMPTS {
            let step = match expect {
                Expect::Version(version) => self.change(path, &value, version).await?,
                Expect::Absent => self.create(path, &value, options.ephemeral).await?,
                // What is made of no row depends on whether it is to be ephemeral.
                Expect::Any if options.ephemeral => match self.row(path).await? {
                    Some(row) => self.set(path, &value, Some(row.stat.version)).await?,
                    None => match self.create(path, &value, true).await {
                        Err(Error::AlreadyExists { .. }) => Step::Again,
                        step => step?,
                    },
                },
                Expect::Any => match self.set(path, &value, None).await? {
                    Step::Again => match self.create(path, &value, false).await {
                        Err(Error::AlreadyExists { .. }) => Step::Again,
                        step => step?,
                    },
                    done @ Step::Done(_) => done,
                },
            };
            if let Step::Done(made) = step {
                let stat = node::stat(&made, self.session.id());
                if made.version == 0 && options.ephemeral && !stat.created_by_self {
                    return Err(ended(path));
                }
                return Ok(Written { path: path.to_owned(), stat });
            }
        }
        Err(Error::unavailable(format!("too many others write to {path}")))
    }

    /// Changes a row at a version.
    async fn change(&self, path: &str, value: &Bytes, version: u64) -> Result<Step> {
        let lost = |found: Option<Node>| Error::BadVersion {
            path: path.to_owned(),
            expected: Expect::Version(version),
            found: found.map(|row| node::unsigned(row.stat.version.into())),
        };
        if version <= LAST_PLACE_VERSION {
            // A node that is no row may have this version too.
            let row = self.row(path).await?;
            if row.as_ref().is_none_or(|row| i64::from(row.stat.version).cast_unsigned() != version) {
                return Err(lost(row));
            }
        }
        match self.set(path, value, Some(node::expected(version))).await? {
            Step::Again => {
                let row = self.row(path).await?;
                if row.as_ref().is_some_and(|row| i64::from(row.stat.version).cast_unsigned() == version) {
                    return Ok(Step::Again);
                }
                Err(lost(row))
            }
            done @ Step::Done(_) => Ok(done),
        }
    }

    /// Creates a row, be it of a node that is there for those below it.
    async fn create(&self, path: &str, value: &Bytes, ephemeral: bool) -> Result<Step> {
        let mode = if ephemeral { CreateMode::Ephemeral } else { CreateMode::Persistent };
        let client = self.client().await?;
        let call = client.create(path, value, &mode.with_acls(Acls::anyone_all()));
        match self.guard(&client, call).await {
            Ok((stat, _)) => return Ok(Step::Done(stat)),
            Err(ZkError::NoNode) => {
                self.make_places(path).await?;
                return Ok(Step::Again);
            }
            Err(ZkError::NodeExists) => {}
            Err(error) => return Err(node::write_error(path, &error)),
        }
        match self.node(path).await? {
            None => Ok(Step::Again),
            Some(node) if !node.is_place() => Err(Error::AlreadyExists { path: path.to_owned() }),
            Some(node) if !ephemeral => self.set(path, value, Some(node.stat.version)).await,
            Some(node) => {
                // A node with nodes below it cannot become ephemeral.
                if node.has_children() {
                    self.clear_below(path).await?;
                }
                self.remove(path, node.stat.version).await?;
                Ok(Step::Again)
            }
        }
    }

    async fn set(&self, path: &str, value: &Bytes, version: Option<i32>) -> Result<Step> {
        let client = self.client().await?;
        match self.guard(&client, client.set_data(path, value, version)).await {
            Ok(stat) => Ok(Step::Done(stat)),
            Err(ZkError::NoNode | ZkError::BadVersion) => Ok(Step::Again),
            Err(error) => Err(node::write_error(path, &error)),
        }
    }

    async fn put_numbered(&self, path: &str, value: &Bytes, ephemeral: bool) -> Result<Written> {
        let mode = if ephemeral { CreateMode::EphemeralSequential } else { CreateMode::PersistentSequential };
        for _ in 0..ATTEMPTS {
            if let Some(parent) = path::parent(path).filter(|parent| *parent != "/") {
                match self.node(parent).await? {
                    None => {
                        self.make_places(path).await?;
                        continue;
                    }
                    // Its count must not begin anew when the last numbered row is gone.
                    Some(node) if node.value == PLACE => {
                        self.set(parent, &Bytes::from_static(COUNTER), Some(node.stat.version)).await?;
                        continue;
                    }
                    Some(_) => {}
                }
            }
            let client = self.client().await?;
            let call = client.create(path, value, &mode.with_acls(Acls::anyone_all()));
            match self.guard(&client, call).await {
                Ok((made, number)) => {
                    let stat = node::stat(&made, self.session.id());
                    if ephemeral && !stat.created_by_self {
                        return Err(ended(path));
                    }
                    return Ok(Written { path: format!("{path}{number}"), stat });
                }
                Err(ZkError::NoNode) => self.make_places(path).await?,
                Err(error) => return Err(node::write_error(path, &error)),
            }
        }
        Err(Error::unavailable(format!("too many others write to {path}")))
    }

    /// Makes the nodes above `path` that are not there.
    async fn make_places(&self, path: &str) -> Result<()> {
        let client = self.client().await?;
        let mut above: Vec<&str> = std::iter::successors(path::parent(path), |path| path::parent(path)).collect();
        above.retain(|path| *path != "/");
        let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
        // Sent at once, the uppermost first: the servers keep that order.
        let calls = above.iter().rev().map(|path| client.create(path, PLACE, &options));
        for made in self.guard(&client, async { Ok(join_all(calls).await) }).await.map_err(Error::unavailable)? {
            match made {
                // Somebody may be at work here too; the caller tries again.
                Ok(_) | Err(ZkError::NodeExists | ZkError::NoNode) => {}
                Err(ZkError::NoChildrenForEphemerals) => {
                    return Err(node::write_error(path, &ZkError::NoChildrenForEphemerals));
                }
                Err(error) => return Err(Error::unavailable(error)),
            }
        }
        Ok(())
    }

    pub(super) async fn delete(&self, path: &str, expect: Expect) -> Result<()> {
        self.check(path)?;
        for _ in 0..ATTEMPTS {
            let row = self.row(path).await?.ok_or_else(|| Error::NotFound { path: path.to_owned() })?;
            let found = node::unsigned(row.stat.version.into());
            match expect {
                Expect::Version(version) if version != found => {
                    return Err(Error::BadVersion { path: path.to_owned(), expected: expect, found: Some(found) });
                }
                Expect::Absent => return Err(Error::AlreadyExists { path: path.to_owned() }),
                Expect::Any | Expect::Version(_) => {}
            }
            if row.has_children() {
                self.clear_below(path).await?;
            }
            let client = self.client().await?;
            match self.guard(&client, client.delete(path, Some(row.stat.version))).await {
                Ok(()) => {
                    self.remove_empty_above(path).await;
                    return Ok(());
                }
                Err(ZkError::NoNode | ZkError::BadVersion | ZkError::NotEmpty) => {}
                Err(error) => return Err(node::write_error(path, &error)),
            }
        }
        Err(Error::unavailable(format!("too many others write to {path}")))
    }

    /// Removes the nodes below `path`, or fails if there is a row among them.
    async fn clear_below(&self, path: &str) -> Result<()> {
        if self.has_rows_below(path).await? {
            return Err(Error::NotEmpty { path: path.to_owned() });
        }
        let client = self.client().await?;
        // The deepest first; what becomes a row meanwhile stays, and the caller finds it.
        let mut open = vec![path.to_owned()];
        let mut places = Vec::new();
        while let Some(parent) = open.pop() {
            match self.guard(&client, client.list_children(&parent)).await {
                Ok(names) => open.extend(names.iter().map(|name| path::child(&parent, name))),
                Err(ZkError::NoNode) => {}
                Err(error) => return Err(node::read_error(path, &error)),
            }
            if parent != path {
                places.push(parent);
            }
        }
        for place in places.iter().rev() {
            if let Some(node) = self.node(place).await?.filter(Node::is_place) {
                self.remove(place, node.stat.version).await?;
            }
        }
        Ok(())
    }

    /// Removes a node that is no row, if it is still as it was read.
    async fn remove(&self, path: &str, version: i32) -> Result<()> {
        let client = self.client().await?;
        match self.guard(&client, client.delete(path, Some(version))).await {
            Ok(()) | Err(ZkError::NoNode | ZkError::BadVersion | ZkError::NotEmpty) => Ok(()),
            Err(error) => Err(Error::unavailable(error)),
        }
    }

    /// Removes the nodes above a deleted row that are there for nobody any more. Those that are left by a failure are
    /// not shown either.
    async fn remove_empty_above(&self, path: &str) {
        for above in std::iter::successors(path::parent(path), |path| path::parent(path)) {
            match self.node(above).await {
                Ok(Some(node)) if node.value == PLACE && !node.has_children() => {
                    if self.remove(above, node.stat.version).await.is_err() {
                        return;
                    }
                }
                Ok(_) | Err(_) => return,
            }
        }
    }
}

/// What a write of an ephemeral row came to whose session ended meanwhile.
fn ended(path: &str) -> Error {
    Error::UnknownOutcome { path: path.to_owned(), why: "the session that made the row is over".to_owned() }
}

//! One leader among several sessions: who creates an ephemeral row first leads until it is gone.
//!
//! Nothing here runs by itself. A candidate awaits [`Election::campaign`], then does its work next to
//! [`Leadership::lost`]. The epoch of a leadership is the revision that created its row: it grows with every change of
//! leader, so that what a former leader still does can be told from what the present one does.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};

use crate::{
    Error, Expect, MetadataStore, Notification, NotificationKind, PutOptions, Result, SessionEvent, SessionEvents,
    SharedMetadataStore, Watch, path,
};

/// Who leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leader {
    /// What the leader says of itself.
    pub value: Bytes,
    /// Grows with every change of leader.
    pub epoch: u64,
    /// Whether the session of the store handle that was asked leads.
    pub is_self: bool,
}

/// A candidacy: at most one for a path and session.
#[derive(Clone)]
pub struct Election {
    store: SharedMetadataStore,
    path: String,
    value: Bytes,
}

/// The fact of leading. Dropping it does not give it up: use [`Leadership::resign`], or end the session.
pub struct Leadership {
    store: SharedMetadataStore,
    path: String,
    epoch: u64,
    watch: Watch,
    session: SessionEvents,
}

impl Election {
    /// A candidacy for the row at `path`, which will hold `value` while this candidate leads.
    pub fn new(store: SharedMetadataStore, path: &str, value: Bytes) -> Self {
        Self { store, path: path.to_owned(), value }
    }

    /// Waits until this candidate leads. Fails with the store's error, which a candidate may try again after.
    ///
    /// If the future is dropped, this session may lead nevertheless; the next call takes that leadership up.
    pub async fn campaign(&self) -> Result<Leadership> {
        loop {
            let mut vacancies = self.store.watch(&self.path).await?;
            if let Some(leadership) = self.try_lead().await? {
                return Ok(leadership);
            }
            loop {
                let event = vacancies.next().await.ok_or(Error::Closed)?;
                if matches!(event.kind, NotificationKind::Deleted | NotificationKind::Invalidated) {
                    break;
                }
            }
        }
    }

    /// Leads if nobody else does.
    pub async fn try_lead(&self) -> Result<Option<Leadership>> {
        let session = self.store.session_events();
        let watch = self.store.watch(&self.path).await?;
        let put = self.store.put(&self.path, self.value.clone(), Expect::Absent, PutOptions::EPHEMERAL).await;
        let epoch = match put {
            Ok(written) => Some(written.stat.created),
            Err(Error::AlreadyExists { .. } | Error::UnknownOutcome { .. }) => current_leader(&*self.store, &self.path)
                .await?
                .filter(|leader| leader.is_self && leader.value == self.value)
                .map(|leader| leader.epoch),
            Err(error) => return Err(error),
        };
        let (store, path) = (Arc::clone(&self.store), self.path.clone());
        Ok(epoch.map(|epoch| Leadership { store, path, epoch, watch, session }))
    }
}

/// What an event says of a leadership.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Holds,
    Gone,
    /// Only reading the row can tell.
    Unclear,
}

fn judge(event: &Notification, path: &str, epoch: u64) -> Verdict {
    match event.kind {
        NotificationKind::Invalidated => Verdict::Unclear,
        NotificationKind::Deleted if event.path == path && event.revision > epoch => Verdict::Gone,
        _ => Verdict::Holds,
    }
}

impl Leadership {
    /// This leadership's epoch: larger than that of every leader before.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Waits until this candidate no longer leads, or cannot know that it does. May be awaited again after having been
    /// dropped.
    pub async fn lost(&mut self) {
        loop {
            tokio::select! {
                event = self.session.next() => match event {
                    Some(SessionEvent::SessionLost) | None => return,
                    Some(_) => {}
                },
                event = self.watch.next() => {
                    let Some(event) = event else { return };
                    match judge(&event, &self.path, self.epoch) {
                        Verdict::Holds => {}
                        Verdict::Gone => return,
                        Verdict::Unclear => {
                            if !matches!(self.current_version().await, Ok(Some(_))) {
                                return;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Gives the leadership up; the next candidate leads at once. Succeeds also if it was lost before.
    pub async fn resign(self) -> Result<()> {
        let Some(version) = self.current_version().await? else { return Ok(()) };
        match self.store.delete(&self.path, Expect::Version(version)).await {
            Err(Error::NotFound { .. } | Error::BadVersion { .. }) => Ok(()),
            outcome => outcome,
        }
    }

    /// The version of the row if it is still the one this leadership rests on.
    async fn current_version(&self) -> Result<Option<u64>> {
        let record = self.store.get(&self.path).await?;
        Ok(record
            .filter(|record| record.stat.created == self.epoch && record.stat.created_by_self)
            .map(|record| record.stat.version))
    }
}

/// Who leads now, if anyone does.
pub async fn current_leader(store: &dyn MetadataStore, path: &str) -> Result<Option<Leader>> {
    let record = store.get(path).await?;
    Ok(record.map(|record| Leader {
        value: record.value,
        epoch: record.stat.created,
        is_self: record.stat.created_by_self,
    }))
}

/// Who leads: now and after every change. States that follow each other fast may be skipped, the last one never is.
///
/// A failed read is an item of the stream, which goes on after it; it ends when the store is closed.
pub async fn observe_leader(
    store: SharedMetadataStore,
    path: &str,
) -> Result<BoxStream<'static, Result<Option<Leader>>>> {
    path::validate(path)?;
    let watch = store.watch(path).await?;
    let path = path.to_owned();
    let first = stream::once(async { NotificationKind::Invalidated });
    let changes = first.chain(watch.map(|event| event.kind)).filter(|kind| {
        let concerns_row = *kind != NotificationKind::ChildrenChanged;
        async move { concerns_row }
    });
    let mut last = None;
    Ok(changes
        .then(move |_| {
            let (store, path) = (Arc::clone(&store), path.clone());
            async move { current_leader(&*store, &path).await }
        })
        .try_filter(move |leader| {
            let changed = last.as_ref() != Some(leader);
            last = Some(leader.clone());
            async move { changed }
        })
        .boxed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_later_delete_of_the_row_itself_ends_a_leadership() {
        let event = |path: &str, kind, revision| Notification { path: path.to_owned(), kind, revision };
        use NotificationKind::{Created, Deleted, Invalidated, Modified};
        for (event, verdict) in [
            (event("/l", Deleted, 8), Verdict::Gone),
            (event("/l", Deleted, 6), Verdict::Holds),
            (event("/l/x", Deleted, 8), Verdict::Holds),
            (event("/l", Created, 7), Verdict::Holds),
            (event("/l", Modified, 9), Verdict::Holds),
            (event("/l", Invalidated, 0), Verdict::Unclear),
        ] {
            assert_eq!(judge(&event, "/l", 7), verdict, "{event:?}");
        }
    }
}

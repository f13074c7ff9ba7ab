//! A topic's log.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use bytes::Bytes;
use futures::future::LocalBoxFuture;
use plerion_ledger::{Entry, LedgerId};
use plerion_subscription::Position;
use tokio::sync::Mutex;
use tokio::task::spawn_local;

use crate::row::{Cas, TopicRow};
use crate::state_log::{Member, Membership};
use crate::tail::Tail;
use crate::{Context, Error, StateLog};

mod append;
mod cursors;
mod end;
mod facts;
mod open;
mod read;
mod search;
mod spans;
mod trim;

pub use cursors::RecoveredCursor;
pub(crate) use end::to_the_end;
pub use facts::LogStats;
pub use open::{OpenMode, Opened};
pub use read::{LogEntry, ReadStatus, Reading};
pub use trim::Trimmed;

/// Who is told how the appends of a log went. Called on the log's shard, never from within a call of the log.
pub trait LogSink {
    /// The next `count` appends, in the order of the calls, are durable: they are the entries `first_entry`,
    /// `first_entry + 1`, … of `ledger`.
    fn confirmed(&self, ledger: LedgerId, first_entry: u64, count: u64);

    /// Nothing more will be confirmed, and the log is to be closed; called at most once. What was appended and not
    /// confirmed may or may not be found when the log is opened again. With [`Error::is_retryable`] the owner may
    /// open it again at once or soon.
    fn failed(&self, error: Error);
}

/// Who knows the present state of a topic's durable cursors. Asked when a checkpoint is made.
pub trait SnapshotSource {
    /// The state of a durable cursor, including everything it recorded. `None` if the source has recorded nothing of
    /// it yet: it then stays as it was made or recovered.
    fn cursor_snapshot(&self, cursor: &str) -> Option<Bytes>;
}

/// A handle to a topic's log. Clones are handles to the same log.
///
/// To be [closed](Self::close) before it is opened again on the same state log.
#[derive(Clone)]
pub struct ManagedLog {
    inner: Rc<Inner>,
}

struct Inner {
    context: Context,
    state_log: StateLog,
    membership: RefCell<Option<Membership>>,
    path: Arc<str>,
    row: Cas<TopicRow>,
    spans: RefCell<spans::Spans>,
    tail: RefCell<Tail>,
    /// The ledger being written to.
    current: Cell<Option<LedgerId>>,
    cursors: RefCell<BTreeMap<Rc<str>, cursors::Cursor>>,
    /// The state of the deduplication as last recorded.
    dedup: RefCell<Option<Bytes>>,
    sink: RefCell<Option<Weak<dyn LogSink>>>,
    snapshots: RefCell<Option<Weak<dyn SnapshotSource>>>,
    end: RefCell<End>,
    gate: Cell<Gate>,
    /// Held by whoever exchanges the open ledger.
    turn: Mutex<()>,
    /// Held by whoever makes a checkpoint.
    checkpointing: Mutex<()>,
    scratch: RefCell<Vec<Entry>>,
    skipped: Cell<u64>,
}

/// Whether the log has come to an end, and how.
#[derive(Default)]
enum End {
    #[default]
    Not,
    /// No more appends are taken; the sink is told when those under way are resolved.
    Failing(Error),
    Failed(Error),
}

/// Whether appends are let in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    Terminated,
    Closing,
}

impl ManagedLog {
    /// Opens the log whose row is at `path` for the owner of `state_log`'s bundle: fences earlier owners and seals
    /// the ledger they left open.
    ///
    /// # Errors
    /// [`Error::NoLog`] if it is not there and not to be created, [`Error::AlreadyOpen`], [`Error::StaleOwner`] or
    /// [`Error::Fenced`] if somebody else owns it, or what the stores say.
    pub async fn open(state_log: &StateLog, path: &str, mode: OpenMode) -> Result<Opened, Error> {
        open::open(state_log, path, mode).await
    }

    /// Says who is told of appends and asked for snapshots. To be called before the first append.
    pub fn attach(&self, sink: Weak<dyn LogSink>, snapshots: Weak<dyn SnapshotSource>) {
        self.inner.sink.replace(Some(sink));
        self.inner.snapshots.replace(Some(snapshots));
    }

    /// The path of the topic's row.
    pub fn path(&self) -> &Arc<str> {
        &self.inner.path
    }

    /// Why the log takes no more appends, if so.
    pub fn failure(&self) -> Option<Error> {
        self.inner.failure()
    }
}

impl Inner {
    fn failure(&self) -> Option<Error> {
        match &*self.end.borrow() {
            End::Not => None,
            End::Failing(error) | End::Failed(error) => Some(error.clone()),
        }
    }

    fn check(&self) -> Result<(), Error> {
        self.failure().map_or(Ok(()), Err)
    }

    /// Ends the log and tells the sink, in a task of its own so that no caller is surprised by it.
    fn fail(self: &Rc<Self>, error: Error) {
        if matches!(*self.end.borrow(), End::Failed(_)) {
            return;
        }
        self.end.replace(End::Failed(error.clone()));
        self.tail.borrow_mut().clear();
        if matches!(error, Error::Closed) {
            return;
        }
        tracing::warn!(log = %self.path, %error, "log failed");
        let inner = Rc::clone(self);
        spawn_local(async move {
            if let Some(sink) = inner.sink() {
                sink.failed(error);
            }
        });
    }

    /// Takes the outcome of a write of the row: whoever lost it is fenced.
    fn written<T>(self: &Rc<Self>, outcome: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &outcome
            && error.is_fenced()
        {
            self.fail(error.clone());
        }
        outcome
    }

    fn sink(&self) -> Option<Rc<dyn LogSink>> {
        self.sink.borrow().as_ref().and_then(Weak::upgrade)
    }

    fn last(&self) -> Position {
        plerion_subscription::Layout::last(&*self.spans.borrow())
    }
}

impl Member for Inner {
    fn checkpoint(self: Rc<Self>) -> LocalBoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.save().await })
    }

    fn state_log_failed(self: Rc<Self>, error: &Error) {
        self.fail(Error::StateLog(Arc::new(error.clone())));
    }
}

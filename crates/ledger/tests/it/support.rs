//! What the tests share.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use plerion_ledger::{AppendError, AppendSink};
use tokio::sync::Notify;

/// Runs a test on a shard of its own.
pub(crate) fn on_shard<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test)
}

/// A sink that remembers what it was told.
#[derive(Default)]
pub(crate) struct Recorder {
    told: RefCell<Told>,
    changed: Notify,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) last: Option<u64>,
    pub(crate) error: Option<AppendError>,
}

impl Recorder {
    pub(crate) fn new() -> Rc<Self> {
        Rc::default()
    }

    pub(crate) fn told(&self) -> Told {
        self.told.borrow().clone()
    }

    /// Resolves when entry `last` is durable.
    pub(crate) async fn advanced_to(&self, last: u64) {
        while self.told().last.is_none_or(|told| told < last) {
            if let Some(error) = self.told().error {
                panic!("waiting for entry {last}: {error}");
            }
            self.changed.notified().await;
        }
    }

    /// Resolves when the writer has failed.
    pub(crate) async fn failed(&self) -> AppendError {
        loop {
            if let Some(error) = self.told().error {
                return error;
            }
            self.changed.notified().await;
        }
    }
}

impl AppendSink for Recorder {
    fn advanced(&self, last: u64) {
        let mut told = self.told.borrow_mut();
        assert!(told.last.is_none_or(|before| before < last), "told {last} after {:?}", told.last);
        assert!(told.error.is_none(), "told of {last} after a failure");
        told.last = Some(last);
        self.changed.notify_one();
    }

    fn failed(&self, error: AppendError) {
        let before = self.told.borrow_mut().error.replace(error);
        assert!(before.is_none(), "failed twice: {before:?}");
        self.changed.notify_one();
    }
}

/// Waits for `future`; a test that hangs fails.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(std::time::Duration::from_secs(20), future).await.expect("this should not take 20 s")
}

//! Takes away ledgers that a crash left behind without anybody who names them.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use plerion_managed_log::Remains;
use plerion_resources::{BUNDLES_ROOT, LOGS_ROOT};
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use crate::broker::{StartError, StoreFactory};
use crate::core::Core;

/// The pause after each page of rows, so that clients are served meanwhile.
const PAUSE: Duration = Duration::from_millis(2);

/// A sweep under way.
pub(crate) struct Sweep {
    thread: JoinHandle<()>,
    /// Ends it when dropped.
    end: oneshot::Sender<()>,
}

impl Sweep {
    /// Begins a sweep; when this returns, whatever is made in the store from now on is safe from it.
    pub(crate) async fn begin(core: Arc<Core>, store: StoreFactory) -> Result<Self, StartError> {
        let (end, ended) = oneshot::channel();
        let (ready, stock_taken) = oneshot::channel();
        let run = move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return tracing::warn!(%error, "the ledger store is not swept"),
            };
            LocalSet::new().block_on(&runtime, async {
                tokio::select! {
                    () = sweep(&core, &store, ready) => {}
                    _ = ended => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name("sweep".into()).spawn(run).map_err(StartError::Thread)?;
        // An error means that there will be no sweep.
        let _ = stock_taken.await;
        Ok(Self { thread, end })
    }

    /// Ends it; the thread is there until it has noticed.
    pub(crate) fn end(self) -> JoinHandle<()> {
        drop(self.end);
        self.thread
    }
}

async fn sweep(core: &Core, store: &StoreFactory, ready: oneshot::Sender<()>) {
    let store = store();
    let remains = Remains::of(&*store).await;
    // Whoever waits for it is gone only if the broker is.
    let _ = ready.send(());
    let swept = match remains {
        Ok(remains) => {
            let pause = async || tokio::time::sleep(PAUSE).await;
            remains.sweep(&*store, &*core.metadata, LOGS_ROOT, BUNDLES_ROOT, pause).await
        }
        Err(error) => Err(error),
    };
    match swept {
        Ok(swept) if swept.is_empty() => {}
        Ok(swept) => tracing::info!(ledgers = swept.len(), "deleted ledgers that nobody names"),
        Err(error) => tracing::warn!(%error, "ledgers that nobody names are kept"),
    }
}

//! What the topics of a bundle share on their shard.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use plerion_managed_log::StateLog;

use crate::{Context, Subscription};

/// How long an acknowledgement that wants no answer may wait before it is on its way to the disk. What a crash forgets
/// is at most what was acknowledged in this time and the sync after it: within 100 ms, most of which is left to the sync
/// and to the ledger that may have to be made first.
const SAVE_AFTER: Duration = Duration::from_millis(20);

/// An owned bundle: the state log its topics record their cursors in.
pub struct Bundle {
    /// The log of all changes of cursors and deduplication.
    pub state_log: StateLog,
    unsaved: RefCell<Vec<Rc<Subscription>>>,
    scheduled: Cell<bool>,
}

impl Bundle {
    /// A bundle whose state log is open.
    pub fn new(state_log: StateLog) -> Rc<Self> {
        Rc::new(Self { state_log, unsaved: RefCell::default(), scheduled: Cell::new(false) })
    }

    /// Saves the changes of `subscription` within [`SAVE_AFTER`], together with those of others.
    pub(crate) fn save_soon(self: &Rc<Self>, context: &Rc<Context>, subscription: Rc<Subscription>) {
        self.unsaved.borrow_mut().push(subscription);
        if self.scheduled.replace(true) {
            return;
        }
        let save = context.ack_saves.begin(context.clock.monotonic());
        let (bundle, context) = (self.clone(), context.clone());
        tokio::task::spawn_local(async move {
            tokio::time::sleep(SAVE_AFTER).await;
            bundle.scheduled.set(false);
            for subscription in bundle.unsaved.take() {
                if subscription.unsaved.get() {
                    subscription.save_or_warn();
                }
            }
            match bundle.state_log.flush().await {
                Ok(()) => context.ack_saves.done(&save, context.clock.monotonic()),
                Err(error) => {
                    context.ack_saves.failed(&save);
                    tracing::warn!(%error, "acknowledgements not saved");
                }
            }
        });
    }
}

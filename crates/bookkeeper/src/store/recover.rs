//! Taking a ledger over.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::channel::oneshot;
use plerion_ledger::{Closed, Epoch, Error, LedgerId};

use super::runner::Runner;
use super::shard::Shard;
use crate::ledger_metadata::LedgerMetadata;
use crate::protocol::defects::Defects;
use crate::protocol::recovery::{self, Recovery};

/// The end that a closed ledger's metadata tells.
pub(super) fn end_of(metadata: &LedgerMetadata) -> Closed {
    Closed { last: u64::try_from(metadata.last).ok(), length: u64::try_from(metadata.length).unwrap_or(0) }
}

pub(super) async fn recover(shard: Rc<Shard>, ledger: LedgerId, epoch: Epoch) -> Result<Closed, Error> {
    let config = recovery::Config {
        ledger,
        password: shard.config.password.clone(),
        digest: shard.config.digest,
        epoch: Some(epoch.0),
        window: shard.config.recovery_window,
        defects: Defects::NONE,
    };
    let (sender, ended) = oneshot::channel();
    let sender = RefCell::new(Some(sender));
    let mut out = Vec::new();
    let machine = Recovery::start(config, &mut out);
    let tell = Box::new(move |event| {
        if let Some(sender) = sender.borrow_mut().take() {
            // Whoever asked may have gone.
            let _ = sender.send(event);
        }
    });
    let runner = Runner::new(&shard, ledger, machine, tell);
    runner.carry_out(out);
    let ended = ended.await.map_err(|_| Error::Unavailable(Arc::from("the store is closed")))?;
    match ended {
        recovery::Event::Done(metadata) => {
            shard.metrics.recoveries.fetch_add(1, Ordering::Relaxed);
            let closed = end_of(&metadata);
            shard.learn(ledger, metadata);
            Ok(closed)
        }
        recovery::Event::Failed(error) => Err(told(ledger, &error)),
    }
}

fn told(ledger: LedgerId, error: &recovery::Error) -> Error {
    match error {
        recovery::Error::NoLedger => Error::NoLedger(ledger),
        recovery::Error::Owned(by) => Error::Fenced { ledger, by: Epoch(*by) },
        other => Error::Unavailable(Arc::from(format!("ledger {ledger} cannot be recovered: {other}"))),
    }
}

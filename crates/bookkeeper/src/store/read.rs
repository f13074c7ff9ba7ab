//! Reading from bookies.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::channel::oneshot;
use plerion_ledger::{Entry, LedgerId, ReadError};

use super::runner::Runner;
use super::shard::Shard;
use crate::digest::Digester;
use crate::directory::DirectoryError;
use crate::entry;
use crate::ledger_metadata::{LedgerMetadata, State};
use crate::protocol::read::{self, Read};

pub(super) async fn read(
    shard: Rc<Shard>,
    ledger: LedgerId,
    first: u64,
    last: u64,
    max_bytes: usize,
) -> Result<Vec<Entry>, ReadError> {
    let kept = shard.known(ledger);
    let was_kept = kept.is_some();
    let metadata = match kept {
        Some(metadata) => metadata,
        None => look_up(&shard, ledger).await?,
    };
    match read_by(&shard, ledger, metadata, first, last, max_bytes).await {
        // Dead bookies of closed ledgers are replaced: what was kept may name one of them.
        Err(error) if was_kept && !matches!(error, ReadError::NoEntry { .. }) => {
            shard.forget(ledger);
            let metadata = look_up(&shard, ledger).await?;
            read_by(&shard, ledger, metadata, first, last, max_bytes).await
        }
        outcome => outcome,
    }
}

async fn look_up(shard: &Shard, ledger: LedgerId) -> Result<Arc<LedgerMetadata>, ReadError> {
    let writer = shard.writers.borrow().get(&ledger).and_then(std::rc::Weak::upgrade);
    if let Some(writer) = writer {
        return Ok(Arc::new(writer.machine.borrow().stored().metadata.clone()));
    }
    match shard.directory.get(ledger).await {
        Ok(Some(found)) => {
            let metadata = Arc::new(found.metadata);
            if metadata.state == State::Closed {
                shard.learn(ledger, Arc::clone(&metadata));
            }
            Ok(metadata)
        }
        Ok(None) => Err(ReadError::NoLedger(ledger)),
        Err(error @ DirectoryError::Metadata { .. }) => {
            Err(ReadError::Corrupt { ledger, entry: 0, place: Arc::from(error.to_string()) })
        }
        Err(error) => Err(ReadError::Io { ledger, cause: Arc::from(error.to_string()) }),
    }
}

async fn read_by(
    shard: &Rc<Shard>,
    ledger: LedgerId,
    metadata: Arc<LedgerMetadata>,
    first: u64,
    last: u64,
    max_bytes: usize,
) -> Result<Vec<Entry>, ReadError> {
    let no_entry = || ReadError::NoEntry { ledger, entry: first };
    let writer = shard.writers.borrow().get(&ledger).and_then(std::rc::Weak::upgrade);
    let end = match (metadata.state, &writer) {
        (State::Closed, _) => metadata.last,
        (_, Some(writer)) => writer.machine.borrow().acknowledged(),
        // The caller asks only for what it knows to be acknowledged.
        _ => entry::MAX,
    };
    let first = i64::try_from(first).map_err(|_| no_entry())?;
    let last = i64::try_from(last).unwrap_or(i64::MAX).min(end);
    if first > last {
        return Err(no_entry());
    }
    let kind = metadata.digest.unwrap_or(shard.config.digest);
    let config = read::Config {
        ledger,
        digester: Digester::new(kind, &shard.config.password),
        prefer: usize::try_from(ledger.0 % 64).unwrap_or(0),
        metadata,
        first,
        last,
        max_bytes,
        batches: !shard.no_batches.get(),
        speculate: shard.config.speculative_read,
    };
    let (sender, ended) = oneshot::channel();
    let sender = RefCell::new(Some(sender));
    let tell = Box::new(move |event| {
        if let Some(sender) = sender.borrow_mut().take() {
            // Whoever asked may have gone.
            let _ = sender.send(event);
        }
    });
    let mut out = Vec::new();
    let machine = Read::start(config, &mut out);
    let runner = Runner::new(shard, ledger, machine, tell);
    runner.carry_out(out);
    let ended = ended.await.map_err(|_| ReadError::Io { ledger, cause: Arc::from("the store is closed") })?;
    let mismatches = runner.machine.borrow().mismatches();
    if mismatches > 0 {
        shard.metrics.digest_mismatches.fetch_add(u64::from(mismatches), Ordering::Relaxed);
        tracing::warn!(%ledger, first, mismatches, "bookies answered with damaged entries");
    }
    if runner.machine.borrow().hung_up() && matches!(ended, read::Event::Done(_)) {
        shard.no_batches.set(true);
    }
    match ended {
        read::Event::Done(found) => Ok(found
            .into_iter()
            .map(|sealed| Entry { id: sealed.header.entry.unsigned_abs(), bytes: sealed.body })
            .collect()),
        read::Event::Failed(error) => Err(told(ledger, end, &error)),
    }
}

fn told(ledger: LedgerId, end: i64, error: &read::Error) -> ReadError {
    match error {
        // It is acknowledged and nobody has it: that is damage, not the end of the ledger.
        read::Error::Missing { entry: id, .. } if *id <= end && end != entry::MAX => {
            ReadError::Corrupt { ledger, entry: id.unsigned_abs(), place: Arc::from(error.to_string()) }
        }
        read::Error::Missing { entry, .. } => ReadError::NoEntry { ledger, entry: entry.unsigned_abs() },
        read::Error::Damaged { entry, .. } => {
            ReadError::Corrupt { ledger, entry: entry.unsigned_abs(), place: Arc::from(error.to_string()) }
        }
        read::Error::Failed { .. } => ReadError::Io { ledger, cause: Arc::from(error.to_string()) },
    }
}

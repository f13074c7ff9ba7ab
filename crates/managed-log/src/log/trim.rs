//! Giving back the space of what nobody needs.

use std::rc::Rc;

use plerion_metadata::Durability;
use plerion_subscription::Position;

use super::end::to_the_end;
use super::{Inner, ManagedLog};
use crate::retention::{self, removable};
use crate::{Error, Retention};

/// What a trim deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trimmed {
    /// Ledgers.
    pub ledgers: usize,
    /// Their entries.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl ManagedLog {
    /// Deletes the ledgers that every durable cursor has passed and retention does not keep. `slowest` is the
    /// mark-delete position of the slowest durable cursor, `None` if there is no durable cursor.
    ///
    /// Never deletes the open ledger, but seals it first when it is old, or consumed and its space is wanted: called
    /// now and then, it gives the space back of topics to which nobody publishes. Goes on if the caller goes away.
    ///
    /// # Errors
    /// What the stores say. [`Error::Fenced`] ends the log.
    pub async fn trim(&self, slowest: Option<Position>, retention: Retention) -> Result<Trimmed, Error> {
        let inner = Rc::clone(&self.inner);
        to_the_end(async move { inner.trim(slowest, retention).await }).await
    }
}

impl Inner {
    async fn trim(self: &Rc<Self>, slowest: Option<Position>, retention: Retention) -> Result<Trimmed, Error> {
        self.check()?;
        self.seal_idle(slowest, retention).await?;
        let (now_ms, total) = (self.context.clock.wall_ms(), self.bytes());
        if removable(&self.row.get().ledgers, slowest, retention, total, now_ms) == 0 {
            return Ok(Trimmed::default());
        }
        let mut trimmed = Trimmed::default();
        let mut up_to = None;
        let written = self
            .row
            .update(Durability::Synced, |row| {
                let count = removable(&row.ledgers, slowest, retention, total, now_ms);
                for ledger in row.ledgers.drain(..count) {
                    trimmed.ledgers += 1;
                    trimmed.entries += ledger.entries;
                    trimmed.bytes += ledger.bytes;
                    up_to = Some(ledger.last());
                    row.doomed.push(ledger.id);
                }
                row.trimmed = up_to.or(row.trimmed);
            })
            .await;
        self.written(written)?;
        if let Some(last) = up_to {
            self.spans.borrow_mut().remove_to(last.ledger);
            self.row.delete_doomed(&*self.context.store).await;
        }
        Ok(trimmed)
    }

    /// Seals the open ledger if it is old, or if all of it could be deleted at once and that is worth it.
    async fn seal_idle(self: &Rc<Self>, slowest: Option<Position>, retention: Retention) -> Result<(), Error> {
        let _turn = self.turn.lock().await;
        self.check()?;
        let wanted = {
            let (tail, config) = (self.tail.borrow(), &self.context.config);
            let open = tail.open();
            let age = self.context.clock.monotonic().saturating_sub(open.since);
            let consumed = slowest.is_some_and(|mark_delete| self.last() <= mark_delete)
                && retention::frees_when_sealed(retention, self.bytes());
            let worth_it = age >= config.min_rollover || open.bytes >= config.idle_seal_bytes;
            let quiet = tail.has_writer() && !tail.is_switching() && open.entries > 0 && !tail.has_unconfirmed();
            quiet && (age >= config.max_rollover || (consumed && worth_it))
        };
        if wanted { self.switch().await } else { Ok(()) }
    }
}

//! The metadata of one ledger, with a record of what must never happen to it.

use std::sync::Arc;

use bytes::Bytes;
use plerion_bookkeeper::directory::{Ask, Told};
use plerion_bookkeeper::ledger_metadata::{LedgerMetadata, State, Versioned};

pub(crate) struct Store {
    row: Bytes,
    pub(crate) version: u64,
    pub(crate) is_away: bool,
    /// How often the ledger was closed.
    pub(crate) closes: u32,
}

impl Store {
    pub(crate) fn new(metadata: &LedgerMetadata) -> Self {
        Self { row: metadata.encode(), version: 0, is_away: false, closes: 0 }
    }

    pub(crate) fn metadata(&self) -> LedgerMetadata {
        LedgerMetadata::decode(&self.row).unwrap()
    }

    pub(crate) fn versioned(&self) -> Versioned {
        Versioned { metadata: self.metadata(), version: self.version }
    }

    /// Does what is asked; `Err` says which rule the change breaks.
    pub(crate) fn serve(&mut self, ask: &Ask) -> Result<Told, String> {
        match ask {
            Ask::Read => Ok(Told::Found(Arc::new(self.versioned()))),
            Ask::Write { version, .. } if *version != self.version => Ok(Told::Conflict),
            Ask::Write { metadata, .. } => {
                let before = self.metadata();
                match (before.state, metadata.state) {
                    (State::Closed, _) => return Err("a closed ledger was changed".into()),
                    (State::InRecovery, State::Open) => return Err("a recovery was undone".into()),
                    (_, State::Closed) => self.closes += 1,
                    _ => {}
                }
                let kept = before.segments.len() - 1;
                if metadata.segments.get(..kept) != Some(&before.segments[..kept]) {
                    return Err("a segment before the last was changed".into());
                }
                self.row = metadata.encode();
                self.version += 1;
                Ok(Told::Written(self.version))
            }
        }
    }
}

//! The row of a bundle: where its state log is.

use bytes::Bytes;
use plerion_ledger::{Epoch, LedgerId};

use super::Stored;
use crate::codec::{self, Malformed, Put};

const VERSION: u8 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BundleRow {
    /// Who owned the bundle last.
    pub(crate) owner: Epoch,
    /// The ledgers of the state log, in the order of their records.
    pub(crate) ledgers: Vec<LedgerId>,
    /// Ledgers to delete that may still be there.
    pub(crate) doomed: Vec<LedgerId>,
}

impl Stored for BundleRow {
    fn encode(&self) -> Bytes {
        codec::seal(VERSION, |out| {
            out.put_varint(self.owner.0);
            for list in [&self.ledgers, &self.doomed] {
                out.put_varint(list.len() as u64);
                list.iter().for_each(|id| out.put_varint(id.0));
            }
        })
    }

    fn decode(bytes: Bytes) -> Result<Self, Malformed> {
        let mut take = codec::open(VERSION, bytes)?;
        Ok(Self {
            owner: Epoch(take.int()?),
            ledgers: take.list(|take| Ok(LedgerId(take.int()?)))?,
            doomed: take.list(|take| Ok(LedgerId(take.int()?)))?,
        })
    }

    fn doomed(&mut self) -> &mut Vec<LedgerId> {
        &mut self.doomed
    }
}

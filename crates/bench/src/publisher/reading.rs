//! The thread that takes receipts.

use std::sync::atomic::Ordering;

use plerion_wire::ServerError;
use plerion_wire::proto::base_command::Type;

use super::{BURST, Published, Shared};
use crate::engine::STALL;
use crate::frames::FrameReader;
use crate::{Error, fields};

/// Takes receipts until the last send has one.
pub(super) struct Reading<'a> {
    pub(super) shared: Shared<'a>,
    pub(super) reader: FrameReader,
    pub(super) topics: Vec<String>,
}

impl Reading<'_> {
    pub(super) fn run(mut self) -> Result<Published, Error> {
        let Shared { run, times, window, batch, .. } = self.shared;
        let mut published = Published::default();
        let (mut receipts, mut since) = (Vec::with_capacity(BURST), Vec::with_capacity(BURST));
        let mut heard = run.now();
        loop {
            receipts.clear();
            self.take(&mut receipts)?;
            let now = run.now();
            since.clear();
            window.received(&receipts, &mut since)?;
            for due in since.iter().filter(|due| **due >= times.measure) {
                published.latency.record_many(now.saturating_sub(*due), batch);
                published.messages += batch;
            }
            if !receipts.is_empty() {
                let messages = receipts.len() as u64 * batch;
                published.total += messages;
                published.last = now;
                run.progress.published(messages);
                heard = now;
            }
            match window.outstanding() {
                (0, false) => return Ok(published),
                (0, true) => heard = now,
                (pending, _) if now - heard > STALL => {
                    let pending = pending as u64;
                    return Err(Error::Stalled { what: "receipt", seconds: STALL.as_secs(), pending });
                }
                _ => {}
            }
        }
    }

    /// Takes the receipts that are there, waiting a moment for the first.
    fn take(&mut self, receipts: &mut Vec<(usize, u64)>) -> Result<(), Error> {
        let topic = |id: u64| self.topics.get(id as usize).cloned().unwrap_or_default();
        while let Some(frame) = self.reader.next()? {
            if frame.is(Type::SendReceipt) {
                receipts.push((frame.int(1)? as usize, frame.int(2)?));
            } else if frame.is(Type::Ping) {
                self.shared.pings.fetch_add(1, Ordering::Relaxed);
            } else if frame.is(Type::SendError) {
                let code = ServerError::try_from(frame.int(3)? as i32).unwrap_or(ServerError::UnknownError);
                return Err(Error::Refused {
                    request: format!("a message to {}", topic(frame.int(1)?)),
                    code: code.as_str_name().into(),
                    message: String::from_utf8_lossy(fields::bytes(frame.body, 4).unwrap_or_default()).into_owned(),
                });
            } else if frame.is(Type::CloseProducer) {
                return Err(Error::Closed("producer", topic(frame.int(1)?)));
            }
            if !self.reader.is_ready() {
                break;
            }
        }
        Ok(())
    }
}

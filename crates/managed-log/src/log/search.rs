//! Finding a position by time.

use bytes::Bytes;
use plerion_subscription::Position;

use super::ManagedLog;
use crate::ReadFailure;

impl ManagedLog {
    /// The last entry published before `before_ms` (milliseconds since the Unix epoch), or `None` if there is none
    /// before it. Entries for which `publish_time_of` knows no time, and lost ones, are passed over.
    ///
    /// Reads a number of entries logarithmic in the length of the log, and takes times as growing with positions;
    /// where they do not, it finds some entry before that time which is followed by one that is not.
    ///
    /// # Errors
    /// [`ReadFailure`] if an entry cannot be read and may be later.
    pub async fn find_by_publish_time(
        &self,
        before_ms: u64,
        publish_time_of: impl Fn(&Bytes) -> Option<u64>,
    ) -> Result<Option<Position>, ReadFailure> {
        let spans = self.inner.spans.borrow().clone();
        let nth = |index: u64| spans.after_n(Position::EARLIEST, index + 1);
        let (mut before, mut end) = (0, spans.len());
        while before < end {
            let middle = before + (end - before) / 2;
            let mut probe = middle;
            let time = loop {
                if probe == end {
                    break None;
                }
                let time = self.publish_time(nth(probe), &publish_time_of).await?;
                if time.is_some() {
                    break time;
                }
                probe += 1;
            };
            match time {
                Some(time) if time < before_ms => before = probe + 1,
                _ => end = middle,
            }
        }
        Ok(before.checked_sub(1).map(nth))
    }

    async fn publish_time(
        &self,
        position: Position,
        publish_time_of: &impl Fn(&Bytes) -> Option<u64>,
    ) -> Result<Option<u64>, ReadFailure> {
        match self.read(position, position, 1, usize::MAX).await {
            Ok(reading) => Ok(reading.entries.first().and_then(|entry| publish_time_of(&entry.bytes))),
            Err(failure) if failure.is_retryable() => Err(failure),
            Err(_) => Ok(None),
        }
    }
}

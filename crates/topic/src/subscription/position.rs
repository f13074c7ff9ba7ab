//! Where a topic ends, as its consumers ask.

use plerion_subscription::{Layout, Position};

use super::Subscription;
use crate::{Error, facts};

/// The answer to a client that asks where the topic ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastMessage {
    /// The last message's entry; (−1, −1) if there is none.
    pub position: Position,
    /// Its index in the entry's batch; −1 if the entry is no batch.
    pub batch_index: i32,
    /// How many messages the batch has; 0 if the entry is no batch.
    pub batch_size: i32,
    /// Up to where the subscription has acknowledged everything.
    pub mark_delete: Position,
}

impl Subscription {
    /// The last message of the topic, and how far this subscription is.
    ///
    /// # Errors
    /// What reading the entry says.
    pub async fn last_message(&self) -> Result<LastMessage, Error> {
        let last = self.log.floor(self.log.last());
        let none = LastMessage {
            position: Position::EARLIEST,
            batch_index: -1,
            batch_size: 0,
            mark_delete: self.mark_delete(),
        };
        let Some(position) = last else { return Ok(none) };
        let reading = self.log.read(position, position, 1, usize::MAX).await?;
        let batch = reading
            .entries
            .first()
            .and_then(|entry| facts::metadata(&entry.bytes))
            .and_then(|metadata| metadata.num_messages_in_batch)
            .unwrap_or(0);
        Ok(LastMessage { position, batch_index: batch - 1, batch_size: batch, ..none })
    }
}

//! From a SEND to its receipt.

use std::collections::VecDeque;
use std::rc::Rc;

use plerion_ledger::{Body, LedgerId, Verified};
use plerion_managed_log::{AppendRefused, ManagedLog};
use plerion_subscription::Position;
use plerion_subscription::dedup::{Decision, Sequence};
use plerion_wire::command::Send;
use plerion_wire::encode::SendReceipt;
use plerion_wire::payload::CHECKSUM_PART;
use plerion_wire::{MessageMetadata, Payload, PayloadError, ServerError};

use crate::context::Totals;
use crate::producer::State;
use crate::{Producer, SendRefusal, Topic, dedup};

/// A SEND that waits for its answer.
pub(crate) struct Pending {
    producer: Rc<Producer>,
    sequence_id: u64,
    highest_sequence_id: u64,
    messages: u32,
    /// Bytes as received.
    received: usize,
    /// What deduplication knows it by.
    sequence: Option<Sequence>,
    /// Whether it is an entry of the log. A duplicate is none, and waits only for the answers before its own.
    stored: bool,
}

/// The SENDs under way on a topic, oldest first: the order of the log.
pub(crate) type PendingQueue = VecDeque<Pending>;

impl Producer {
    /// Publishes one SEND; the answer goes to the client's connection.
    pub fn publish(self: &Rc<Self>, send: &Send<'_>, bytes: &[u8]) {
        self.outstanding.set(self.outstanding.get() + 1);
        if let Err(refusal) = self.try_publish(send, bytes) {
            self.refuse(send.sequence_id, refusal.error, &refusal.message, bytes.len());
        }
    }

    fn try_publish(self: &Rc<Self>, send: &Send<'_>, bytes: &[u8]) -> Result<(), Refused> {
        if self.state.get() != State::Ready {
            return Err(Refused::new(ServerError::ProducerFenced, "the producer has no access to the topic"));
        }
        let payload = Payload::parse(bytes)?;
        if let Err(error) = payload.verify() {
            Totals::add(&self.topic.context.totals.checksum_errors, 1);
            return Err(error.into());
        }
        let messages = u32::try_from(send.num_messages).unwrap_or(1).max(1);
        self.published.add(u64::from(messages), bytes.len() as u64);
        match &self.topic.log {
            Some(log) => self.store(log, send, &payload, messages, bytes.len()),
            None => {
                self.topic.broadcast(self, &payload, messages);
                self.answer(send.sequence_id, send.highest_sequence_id.unwrap_or(0), Position::new(0, 0), bytes.len());
                Ok(())
            }
        }
    }

    fn store(
        self: &Rc<Self>,
        log: &ManagedLog,
        send: &Send<'_>,
        payload: &Payload<'_>,
        messages: u32,
        received: usize,
    ) -> Result<(), Refused> {
        let topic = &self.topic;
        let mut pending = Pending {
            producer: self.clone(),
            sequence_id: send.sequence_id,
            highest_sequence_id: send.highest_sequence_id.unwrap_or(0),
            messages,
            received,
            sequence: None,
            stored: true,
        };
        if topic.deduplicates() {
            let metadata = MessageMetadata::peek(payload.metadata)
                .map_err(|error| Refused::new(ServerError::ChecksumError, format!("unreadable metadata: {error}")))?;
            let sequence = dedup::sequence(&metadata, send.highest_sequence_id);
            match topic.deduplicate(&self.name, sequence) {
                Decision::New => pending.sequence = Some(sequence),
                Decision::Duplicate => {
                    Totals::add(&topic.context.totals.duplicates, 1);
                    pending.stored = false;
                    topic.pending.borrow_mut().push_back(pending);
                    topic.answer_duplicates();
                    return Ok(());
                }
                Decision::Undecided => {
                    let why = "an earlier attempt to publish this message is still under way";
                    return Err(Refused::new(ServerError::UnknownError, why));
                }
            }
        }
        let verified = payload.checksum.map(|crc32c| Verified { skip: CHECKSUM_PART as u8, crc32c });
        if let Err(refused) = log.append(Body { bytes: payload.without_broker_entry(), verified }) {
            if let Some(marks) = topic.dedup.borrow_mut().ready() {
                marks.failed(&self.name);
            }
            return Err(refused.into());
        }
        topic.pending.borrow_mut().push_back(pending);
        Ok(())
    }

    fn answer(&self, sequence_id: u64, highest_sequence_id: u64, position: Position, received: usize) {
        let receipt = SendReceipt {
            producer_id: self.id,
            sequence_id,
            highest_sequence_id,
            ledger_id: position.ledger.cast_unsigned(),
            entry_id: position.entry.cast_unsigned(),
        };
        self.topic.context.clients.receipt(self.connection, &receipt, received);
        self.answered();
    }

    fn refuse(&self, sequence_id: u64, error: ServerError, message: &str, received: usize) {
        let refusal = SendRefusal { producer_id: self.id, sequence_id, error, message };
        self.topic.context.clients.send_error(self.connection, &refusal, received);
        self.answered();
    }
}

impl Topic {
    /// Answers the SENDs whose entries are durable now.
    pub(crate) fn receipts(&self, ledger: LedgerId, first_entry: u64, count: u64) {
        let ledger = ledger.0.cast_signed();
        let mut bytes = 0;
        let mut messages = 0;
        for entry in first_entry..first_entry + count {
            self.answer_duplicates();
            let Some(pending) = self.pending.borrow_mut().pop_front() else { break };
            bytes += pending.received as u64;
            messages += u64::from(pending.messages);
            if let Some(sequence) = pending.sequence
                && let Some(marks) = self.dedup.borrow_mut().ready()
            {
                marks.persisted(&pending.producer.name, sequence);
            }
            pending.answer(Position::new(ledger, entry.cast_signed()));
        }
        self.answer_duplicates();
        self.published.add(messages, bytes);
        Totals::add(&self.context.totals.messages_in, messages);
        Totals::add(&self.context.totals.bytes_in, bytes);
        self.deduplicated(count);
        self.note_emptied();
    }

    /// Answers the duplicates that nothing is before.
    fn answer_duplicates(&self) {
        loop {
            let mut pending = self.pending.borrow_mut();
            if pending.front().is_none_or(|front| front.stored) {
                return;
            }
            let Some(duplicate) = pending.pop_front() else { return };
            drop(pending);
            duplicate.answer(Position::EARLIEST);
            self.note_emptied();
        }
    }

    /// Refuses everything that waits for an answer.
    pub(crate) fn refuse_pending(&self, why: &str) {
        for pending in self.pending.take() {
            if let Some(marks) = self.dedup.borrow_mut().ready() {
                marks.failed(&pending.producer.name);
            }
            pending.producer.refuse(pending.sequence_id, ServerError::PersistenceError, why, pending.received);
        }
        self.note_emptied();
    }

    fn note_emptied(&self) {
        if self.pending.borrow().is_empty() {
            self.emptied.notify_waiters();
        }
    }

    /// Resolves when no SEND waits for an answer.
    pub(crate) async fn settled(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.pending.borrow().is_empty() {
                return;
            }
            emptied.await;
        }
    }
}

impl Pending {
    fn answer(self, position: Position) {
        self.producer.answer(self.sequence_id, self.highest_sequence_id, position, self.received);
    }
}

/// Why a SEND is not stored.
struct Refused {
    error: ServerError,
    message: String,
}

impl Refused {
    fn new(error: ServerError, message: impl Into<String>) -> Self {
        Self { error, message: message.into() }
    }
}

impl From<PayloadError> for Refused {
    fn from(error: PayloadError) -> Self {
        Self::new(ServerError::ChecksumError, error.to_string())
    }
}

impl From<AppendRefused> for Refused {
    fn from(refused: AppendRefused) -> Self {
        let error = match &refused {
            AppendRefused::Terminated(_) => ServerError::TopicTerminatedError,
            AppendRefused::Failed(_) => ServerError::PersistenceError,
        };
        Self::new(error, refused.to_string())
    }
}

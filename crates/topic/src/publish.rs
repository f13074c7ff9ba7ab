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
    answer: Answer,
}

/// How a SEND will be answered, once those before it are.
enum Answer {
    /// With the place of its entry, when that is durable. Deduplication knows it by its sequence.
    Stored(Option<Sequence>),
    /// With the place that all messages have which are not kept.
    Passed,
    /// As one that is stored already, or will be once the SENDs before it are.
    Duplicate,
    /// With the reason why not.
    Refused(Refused),
}

/// The SENDs under way on a topic, oldest first: the order of the log. The first one is always an entry of the log:
/// what needs no waiting for the store waits only for the answers before its own.
pub(crate) type PendingQueue = VecDeque<Pending>;

impl Producer {
    /// Publishes one SEND; the answer goes to the client's connection, after those to the SENDs before it.
    pub fn publish(self: &Rc<Self>, send: &Send<'_>, bytes: &[u8]) {
        self.outstanding.set(self.outstanding.get() + 1);
        let messages = u32::try_from(send.num_messages).unwrap_or(1).max(1);
        let answer = self.try_publish(send, bytes, messages).unwrap_or_else(Answer::Refused);
        self.topic.answer_in_order(Pending {
            producer: self.clone(),
            sequence_id: send.sequence_id,
            highest_sequence_id: send.highest_sequence_id.unwrap_or(0),
            messages,
            received: bytes.len(),
            answer,
        });
    }

    fn try_publish(&self, send: &Send<'_>, bytes: &[u8], messages: u32) -> Result<Answer, Refused> {
        if self.state.get() != State::Ready {
            return Err(Refused::new(ServerError::ProducerFenced, "the producer has no access to the topic"));
        }
        if send.txn.is_some() {
            return Err(Refused::new(ServerError::NotAllowedError, "Transactions are not enabled."));
        }
        let payload = Payload::parse(bytes)?;
        if let Err(error) = payload.verify() {
            Totals::add(&self.topic.context.totals.checksum_errors, 1);
            return Err(error.into());
        }
        let answer = match &self.topic.log {
            Some(log) => self.store(log, send, &payload)?,
            None => {
                self.topic.broadcast(self, &payload, messages);
                Answer::Passed
            }
        };
        self.published.add(u64::from(messages), bytes.len() as u64);
        Ok(answer)
    }

    fn store(&self, log: &ManagedLog, send: &Send<'_>, payload: &Payload<'_>) -> Result<Answer, Refused> {
        let topic = &self.topic;
        let mut sequence = None;
        if topic.deduplicates() {
            let metadata = MessageMetadata::peek(payload.metadata)
                .map_err(|error| Refused::new(ServerError::ChecksumError, format!("unreadable metadata: {error}")))?;
            let numbered = dedup::sequence(&metadata, send.highest_sequence_id);
            match topic.deduplicate(&self.name, numbered) {
                Decision::New => sequence = Some(numbered),
                Decision::Undecided if !topic.knows_duplicates() => {
                    let why = "the topic is finding out which messages it has";
                    return Err(Refused::new(ServerError::UnknownError, why));
                }
                // What is under way is before it in the queue: by its turn that is stored, or all of them are refused.
                Decision::Duplicate | Decision::Undecided => {
                    Totals::add(&topic.context.totals.duplicates, 1);
                    return Ok(Answer::Duplicate);
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
        Ok(Answer::Stored(sequence))
    }
}

impl Topic {
    /// Answers a SEND after all those before it.
    fn answer_in_order(&self, pending: Pending) {
        let mut queue = self.pending.borrow_mut();
        if queue.is_empty() && !pending.is_stored() {
            drop(queue);
            pending.answer();
        } else {
            queue.push_back(pending);
        }
    }

    /// Answers the SENDs whose entries are durable now, and those that waited for them alone.
    pub(crate) fn receipts(&self, ledger: LedgerId, first_entry: u64, count: u64) {
        let ledger = ledger.0.cast_signed();
        let mut bytes = 0;
        let mut messages = 0;
        for entry in first_entry..first_entry + count {
            let Some(pending) = self.pop(Pending::is_stored) else { break };
            bytes += pending.received as u64;
            messages += u64::from(pending.messages);
            if let Answer::Stored(Some(sequence)) = pending.answer
                && let Some(marks) = self.dedup.borrow_mut().ready()
            {
                marks.persisted(&pending.producer.name, sequence);
            }
            pending.receipt(Position::new(ledger, entry.cast_signed()));
            while let Some(pending) = self.pop(|pending| !pending.is_stored()) {
                pending.answer();
            }
        }
        self.published.add(messages, bytes);
        Totals::add(&self.context.totals.messages_in, messages);
        Totals::add(&self.context.totals.bytes_in, bytes);
        // One that is closing records them when nothing is under way any more.
        if self.is_open() {
            self.deduplicated(count);
        }
        self.note_emptied();
    }

    /// Takes the first SEND of the queue if it is such a one.
    fn pop(&self, is_wanted: impl FnOnce(&Pending) -> bool) -> Option<Pending> {
        let mut queue = self.pending.borrow_mut();
        if is_wanted(queue.front()?) { queue.pop_front() } else { None }
    }

    /// Refuses everything that waits for the store.
    pub(crate) fn refuse_pending(&self, why: &str) {
        for pending in self.pending.take() {
            match &pending.answer {
                Answer::Refused(refused) => pending.refuse(refused.error, &refused.message),
                _ => {
                    if let Some(marks) = self.dedup.borrow_mut().ready() {
                        marks.failed(&pending.producer.name);
                    }
                    pending.refuse(ServerError::PersistenceError, why);
                }
            }
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
    /// Whether the store has to answer first.
    fn is_stored(&self) -> bool {
        matches!(self.answer, Answer::Stored(_))
    }

    /// Answers what does not wait for the store.
    fn answer(&self) {
        match &self.answer {
            Answer::Refused(refused) => self.refuse(refused.error, &refused.message),
            Answer::Passed => self.receipt(Position::new(0, 0)),
            Answer::Duplicate | Answer::Stored(_) => self.receipt(Position::EARLIEST),
        }
    }

    fn receipt(&self, position: Position) {
        let receipt = SendReceipt {
            producer_id: self.producer.id,
            sequence_id: self.sequence_id,
            highest_sequence_id: self.highest_sequence_id,
            ledger_id: position.ledger.cast_unsigned(),
            entry_id: position.entry.cast_unsigned(),
        };
        self.producer.topic.context.clients.receipt(self.producer.connection, &receipt, self.received);
        self.producer.answered();
    }

    fn refuse(&self, error: ServerError, message: &str) {
        let producer = &self.producer;
        let refusal = SendRefusal { producer_id: producer.id, sequence_id: self.sequence_id, error, message };
        producer.topic.context.clients.send_error(producer.connection, &refusal, self.received);
        producer.answered();
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

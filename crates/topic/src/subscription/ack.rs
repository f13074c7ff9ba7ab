//! Acknowledgements, and how they become durable.

use std::rc::Rc;

use plerion_subscription::Position;
use plerion_subscription::cursor::Acked;
use plerion_wire::command::{Ack, AckType, MessageId, TxnId};
use plerion_wire::{ServerError, proto};

use super::Subscription;
use crate::consumer::position;
use crate::{ConnectionId, Consumer, Error};

/// Answers that wait for what they answer to be durable.
#[derive(Default)]
pub(super) struct Waiting {
    requests: Vec<Request>,
    /// A task will take them.
    scheduled: bool,
}

/// An ACK that wants an answer.
struct Request {
    connection: ConnectionId,
    consumer_id: u64,
    request_id: u64,
    txn: Option<TxnId>,
}

impl Request {
    fn response(&self, outcome: Result<(), (ServerError, String)>) -> proto::CommandAckResponse {
        let (error, message) = outcome.err().unzip();
        proto::CommandAckResponse {
            consumer_id: self.consumer_id,
            request_id: Some(self.request_id),
            txnid_least_bits: self.txn.map(|txn| txn.least_bits),
            txnid_most_bits: self.txn.map(|txn| txn.most_bits),
            error: error.map(i32::from),
            message,
        }
    }
}

impl Subscription {
    /// Takes the acknowledgements of `consumer`.
    pub(crate) fn acknowledge(self: &Rc<Self>, consumer: &Consumer, ack: &Ack<'_>) {
        let request = ack.request_id.map(|request_id| Request {
            connection: consumer.connection,
            consumer_id: consumer.id,
            request_id,
            txn: ack.txn,
        });
        if ack.txn.is_some() {
            let refusal = (ServerError::NotAllowedError, "Transactions are not enabled.".to_owned());
            if let Some(request) = request {
                self.context.clients.command(request.connection, request.response(Err(refusal)).into());
            }
            return;
        }
        let room = match ack.ack_type {
            AckType::Individual => ack.message_ids.iter().filter(|id| self.ack_one(*id)).count() > 0,
            AckType::Cumulative => ack.message_ids.iter().next().is_some_and(|id| self.ack_up_to(id)),
        };
        self.mark_unsaved();
        if let Some(request) = request {
            self.answer_when_durable(request);
        }
        if room {
            self.pump();
        } else {
            self.tell_end();
        }
    }

    /// Acknowledges one entry, or some messages of a batch; whether that made room for more.
    fn ack_one(&self, id: MessageId<'_>) -> bool {
        let at = position(id);
        if id.ack_set.is_empty() {
            return self.ack_entry(at);
        }
        if !self.context.settings().subscriptions.batch_index_acks {
            return false;
        }
        let left = words(id);
        let acked = self.cursor.borrow_mut().ack_batch(at, &left, batch_size(id), &self.log);
        match acked {
            Acked::Whole => self.dispatcher.borrow_mut().acked(at, 0),
            Acked::Partly { remaining } => self.dispatcher.borrow_mut().acked(at, remaining),
            Acked::Unchanged => false,
        }
    }

    /// Acknowledges the entry at `at`; whether that made room for more.
    pub(super) fn ack_entry(&self, at: Position) -> bool {
        match self.cursor.borrow_mut().ack(at, &self.log) {
            Acked::Unchanged => false,
            Acked::Whole | Acked::Partly { .. } => self.dispatcher.borrow_mut().acked(at, 0),
        }
    }

    /// Acknowledges everything up to an entry; whether that made room for more. The shared kinds know no such thing:
    /// there it is ignored, as in Pulsar.
    fn ack_up_to(&self, id: MessageId<'_>) -> bool {
        let mut dispatcher = self.dispatcher.borrow_mut();
        if !dispatcher.kind().is_single() {
            tracing::debug!(subscription = %self.name, "cumulative acknowledgement on a shared subscription ignored");
            return false;
        }
        let at = position(id);
        let mut cursor = self.cursor.borrow_mut();
        let changed = if id.ack_set.is_empty() {
            cursor.ack_cumulative(at, &self.log)
        } else if self.context.settings().subscriptions.batch_index_acks {
            let left = words(id);
            cursor.ack_cumulative_batch(at, &left, batch_size(id), &self.log)
        } else {
            cursor.ack_cumulative(at.before(), &self.log)
        };
        changed && dispatcher.acked(at, 0)
    }

    /// Acknowledges everything up to `at` on behalf of the broker.
    pub(crate) fn skip_up_to(self: &Rc<Self>, at: Position) {
        let moved = self.cursor.borrow_mut().ack_cumulative(at, &self.log);
        if moved {
            self.dispatcher.borrow_mut().prune(&self.cursor.borrow());
            self.mark_unsaved();
            self.pump();
        }
    }

    /// Has the cursor's changes saved soon.
    pub(crate) fn mark_unsaved(self: &Rc<Self>) {
        if self.durable
            && self.cursor.borrow().is_dirty()
            && !self.unsaved.replace(true)
            && let Some(topic) = self.topic.upgrade()
            && let Some(bundle) = topic.bundle()
        {
            bundle.save_soon(&self.context, self.clone());
        }
    }

    /// Hands the cursor's changes to the state log.
    ///
    /// # Errors
    /// What the state log says. A failure of that log closes the topic by another way.
    fn save(&self) -> Result<(), Error> {
        self.unsaved.set(false);
        if !self.durable || self.deleted.get() {
            return Ok(());
        }
        let delta = self.cursor.borrow_mut().drain();
        match delta {
            Some(delta) => Ok(self.log.record_cursor(&self.name, delta.into())?),
            None => Ok(()),
        }
    }

    /// Hands the cursor's changes to the state log, where nobody waits for it.
    pub(crate) fn save_or_warn(&self) {
        if let Err(error) = self.save() {
            tracing::warn!(subscription = %self.name, %error, "cursor not recorded");
        }
    }

    /// Saves the cursor's changes and waits until they are durable.
    ///
    /// # Errors
    /// What the state log says.
    pub(crate) async fn persist(&self) -> Result<(), Error> {
        if !self.durable {
            return Ok(());
        }
        self.save()?;
        self.log.flush().await?;
        Ok(())
    }

    /// Answers `request` once everything acknowledged so far is durable. The requests of one round share a flush.
    fn answer_when_durable(self: &Rc<Self>, request: Request) {
        if !self.durable {
            self.context.clients.command(request.connection, request.response(Ok(())).into());
            return;
        }
        let mut acks = self.acks.borrow_mut();
        acks.requests.push(request);
        if std::mem::replace(&mut acks.scheduled, true) {
            return;
        }
        let subscription = self.clone();
        tokio::task::spawn_local(async move {
            let requests = std::mem::take(&mut *subscription.acks.borrow_mut()).requests;
            let outcome =
                subscription.persist().await.map_err(|error| (ServerError::PersistenceError, error.to_string()));
            for request in requests {
                let response = request.response(outcome.clone());
                subscription.context.clients.command(request.connection, response.into());
            }
        });
    }
}

/// The batch's messages that are left, in words of bits.
fn words(id: MessageId<'_>) -> Vec<i64> {
    id.ack_set.iter().map(u64::cast_signed).collect()
}

fn batch_size(id: MessageId<'_>) -> u32 {
    id.batch_size.and_then(|size| u32::try_from(size).ok()).unwrap_or(0)
}

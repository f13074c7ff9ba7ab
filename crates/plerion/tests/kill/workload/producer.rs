use std::collections::VecDeque;

use plerion_test_client::proto::CommandSend;
use plerion_test_client::{Client, Error, Position, Received, Type};
use rand::Rng;
use rand::rngs::SmallRng;

use super::{Life, Mode, Shared};
use crate::message::Entry;
use crate::plan::{ProducerPlan, TOPICS};

/// The most entries a producer adds in one life.
const ENTRIES: u64 = 800;

const ID: u64 = 1;

/// A producer of the plan.
#[derive(Clone, Copy)]
pub(crate) struct Publish {
    pub(crate) topic: usize,
    pub(crate) producer: usize,
}

/// One connection of a producer.
struct Session {
    publish: Publish,
    client: Client,
    history: Shared,
    /// Sent, with whether that was for the first time; no answer has come.
    outstanding: VecDeque<(Entry, bool)>,
}

impl Publish {
    fn plan(self) -> &'static ProducerPlan {
        &TOPICS[self.topic].producers[self.producer]
    }

    pub(crate) async fn run(self, life: Life, history: Shared) {
        if let Err(error) = self.publish(&life, &history).await {
            life.ended(&history, self.plan().name, &error);
        }
    }

    async fn publish(self, life: &Life, history: &Shared) -> Result<(), Error> {
        let mut rng = life.random(self.plan().name);
        let mut client = Client::open(life.port).await?;
        let producer = client.produce(TOPICS[self.topic].name, ID, self.plan().name).await?;
        let mut session = Session { publish: self, client, history: history.clone(), outstanding: VecDeque::new() };
        session.check_last_sequence_id(producer.last_sequence_id());
        session.resend().await?;
        let window = Life::window(&mut rng, 256) as usize;
        let entries = if life.mode == Mode::Drain { 1 } else { Life::window(&mut rng, ENTRIES) };
        for _ in 0..entries {
            session.send_new(&mut rng).await?;
            while session.outstanding.len() >= window {
                session.take_answer().await?;
            }
        }
        while !session.outstanding.is_empty() {
            session.take_answer().await?;
        }
        if life.mode == Mode::Busy {
            // Stays until the broker dies.
            while session.client.receive().await.is_ok() {}
        }
        Ok(())
    }
}

impl Session {
    /// Deduplication knows at least what has a receipt.
    fn check_last_sequence_id(&self, last: i64) {
        let history = self.history.borrow();
        let receipted = history.topics[self.publish.topic].producers[self.publish.producer].receipted.cast_signed();
        if TOPICS[self.publish.topic].deduplicates && last < receipted - 1 {
            history.violated(&format!(
                "{}: the last sequence id is {last} after receipts for all below {receipted}",
                self.publish.plan().name
            ));
        }
    }

    /// Sends again what has no receipt, in the same entries as before.
    async fn resend(&mut self) -> Result<(), Error> {
        let again: Vec<Entry> = {
            let history = self.history.borrow();
            let producer = &history.topics[self.publish.topic].producers[self.publish.producer];
            producer.unreceipted.iter().copied().collect()
        };
        for entry in again {
            self.send(entry, false).await?;
        }
        Ok(())
    }

    async fn send_new(&mut self, rng: &mut SmallRng) -> Result<(), Error> {
        let count = rng.random_range(1..=self.publish.plan().batch);
        let entry = {
            let mut history = self.history.borrow_mut();
            let producer = &mut history.topics[self.publish.topic].producers[self.publish.producer];
            let entry = Entry { producer: self.publish.producer, first: producer.next, count };
            producer.next += count;
            producer.unreceipted.push_back(entry);
            entry
        };
        self.send(entry, true).await
    }

    async fn send(&mut self, entry: Entry, new: bool) -> Result<(), Error> {
        self.outstanding.push_back((entry, new));
        let plan = self.publish.plan();
        let batched = plan.batch > 1;
        let send = CommandSend {
            producer_id: ID,
            sequence_id: entry.first,
            num_messages: Some(i32::try_from(entry.count).expect("a small batch")),
            highest_sequence_id: batched.then(|| entry.highest()),
            ..Default::default()
        };
        self.client.send_message(send, &entry.payload(plan)).await
    }

    /// Waits for the answer to the oldest entry.
    async fn take_answer(&mut self) -> Result<(), Error> {
        let Received { command, .. } = self.client.receive().await?;
        match (command.r#type(), command.send_receipt, command.send_error) {
            (_, Some(receipt), _) => self.receipt(receipt.sequence_id, receipt.message_id.as_ref().map(Position::from)),
            (_, _, Some(error)) => return Err(Error::Refused { code: error.error(), message: error.message }),
            (Type::CloseProducer, ..) => return Err(Error::Closed),
            (other, ..) => self.history.borrow().violated(&format!("{}: {other:?} came", self.publish.plan().name)),
        }
        Ok(())
    }

    fn receipt(&mut self, sequence_id: u64, position: Option<Position>) {
        let mut history = self.history.borrow_mut();
        let who = self.publish.plan().name;
        let Some((entry, new)) = self.outstanding.pop_front() else {
            history.violated(&format!("{who}: a receipt for {sequence_id}, and nothing was sent"));
        };
        if entry.first != sequence_id {
            history.violated(&format!("{who}: a receipt for {sequence_id} instead of {entry:?}"));
        }
        let position = position.filter(|position| position.ledger != u64::MAX);
        history.receipt(self.publish.topic, entry, position, !new);
    }
}

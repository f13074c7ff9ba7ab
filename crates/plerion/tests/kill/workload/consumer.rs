use std::collections::HashMap;
use std::time::Duration;

use plerion_test_client::proto::CommandConsumerStats;
use plerion_test_client::proto::command_ack::AckType;
use plerion_test_client::proto::command_subscribe::SubType;
use plerion_test_client::{Client, Consumer, Error, Incoming, Position, Received};
use rand::Rng;
use rand::rngs::SmallRng;
use tokio::time::Instant;

use super::{Life, Mode, Shared};
use crate::history::AckKind;
use crate::plan::{SubscriptionPlan, TOPICS};

const ID: u64 = 7;

/// How long a consumer waits for more before it acknowledges what it has.
const IDLE: Duration = Duration::from_millis(5);

/// A consumer of the plan.
#[derive(Clone, Copy, Hash)]
pub(crate) struct Consume {
    pub(crate) topic: usize,
    pub(crate) subscription: usize,
    /// Its place among those of its subscription.
    pub(crate) number: u64,
}

/// One connection of a consumer.
struct Session {
    consume: Consume,
    client: Client,
    history: Shared,
    mode: Mode,
    may_refuse: bool,
    rng: SmallRng,
    /// Permits to give each time half of them are used up.
    permits: u32,
    used: u32,
    /// Delivered, to be acknowledged.
    ready: Vec<Incoming>,
    /// By request id: when acknowledgements were sent, and what they cover.
    requests: HashMap<u64, (Instant, Vec<Position>)>,
}

impl Consume {
    fn plan(self) -> &'static SubscriptionPlan {
        &TOPICS[self.topic].subscriptions[self.subscription]
    }

    pub(crate) async fn run(self, life: Life, history: Shared) {
        if let Err(error) = self.consume(&life, &history).await {
            life.ended(&history, self.plan().name, &error);
        }
    }

    async fn consume(self, life: &Life, history: &Shared) -> Result<(), Error> {
        let mut rng = life.random(self);
        let mut client = Client::open(life.port).await?;
        let plan = self.plan();
        client.subscribe(&Consumer::new(TOPICS[self.topic].name, plan.name, plan.kind, ID)).await?;
        let permits = Life::window(&mut rng, 1000) as u32 + 1;
        client.flow(ID, permits).await?;
        let (ready, requests) = Default::default();
        let history = history.clone();
        let Life { mode, may_refuse, .. } = *life;
        let mut session =
            Session { consume: self, client, history, mode, may_refuse, rng, permits, used: 0, ready, requests };
        session.work().await
    }
}

impl Session {
    async fn work(&mut self) -> Result<(), Error> {
        loop {
            match self.client.receive_within(IDLE).await {
                Ok(frame) => self.take(&frame).await?,
                Err(Error::Silence(_)) => {
                    self.acknowledge().await?;
                    let Consume { topic, subscription, .. } = self.consume;
                    if self.mode == Mode::Drain && self.history.borrow().is_drained(topic, subscription) {
                        return Ok(());
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn take(&mut self, frame: &Received) -> Result<(), Error> {
        let Consume { topic, subscription, .. } = self.consume;
        if let Some(incoming) = frame.message()? {
            self.used += u32::try_from(incoming.messages().len()).expect("a small batch");
            self.history.borrow_mut().delivery(topic, subscription, &incoming);
            // Some are kept unacknowledged, so that there are holes.
            if self.mode == Mode::Drain || self.rng.random_bool(0.9) {
                self.ready.push(incoming);
            }
            if self.used * 2 >= self.permits {
                self.client.flow(ID, std::mem::take(&mut self.used)).await?;
            }
            if self.ready.len() >= self.rng.random_range(1..40) {
                self.acknowledge().await?;
            }
        } else if let Some(answer) = &frame.command.ack_response {
            let request = answer.request_id.and_then(|id| self.requests.remove(&id));
            if answer.error.is_some() {
                // A consumer that left now would have its messages given to others.
                let expected = self.may_refuse && self.mode == Mode::Busy;
                let refused = Error::Refused { code: answer.error(), message: answer.message().into() };
                return if expected { Ok(()) } else { Err(refused) };
            }
            if let Some((sent, acked)) = request {
                self.history.borrow_mut().ack_answered(topic, subscription, sent, &acked);
            }
        } else if let Some(answer) = &frame.command.consumer_stats_response {
            if let Some((_, acked)) = self.requests.remove(&answer.request_id)
                && answer.error_code.is_none()
            {
                self.history.borrow_mut().ack_taken(topic, subscription, &acked);
            }
        } else if frame.command.close_consumer.is_some() {
            return Err(Error::Closed);
        }
        Ok(())
    }

    /// Acknowledges what is ready, as the kind of subscription allows, with and without asking for an answer.
    async fn acknowledge(&mut self) -> Result<(), Error> {
        let ready = std::mem::take(&mut self.ready);
        let Some(last) = ready.last() else { return Ok(()) };
        let kind = if self.mode == Mode::Drain || self.rng.random() { AckKind::Request } else { AckKind::Plain };
        let cumulative = match self.consume.plan().kind {
            SubType::Exclusive | SubType::Failover => self.rng.random_bool(0.8),
            _ => false,
        };
        let now = Instant::now();
        let covered: Vec<Position> = {
            let mut history = self.history.borrow_mut();
            let subscription = &mut history.topics[self.consume.topic].subscriptions[self.consume.subscription];
            if cumulative {
                match subscription.ack_up_to(last.position, kind, now) {
                    Ok(covered) => covered,
                    Err(what) => history.violated(&format!("{}: {what}", self.consume.plan().name)),
                }
            } else {
                let positions: Vec<_> = ready.iter().map(|incoming| incoming.position).collect();
                positions.into_iter().filter(|position| subscription.ack(*position, kind, now)).collect()
            }
        };
        let (ack_type, ids) = if cumulative {
            (AckType::Cumulative, vec![last.id.clone()])
        } else {
            (AckType::Individual, ready.iter().map(|incoming| incoming.id.clone()).collect())
        };
        match kind {
            AckKind::Plain => {
                self.client.ack(ID, ack_type, &ids).await?;
                // Its answer shows that the broker has taken the acknowledgement.
                let request_id = self.client.next_request();
                self.requests.insert(request_id, (now, covered));
                self.client.send(CommandConsumerStats { request_id, consumer_id: ID }).await
            }
            AckKind::Request => {
                let request = self.client.ack_with_request(ID, ack_type, &ids).await?;
                self.requests.insert(request, (now, covered));
                Ok(())
            }
        }
    }
}

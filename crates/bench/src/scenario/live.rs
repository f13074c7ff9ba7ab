//! Publishers and consumers at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::per_second;
use crate::Error;
use crate::args::{Load, Schedule};
use crate::engine::{Run, STALL, Times};
use crate::latency::Latencies;
use crate::pace::Pace;
use crate::publisher::{Published, Publisher};
use crate::report::Report;
use crate::routes::Route;
use crate::subscriber::{Delivery, Next, Subscriber};
use crate::template::{Body, FIRST_SEQUENCE};

/// What runs.
pub(super) struct Live<'a> {
    pub(super) load: &'a Load,
    pub(super) schedule: &'a Schedule,
    /// Messages a second over all routes.
    pub(super) rate: Option<u64>,
    /// One publisher each.
    pub(super) routes: &'a [Route],
    pub(super) keys: u32,
    /// Each with the number of its route.
    pub(super) subscribers: Vec<(usize, Subscriber)>,
    /// How many consumers get each message.
    pub(super) copies: u64,
    /// Whether all subscribers are on one subscription.
    pub(super) shared: bool,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) published: Published,
    /// Per subscriber.
    pub(super) received: Vec<Received>,
    /// From when it was measured until the last message came.
    pub(super) measured: Duration,
}

/// What one subscriber got.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// Messages, measured or not.
    pub(super) total: u64,
    /// Messages that came in the time measured.
    pub(super) messages: u64,
    pub(super) last: Duration,
    /// From when a message was due to be published, if it was published at a rate.
    pub(super) latency: Latencies,
}

impl Live<'_> {
    /// Publishes for the time of the schedule and waits until every copy has come. Removes the subscriptions.
    ///
    /// `check` sees every delivery, with the number of its subscriber.
    pub(super) fn run(
        self,
        run: Run<'_>,
        check: impl Fn(usize, &Delivery<'_>) -> Result<(), Error> + Sync,
    ) -> Result<Outcome, Error> {
        let body = Arc::new(Body::new(self.load.size, self.load.batch));
        let open = |route| Publisher::open(route, self.load, &body, self.keys);
        let publishers = self.routes.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let outstanding = (self.load.outstanding.get() as usize / publishers.len()).max(1);
        let times = Times::new(run.now(), self.schedule);
        let topics: usize = self.routes.iter().map(|route| route.topics.len()).sum();
        let paces: Vec<_> = self.routes.iter().map(|route| self.pace(times, route.topics.len(), topics)).collect();
        let batch = u64::from(self.load.batch.get());

        // u64::MAX until it is known how many messages there are to come.
        let expected = AtomicU64::new(u64::MAX);
        let arrived = AtomicU64::new(0);
        let mut outcome = Outcome::default();
        let subscribers = std::thread::scope(|scope| {
            let receiving: Vec<_> = (self.subscribers.into_iter().enumerate())
                .map(|(number, (route, mut subscriber))| {
                    let due = paces[route].map(|pace| Due { pace, topics: self.routes[route].topics.len(), batch });
                    let (expected, arrived, check) = (&expected, &arrived, &check);
                    scope.spawn(move || {
                        let tally = Tally { run, times, due, expected, arrived };
                        let received = tally.run(&mut subscriber, |delivery| check(number, delivery))?;
                        Ok((received, subscriber))
                    })
                })
                .collect();
            let publishing: Vec<_> = (publishers.into_iter().zip(&paces))
                .map(|(publisher, pace)| scope.spawn(move || publisher.run(run, times, *pace, outstanding)))
                .collect();
            let mut published = Ok(());
            for thread in publishing {
                match run.join(thread) {
                    Ok(mine) => outcome.published.add(&mine),
                    Err(error) => published = Err(error),
                }
            }
            expected.store(outcome.published.total * self.copies, Ordering::Relaxed);
            let mut subscribers = Vec::new();
            for thread in receiving {
                let (received, subscriber) = run.join(thread)?;
                outcome.received.push(received);
                subscribers.push(subscriber);
            }
            published.map(|()| subscribers)
        })?;
        let last = outcome.received.iter().map(|received| received.last).fold(outcome.published.last, Duration::max);
        outcome.measured = last.saturating_sub(times.measure);
        let subscriptions = if self.shared { 1 } else { subscribers.len() };
        subscribers.into_iter().take(subscriptions).try_for_each(Subscriber::unsubscribe)?;
        Ok(outcome)
    }

    fn pace(&self, times: Times, mine: usize, all: usize) -> Option<Pace> {
        let sends = self.rate? as f64 / f64::from(self.load.batch.get());
        Some(Pace::new(times.start, sends * mine as f64 / all as f64))
    }
}

/// Tells from a message's sequence id when it was due.
#[derive(Clone, Copy, Debug)]
struct Due {
    pace: Pace,
    topics: usize,
    batch: u64,
}

impl Due {
    fn of(&self, delivery: &Delivery<'_>) -> Duration {
        let round = delivery.metadata.sequence_id.saturating_sub(FIRST_SEQUENCE) / self.batch;
        self.pace.due(round * self.topics as u64 + delivery.topic as u64)
    }
}

/// Counts what one subscriber gets.
struct Tally<'a> {
    run: Run<'a>,
    times: Times,
    due: Option<Due>,
    /// Messages that are to come to all subscribers together, and those that have.
    expected: &'a AtomicU64,
    arrived: &'a AtomicU64,
}

impl Tally<'_> {
    fn run(
        &self,
        subscriber: &mut Subscriber,
        check: impl Fn(&Delivery<'_>) -> Result<(), Error>,
    ) -> Result<Received, Error> {
        let mut received = Received::default();
        let mut heard = self.run.now();
        subscriber.run(self.run, |delivery| {
            let Some(delivery) = delivery else {
                let (expected, arrived) = (self.expected.load(Ordering::Relaxed), self.arrived.load(Ordering::Relaxed));
                let silent = self.run.now().saturating_sub(heard);
                return match expected {
                    _ if self.run.is_stopped() => Ok(Next::Enough),
                    u64::MAX => Ok(Next::More),
                    _ if arrived >= expected => Ok(Next::Enough),
                    _ if silent > STALL => {
                        let pending = expected - arrived;
                        Err(Error::Stalled { what: "message", seconds: STALL.as_secs(), pending })
                    }
                    _ => Ok(Next::More),
                };
            };
            check(delivery)?;
            heard = delivery.at;
            received.last = delivery.at;
            received.total += delivery.messages;
            if delivery.at >= self.times.measure {
                received.messages += delivery.messages;
            }
            self.arrived.fetch_add(delivery.messages, Ordering::Relaxed);
            if let Some(due) = self.due.map(|due| due.of(delivery)).filter(|due| *due >= self.times.measure) {
                received.latency.record_many(delivery.at.saturating_sub(due), delivery.messages);
            }
            Ok(Next::More)
        })?;
        Ok(received)
    }
}

impl Outcome {
    /// Messages that came, over all subscribers.
    pub(super) fn total(&self) -> u64 {
        self.received.iter().map(|received| received.total).sum()
    }

    /// Adds the figures that every such scenario has.
    pub(super) fn report(&self, report: Report, rate: Option<u64>) -> Report {
        let seconds = self.measured.as_secs_f64();
        let mut latency = Latencies::default();
        self.received.iter().for_each(|received| latency.add(&received.latency));
        let received = self.received.iter().map(|received| received.messages).sum();
        let report = report
            .figure("published_total", self.published.total as f64)
            .figure("published_per_second", per_second(self.published.messages, seconds))
            .figure("received_total", self.total() as f64)
            .figure("received_per_second", per_second(received, seconds))
            .latency("publish", &self.published.latency)
            .latency("end_to_end", &latency);
        match rate {
            Some(rate) => report.setting("rate", rate).latency("generator_lateness", &self.published.lateness),
            None => report,
        }
    }
}

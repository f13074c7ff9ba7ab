//! Drain a subscription.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use plerion_wire::proto::command_subscribe::SubType;

use super::per_second;
use crate::Error;
use crate::args::ConsumeArgs;
use crate::connection::Start;
use crate::engine::{Run, STALL};
use crate::report::Report;
use crate::routes;
use crate::subscriber::{Consumers, Next, Subscriber};

/// Silence after which a subscription counts as drained.
const IDLE: Duration = Duration::from_secs(1);

pub(super) fn run(args: &ConsumeArgs, run: Run<'_>) -> Result<Report, Error> {
    let names = routes::names(&args.target.topic, args.topics.get());
    let connections = args.connections.get().min(args.topics.get());
    let routes = routes::plan(&args.target.address, &names, connections)?;
    let consumers = Consumers {
        subscriptions: std::slice::from_ref(&args.subscription),
        kind: SubType::Exclusive,
        start: Start::Earliest,
        queue: args.queue.get(),
    };
    let wanted = args.messages.map(|messages| messages.get());
    let total = AtomicU64::new(0);
    let start = run.now();
    let drained = std::thread::scope(|scope| {
        let drain = |route| {
            let (consumers, total) = (&consumers, &total);
            scope.spawn(move || drain(&mut Subscriber::open(route, consumers)?, run, wanted, total))
        };
        let threads: Vec<_> = routes.iter().map(drain).collect();
        let mut all = Drained::default();
        for thread in threads {
            all.add(&run.join(thread)?);
        }
        Ok(all)
    })?;

    let (first, last) = (drained.first.unwrap_or(start), drained.last.max(start));
    let seconds = (last - start).as_secs_f64();
    Ok(Report::new("consume")
        .setting("topics", args.topics.get())
        .setting("connections", routes.len())
        .setting("queue", args.queue.get())
        .figure("messages", drained.messages as f64)
        .figure("messages_per_second", per_second(drained.messages, seconds))
        .figure("megabytes_per_second", per_second(drained.bytes, seconds) / 1e6)
        .figure("first_message_ms", (first - start).as_secs_f64() * 1e3))
}

#[derive(Clone, Copy, Debug, Default)]
struct Drained {
    messages: u64,
    bytes: u64,
    first: Option<Duration>,
    last: Duration,
}

impl Drained {
    fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.first = [self.first, other.first].into_iter().flatten().min();
        self.last = self.last.max(other.last);
    }
}

/// Consumes until `wanted` messages have come on all connections together or, without that, nothing comes any more.
fn drain(subscriber: &mut Subscriber, run: Run<'_>, wanted: Option<u64>, total: &AtomicU64) -> Result<Drained, Error> {
    let mut drained = Drained::default();
    let mut heard = run.now();
    subscriber.run(run, |delivery| {
        let Some(delivery) = delivery else {
            let silent = run.now() - heard;
            let so_far = total.load(Ordering::Relaxed);
            return match wanted {
                Some(wanted) if so_far >= wanted => Ok(Next::Enough),
                Some(wanted) if silent > STALL => {
                    Err(Error::Stalled { what: "message", seconds: STALL.as_secs(), pending: wanted - so_far })
                }
                None if silent > IDLE => Ok(Next::Enough),
                _ if run.is_stopped() => Ok(Next::Enough),
                _ => Ok(Next::More),
            };
        };
        heard = delivery.at;
        drained.first.get_or_insert(delivery.at);
        drained.last = delivery.at;
        drained.messages += delivery.messages;
        drained.bytes += delivery.bytes;
        let so_far = total.fetch_add(delivery.messages, Ordering::Relaxed) + delivery.messages;
        Ok(if wanted.is_some_and(|wanted| so_far >= wanted) { Next::Enough } else { Next::More })
    })?;
    Ok(drained)
}

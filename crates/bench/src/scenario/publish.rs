//! Publish as fast as receipts allow.

use std::sync::Arc;

use plerion_wire::proto::command_subscribe::SubType;

use super::{loaded, per_second};
use crate::Error;
use crate::args::PublishArgs;
use crate::connection::Start;
use crate::engine::{Run, Times};
use crate::pace::Pace;
use crate::publisher::{Published, Publisher};
use crate::report::Report;
use crate::routes;
use crate::subscriber::{Consumers, Subscriber};
use crate::template::Body;

pub(super) fn run(args: &PublishArgs, run: Run<'_>) -> Result<Report, Error> {
    let names = routes::names(&args.target.topic, args.topics.get());
    let routes = routes::plan(&args.target.address, &names, args.connections.get())?;
    let body = Arc::new(Body::new(args.load.size, args.load.batch));
    if let Some(subscription) = &args.keep {
        let consumers = Consumers {
            subscriptions: std::slice::from_ref(subscription),
            kind: SubType::Shared,
            start: Start::Latest,
            queue: 0,
        };
        routes.iter().try_for_each(|route| keep(route, &consumers))?;
    }
    let open = |route| Publisher::open(route, &args.load, &body, 0);
    let publishers = routes.iter().map(open).collect::<Result<Vec<_>, _>>()?;

    let connections = publishers.len();
    let outstanding = (args.load.outstanding.get() as usize / connections).max(1);
    let times = Times::new(run.now(), &args.schedule);
    let sends = args.rate.map(|rate| rate.get() as f64 / f64::from(args.load.batch.get()) / connections as f64);
    let pace = sends.map(|sends| Pace::new(times.start, sends));
    let published = std::thread::scope(|scope| {
        let start = |publisher: Publisher| scope.spawn(move || publisher.run(run, times, pace, outstanding));
        let threads: Vec<_> = publishers.into_iter().map(start).collect();
        let mut all = Published::default();
        for thread in threads {
            all.add(&run.join(thread)?);
        }
        Ok(all)
    })?;

    let seconds = published.last.saturating_sub(times.measure).as_secs_f64();
    let rate = per_second(published.messages, seconds);
    let report = Report::new("publish").setting("topics", args.topics.get()).setting("connections", connections);
    let report = loaded(report, &args.load)
        .figure("messages", published.messages as f64)
        .figure("messages_total", published.total as f64)
        .figure("messages_per_second", rate)
        .figure("megabytes_per_second", rate * args.load.size as f64 / 1e6)
        .latency("publish", &published.latency);
    Ok(match args.rate {
        Some(rate) => report.setting("rate", rate.get()).latency("generator_lateness", &published.lateness),
        None => report,
    })
}

/// Makes a subscription and leaves it, so that what is published from now on is kept.
fn keep(route: &routes::Route, consumers: &Consumers<'_>) -> Result<(), Error> {
    Subscriber::open(route, consumers).map(drop)
}

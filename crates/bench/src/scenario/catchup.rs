//! A reader that starts behind a publisher.

use std::sync::Arc;
use std::time::Duration;

use plerion_wire::proto::command_subscribe::SubType;

use super::{fresh, loaded, per_second};
use crate::Error;
use crate::args::{CatchupArgs, Schedule};
use crate::connection::Start;
use crate::engine::{Run, Times};
use crate::pace::{Pace, sleep_until};
use crate::publisher::Publisher;
use crate::report::Report;
use crate::routes;
use crate::subscriber::{Consumers, Next, Subscriber};
use crate::template::{Body, FIRST_SEQUENCE};

/// A reader that lacks less than this much time of messages has caught up.
const CAUGHT_UP: Duration = Duration::from_millis(50);

pub(super) fn run(args: &CatchupArgs, run: Run<'_>) -> Result<Report, Error> {
    let names = [fresh(&args.target.topic, run)];
    let routes = routes::plan(&args.target.address, &names, 1)?;
    let body = Arc::new(Body::new(args.load.size, args.load.batch));
    // Holds the messages back from being trimmed until the reader has come.
    let keeper =
        Consumers { subscriptions: &["bench-keep".into()], kind: SubType::Shared, start: Start::Latest, queue: 0 };
    let keeper = Subscriber::open(&routes[0], &keeper)?;
    let publisher = Publisher::open(&routes[0], &args.load, &body, 0)?;
    let schedule = Schedule { seconds: args.lead.saturating_add(args.limit.get()), warmup: 0 };
    let times = Times::new(run.now(), &schedule);
    let pace = Pace::new(times.start, args.rate.get() as f64 / f64::from(args.load.batch.get()));
    let outstanding = args.load.outstanding.get() as usize;

    let reader_starts = times.start + Duration::from_secs(args.lead.get());
    let (published, caught_up) = std::thread::scope(|scope| {
        let publishing = scope.spawn(move || publisher.run(run, times, Some(pace), outstanding));
        sleep_until(run.clock, reader_starts);
        let caught_up = read(&routes[0], args, run, pace);
        run.stop();
        let published = run.join(publishing)?;
        Ok((published, caught_up?))
    })?;
    drop(keeper);

    let seconds = caught_up.seconds.as_secs_f64();
    Ok(loaded(Report::new("catchup"), &args.load)
        .setting("rate", args.rate.get())
        .setting("lead", args.lead.get())
        .figure("published", published.total as f64)
        .figure("seconds_to_catch_up", seconds)
        .figure("read", caught_up.messages as f64)
        .figure("read_per_second", per_second(caught_up.messages, seconds))
        .latency("publish", &published.latency)
        .latency("generator_lateness", &published.lateness))
}

struct CaughtUp {
    messages: u64,
    seconds: Duration,
}

/// Reads until the message that has come was due a moment ago.
fn read(route: &routes::Route, args: &CatchupArgs, run: Run<'_>, pace: Pace) -> Result<CaughtUp, Error> {
    let started = run.now();
    let limit = Duration::from_secs(args.limit.get());
    let consumers = Consumers {
        subscriptions: &["bench-reader".into()],
        kind: SubType::Exclusive,
        start: Start::ReadEarliest,
        queue: 2000.max(2 * args.load.batch.get()),
    };
    let mut subscriber = Subscriber::open(route, &consumers)?;
    let batch = u64::from(args.load.batch.get());
    let (mut messages, mut next) = (0, 0);
    let behind = |now: Duration, next: u64| {
        (now - started > limit)
            .then(|| Error::Behind { behind: pace.due_by(now).saturating_sub(next) * batch, seconds: args.limit.get() })
    };
    let mut seconds = Duration::ZERO;
    subscriber.run(run, |delivery| {
        let now = run.now();
        if let Some(error) = behind(now, next) {
            return Err(error);
        }
        let Some(delivery) = delivery else { return Ok(if run.is_stopped() { Next::Enough } else { Next::More }) };
        let number = delivery.metadata.sequence_id.saturating_sub(FIRST_SEQUENCE) / batch;
        if number != next {
            return Err(Error::Order { topic: args.target.topic.clone(), got: number * batch, want: next * batch });
        }
        next += 1;
        messages += delivery.messages;
        seconds = now - started;
        Ok(if now.saturating_sub(pace.due(number)) < CAUGHT_UP { Next::Enough } else { Next::More })
    })?;
    Ok(CaughtUp { messages, seconds })
}

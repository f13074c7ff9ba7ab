//! One topic, several subscriptions.

use plerion_wire::proto::command_subscribe::SubType;

use super::live::Live;
use super::{fresh, loaded};
use crate::Error;
use crate::args::FanoutArgs;
use crate::connection::Start;
use crate::engine::Run;
use crate::report::Report;
use crate::routes;
use crate::subscriber::{Consumers, Subscriber};

pub(super) fn run(args: &FanoutArgs, run: Run<'_>) -> Result<Report, Error> {
    let names = [fresh(&args.target.topic, run)];
    let routes = routes::plan(&args.target.address, &names, 1)?;
    let subscriptions: Vec<_> = (0..args.subscriptions.get()).map(|number| format!("bench-{number}")).collect();
    let share = args.subscriptions.get().div_ceil(args.connections.get()) as usize;
    let open = |subscriptions| {
        let consumers = Consumers {
            subscriptions,
            kind: SubType::Exclusive,
            start: Start::Latest,
            queue: 1000.max(2 * args.load.batch.get()),
        };
        Ok((0, Subscriber::open(&routes[0], &consumers)?))
    };
    let subscribers = subscriptions.chunks(share).map(open).collect::<Result<Vec<_>, Error>>()?;
    let connections = subscribers.len();
    let rate = args.rate.map(|rate| rate.get());
    let live = Live {
        load: &args.load,
        schedule: &args.schedule,
        rate,
        routes: &routes,
        keys: 0,
        subscribers,
        copies: args.subscriptions.get().into(),
        shared: false,
    };
    let outcome = live.run(run, |_, _| Ok(()))?;
    let report =
        Report::new("fanout").setting("subscriptions", args.subscriptions.get()).setting("connections", connections);
    Ok(outcome.report(loaded(report, &args.load), rate))
}

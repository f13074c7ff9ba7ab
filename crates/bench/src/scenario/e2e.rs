//! Receipts and deliveries at a fixed rate.

use plerion_wire::proto::command_subscribe::SubType;

use super::live::Live;
use super::{fresh, loaded};
use crate::Error;
use crate::args::E2eArgs;
use crate::connection::Start;
use crate::engine::Run;
use crate::report::Report;
use crate::routes;
use crate::subscriber::{Consumers, Subscriber};

pub(super) fn run(args: &E2eArgs, run: Run<'_>) -> Result<Report, Error> {
    let names = routes::names(&fresh(&args.target.topic, run), args.topics.get());
    let routes = routes::plan(&args.target.address, &names, 1)?;
    let consumers = Consumers {
        subscriptions: &["bench-e2e".into()],
        kind: SubType::Exclusive,
        start: Start::Latest,
        queue: 1000.max(2 * args.load.batch.get()),
    };
    let open = |(number, route)| Ok((number, Subscriber::open(route, &consumers)?));
    let subscribers = routes.iter().enumerate().map(open).collect::<Result<Vec<_>, Error>>()?;
    let rate = Some(args.rate.get());
    let live = Live {
        load: &args.load,
        schedule: &args.schedule,
        rate,
        routes: &routes,
        keys: 0,
        subscribers,
        copies: 1,
        shared: false,
    };
    let outcome = live.run(run, |_, _| Ok(()))?;
    let report = Report::new("e2e").setting("topics", args.topics.get());
    Ok(outcome.report(loaded(report, &args.load), rate))
}

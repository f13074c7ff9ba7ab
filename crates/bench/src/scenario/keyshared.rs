//! One topic whose keys are shared among consumers.

use std::collections::HashMap;

use parking_lot::Mutex;
use plerion_wire::proto::command_subscribe::SubType;

use super::live::Live;
use super::{fresh, loaded};
use crate::Error;
use crate::args::KeysharedArgs;
use crate::connection::Start;
use crate::engine::Run;
use crate::report::Report;
use crate::routes;
use crate::subscriber::{Consumers, Delivery, Subscriber};

pub(super) fn run(args: &KeysharedArgs, run: Run<'_>) -> Result<Report, Error> {
    let topic = fresh(&args.target.topic, run);
    let routes = routes::plan(&args.target.address, std::slice::from_ref(&topic), 1)?;
    let consumers = Consumers {
        subscriptions: &["bench-keyshared".into()],
        kind: SubType::KeyShared,
        start: Start::Latest,
        queue: 1000.max(2 * args.load.batch.get()),
    };
    let open = |_| Ok((0, Subscriber::open(&routes[0], &consumers)?));
    let subscribers = (0..args.consumers.get()).map(open).collect::<Result<Vec<_>, Error>>()?;
    let rate = args.rate.map(|rate| rate.get());
    let live = Live {
        load: &args.load,
        schedule: &args.schedule,
        rate,
        routes: &routes,
        keys: args.keys.get(),
        subscribers,
        copies: 1,
        shared: true,
    };
    // A consumer touches only its own map, so the locks are free.
    let seen: Vec<_> = (0..args.consumers.get()).map(|_| Mutex::new(HashMap::new())).collect();
    let outcome = live.run(run, |consumer, delivery| in_order(&topic, &mut seen[consumer].lock(), delivery))?;

    let keys: usize = seen.iter().map(|keys| keys.lock().len()).sum();
    let shares = || outcome.received.iter().map(|received| received.total as f64 / outcome.total() as f64 * 100.0);
    let report = Report::new("keyshared").setting("consumers", args.consumers.get()).setting("keys", args.keys.get());
    Ok(outcome
        .report(loaded(report, &args.load), rate)
        .figure("keys_that_moved", keys.saturating_sub(args.keys.get() as usize) as f64)
        .figure("smallest_share_percent", shares().fold(100.0, f64::min))
        .figure("largest_share_percent", shares().fold(0.0, f64::max)))
}

/// Fails if the message is older than the last of its key that came to the same consumer.
fn in_order(topic: &str, last: &mut HashMap<String, u64>, delivery: &Delivery<'_>) -> Result<(), Error> {
    let got = delivery.metadata.sequence_id;
    let key = delivery.metadata.partition_key.unwrap_or_default();
    let Some(before) = last.get_mut(key) else {
        last.insert(key.to_owned(), got);
        return Ok(());
    };
    if *before >= got {
        return Err(Error::Order { topic: topic.to_owned(), got, want: *before + 1 });
    }
    *before = got;
    Ok(())
}

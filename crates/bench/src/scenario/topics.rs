//! Open and close a producer on each of many topics.

use super::per_second;
use crate::Error;
use crate::args::TopicsArgs;
use crate::connection::{Connection, Lookup};
use crate::engine::Run;
use crate::latency::Latencies;
use crate::report::Report;

pub(super) fn run(args: &TopicsArgs, run: Run<'_>) -> Result<Report, Error> {
    let connections = args.connections.get().min(args.topics.get());
    let start = run.now();
    let latency = std::thread::scope(|scope| {
        let open = |first| scope.spawn(move || open_each(args, run, first, connections));
        let threads: Vec<_> = (0..connections).map(open).collect();
        let mut all = Latencies::default();
        for thread in threads {
            all.add(&run.join(thread)?);
        }
        Ok(all)
    })?;
    let seconds = (run.now() - start).as_secs_f64();
    Ok(Report::new("topics")
        .setting("topics", args.topics.get())
        .setting("connections", connections)
        .setting("hold", args.hold)
        .figure("seconds", seconds)
        .figure("topics_per_second", per_second(args.topics.get().into(), seconds))
        .latency("open", &latency))
}

/// Looks up and opens every `step`th topic, from the `first`, one after the other.
fn open_each(args: &TopicsArgs, run: Run<'_>, first: u32, step: u32) -> Result<Latencies, Error> {
    let mut connection = Connection::open(&args.target.address)?;
    let mut latency = Latencies::default();
    for number in (first..args.topics.get()).step_by(step as usize) {
        if run.is_stopped() {
            break;
        }
        let topic = format!("{}-{number}", args.target.topic);
        let begun = run.now();
        // Another broker of a cluster answers for its own topics only.
        if let Lookup::Ask { url, .. } = connection.lookup(&topic, false)? {
            return Err(Error::ServiceUrl { topic, url });
        }
        connection.produce(&topic, number.into())?;
        latency.record(run.now() - begun);
        run.progress.published(1);
        if !args.hold {
            connection.close_producer(&topic, number.into())?;
        }
    }
    Ok(latency)
}

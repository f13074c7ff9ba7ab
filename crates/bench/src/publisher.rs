//! One connection that publishes.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use crate::Error;
use crate::args::Load;
use crate::connection::Connection;
use crate::engine::{Run, Times};
use crate::latency::Latencies;
use crate::pace::Pace;
use crate::routes::Route;
use crate::template::{Body, Template};
use crate::window::Window;

mod reading;
mod writing;

use reading::Reading;
use writing::Writing;

/// Most sends that are written in one go.
const BURST: usize = 256;

/// A connection with a producer on each of its topics, which are published to in turn.
#[derive(Debug)]
pub(crate) struct Publisher {
    connection: Connection,
    topics: Vec<String>,
    /// Per producer, a frame per key.
    templates: Vec<Vec<Template>>,
    body: Arc<Body>,
    batch: u64,
}

/// What was published and measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    /// Messages with a receipt that were due in the time measured.
    pub(crate) messages: u64,
    /// Messages with a receipt, measured or not.
    pub(crate) total: u64,
    /// When the last receipt came.
    pub(crate) last: Duration,
    /// From when a send was due to its receipt.
    pub(crate) latency: Latencies,
    /// From when a send was due to when it was written: what the load generator itself is to blame for.
    pub(crate) lateness: Latencies,
}

impl Published {
    pub(crate) fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.total += other.total;
        self.last = self.last.max(other.last);
        self.latency.add(&other.latency);
        self.lateness.add(&other.lateness);
    }
}

impl Publisher {
    /// Connects and opens the producers. With `keys` above 0 the messages of each topic have that many keys in turn.
    pub(crate) fn open(route: &Route, load: &Load, body: &Arc<Body>, keys: u32) -> Result<Self, Error> {
        let mut connection = Connection::open(&route.address)?;
        let limit = connection.max_message_size;
        if body.bytes.len() > limit {
            let (batch, each) = (load.batch.get(), load.size);
            return Err(Error::TooLarge { size: body.bytes.len(), batch, each, limit });
        }
        let mut templates = Vec::with_capacity(route.topics.len());
        for (id, (_, topic)) in (0..).zip(&route.topics) {
            let name = connection.produce(topic, id)?;
            let frame = |key: Option<&str>| Template::new(id, &name, key, load.batch, body);
            templates.push(match keys {
                0 => vec![frame(None)],
                _ => (0..keys).map(|key| frame(Some(&format!("key-{key}")))).collect(),
            });
        }
        let topics = route.topics.iter().map(|(_, topic)| topic.clone()).collect();
        Ok(Self { connection, topics, templates, body: Arc::clone(body), batch: u64::from(load.batch.get()) })
    }

    /// Publishes with at most `outstanding` sends under way, at `pace` if one is given, and waits for the receipts.
    pub(crate) fn run(
        self,
        run: Run<'_>,
        times: Times,
        pace: Option<Pace>,
        outstanding: usize,
    ) -> Result<Published, Error> {
        let Self { connection, topics, templates, body, batch } = self;
        let Connection { sender, reader, .. } = connection;
        let window = Window::new(outstanding, topics.len(), batch);
        let pings = Pings::default();
        let shared = Shared { run, times, window: &window, pings: &pings, batch };
        let writing = Writing { shared, pace, sender, templates, body };
        let reading = Reading { shared, reader, topics };
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let result = reading.run();
                window.finish();
                result
            });
            let written = writing.run();
            window.finish();
            // If both failed, the reader knows better why.
            let mut published = run.join(reading)?;
            published.lateness = written?;
            Ok(published)
        })
    }
}

/// PINGs that the reading thread has seen and the writing thread has not answered yet.
type Pings = AtomicU32;

/// What both threads of a publisher need.
#[derive(Clone, Copy)]
struct Shared<'a> {
    run: Run<'a>,
    times: Times,
    window: &'a Window,
    pings: &'a Pings,
    /// Messages in a send.
    batch: u64,
}

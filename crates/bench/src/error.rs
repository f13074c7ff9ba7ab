use std::io;

/// Why a scenario could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing answers at the address.
    #[error("cannot connect to {address}: {source}; is a broker listening there?")]
    Connect {
        /// Host and port.
        address: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// The connection broke.
    #[error("lost the connection to {address}: {source}")]
    Lost {
        /// Host and port.
        address: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// The broker refused a request.
    #[error("the broker refused {request}: {code}: {message}")]
    Refused {
        /// What was asked for.
        request: String,
        /// The protocol's name for the reason.
        code: String,
        /// The broker's words.
        message: String,
    },
    /// The broker closed a producer or consumer in the middle of the run.
    #[error("the broker closed the {0} of {1}: it was unloaded, deleted or fenced")]
    Closed(&'static str, String),
    /// The broker said something that the protocol does not allow here.
    #[error("protocol broken by the broker: {0}")]
    Protocol(String),
    /// Nothing came for too long.
    #[error("no {what} for {seconds} s although {pending} are due")]
    Stalled {
        /// What was waited for.
        what: &'static str,
        /// For how long.
        seconds: u64,
        /// How many are missing.
        pending: u64,
    },
    /// A send would be larger than the broker accepts.
    #[error("{size} bytes a send ({batch} × {each}), but the broker accepts {limit}: use a smaller --size or --batch")]
    TooLarge {
        /// Bytes of a send.
        size: usize,
        /// Messages in it.
        batch: u32,
        /// Bytes of a message.
        each: usize,
        /// The limit the broker told.
        limit: usize,
    },
    /// The broker that a lookup names cannot be used as an address.
    #[error("lookup of {topic} names {url:?}, want pulsar://HOST:PORT")]
    ServiceUrl {
        /// The topic.
        topic: String,
        /// What the broker told.
        url: String,
    },
    /// Lookup did not end at a broker.
    #[error("lookup of {topic} was redirected {hops} times without an end")]
    Redirected {
        /// The topic.
        topic: String,
        /// How often.
        hops: usize,
    },
    /// Messages came in an order in which they were not sent.
    #[error("{topic}: message {got} came where {want} was to come")]
    Order {
        /// Where.
        topic: String,
        /// The number of the message that came.
        got: u64,
        /// The number of the message that should have come.
        want: u64,
    },
    /// The reader never got to the end of the topic.
    #[error("the reader is still {behind} messages behind after {seconds} s: lower --rate or raise --limit")]
    Behind {
        /// Messages that it lacks.
        behind: u64,
        /// For how long it has been reading.
        seconds: u64,
    },
    /// Figures could not be written.
    #[error("cannot write the figures: {0}")]
    Output(io::Error),
}

impl Error {
    /// Whether the same scenario may succeed when it is run again.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Closed(..) | Self::Stalled { .. } | Self::Behind { .. })
    }
}

//! What can be asked for on a command line.

use std::num::{NonZeroU32, NonZeroU64};

/// A scenario and its settings.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Args {
    /// Publish as fast as receipts allow.
    Publish(PublishArgs),
    /// Consume what a subscription has not seen yet, as fast as it comes.
    Consume(ConsumeArgs),
    /// Publish at a fixed rate and measure how long receipts and deliveries take.
    E2e(E2eArgs),
    /// Open and close a producer on each of many topics.
    Topics(TopicsArgs),
    /// Share one topic's keys among several consumers.
    Keyshared(KeysharedArgs),
    /// Deliver one topic to several subscriptions.
    Fanout(FanoutArgs),
    /// Read a topic from its beginning while it is being written.
    Catchup(CatchupArgs),
}

impl Args {
    pub(crate) fn target(&self) -> &Target {
        match self {
            Self::Publish(args) => &args.target,
            Self::Consume(args) => &args.target,
            Self::E2e(args) => &args.target,
            Self::Topics(args) => &args.target,
            Self::Keyshared(args) => &args.target,
            Self::Fanout(args) => &args.target,
            Self::Catchup(args) => &args.target,
        }
    }
}

/// Whom to load, and how to tell of it.
#[derive(Clone, Debug, clap::Args)]
pub struct Target {
    /// Host and port of a broker.
    #[arg(default_value = "127.0.0.1:6650")]
    pub address: String,

    /// Topic to use. With several, each is this name with a number behind it.
    #[arg(long, default_value = "persistent://public/default/bench")]
    pub topic: String,

    /// Print the figures as one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// What is published.
#[derive(Clone, Debug, clap::Args)]
pub struct Load {
    /// Bytes of a message.
    #[arg(long, default_value_t = 1024)]
    pub size: usize,

    /// Messages sent together as one entry; 1 sends them singly.
    #[arg(long, default_value = "1")]
    pub batch: NonZeroU32,

    /// Sends without a receipt that are allowed at a time, over all connections.
    #[arg(long, default_value = "1024")]
    pub outstanding: NonZeroU32,
}

/// For how long, and how fast.
#[derive(Clone, Debug, clap::Args)]
pub struct Schedule {
    /// Seconds that are measured.
    #[arg(long, default_value = "10")]
    pub seconds: NonZeroU64,

    /// Seconds before those, which are not.
    #[arg(long, default_value_t = 2)]
    pub warmup: u64,
}

/// Settings of `publish`.
#[derive(Clone, Debug, clap::Args)]
pub struct PublishArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: Target,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub load: Load,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub schedule: Schedule,

    /// Topics that are published to in turn.
    #[arg(long, default_value = "1")]
    pub topics: NonZeroU32,

    /// Connections that share the topics, or each of which has a producer on one if there are fewer topics.
    #[arg(long, default_value = "1")]
    pub connections: NonZeroU32,

    /// Messages a second over all connections; as many as possible unless given.
    #[arg(long)]
    pub rate: Option<NonZeroU64>,

    /// Make this subscription first, so that the messages are kept for `consume`.
    #[arg(long, value_name = "SUBSCRIPTION")]
    pub keep: Option<String>,
}

/// Settings of `consume`.
#[derive(Clone, Debug, clap::Args)]
pub struct ConsumeArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: Target,

    /// Topics to consume.
    #[arg(long, default_value = "1")]
    pub topics: NonZeroU32,

    /// Connections that share the topics.
    #[arg(long, default_value = "1")]
    pub connections: NonZeroU32,

    /// The subscription; starts at the beginning of the topic if it is new.
    #[arg(long, default_value = "bench")]
    pub subscription: String,

    /// Messages a consumer may hold unprocessed.
    #[arg(long, default_value = "2000")]
    pub queue: NonZeroU32,

    /// Messages after which to stop; unless given, when none has come for a second.
    #[arg(long)]
    pub messages: Option<NonZeroU64>,
}

/// Settings of `e2e`.
#[derive(Clone, Debug, clap::Args)]
pub struct E2eArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: Target,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub load: Load,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub schedule: Schedule,

    /// Topics that are published to in turn.
    #[arg(long, default_value = "1")]
    pub topics: NonZeroU32,

    /// Messages a second.
    #[arg(long, default_value = "2000")]
    pub rate: NonZeroU64,
}

/// Settings of `topics`.
#[derive(Clone, Debug, clap::Args)]
pub struct TopicsArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: Target,

    /// Topics to open.
    #[arg(long, default_value = "10000")]
    pub topics: NonZeroU32,

    /// Connections that share them; each opens one topic at a time.
    #[arg(long, default_value = "1")]
    pub connections: NonZeroU32,

    /// Leave the producers open until all topics are.
    #[arg(long)]
    pub hold: bool,
}

/// Settings of `keyshared`.
#[derive(Clone, Debug, clap::Args)]
pub struct KeysharedArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: Target,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub load: Load,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub schedule: Schedule,

    /// Consumers of the subscription, each on a connection of its own.
    #[arg(long, default_value = "4")]
    pub consumers: NonZeroU32,

    /// Keys, used in turn.
    #[arg(long, default_value = "1000")]
    pub keys: NonZeroU32,

    /// Messages a second; as many as possible unless given.
    #[arg(long)]
    pub rate: Option<NonZeroU64>,
}

/// Settings of `fanout`.
#[derive(Clone, Debug, clap::Args)]
pub struct FanoutArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: Target,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub load: Load,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub schedule: Schedule,

    /// Subscriptions, each with one consumer.
    #[arg(long, default_value = "10")]
    pub subscriptions: NonZeroU32,

    /// Connections that share the consumers.
    #[arg(long, default_value = "1")]
    pub connections: NonZeroU32,

    /// Messages a second; as many as possible unless given.
    #[arg(long)]
    pub rate: Option<NonZeroU64>,
}

/// Settings of `catchup`.
#[derive(Clone, Debug, clap::Args)]
pub struct CatchupArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: Target,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub load: Load,

    /// Messages a second.
    #[arg(long, default_value = "20000")]
    pub rate: NonZeroU64,

    /// Seconds of backlog that are written before the reader starts.
    #[arg(long, default_value = "10")]
    pub lead: NonZeroU64,

    /// Seconds that the reader is given to reach the end.
    #[arg(long, default_value = "30")]
    pub limit: NonZeroU64,
}

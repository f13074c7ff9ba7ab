//! Topics at work: producers, consumers and subscriptions around the rules that decide for them.
//!
//! A topic lives on one shard; everything here is `!Send` and runs in its [`LocalSet`](tokio::task::LocalSet). What a
//! busy topic does, from a SEND to its receipt and from a stored entry to a consumer's socket, is plain calls; what
//! waits for a store is an async function. Clients are reached through [`Clients`], whatever they are connected by.

mod ack_saves;
mod bundle;
mod clients;
mod consumer;
mod context;
mod dedup;
mod end;
mod error;
mod facts;
pub mod nonpersistent;
mod outstanding;
mod overrides;
mod producer;
mod producers;
mod publish;
mod subscribe;
mod subscription;
mod topic;

pub use ack_saves::AckSaves;
pub use bundle::Bundle;
pub use clients::{Clients, ConnectionId, ConnectionKey, ProducerRefusal, SendRefusal};
pub use consumer::{Consumer, Seat};
pub use context::{Attached, ConsumerKey, Context, ProducerKey, Totals};
pub use error::Error;
pub use outstanding::Outstanding;
pub use overrides::Overrides;
pub use producer::{ClientFacts, Flow, Producer};
pub use producers::NewProducer;
pub use subscribe::{NewConsumer, Start};
pub use subscription::{LastMessage, Subscription, SubscriptionFigures, Target};
pub use topic::Topic;

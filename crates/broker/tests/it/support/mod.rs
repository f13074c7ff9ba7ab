//! What the tests stand on: brokers over stores in memory, and sessions with them.

mod session;
mod world;

pub(crate) use session::{Delivered, Session, producer, refusal, subscription, while_alive};
pub(crate) use world::{World, everywhere, everywhere_with, name, on_one_shard};

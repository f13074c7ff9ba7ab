//! The Extensible load manager (PIP-192): brokers publish a moving average of their load, the leader evens it out by
//! transfers, and each broker splits its own bundles.

mod place;

pub use place::select_least_usage;

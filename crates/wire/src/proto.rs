//! The protocol's messages as prost types, one for one.
//!
//! Every command body converts into the [`BaseCommand`] that carries it.
#![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/pulsar.proto.rs"));
include!(concat!(env!("OUT_DIR"), "/conversions.rs"));

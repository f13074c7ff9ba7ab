//! The Pulsar binary protocol: frames, commands, payloads and checksums. No I/O.
//!
//! A connection's bytes are cut into frames by [`frame`]; [`Command::decode`] reads a frame's command, by hand and
//! without allocating for those a busy connection consists of, through prost ([`proto`]) for the rest.
//! [`Payload`] finds its way in what follows a SEND or MESSAGE command, and [`MessageMetadata`] reads
//! the part of it a broker needs. [`encode`] writes the answers.
//!
//! Everything borrows from the frame. Input is hostile until decoded: it never panics, and nothing is
//! allocated on the word of a length field.

pub mod batch;
pub mod checksum;
pub mod command;
pub mod encode;
mod error;
mod field;
pub mod frame;
pub mod metadata;
pub mod payload;
pub mod proto;
mod required;
pub mod version;

pub use command::Command;
pub use error::DecodeError;
pub use frame::{Frame, FrameError};
pub use metadata::MessageMetadata;
pub use payload::{Payload, PayloadError};
pub use proto::ServerError;

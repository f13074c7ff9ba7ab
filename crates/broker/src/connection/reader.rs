//! The half of a connection that reads.

use std::fmt;
use std::io;
use std::ops::Range;
use std::rc::Rc;

use bytes::{Buf, Bytes, BytesMut};
use plerion_wire::{Command, Frame, encode, frame};
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::{Connection, commands, handshake, hot};
use crate::mesh::{Message, Target};
use crate::shard::Shard;

/// How much one read takes from a socket at most, in bytes.
const READ: usize = 256 << 10;
/// An incomplete frame of at least so many bytes keeps its buffer instead of being copied to the next read's.
const LARGE: usize = 32 << 10;

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The client closed it.
    ByClient,
    /// The broker closed it.
    ByBroker,
    /// The client was silent for too long.
    Silent,
    /// The client broke the protocol.
    Protocol(String),
    /// The socket failed.
    Socket(io::Error),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByClient => f.write_str("closed by the client"),
            Self::ByBroker => f.write_str("closed by the broker"),
            Self::Silent => f.write_str("the client is silent"),
            Self::Protocol(why) => write!(f, "protocol violation: {why}"),
            Self::Socket(error) => write!(f, "socket error: {error}"),
        }
    }
}

/// What a shard's sockets are read into: one buffer for all of them, since a frame is gone from it before the next
/// read begins.
#[derive(Default)]
pub(crate) struct ReadBuffer(std::cell::RefCell<BytesMut>);

/// Reads and handles frames until the connection ends.
pub(super) async fn run(shard: &Rc<Shard>, connection: &Rc<Connection>) -> Ended {
    let mut partial = BytesMut::new();
    loop {
        hot::publish_budget(shard, connection).await;
        if let Err(error) = connection.stream.readable().await {
            return Ended::Socket(error);
        }
        let mut buffer = if partial.len() >= LARGE {
            std::mem::take(&mut partial)
        } else {
            let mut shared = shard.read_buffer.0.take();
            shared.clear();
            shared.reserve(READ);
            shared.extend_from_slice(&partial);
            partial.clear();
            shared
        };
        buffer.reserve(READ / 2);
        match read(&connection.stream, &mut buffer) {
            Ok(0) => return Ended::ByClient,
            Ok(_) => connection.heard.set(shard.clock().monotonic()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Ended::Socket(error),
        }
        let round = Round { shard, connection, remote: Vec::new(), at: 0 };
        if let Err(ended) = round.frames(&mut buffer) {
            return ended;
        }
        if buffer.len() >= LARGE {
            partial = buffer;
        } else {
            partial.extend_from_slice(&buffer);
            shard.read_buffer.0.replace(buffer);
        }
    }
}

/// Reads what is there, up to the room in `buffer`.
///
/// A read that leaves room took all there was. The runtime is told so: it would otherwise have every read followed by
/// one that finds nothing.
fn read(stream: &TcpStream, buffer: &mut BytesMut) -> io::Result<usize> {
    let mut taken = 0;
    let room = buffer.capacity() - buffer.len();
    let tried = stream.try_io(Interest::READABLE, || {
        taken = stream.try_read_buf(buffer)?;
        if (1..room).contains(&taken) { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
    });
    tried.map(|()| taken).or_else(|error| if taken > 0 { Ok(taken) } else { Err(error) })
}

/// The handling of what one read brought.
struct Round<'a> {
    shard: &'a Rc<Shard>,
    connection: &'a Rc<Connection>,
    /// Frames for topics of other shards: they leave with the buffer itself, uncopied, once no more is parsed from it.
    remote: Vec<Remote>,
    /// How much of the buffer is handled.
    at: usize,
}

struct Remote {
    home: u16,
    to: Target,
    frame: Range<usize>,
}

impl Round<'_> {
    /// Handles the complete frames at the front of `buffer` and removes them.
    fn frames(mut self, buffer: &mut BytesMut) -> Result<(), Ended> {
        let limit = self.shard.frame_limit();
        let result = loop {
            match frame::peek(&buffer[self.at..], limit) {
                Ok(Some(length)) => {
                    if let Err(ended) = self.frame(buffer, length) {
                        break Err(ended);
                    }
                    if !self.connection.is_open() {
                        break Err(Ended::ByBroker);
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(self.malformed(&error)),
            }
        };
        self.post_remote(buffer);
        buffer.advance(self.at);
        result
    }

    fn frame(&mut self, buffer: &mut BytesMut, length: usize) -> Result<(), Ended> {
        let range = self.at..self.at + length;
        self.at = range.end;
        let frame = Frame::parse(&buffer[range.clone()]).map_err(|error| self.malformed(&error))?;
        let command = Command::decode(frame.command).map_err(|error| self.malformed(&error))?;
        if !self.connection.session().is_ready() {
            return handshake::before_ready(self.shard, self.connection, command);
        }
        let remote = match command {
            Command::Send(send) => hot::send(self.shard, self.connection, &send, frame.payload)?,
            Command::Flow(flow) => hot::flow(self.shard, self.connection, flow)?,
            Command::Ack(ack) => hot::ack(self.shard, self.connection, ack),
            Command::Redeliver(redeliver) => hot::redeliver(self.shard, self.connection, redeliver),
            Command::Ping => {
                self.connection.write(|buf| buf.extend_from_slice(&encode::PONG), Bytes::new());
                None
            }
            Command::Pong => {
                self.connection.ponged.notify_waiters();
                None
            }
            Command::Unknown(kind) => {
                tracing::debug!(client = %self.connection.address, kind, "unknown command ignored");
                None
            }
            Command::Other(command) => {
                // What follows a SEND must not overtake it.
                self.post_remote(buffer);
                return commands::handle(self.shard, self.connection, *command);
            }
        };
        self.remote.extend(remote.map(|(home, to)| Remote { home, to, frame: range }));
        Ok(())
    }

    /// Sends the collected frames to their shards; they keep the handled part of the buffer.
    fn post_remote(&mut self, buffer: &mut BytesMut) {
        if self.remote.is_empty() {
            return;
        }
        let chunk = buffer.split_to(std::mem::take(&mut self.at)).freeze();
        for Remote { home, to, frame } in self.remote.drain(..) {
            let message = Message::Frame { from: self.connection.id, to, frame: chunk.slice(frame) };
            self.shard.switchboard.mesh.post(home, message);
        }
    }

    fn malformed(&self, why: &dyn fmt::Display) -> Ended {
        self.shard.counters().malformed_frame();
        Ended::Protocol(why.to_string())
    }
}

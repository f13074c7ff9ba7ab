//! Frames as they come from a broker.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;

use plerion_wire::frame::{self, Frame};
use plerion_wire::proto::base_command::Type;

use crate::Error;
use crate::fields::{self, Fields, Value};

/// What is read from the socket at a time.
const READ: usize = 1 << 20;

/// Largest frame that is accepted from a broker.
const LIMIT: usize = 128 << 20;

/// A frame, borrowed from the reader's buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<'a> {
    pub(crate) kind: u64,
    pub(crate) body: &'a [u8],
    pub(crate) payload: &'a [u8],
    /// The whole encoded command.
    pub(crate) command: &'a [u8],
}

impl Incoming<'_> {
    #[inline]
    pub(crate) fn is(&self, kind: Type) -> bool {
        self.kind == kind as u64
    }

    /// An integer of the command's body that must be there.
    #[inline]
    pub(crate) fn int(&self, field: u64) -> Result<u64, Error> {
        fields::int(self.body, field)
            .ok_or_else(|| Error::Protocol(format!("command {} lacks its field {field}", self.kind)))
    }
}

/// Cuts what a socket delivers into frames.
#[derive(Debug)]
pub(crate) struct FrameReader {
    socket: TcpStream,
    address: String,
    buffer: Vec<u8>,
    /// Where the next frame starts, and where what was read ends.
    start: usize,
    end: usize,
}

impl FrameReader {
    pub(crate) fn new(socket: TcpStream, address: String) -> Self {
        Self { socket, address, buffer: vec![0; READ], start: 0, end: 0 }
    }

    /// The next frame; `None` if none came within the socket's read timeout.
    pub(crate) fn next(&mut self) -> Result<Option<Incoming<'_>>, Error> {
        let size = loop {
            match frame::peek(&self.buffer[self.start..self.end], LIMIT) {
                Ok(Some(size)) => break size,
                Ok(None) => {}
                Err(broken) => return Err(Error::Protocol(broken.to_string())),
            }
            self.make_room();
            match self.socket.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(self.lost(ErrorKind::UnexpectedEof.into())),
                Ok(count) => self.end += count,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost(error)),
            }
        };
        let frame = &self.buffer[self.start..self.start + size];
        self.start += size;
        parse(frame).map(Some)
    }

    /// Whether a whole frame can be had without waiting.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(frame::peek(&self.buffer[self.start..self.end], LIMIT), Ok(Some(_)) | Err(_))
    }

    /// Moves what is left of the last read to the front once it reaches the back half, and grows the buffer when a
    /// frame does not fit.
    fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > self.buffer.len() / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        } else if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }

    pub(crate) fn lost(&self, source: std::io::Error) -> Error {
        Error::Lost { address: self.address.clone(), source }
    }
}

fn parse(frame: &[u8]) -> Result<Incoming<'_>, Error> {
    let Frame { command, payload } = Frame::parse(frame).map_err(|broken| Error::Protocol(broken.to_string()))?;
    let Some((1, Value::Int(kind))) = Fields::of(command).next() else {
        return Err(Error::Protocol("a command does not start with its type".into()));
    };
    let body = fields::bytes(command, kind).unwrap_or_default();
    Ok(Incoming { kind, body, payload, command })
}

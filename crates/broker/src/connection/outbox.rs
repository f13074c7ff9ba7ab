//! Bytes on their way to a client.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes, BytesMut};

/// How many pieces one write hands to the kernel: the kernel's own limit is 1024, and half of it fills a socket buffer.
const SLICES: usize = 512;

/// What is still to be written on a connection, in order. Frames are encoded into one buffer; stored entries are
/// shared with the log and never copied.
#[derive(Default)]
pub(crate) struct Outbox {
    /// The encoded bytes of all [`Part::Encoded`], front first.
    encoded: BytesMut,
    parts: VecDeque<Part>,
    queued: usize,
}

/// What a socket took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// All bytes.
    pub(crate) bytes: usize,
    /// Those of them that were shared, not encoded.
    pub(crate) shared: usize,
}

enum Part {
    /// So many bytes of `encoded`.
    Encoded(usize),
    /// Bytes that live elsewhere.
    Shared(Bytes),
}

impl Outbox {
    /// How many bytes wait to be written.
    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    /// Appends what `encode` writes.
    pub(crate) fn encode(&mut self, encode: impl FnOnce(&mut BytesMut)) {
        let before = self.encoded.len();
        encode(&mut self.encoded);
        let added = self.encoded.len() - before;
        self.queued += added;
        match self.parts.back_mut() {
            Some(Part::Encoded(length)) => *length += added,
            _ => self.parts.push_back(Part::Encoded(added)),
        }
    }

    /// Appends bytes without copying them.
    pub(crate) fn share(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.queued += bytes.len();
            self.parts.push_back(Part::Shared(bytes));
        }
    }

    /// Calls `write` with the front of what waits, and removes as much as it says it wrote.
    pub(crate) fn write_with<E>(
        &mut self,
        write: impl FnOnce(&[IoSlice<'_>]) -> Result<usize, E>,
    ) -> Result<Written, E> {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let mut rest = &self.encoded[..];
        let mut count = 0;
        for (slot, part) in slices.iter_mut().zip(&self.parts) {
            *slot = IoSlice::new(match part {
                Part::Encoded(length) => {
                    let (bytes, after) = rest.split_at(*length);
                    rest = after;
                    bytes
                }
                Part::Shared(bytes) => bytes,
            });
            count += 1;
        }
        let bytes = write(&slices[..count])?;
        Ok(Written { bytes, shared: self.consume(bytes) })
    }

    /// Forgets everything that waits.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Removes so many bytes from the front; how many of them lived elsewhere.
    fn consume(&mut self, mut written: usize) -> usize {
        self.queued -= written;
        let mut shared = 0;
        while written > 0 {
            let Some(front) = self.parts.front_mut() else { break };
            let length = match front {
                Part::Encoded(length) => {
                    let taken = (*length).min(written);
                    self.encoded.advance(taken);
                    *length -= taken;
                    written -= taken;
                    *length
                }
                Part::Shared(bytes) => {
                    let taken = bytes.len().min(written);
                    bytes.advance(taken);
                    shared += taken;
                    written -= taken;
                    bytes.len()
                }
            };
            if length == 0 {
                self.parts.pop_front();
            }
        }
        if self.parts.is_empty() {
            self.encoded.clear();
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::BufMut;

    use super::*;

    /// Writes at most `limit` bytes, as a socket does.
    fn drain(outbox: &mut Outbox, limit: usize, into: &mut Vec<u8>) -> usize {
        outbox
            .write_with(|slices| {
                let all: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).take(limit).collect();
                into.extend_from_slice(&all);
                Ok::<_, Infallible>(all.len())
            })
            .expect("infallible")
            .bytes
    }

    #[test]
    fn what_goes_in_comes_out_in_order_whatever_the_socket_takes() {
        for limit in 1..40 {
            let mut outbox = Outbox::default();
            let mut expected = Vec::new();
            for round in 0..20_u8 {
                outbox.encode(|buf| buf.put_slice(&[round; 3]));
                outbox.encode(|buf| buf.put_slice(&[round; 2]));
                outbox.share(Bytes::from(vec![round ^ 0x80; 7]));
                expected.extend_from_slice(&[round; 5]);
                expected.extend_from_slice(&[round ^ 0x80; 7]);
            }
            let mut written = Vec::new();
            while outbox.queued() > 0 {
                assert!(drain(&mut outbox, limit, &mut written) > 0);
            }
            assert_eq!(written, expected, "limit {limit}");
            assert!(outbox.parts.is_empty() && outbox.encoded.is_empty());
        }
    }

    #[test]
    fn an_empty_share_adds_nothing() {
        let mut outbox = Outbox::default();
        outbox.share(Bytes::new());
        assert_eq!(outbox.queued(), 0);
        assert!(outbox.parts.is_empty());
    }
}

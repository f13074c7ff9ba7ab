use bytes::BufMut;

use crate::proto::base_command::Type;

/// The fixed-size part of a command's body, built on the stack: no field of variable size but a last string's head.
pub(super) struct Body {
    bytes: [u8; Body::CAPACITY],
    len: usize,
    /// Size of what follows the fixed-size part.
    tail: usize,
}

impl Body {
    /// The longest, that of a MESSAGE with every number at its largest, takes 63 bytes.
    const CAPACITY: usize = 64;

    pub(super) const fn new() -> Self {
        Self { bytes: [0; Self::CAPACITY], len: 0, tail: 0 }
    }

    /// Bytes of the whole body.
    pub(super) fn size(&self) -> usize {
        self.len + self.tail
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Writes a number. Negative ones are sign-extended to 64 bits, as protobuf wants them.
    #[inline]
    pub(super) fn varint(&mut self, number: u32, value: u64) {
        self.raw(u64::from(number) << 3);
        self.raw(value);
    }

    #[inline]
    pub(super) fn nested(&mut self, number: u32, message: &Self) {
        self.raw((u64::from(number) << 3) | 2);
        self.raw(message.len as u64);
        self.bytes[self.len..self.len + message.len].copy_from_slice(message.as_slice());
        self.len += message.len;
    }

    /// Writes the head of a string, whose bytes must follow the body.
    pub(super) fn string(&mut self, number: u32, text: &str) {
        self.raw((u64::from(number) << 3) | 2);
        self.raw(text.len() as u64);
        self.tail += text.len();
    }

    /// Makes room for fields that the caller writes after the body.
    pub(super) fn reserve_tail(&mut self, len: usize) {
        self.tail += len;
    }

    #[inline]
    fn raw(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes[self.len] = value as u8 | 0x80;
            self.len += 1;
            value >>= 7;
        }
        self.bytes[self.len] = value as u8;
        self.len += 1;
    }
}

/// Writes a frame without payload: `body`, whose tail is `text`.
pub(super) fn put_frame(kind: Type, body: &Body, text: &str, out: &mut impl BufMut) {
    put_head(kind, body, 0, out);
    out.put_slice(text.as_bytes());
}

/// Writes the start of a frame up to the end of the body's fixed-size part; `payload_len` bytes follow the command.
#[inline]
pub(super) fn put_head(kind: Type, body: &Body, payload_len: usize, out: &mut impl BufMut) {
    let mut command = Body::new();
    command.varint(1, kind as u64);
    command.raw(((kind as u64) << 3) | 2);
    command.raw(body.size() as u64);
    let command_size = command.len + body.size();
    let mut sizes = [0; 8];
    sizes[..4].copy_from_slice(&((4 + command_size + payload_len) as u32).to_be_bytes());
    sizes[4..].copy_from_slice(&(command_size as u32).to_be_bytes());
    out.put_slice(&sizes);
    out.put_slice(command.as_slice());
    out.put_slice(body.as_slice());
}

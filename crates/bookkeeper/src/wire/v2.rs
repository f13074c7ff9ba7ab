//! The binary protocol: a header of version, operation and flags, then fixed fields.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use plerion_ledger::LedgerId;

use super::Status;
use crate::digest::{Digester, MasterKey};
use crate::entry::{HEADER, Header};

const VERSION: u32 = 2;
const ADD: u8 = 1;
const READ: u8 = 2;
const AUTH: u8 = 3;
const BATCH_READ: u8 = 7;

/// Bytes of an add's frame before the entry: length, header, key.
pub const ADD_PREFIX: usize = 4 + 4 + 20;

/// The read fences the ledger; it then carries the key.
pub const FENCE: u16 = 1;
/// The add passes a fence.
pub const RECOVERY: u16 = 2;
/// Served by threads of its own; read-only bookies take such adds.
pub const PRIORITY: u16 = 4;

/// The longest body that fits a frame of `max_frame` bytes.
pub const fn max_body(max_frame: usize, digest: usize) -> usize {
    max_frame.saturating_sub(ADD_PREFIX + HEADER + digest)
}

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Store an entry.
    Add {
        /// [`RECOVERY`], [`PRIORITY`].
        flags: u16,
        /// The ledger's key.
        key: MasterKey,
        /// The entry, from its header on.
        entry: Bytes,
    },
    /// Return an entry.
    Read {
        /// [`FENCE`], [`PRIORITY`].
        flags: u16,
        /// The ledger.
        ledger: LedgerId,
        /// The entry, -1 for the last the bookie has.
        entry: i64,
        /// With [`FENCE`] only.
        key: Option<MasterKey>,
    },
    /// Return consecutive entries.
    BatchRead {
        /// [`FENCE`], [`PRIORITY`].
        flags: u16,
        /// The ledger.
        ledger: LedgerId,
        /// The first entry.
        first: i64,
        /// What the answer is recognised by.
        id: i64,
        /// At most so many entries; 0 for no limit.
        max_count: i32,
        /// At most so many bytes, but at least one entry.
        max_bytes: i64,
        /// With [`FENCE`] only.
        key: Option<MasterKey>,
    },
    /// One step of authentication.
    Auth(Bytes),
}

/// What a bookie answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// To an add.
    Add {
        /// The verdict.
        status: Status,
        /// The ledger.
        ledger: LedgerId,
        /// The entry.
        entry: i64,
    },
    /// To a read.
    Read {
        /// The verdict.
        status: Status,
        /// The ledger.
        ledger: LedgerId,
        /// The entry as it was asked for.
        entry: i64,
        /// The entry, from its header on; empty unless the status is ok.
        bytes: Bytes,
    },
    /// To a batch read.
    BatchRead {
        /// The verdict.
        status: Status,
        /// The ledger.
        ledger: LedgerId,
        /// The first entry.
        first: i64,
        /// The number given in the request.
        id: i64,
        /// The entries, each from its header on.
        entries: Vec<Bytes>,
    },
    /// One step of authentication.
    Auth(Bytes),
}

/// Why a frame is not of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The frame ends too early.
    #[error("the frame ends too early")]
    Short,
    /// There are bytes after its end.
    #[error("{0} bytes follow the end of the message")]
    Trailing(usize),
    /// The version is not 2.
    #[error("version {0} is not spoken")]
    Version(u8),
    /// The operation is not known.
    #[error("operation {0} is not known")]
    Operation(u8),
    /// Flag and key contradict each other.
    #[error("a key was given without a fence, or the reverse")]
    Key,
}

/// The whole frame of a plain add, built once for all replicas. The entry begins at [`ADD_PREFIX`].
pub fn add_frame(key: MasterKey, header: &Header, digester: &Digester, body: &[u8]) -> Bytes {
    let entry = HEADER + digester.size() + body.len();
    let mut out = BytesMut::with_capacity(ADD_PREFIX + entry);
    put_header(&mut out, ADD, 0, 20 + entry);
    out.put_slice(&key.0);
    header.seal(digester, body, &mut out);
    out.freeze()
}

fn put_header(out: &mut BytesMut, operation: u8, flags: u16, rest: usize) {
    out.put_u32(u32::try_from(rest + 4).unwrap_or(u32::MAX));
    out.put_u32(VERSION << 24 | u32::from(operation) << 16 | u32::from(flags));
}

impl Request {
    /// Appends the frame.
    pub fn encode(&self, out: &mut BytesMut) {
        match self {
            Self::Add { flags, key, entry } => {
                put_header(out, ADD, *flags, 20 + entry.len());
                out.put_slice(&key.0);
                out.put_slice(entry);
            }
            Self::Read { flags, ledger, entry, key } => {
                put_header(out, READ, *flags, 16 + key_size(key));
                out.put_u64(ledger.0);
                out.put_i64(*entry);
                put_key(out, key);
            }
            Self::BatchRead { flags, ledger, first, id, max_count, max_bytes, key } => {
                put_header(out, BATCH_READ, *flags, 36 + key_size(key));
                out.put_u64(ledger.0);
                out.put_i64(*first);
                out.put_i64(*id);
                out.put_i32(*max_count);
                out.put_i64(*max_bytes);
                put_key(out, key);
            }
            Self::Auth(message) => {
                put_header(out, AUTH, 0, message.len());
                out.put_slice(message);
            }
        }
    }

    /// Reads a frame, its length taken off, as a bookie does.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn decode(mut frame: Bytes) -> Result<Self, Malformed> {
        let (operation, flags) = take_header(&mut frame)?;
        let request = match operation {
            ADD => {
                let key = take_key(&mut frame)?;
                if frame.len() < 16 {
                    return Err(Malformed::Short);
                }
                return Ok(Self::Add { flags, key, entry: frame });
            }
            READ => Self::Read {
                flags,
                ledger: take_ledger(&mut frame)?,
                entry: frame.try_get_i64().map_err(short)?,
                key: take_optional_key(&mut frame, flags)?,
            },
            BATCH_READ => Self::BatchRead {
                flags,
                ledger: take_ledger(&mut frame)?,
                first: frame.try_get_i64().map_err(short)?,
                id: frame.try_get_i64().map_err(short)?,
                max_count: frame.try_get_i32().map_err(short)?,
                max_bytes: frame.try_get_i64().map_err(short)?,
                key: take_optional_key(&mut frame, flags)?,
            },
            AUTH => return Ok(Self::Auth(frame)),
            other => return Err(Malformed::Operation(other)),
        };
        if frame.is_empty() { Ok(request) } else { Err(Malformed::Trailing(frame.len())) }
    }
}

impl Response {
    /// Appends the frame, as a bookie does.
    pub fn encode(&self, out: &mut BytesMut) {
        match self {
            Self::Add { status, ledger, entry } => {
                put_header(out, ADD, 0, 20);
                out.put_i32(status.to_v2());
                out.put_u64(ledger.0);
                out.put_i64(*entry);
            }
            Self::Read { status, ledger, entry, bytes } => {
                put_header(out, READ, 0, 20 + bytes.len());
                out.put_i32(status.to_v2());
                out.put_u64(ledger.0);
                out.put_i64(*entry);
                out.put_slice(bytes);
            }
            Self::BatchRead { status, ledger, first, id, entries } => {
                put_header(out, BATCH_READ, 0, 28 + entries.iter().map(|entry| 4 + entry.len()).sum::<usize>());
                out.put_i32(status.to_v2());
                out.put_u64(ledger.0);
                out.put_i64(*first);
                out.put_i64(*id);
                for entry in entries {
                    out.put_u32(u32::try_from(entry.len()).unwrap_or(u32::MAX));
                    out.put_slice(entry);
                }
            }
            Self::Auth(message) => {
                put_header(out, AUTH, 0, message.len());
                out.put_slice(message);
            }
        }
    }

    /// Reads a frame, its length taken off.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn decode(mut frame: Bytes) -> Result<Self, Malformed> {
        let (operation, _) = take_header(&mut frame)?;
        if operation == AUTH {
            return Ok(Self::Auth(frame));
        }
        if !matches!(operation, ADD | READ | BATCH_READ) {
            return Err(Malformed::Operation(operation));
        }
        let status = Status::from_v2(frame.try_get_i32().map_err(short)?);
        let ledger = take_ledger(&mut frame)?;
        let entry = frame.try_get_i64().map_err(short)?;
        match operation {
            ADD if frame.is_empty() => Ok(Self::Add { status, ledger, entry }),
            ADD => Err(Malformed::Trailing(frame.len())),
            READ => Ok(Self::Read { status, ledger, entry, bytes: frame }),
            _ => {
                let id = frame.try_get_i64().map_err(short)?;
                let mut entries = Vec::new();
                while !frame.is_empty() {
                    let length = frame.try_get_u32().map_err(short)? as usize;
                    if length > frame.len() {
                        return Err(Malformed::Short);
                    }
                    entries.push(frame.split_to(length));
                }
                Ok(Self::BatchRead { status, ledger, first: entry, id, entries })
            }
        }
    }
}

fn short(_: bytes::TryGetError) -> Malformed {
    Malformed::Short
}

fn take_header(frame: &mut Bytes) -> Result<(u8, u16), Malformed> {
    let version = frame.try_get_u8().map_err(short)?;
    if u32::from(version) != VERSION {
        return Err(Malformed::Version(version));
    }
    Ok((frame.try_get_u8().map_err(short)?, frame.try_get_u16().map_err(short)?))
}

fn take_ledger(frame: &mut Bytes) -> Result<LedgerId, Malformed> {
    frame.try_get_u64().map(LedgerId).map_err(short)
}

fn take_key(frame: &mut Bytes) -> Result<MasterKey, Malformed> {
    let mut key = [0; 20];
    frame.try_copy_to_slice(&mut key).map_err(short)?;
    Ok(MasterKey(key))
}

fn take_optional_key(frame: &mut Bytes, flags: u16) -> Result<Option<MasterKey>, Malformed> {
    match (flags & FENCE != 0, frame.is_empty()) {
        (true, false) => take_key(frame).map(Some),
        (false, true) => Ok(None),
        _ => Err(Malformed::Key),
    }
}

fn key_size(key: &Option<MasterKey>) -> usize {
    if key.is_some() { 20 } else { 0 }
}

fn put_key(out: &mut BytesMut, key: &Option<MasterKey>) {
    if let Some(key) = key {
        out.put_slice(&key.0);
    }
}

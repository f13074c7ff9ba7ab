//! The form in which entries lie on bookies: 32 bytes of header, the digest, the body.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use plerion_ledger::LedgerId;

use crate::digest::Digester;

/// Bytes before the digest.
pub const HEADER: usize = 32;

/// "No entry": what the last acknowledged entry of an empty ledger is called.
pub const NONE: i64 = -1;

/// No entry has a greater number than this; what claims one is damaged.
pub const MAX: i64 = 1 << 62;

/// What is written before the digest of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The ledger.
    pub ledger: LedgerId,
    /// The entry's number.
    pub entry: i64,
    /// The last entry the writer had acknowledged when it sent this one; [`NONE`] if none.
    pub lac: i64,
    /// The sum of the bodies' lengths of all entries up to and including this one, in bytes.
    pub length: i64,
}

impl Header {
    /// Appends the entry with this header and `body`.
    pub fn seal(&self, digester: &Digester, body: &[u8], out: &mut BytesMut) {
        let mut head = [0; HEADER];
        let mut rest = &mut head[..];
        rest.put_u64(self.ledger.0);
        rest.put_i64(self.entry);
        rest.put_i64(self.lac);
        rest.put_i64(self.length);
        out.put_slice(&head);
        digester.put(&head, body, out);
        out.put_slice(body);
    }
}

/// An entry whose digest and numbers were checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// What the writer said.
    pub header: Header,
    /// What the application wrote.
    pub body: Bytes,
    /// The entry as it lies on the bookie: what is written back to others.
    pub bytes: Bytes,
}

/// Why bytes are not the entry that was asked for. A bookie checks none of this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// Too short to hold header and digest.
    #[error("{0} bytes are too few for an entry")]
    Short(usize),
    /// The digest is not that of the bytes.
    #[error("the digest does not match")]
    Digest,
    /// It is an entry of another ledger.
    #[error("it is an entry of ledger {0}")]
    Ledger(LedgerId),
    /// It is another entry.
    #[error("it is entry {0}")]
    Entry(i64),
    /// Its header contradicts itself.
    #[error("its header contradicts itself")]
    Header,
}

/// Checks an entry as it came from a bookie; `entry` is the number asked for, `None` when the last was.
///
/// # Errors
/// [`Mismatch`], in the order size, digest, ledger, entry, header.
pub fn open(digester: &Digester, ledger: LedgerId, entry: Option<i64>, bytes: &Bytes) -> Result<Sealed, Mismatch> {
    let from = HEADER + digester.size();
    let (Some(head), Some(digest), Some(body)) = (bytes.get(..HEADER), bytes.get(HEADER..from), bytes.get(from..))
    else {
        return Err(Mismatch::Short(bytes.len()));
    };
    if !digester.matches(head, body, digest) {
        return Err(Mismatch::Digest);
    }
    let mut rest = head;
    let found = LedgerId(rest.get_u64());
    let header = Header { ledger: found, entry: rest.get_i64(), lac: rest.get_i64(), length: rest.get_i64() };
    if found != ledger {
        return Err(Mismatch::Ledger(found));
    }
    if !(0..=MAX).contains(&header.entry) || entry.is_some_and(|entry| entry != header.entry) {
        return Err(Mismatch::Entry(header.entry));
    }
    let shortest = i64::try_from(body.len()).unwrap_or(i64::MAX);
    if header.lac >= header.entry || header.lac < NONE || header.length < shortest {
        return Err(Mismatch::Header);
    }
    Ok(Sealed { header, body: bytes.slice(from..), bytes: bytes.clone() })
}

/// The body of an explicit "last add confirmed".
pub fn seal_lac(digester: &Digester, ledger: LedgerId, lac: i64) -> Bytes {
    let mut head = [0; 16];
    let mut rest = &mut head[..];
    rest.put_u64(ledger.0);
    rest.put_i64(lac);
    let mut out = BytesMut::with_capacity(16 + digester.size());
    out.put_slice(&head);
    digester.put(&head, &[], &mut out);
    out.freeze()
}

/// Checks an explicit "last add confirmed" and returns it.
///
/// # Errors
/// [`Mismatch`], as [`open`].
pub fn open_lac(digester: &Digester, ledger: LedgerId, bytes: &[u8]) -> Result<i64, Mismatch> {
    let (Some(mut head), Some(digest)) = (bytes.get(..16), bytes.get(16..)) else {
        return Err(Mismatch::Short(bytes.len()));
    };
    if !digester.matches(head, &[], digest) {
        return Err(Mismatch::Digest);
    }
    let found = LedgerId(head.get_u64());
    if found != ledger {
        return Err(Mismatch::Ledger(found));
    }
    Ok(head.get_i64())
}

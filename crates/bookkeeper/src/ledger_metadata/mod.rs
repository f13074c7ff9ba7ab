//! What the metadata store holds of a ledger.

mod binary;
mod legacy;
mod text;

use bytes::Bytes;

use crate::bookie::BookieId;
use crate::digest::DigestType;
use crate::entry::{self, NONE};
use crate::quorum::Quorum;

/// Whether a ledger takes entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Its writer may append.
    Open,
    /// Somebody is finding out where it ends.
    InRecovery,
    /// It ends at a known entry.
    Closed,
}

/// Which bookies hold the entries from `first` on, up to the next segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The first entry.
    pub first: i64,
    /// The bookies; their order says who holds which entry.
    pub ensemble: Vec<BookieId>,
}

/// Everything the metadata store holds of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerMetadata {
    /// Sizes of ensemble and quorums.
    pub quorum: Quorum,
    /// Open, in recovery or closed.
    pub state: State,
    /// The sum of the entries' lengths in bytes, 0 unless closed.
    pub length: i64,
    /// The last entry, [`NONE`] unless closed with entries.
    pub last: i64,
    /// The segments in ascending order; the first begins at 0.
    pub segments: Vec<Segment>,
    /// The digest; ledgers of long ago do not say.
    pub digest: Option<DigestType>,
    /// The password, in clear text, as the original keeps it.
    pub password: Bytes,
    /// When it was created, in milliseconds since the Unix epoch, if that was written down.
    pub created_ms: Option<i64>,
    /// What the application wrote down, in stored order.
    pub custom: Vec<(String, Bytes)>,
    /// A random number by which a creator recognises its own ledger. Others reset it.
    pub token: Option<i64>,
    /// Fields of later versions, as they were stored: a tag and its value each.
    unknown: Bytes,
}

/// A ledger's metadata with the version that the next change has to name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned {
    /// The metadata.
    pub metadata: LedgerMetadata,
    /// The version of its row.
    pub version: u64,
}

/// Why stored bytes are not the metadata of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// It does not begin as metadata does.
    #[error("it does not begin with a format version")]
    NoVersion,
    /// A format that is not known.
    #[error("its format version {0} is not known")]
    Version(String),
    /// The bytes end too early or contradict themselves.
    #[error("it cannot be read: {0}")]
    Malformed(&'static str),
    /// A field has a value it must not have.
    #[error("{0}")]
    Invalid(&'static str),
}

const VERSION_KEY: &[u8] = b"BookieMetadataFormatVersion\t";

impl LedgerMetadata {
    /// The metadata of a new ledger.
    pub fn open(quorum: Quorum, ensemble: Vec<BookieId>, digest: DigestType, password: Bytes) -> Self {
        Self {
            quorum,
            state: State::Open,
            length: 0,
            last: NONE,
            segments: vec![Segment { first: 0, ensemble }],
            digest: Some(digest),
            password,
            created_ms: None,
            custom: Vec::new(),
            token: None,
            unknown: Bytes::new(),
        }
    }

    /// Reads stored bytes, in any of the three formats.
    ///
    /// # Errors
    /// [`MetadataError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, MetadataError> {
        let rest = bytes.strip_prefix(VERSION_KEY).ok_or(MetadataError::NoVersion)?;
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or(MetadataError::NoVersion)?;
        let (version, rest) = (&rest[..end], &rest[end + 1..]);
        let metadata = match version {
            b"3" => binary::decode(rest)?,
            b"2" => text::decode(rest)?,
            b"1" => legacy::decode(rest)?,
            other => return Err(MetadataError::Version(String::from_utf8_lossy(other).into_owned())),
        };
        metadata.validate()?;
        Ok(metadata)
    }

    /// The bytes to store, always in format 3.
    pub fn encode(&self) -> Bytes {
        let mut out = VERSION_KEY.to_vec();
        out.extend_from_slice(b"3\n");
        binary::encode(self, &mut out);
        out.into()
    }

    fn validate(&self) -> Result<(), MetadataError> {
        let Some(first) = self.segments.first() else {
            return Err(MetadataError::Invalid("it has no segment"));
        };
        if first.first != 0 {
            return Err(MetadataError::Invalid("its first segment does not begin at entry 0"));
        }
        if self.segments.windows(2).any(|pair| pair[0].first >= pair[1].first) {
            return Err(MetadataError::Invalid("its segments are not in ascending order"));
        }
        if self.last_segment().first > entry::MAX || self.last > entry::MAX {
            return Err(MetadataError::Invalid("it names an entry beyond the greatest number"));
        }
        if self.segments.iter().any(|segment| segment.ensemble.len() != self.quorum.ensemble()) {
            return Err(MetadataError::Invalid("a segment does not have as many bookies as the ensemble is large"));
        }
        if self.state == State::Closed && (self.last < NONE || self.length < 0) {
            return Err(MetadataError::Invalid("its end is negative"));
        }
        Ok(())
    }

    /// The last segment.
    pub fn last_segment(&self) -> &Segment {
        // What is decoded has a segment, and none is ever removed.
        &self.segments[self.segments.len() - 1]
    }

    /// The segment that holds `entry`.
    pub fn segment_of(&self, entry: i64) -> &Segment {
        let after = self.segments.partition_point(|segment| segment.first <= entry);
        &self.segments[after.saturating_sub(1)]
    }

    /// The last entry before another segment than that of `entry` begins.
    pub fn end_of_segment(&self, entry: i64) -> i64 {
        let after = self.segments.partition_point(|segment| segment.first <= entry);
        self.segments.get(after).map_or(i64::MAX, |next| next.first - 1)
    }

    /// Makes `ensemble` hold the entries from `first` on: in place of the last segment if that begins there, else as
    /// a new one. Says whether it could; it cannot if the last segment begins later.
    #[must_use]
    pub fn change_ensemble(&mut self, first: i64, ensemble: Vec<BookieId>) -> bool {
        let end = self.segments.len() - 1;
        let last = &mut self.segments[end];
        match last.first.cmp(&first) {
            std::cmp::Ordering::Less => self.segments.push(Segment { first, ensemble }),
            std::cmp::Ordering::Equal => last.ensemble = ensemble,
            std::cmp::Ordering::Greater => return false,
        }
        true
    }

    /// Whether both say the same of the ledger: what others reset or reorder is left out.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let comparable = |metadata: &Self| {
            let mut copy = metadata.clone();
            copy.token = None;
            copy.created_ms = None;
            copy.custom.sort();
            copy
        };
        comparable(self) == comparable(other)
    }

    /// The value of a custom key.
    pub fn custom(&self, key: &str) -> Option<&Bytes> {
        self.custom.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Sets the value of a custom key.
    pub fn set_custom(&mut self, key: &str, value: Bytes) {
        match self.custom.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.custom.push((key.to_owned(), value)),
        }
    }
}

/// The fields as they are read, before it is known whether they fit together.
#[derive(Default)]
struct Draft {
    write: Option<i64>,
    ensemble: Option<i64>,
    ack: Option<i64>,
    length: i64,
    last: Option<i64>,
    state: Option<i64>,
    segments: Vec<Segment>,
    digest: Option<i64>,
    password: Bytes,
    created_ms: Option<i64>,
    custom: Vec<(String, Bytes)>,
    token: Option<i64>,
    unknown: Vec<u8>,
}

impl Draft {
    fn finish(self) -> Result<LedgerMetadata, MetadataError> {
        let size = |value: Option<i64>| value.and_then(|value| usize::try_from(value).ok());
        let (Some(ensemble), Some(write)) = (size(self.ensemble), size(self.write)) else {
            return Err(MetadataError::Invalid("it lacks the size of the ensemble or of the write quorum"));
        };
        let ack = if self.ack.is_some() { size(self.ack) } else { Some(write) };
        let quorum = ack
            .and_then(|ack| Quorum::new(ensemble, write, ack))
            .ok_or(MetadataError::Invalid("ensemble, write quorum and ack quorum do not fit together"))?;
        let state = match self.state {
            Some(1) => State::Open,
            Some(2) => State::InRecovery,
            Some(3) => State::Closed,
            _ => return Err(MetadataError::Invalid("its state is none of open, in recovery, closed")),
        };
        let digest = self
            .digest
            .map(|number| DigestType::from_number(number).ok_or(MetadataError::Invalid("its digest is not known")))
            .transpose()?;
        Ok(LedgerMetadata {
            quorum,
            state,
            length: self.length,
            last: self.last.unwrap_or(NONE),
            segments: self.segments,
            digest,
            password: self.password,
            created_ms: self.created_ms,
            custom: self.custom,
            token: self.token,
            unknown: self.unknown.into(),
        })
    }
}

fn bookie(name: &str) -> Result<BookieId, MetadataError> {
    BookieId::new(name).ok_or(MetadataError::Invalid("an ensemble names something that is no bookie"))
}

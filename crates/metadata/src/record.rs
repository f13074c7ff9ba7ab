//! Rows, their versions, and what a write asks for.

use std::fmt;

use bytes::Bytes;

/// A row as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The stored bytes.
    pub value: Bytes,
    /// Version and origin of the row.
    pub stat: Stat,
}

/// Version and origin of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Number of times the row was changed since it was created: 0 after creation, save on ZooKeeper, where a row that
    /// is made above existing ones begins at 1 or 2. Who expects a version takes it from what it read or wrote.
    pub version: u64,
    /// Store-wide revision of the write that created the row.
    ///
    /// Revisions grow with every write and are never given twice, not even across restarts. A row that is deleted
    /// and made again has another `created` revision, which makes it fit as an epoch.
    pub created: u64,
    /// Store-wide revision of the last write to the row.
    pub modified: u64,
    /// Whether the row vanishes with the session that created it.
    pub ephemeral: bool,
    /// Whether the row is ephemeral and belongs to the session of the store handle that was asked.
    pub created_by_self: bool,
}

/// What a write left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The row's path; for a sequential put, the path that was made.
    pub path: String,
    /// The row's new version.
    pub stat: Stat,
}

/// The condition under which a write happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expect {
    /// Whatever is there.
    Any,
    /// No row is there.
    Absent,
    /// The row is there, at this version.
    Version(u64),
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any version"),
            Self::Absent => f.write_str("no row"),
            Self::Version(version) => write!(f, "version {version}"),
        }
    }
}

/// When a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The call returns once the write survives a crash. Every write accepted before it then does as well.
    #[default]
    Synced,
    /// The call returns once every reader sees the write; it becomes durable with the next synced write, or within
    /// 100 ms. Only for facts that may be lost in a crash because they are made again, such as load reports.
    ///
    /// An engine may treat such a write as [`Durability::Synced`], for instance if too many are waiting.
    Eventual,
}

/// Options of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PutOptions {
    /// The row, if this put creates it, vanishes with this handle's session. Whether a row is ephemeral is fixed
    /// when it is created; a later put does not change it.
    pub ephemeral: bool,
    /// A decimal number of fixed width is appended to the path, larger than that of every sequential row made
    /// before, so that names made from one path sort in order of creation. The row is always created.
    pub sequential: bool,
    /// When the put counts as done.
    pub durability: Durability,
}

impl PutOptions {
    /// A durable row that stays.
    pub const PERSISTENT: Self = Self { ephemeral: false, sequential: false, durability: Durability::Synced };
    /// A durable row that vanishes with the session.
    pub const EPHEMERAL: Self = Self { ephemeral: true, ..Self::PERSISTENT };
    /// A row with a numbered path that stays.
    pub const SEQUENTIAL: Self = Self { sequential: true, ..Self::PERSISTENT };

    /// The same options with [`Durability::Eventual`].
    pub const fn eventual(self) -> Self {
        Self { durability: Durability::Eventual, ..self }
    }
}

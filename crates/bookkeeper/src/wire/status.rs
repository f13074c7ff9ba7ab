//! What a bookie says about a request, in both protocols' numbers.

/// A bookie's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Done.
    Ok,
    /// The bookie has nothing of the ledger.
    NoLedger,
    /// The bookie knows the ledger and does not have the entry.
    NoEntry,
    /// It could not do what was asked, or does not know how to.
    BadRequest,
    /// Its disk failed, or a fence did not reach the journal.
    Io,
    /// Wrong key, or not authenticated.
    Unauthorized,
    /// It does not speak this version.
    BadVersion,
    /// The ledger is fenced there.
    Fenced,
    /// The bookie takes no writes.
    ReadOnly,
    /// Its queue is full.
    TooManyRequests,
    /// It lost its journal and does not know what it had.
    UnknownLedgerState,
    /// A number without a known meaning.
    Other(i32),
}

const TABLE: [(i32, i32, Status); 11] = [
    (0, 0, Status::Ok),
    (1, 402, Status::NoLedger),
    (2, 403, Status::NoEntry),
    (100, 404, Status::BadRequest),
    (101, 501, Status::Io),
    (102, 502, Status::Unauthorized),
    (103, 503, Status::BadVersion),
    (104, 504, Status::Fenced),
    (105, 505, Status::ReadOnly),
    (106, 506, Status::TooManyRequests),
    (107, 507, Status::UnknownLedgerState),
];

impl Status {
    /// The status with this number in the binary protocol.
    pub fn from_v2(code: i32) -> Self {
        TABLE.iter().find(|row| row.0 == code).map_or(Self::Other(code), |row| row.2)
    }

    /// The status with this number in the protobuf protocol.
    pub fn from_v3(code: i32) -> Self {
        TABLE.iter().find(|row| row.1 == code).map_or(Self::Other(code), |row| row.2)
    }

    /// Its number in the binary protocol.
    pub fn to_v2(self) -> i32 {
        match self {
            Self::Other(code) => code,
            known => TABLE.iter().find(|row| row.2 == known).map_or(100, |row| row.0),
        }
    }

    /// Its number in the protobuf protocol.
    pub fn to_v3(self) -> i32 {
        match self {
            Self::Other(code) => code,
            known => TABLE.iter().find(|row| row.2 == known).map_or(404, |row| row.1),
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Self::Ok => "ok",
            Self::NoLedger => "no such ledger",
            Self::NoEntry => "no such entry",
            Self::BadRequest => "bad request",
            Self::Io => "disk error",
            Self::Unauthorized => "unauthorized",
            Self::BadVersion => "bad version",
            Self::Fenced => "fenced",
            Self::ReadOnly => "read-only",
            Self::TooManyRequests => "too many requests",
            Self::UnknownLedgerState => "unknown ledger state",
            Self::Other(code) => return write!(f, "code {code}"),
        };
        f.write_str(text)
    }
}

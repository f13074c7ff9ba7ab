//! The protobuf protocol.

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;

/// The version in every header.
pub const VERSION: i32 = 3;
/// The priority that read-only bookies take adds with.
pub const HIGH_PRIORITY: u32 = 100;

/// Operations by number.
pub mod operation {
    /// Read one entry.
    pub const READ: i32 = 1;
    /// Add one entry.
    pub const ADD: i32 = 2;
    /// Authenticate.
    pub const AUTH: i32 = 5;
    /// Tell a bookie the last acknowledged entry.
    pub const WRITE_LAC: i32 = 6;
    /// Ask for it.
    pub const READ_LAC: i32 = 7;
    /// Ask for the size of its disks.
    pub const BOOKIE_INFO: i32 = 8;
    /// Go on under TLS.
    pub const START_TLS: i32 = 9;
    /// Sync what was added with deferred sync.
    pub const FORCE: i32 = 10;
}

/// Flags of reads and adds.
pub mod flag {
    /// A read fences the ledger.
    pub const FENCE_LEDGER: i32 = 1;
    /// A read waits for the next entry.
    pub const ENTRY_PIGGYBACK: i32 = 2;
    /// An add passes a fence.
    pub const RECOVERY_ADD: i32 = 1;
}

macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* [$($attribute:tt)*] $field:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Message)]
        pub struct $name {
            $($(#[$field_doc])* #[prost($($attribute)*)] pub $field: $type,)*
        })*
    };
}

messages! {
    /// What every message begins with.
    Header {
        /// The version, 3.
        [int32, required, tag = "1"] version: i32,
        /// What is asked.
        [int32, required, tag = "2"] operation: i32,
        /// What the answer is recognised by.
        [uint64, required, tag = "3"] txn: u64,
        /// Who is served first.
        [uint32, optional, tag = "4"] priority: Option<u32>,
    }
    /// A question.
    Request {
        /// What it is.
        [message, required, tag = "1"] header: Header,
        /// Its part for a read.
        [message, optional, tag = "100"] read: Option<ReadRequest>,
        /// Its part for an add.
        [message, optional, tag = "101"] add: Option<AddRequest>,
        /// Its part for authentication.
        [message, optional, tag = "102"] auth: Option<Auth>,
        /// Its part for telling the last acknowledged entry.
        [message, optional, tag = "103"] write_lac: Option<WriteLacRequest>,
        /// Its part for asking for it.
        [message, optional, tag = "104"] read_lac: Option<LedgerRequest>,
        /// Its part for asking about disks.
        [message, optional, tag = "105"] bookie_info: Option<BookieInfoRequest>,
        /// Its part for TLS.
        [message, optional, tag = "106"] start_tls: Option<StartTls>,
        /// Its part for a sync.
        [message, optional, tag = "107"] force: Option<LedgerRequest>,
    }
    /// An answer.
    Response {
        /// What it answers.
        [message, required, tag = "1"] header: Header,
        /// The verdict.
        [int32, required, tag = "2"] status: i32,
        /// Its part for a read.
        [message, optional, tag = "100"] read: Option<ReadResponse>,
        /// Its part for an add.
        [message, optional, tag = "101"] add: Option<AddResponse>,
        /// Its part for authentication.
        [message, optional, tag = "102"] auth: Option<Auth>,
        /// Its part for the last acknowledged entry, told.
        [message, optional, tag = "103"] write_lac: Option<LedgerResponse>,
        /// Its part for the last acknowledged entry, asked.
        [message, optional, tag = "104"] read_lac: Option<ReadLacResponse>,
        /// Its part for disks.
        [message, optional, tag = "105"] bookie_info: Option<BookieInfoResponse>,
        /// Its part for TLS.
        [message, optional, tag = "106"] start_tls: Option<StartTls>,
        /// Its part for a sync.
        [message, optional, tag = "107"] force: Option<LedgerResponse>,
    }
    /// Read one entry.
    ReadRequest {
        /// The ledger.
        [int64, required, tag = "1"] ledger: i64,
        /// The entry, -1 for the last the bookie has.
        [int64, required, tag = "2"] entry: i64,
        /// For a fence.
        [bytes = "bytes", optional, tag = "3"] master_key: Option<Bytes>,
        /// Wait for something after this.
        [int64, optional, tag = "4"] previous_lac: Option<i64>,
        /// How long, in milliseconds.
        [int64, optional, tag = "5"] timeout: Option<i64>,
        /// See [`flag`].
        [int32, optional, tag = "100"] flag: Option<i32>,
    }
    /// One entry.
    ReadResponse {
        /// The verdict.
        [int32, required, tag = "1"] status: i32,
        /// The ledger.
        [int64, required, tag = "2"] ledger: i64,
        /// The entry.
        [int64, required, tag = "3"] entry: i64,
        /// The entry, from its header on.
        [bytes = "bytes", optional, tag = "4"] body: Option<Bytes>,
        /// The greatest last acknowledged entry the bookie heard of.
        [int64, optional, tag = "5"] max_lac: Option<i64>,
        /// When, in milliseconds since the Unix epoch.
        [int64, optional, tag = "6"] lac_update_timestamp: Option<i64>,
    }
    /// Add one entry.
    AddRequest {
        /// The ledger.
        [int64, required, tag = "1"] ledger: i64,
        /// The entry.
        [int64, required, tag = "2"] entry: i64,
        /// The ledger's key.
        [bytes = "bytes", required, tag = "3"] master_key: Bytes,
        /// The entry, from its header on.
        [bytes = "bytes", required, tag = "4"] body: Bytes,
        /// 1 for deferred sync.
        [int32, optional, tag = "5"] write_flags: Option<i32>,
        /// See [`flag`].
        [int32, optional, tag = "100"] flag: Option<i32>,
    }
    /// One entry was added.
    AddResponse {
        /// The verdict.
        [int32, required, tag = "1"] status: i32,
        /// The ledger.
        [int64, required, tag = "2"] ledger: i64,
        /// The entry.
        [int64, required, tag = "3"] entry: i64,
    }
    /// One step of authentication.
    Auth {
        /// Who is to judge.
        [string, required, tag = "1"] plugin: String,
        /// What it is told.
        [bytes = "bytes", required, tag = "2"] payload: Bytes,
    }
    /// The last acknowledged entry.
    WriteLacRequest {
        /// The ledger.
        [int64, required, tag = "1"] ledger: i64,
        /// The entry.
        [int64, required, tag = "2"] lac: i64,
        /// The ledger's key.
        [bytes = "bytes", required, tag = "3"] master_key: Bytes,
        /// Both, with a digest.
        [bytes = "bytes", required, tag = "4"] body: Bytes,
    }
    /// A question about a ledger.
    LedgerRequest {
        /// The ledger.
        [int64, required, tag = "1"] ledger: i64,
    }
    /// An answer about a ledger.
    LedgerResponse {
        /// The verdict.
        [int32, required, tag = "1"] status: i32,
        /// The ledger.
        [int64, required, tag = "2"] ledger: i64,
    }
    /// The last acknowledged entry.
    ReadLacResponse {
        /// The verdict.
        [int32, required, tag = "1"] status: i32,
        /// The ledger.
        [int64, required, tag = "2"] ledger: i64,
        /// What was told explicitly.
        [bytes = "bytes", optional, tag = "3"] lac_body: Option<Bytes>,
        /// The bookie's last entry.
        [bytes = "bytes", optional, tag = "4"] last_entry_body: Option<Bytes>,
    }
    /// What to tell of the disks.
    BookieInfoRequest {
        /// 1 for the total, 2 for what is free, or-ed.
        [int64, optional, tag = "1"] requested: Option<i64>,
    }
    /// The disks.
    BookieInfoResponse {
        /// The verdict.
        [int32, required, tag = "1"] status: i32,
        /// Bytes in all.
        [int64, optional, tag = "2"] total: Option<i64>,
        /// Bytes free.
        [int64, optional, tag = "3"] free: Option<i64>,
    }
    /// Go on under TLS.
    StartTls {}
}

impl Request {
    /// A request with a header and nothing else.
    pub fn new(operation: i32, txn: u64) -> Self {
        Self { header: Header { version: VERSION, operation, txn, priority: None }, ..Self::default() }
    }

    /// The same request, to be served first.
    #[must_use]
    pub fn with_priority(mut self) -> Self {
        self.header.priority = Some(HIGH_PRIORITY);
        self
    }
}

/// Appends the frame of a message.
pub fn encode(message: &impl Message, out: &mut BytesMut) {
    let length = message.encoded_len();
    out.reserve(4 + length);
    out.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    message.encode_raw(out);
}

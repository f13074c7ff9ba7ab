//! Digests of entries, and the keys a password is turned into.

use bytes::{BufMut, BytesMut};
use hmac::{Hmac, Mac};
use sha1::{Digest as _, Sha1};

/// How entries of a ledger are protected; fixed when the ledger is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum DigestType {
    /// CRC-32 as zlib computes it, in 8 bytes.
    Crc32,
    /// HMAC-SHA1, keyed with the password, in 20 bytes.
    Hmac,
    /// CRC-32C, in 4 bytes.
    #[default]
    Crc32c,
    /// Nothing.
    Dummy,
}

impl DigestType {
    /// The number that ledger metadata has for it.
    pub const fn number(self) -> i32 {
        match self {
            Self::Crc32 => 1,
            Self::Hmac => 2,
            Self::Crc32c => 3,
            Self::Dummy => 4,
        }
    }

    /// The type with this number.
    pub const fn from_number(number: i64) -> Option<Self> {
        match number {
            1 => Some(Self::Crc32),
            2 => Some(Self::Hmac),
            3 => Some(Self::Crc32c),
            4 => Some(Self::Dummy),
            _ => None,
        }
    }

    /// The name that configuration and the text form of metadata use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crc32 => "CRC32",
            Self::Hmac => "HMAC",
            Self::Crc32c => "CRC32C",
            Self::Dummy => "DUMMY",
        }
    }

    /// The type with this name; `MAC` is another name of `HMAC`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "CRC32" => Some(Self::Crc32),
            "HMAC" | "MAC" => Some(Self::Hmac),
            "CRC32C" => Some(Self::Crc32c),
            "DUMMY" => Some(Self::Dummy),
            _ => None,
        }
    }

    /// Bytes a digest takes.
    pub const fn size(self) -> usize {
        match self {
            Self::Crc32 => 8,
            Self::Hmac => 20,
            Self::Crc32c => 4,
            Self::Dummy => 0,
        }
    }
}

/// What bookies compare before they take an add or a fence for a ledger.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MasterKey(pub [u8; 20]);

impl MasterKey {
    /// The key for a password.
    pub fn of(password: &[u8]) -> Self {
        Self(hash(b"ledger", password))
    }
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MasterKey(…)")
    }
}

fn hash(purpose: &[u8], password: &[u8]) -> [u8; 20] {
    Sha1::new().chain_update(purpose).chain_update(password).finalize().into()
}

/// Computes and checks the digests of one ledger.
#[derive(Clone)]
pub struct Digester {
    kind: DigestType,
    /// Only for HMAC: the keyed state to start from.
    keyed: Option<Hmac<Sha1>>,
}

impl std::fmt::Debug for Digester {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Digester").field(&self.kind).finish()
    }
}

impl Digester {
    /// A digester for ledgers with this digest type and password.
    pub fn new(kind: DigestType, password: &[u8]) -> Self {
        let keyed = (kind == DigestType::Hmac).then(|| Hmac::new_from_slice(&hash(b"mac", password)).ok()).flatten();
        Self { kind, keyed }
    }

    /// The type.
    pub fn kind(&self) -> DigestType {
        self.kind
    }

    /// Bytes a digest takes.
    pub fn size(&self) -> usize {
        self.kind.size()
    }

    /// Appends the digest of `head` followed by `body` to `out`.
    pub fn put(&self, head: &[u8], body: &[u8], out: &mut BytesMut) {
        match self.kind {
            DigestType::Crc32c => out.put_u32(crc32c::crc32c_append(crc32c::crc32c(head), body)),
            DigestType::Crc32 => {
                let mut hasher = crc32fast::Hasher::new();
                hasher.update(head);
                hasher.update(body);
                out.put_u64(u64::from(hasher.finalize()));
            }
            DigestType::Hmac => {
                if let Some(keyed) = &self.keyed {
                    let mac = keyed.clone().chain_update(head).chain_update(body);
                    out.put_slice(&mac.finalize().into_bytes());
                }
            }
            DigestType::Dummy => {}
        }
    }

    /// Whether `digest` is the digest of `head` followed by `body`.
    pub fn matches(&self, head: &[u8], body: &[u8], digest: &[u8]) -> bool {
        if let Some(keyed) = &self.keyed {
            return keyed.clone().chain_update(head).chain_update(body).verify_slice(digest).is_ok();
        }
        let mut expected = BytesMut::with_capacity(self.size());
        self.put(head, body, &mut expected);
        expected == digest
    }
}

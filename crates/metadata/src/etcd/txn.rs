//! Writes, each one transaction that holds what it expects.

use bytes::Bytes;

use super::lease::Link;
use super::message::{
    Compare, DeleteRangeRequest, KeyValue, PutRequest, RangeRequest, Request, RequestOp, Response, Target, TxnRequest,
    TxnResponse,
};
use super::rows::{self, unsigned};
use super::servers::Failure;
use crate::{Error, Expect, MAX_VALUE_BYTES, PutOptions, Result, Stat, Written, key, path};

const TXN: &str = "/etcdserverpb.KV/Txn";
const EQUAL: i32 = 0;
const GREATER: i32 = 1;
/// Begins the keys that number rows; no row's key begins so.
const COUNTER: &str = "\u{2}";
/// How often a write is decided anew because others were faster.
const ATTEMPTS: usize = 1_000;
/// Size of a value that is not sent twice in one transaction, which etcd would find too large.
const LARGE: usize = 500_000;

impl Link {
    pub(super) async fn put(&self, path: &str, value: Bytes, expect: Expect, options: PutOptions) -> Result<Written> {
        if value.len() > MAX_VALUE_BYTES {
            return Err(Error::ValueTooLarge { path: path.to_owned(), size: value.len() });
        }
        let lease = if options.ephemeral { self.lease().await? } else { 0 };
        if options.sequential {
            return self.put_numbered(path, value, lease).await;
        }
        if expect != Expect::Any || value.len() < LARGE {
            return self.put_once(path, value, expect, lease).await;
        }
        for _ in 0..ATTEMPTS {
            let row = self.row(path).await?;
            let expect = row.map_or(Expect::Absent, |row| Expect::Version(row.stat.version));
            match self.put_once(path, value.clone(), expect, lease).await {
                Err(error) if error.is_conflict() => {}
                outcome => return outcome,
            }
        }
        Err(Error::unavailable(format!("too many others write to {path}")))
    }

    async fn put_once(&self, path: &str, value: Bytes, expect: Expect, lease: i64) -> Result<Written> {
        let key = self.key_of(path).into_bytes();
        let create = PutRequest { key: key.clone(), value, lease, ..PutRequest::default() };
        // Whether a row is ephemeral does not change with its value.
        let change = PutRequest { lease: 0, ignore_lease: true, prev_kv: true, ..create.clone() };
        let txn = match expect {
            Expect::Any => TxnRequest {
                compare: vec![version(&key, GREATER, 0)],
                success: vec![op(Request::Put(change))],
                failure: vec![op(Request::Put(create))],
            },
            Expect::Absent => TxnRequest {
                compare: vec![version(&key, EQUAL, 0)],
                success: vec![op(Request::Put(create))],
                failure: Vec::new(),
            },
            Expect::Version(expected) => TxnRequest {
                compare: vec![version(&key, EQUAL, counted(expected))],
                success: vec![op(Request::Put(change))],
                failure: vec![op(Request::Range(row_only(&key)))],
            },
        };
        let done = self.commit(path, txn).await?;
        if !done.succeeded {
            match expect {
                Expect::Absent => return Err(Error::AlreadyExists { path: path.to_owned() }),
                Expect::Version(_) => return Err(bad_version(path, expect, found(&done).first())),
                Expect::Any => {}
            }
        }
        let previous = done.responses.iter().find_map(|response| match &response.response {
            Some(Response::Put(put)) => put.prev_kv.as_ref(),
            _ => None,
        });
        self.written(path, previous, revision(&done), lease)
    }

    /// What a put at a revision left behind.
    fn written(&self, path: &str, previous: Option<&KeyValue>, revision: u64, lease: i64) -> Result<Written> {
        let reader = self.session.id();
        let stat = match previous {
            Some(previous) => {
                let before = rows::stat(previous, reader);
                Stat { version: before.version + 1, modified: revision, ..before }
            }
            None if lease != 0 && lease.cast_unsigned() != reader => {
                let why = "the session that made the row is over".to_owned();
                return Err(Error::UnknownOutcome { path: path.to_owned(), why });
            }
            None => Stat {
                version: 0,
                created: revision,
                modified: revision,
                ephemeral: lease != 0,
                created_by_self: lease != 0,
            },
        };
        Ok(Written { path: path.to_owned(), stat })
    }

    async fn put_numbered(&self, path: &str, value: Bytes, lease: i64) -> Result<Written> {
        let parent = path::parent(path).unwrap_or("/");
        // Counts how often it was written.
        let counter = format!("{COUNTER}{}", self.key_of(parent)).into_bytes();
        let mut number = 0;
        for _ in 0..ATTEMPTS {
            let numbered = format!("{path}{number:020}");
            let key = self.key_of(&numbered).into_bytes();
            let txn = TxnRequest {
                compare: vec![version(&counter, EQUAL, number), version(&key, EQUAL, 0)],
                success: vec![
                    op(Request::Put(PutRequest { key: counter.clone(), ..PutRequest::default() })),
                    op(Request::Put(PutRequest { key, value: value.clone(), lease, ..PutRequest::default() })),
                ],
                failure: vec![op(Request::Range(row_only(&counter)))],
            };
            let done = self.commit(path, txn).await?;
            if done.succeeded {
                return self.written(&numbered, None, revision(&done), lease);
            }
            let counted = found(&done).first().map_or(0, |counter| counter.version);
            if counted == number {
                return Err(Error::AlreadyExists { path: numbered });
            }
            number = counted;
        }
        Err(Error::unavailable(format!("too many others number rows below {parent}")))
    }

    pub(super) async fn delete(&self, path: &str, expect: Expect) -> Result<()> {
        let row_key = self.key_of(path);
        let (below, below_end) = (key::below_start(&row_key).into_bytes(), key::below_end(&row_key).into_bytes());
        let key = row_key.into_bytes();
        let as_expected = match expect {
            Expect::Any => version(&key, GREATER, 0),
            Expect::Version(expected) => version(&key, EQUAL, counted(expected)),
            // Never so: a row that is to be deleted is there.
            Expect::Absent => version(&key, GREATER, i64::MAX),
        };
        let no_rows_below = Compare { range_end: below_end.clone(), ..version(&below, EQUAL, 0) };
        let txn = TxnRequest {
            compare: vec![as_expected, no_rows_below],
            success: vec![op(Request::DeleteRange(DeleteRangeRequest { key: key.clone() }))],
            failure: vec![op(Request::Range(row_only(&key)))],
        };
        let done = self.commit(path, txn).await?;
        if done.succeeded {
            return Ok(());
        }
        let row = found(&done);
        Err(match (row.first(), expect) {
            (None, _) => Error::NotFound { path: path.to_owned() },
            (Some(_), Expect::Absent) => Error::AlreadyExists { path: path.to_owned() },
            (Some(row), Expect::Version(expected)) if rows::version(row) != expected => {
                bad_version(path, expect, Some(row))
            }
            (Some(_), _) => Error::NotEmpty { path: path.to_owned() },
        })
    }

    async fn commit(&self, path: &str, txn: TxnRequest) -> Result<TxnResponse> {
        match self.servers.write(TXN, txn).await {
            Ok(done) => Ok(done),
            Err(Failure::Refused(status)) if status.message().contains("lease not found") => {
                self.doubt_session();
                Err(Error::unavailable("the session with etcd is over"))
            }
            Err(failure) => Err(failure.into_write_error(path)),
        }
    }
}

fn op(request: Request) -> RequestOp {
    RequestOp { request: Some(request) }
}

fn version(key: &[u8], result: i32, version: i64) -> Compare {
    Compare { result, target: 0, key: key.to_vec(), value: Some(Target::Version(version)), range_end: Vec::new() }
}

/// A row's version as etcd counts; none that it has if it is too large.
fn counted(version: u64) -> i64 {
    i64::try_from(version).ok().and_then(|version| version.checked_add(1)).unwrap_or(i64::MAX)
}

fn row_only(key: &[u8]) -> RangeRequest {
    RangeRequest { key: key.to_vec(), keys_only: true, ..RangeRequest::default() }
}

fn found(done: &TxnResponse) -> &[KeyValue] {
    let kvs = done.responses.iter().find_map(|response| match &response.response {
        Some(Response::Range(range)) => Some(range.kvs.as_slice()),
        _ => None,
    });
    kvs.unwrap_or_default()
}

fn revision(done: &TxnResponse) -> u64 {
    unsigned(done.header.as_ref().map_or(0, |header| header.revision))
}

fn bad_version(path: &str, expect: Expect, found: Option<&KeyValue>) -> Error {
    Error::BadVersion { path: path.to_owned(), expected: expect, found: found.map(rows::version) }
}

//! The connections of a shard, and which question goes over which.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use plerion_clock::SharedClock;
use plerion_ledger::LedgerId;

use super::in_flight::Key;
use super::link::{Link, Protocol};
use super::{Settings, Waiter};
use crate::bookie::{Address, BookieId};
use crate::digest::MasterKey;
use crate::protocol::{Call, Failure, Reply};
use crate::wire::{v2, v3};

struct Pair {
    binary: Rc<Link>,
    protobuf: Rc<Link>,
}

pub(crate) struct Connections {
    settings: Settings,
    clock: SharedClock,
    pairs: RefCell<HashMap<BookieId, Rc<Pair>>>,
    next: Cell<u64>,
}

impl Connections {
    pub(crate) fn new(settings: Settings, clock: SharedClock) -> Self {
        Self { settings, clock, pairs: RefCell::default(), next: Cell::new(1) }
    }

    fn pair(&self, bookie: &BookieId) -> Rc<Pair> {
        let link = |protocol| Link::new(bookie.clone(), protocol, self.settings, self.clock.clone());
        let mut pairs = self.pairs.borrow_mut();
        if let Some(pair) = pairs.get(bookie) {
            return Rc::clone(pair);
        }
        let pair = Rc::new(Pair { binary: link(Protocol::V2), protobuf: link(Protocol::V3) });
        pairs.insert(bookie.clone(), Rc::clone(&pair));
        pair
    }

    /// Asks a bookie. Whoever waits is told once.
    pub(crate) fn call(
        &self,
        bookie: &BookieId,
        address: Option<Address>,
        (ledger, key): (LedgerId, MasterKey),
        call: &Call,
        waiter: Waiter,
    ) {
        let pair = self.pair(bookie);
        let timeout = match call {
            Call::Add(_) | Call::WriteBack(_) => self.settings.add_timeout,
            Call::Read(_) | Call::FencingRead(_) | Call::Batch { .. } => self.settings.read_timeout,
        };
        let number = self.next.get();
        self.next.set(number + 1);
        let mut waiter = waiter;
        if let Some((what, frame)) = binary(ledger, key, call, number, self.settings.max_frame) {
            match pair.binary.send(address.clone(), what, frame, waiter, timeout) {
                Ok(()) => return,
                Err((waiter, Some(failure))) => return later(bookie.clone(), waiter, failure),
                // The same is under way there: over here, answers have numbers.
                Err((back, None)) => waiter = back,
            }
        }
        let Some(frame) = protobuf(ledger, key, call, number) else {
            return later(bookie.clone(), waiter, Failure::Busy);
        };
        match pair.protobuf.send(address, Key::Txn(number), frame, waiter, timeout) {
            Ok(()) => {}
            Err((waiter, failure)) => later(bookie.clone(), waiter, failure.unwrap_or(Failure::Busy)),
        }
    }
}

/// Tells a failure, but not from within the asking.
fn later(bookie: BookieId, waiter: Waiter, failure: Failure) {
    tokio::task::spawn_local(async move {
        waiter.whom.answered(&bookie, waiter.token, Reply::Failed(failure));
    });
}

/// Bytes by which a frame of the protobuf protocol may be longer than the entry in it.
const PROTOBUF_OVERHEAD: usize = 128;

/// The question in the binary protocol, if it may be asked there: a fence must not be taken for a plain read.
fn binary(ledger: LedgerId, master_key: MasterKey, call: &Call, number: u64, max_frame: usize) -> Option<(Key, Bytes)> {
    let (key, request) = match call {
        Call::Add(frame) => {
            let entry = frame.get(v2::ADD_PREFIX + 8..)?.first_chunk::<8>()?;
            return Some((Key::Add(ledger, i64::from_be_bytes(*entry)), frame.clone()));
        }
        Call::Read(entry) => {
            (Key::Read(ledger, *entry), v2::Request::Read { flags: 0, ledger, entry: *entry, key: None })
        }
        Call::Batch { first, count, max_bytes } => {
            let id = i64::try_from(number).ok()?;
            let request = v2::Request::BatchRead {
                flags: 0,
                ledger,
                first: *first,
                id,
                max_count: *count,
                max_bytes: *max_bytes,
                key: None,
            };
            (Key::Batch(ledger, *first, id), request)
        }
        // Too long for the other protocol's frames, but not for this one's.
        Call::WriteBack(entry) if entry.len() + PROTOBUF_OVERHEAD > max_frame => {
            let id = i64::from_be_bytes(*entry.get(8..)?.first_chunk::<8>()?);
            let flags = v2::RECOVERY | v2::PRIORITY;
            (Key::Add(ledger, id), v2::Request::Add { flags, key: master_key, entry: entry.clone() })
        }
        Call::FencingRead(_) | Call::WriteBack(_) => return None,
    };
    let mut out = BytesMut::new();
    request.encode(&mut out);
    Some((key, out.freeze()))
}

fn protobuf(ledger: LedgerId, key: MasterKey, call: &Call, txn: u64) -> Option<Bytes> {
    let id = i64::try_from(ledger.0).ok()?;
    let read = |entry| v3::ReadRequest { ledger: id, entry, ..v3::ReadRequest::default() };
    let master_key = || Bytes::copy_from_slice(&key.0);
    let request = match call {
        Call::Add(frame) => v3::Request {
            add: Some(add(id, master_key(), frame.slice(v2::ADD_PREFIX..), None)?),
            ..v3::Request::new(v3::operation::ADD, txn)
        },
        Call::WriteBack(entry) => v3::Request {
            add: Some(add(id, master_key(), entry.clone(), Some(v3::flag::RECOVERY_ADD))?),
            ..v3::Request::new(v3::operation::ADD, txn).with_priority()
        },
        Call::Read(entry) => v3::Request { read: Some(read(*entry)), ..v3::Request::new(v3::operation::READ, txn) },
        Call::FencingRead(entry) => {
            let fencing =
                v3::ReadRequest { master_key: Some(master_key()), flag: Some(v3::flag::FENCE_LEDGER), ..read(*entry) };
            v3::Request { read: Some(fencing), ..v3::Request::new(v3::operation::READ, txn).with_priority() }
        }
        Call::Batch { .. } => return None,
    };
    let mut out = BytesMut::new();
    v3::encode(&request, &mut out);
    Some(out.freeze())
}

fn add(ledger: i64, master_key: Bytes, body: Bytes, flag: Option<i32>) -> Option<v3::AddRequest> {
    let entry = i64::from_be_bytes(*body.get(8..)?.first_chunk::<8>()?);
    Some(v3::AddRequest { ledger, entry, master_key, body, write_flags: None, flag })
}

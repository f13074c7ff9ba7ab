//! A bookie on a socket: the simulation's, behind the real frames of both protocols.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use plerion_bookkeeper::bookie::BookieId;
use plerion_bookkeeper::digest::MasterKey;
use plerion_bookkeeper::protocol::{Call, Failure, Reply};
use plerion_bookkeeper::wire::{Frames, MAX_FRAME, Status, v2, v3};
use plerion_ledger::LedgerId;
use plerion_metadata::{Expect, MetadataStore, PutOptions};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::sim::bookie::Bookie;

/// What a test can do to a bookie.
#[derive(Default)]
pub(crate) struct Control {
    pub(crate) ledgers: RefCell<HashMap<LedgerId, Bookie>>,
    keys: RefCell<HashMap<LedgerId, MasterKey>>,
    /// Answers nothing.
    pub(crate) silent: Cell<bool>,
    pub(crate) read_only: Cell<bool>,
    /// Hangs up on batch reads.
    pub(crate) is_old: Cell<bool>,
    /// Damages what it returns.
    pub(crate) damages: Cell<bool>,
    pub(crate) connections: Cell<u32>,
    pub(crate) requests: Cell<u32>,
    killed: Cell<bool>,
    kill: Notify,
}

impl Control {
    /// Hangs up on everybody and answers nobody any more.
    pub(crate) fn kill(&self) {
        self.killed.set(true);
        self.kill.notify_waiters();
    }

    fn serve(&self, ledger: LedgerId, key: Option<MasterKey>, call: &Call) -> Reply {
        self.requests.set(self.requests.get() + 1);
        if let Some(key) = key
            && *self.keys.borrow_mut().entry(ledger).or_insert(key) != key
        {
            return Reply::Failed(Failure::Unauthorized);
        }
        let mut ledgers = self.ledgers.borrow_mut();
        let bookie = ledgers.entry(ledger).or_default();
        bookie.read_only = self.read_only.get();
        match bookie.serve(call, true) {
            Reply::Entry(bytes) if self.damages.get() => {
                let mut bytes = bytes.to_vec();
                let end = bytes.len() - 1;
                bytes[end] ^= 1;
                Reply::Entry(bytes.into())
            }
            reply => reply,
        }
    }
}

fn status(reply: &Reply) -> Status {
    match reply {
        Reply::Failed(Failure::NoLedger) => Status::NoLedger,
        Reply::Failed(Failure::NoEntry) => Status::NoEntry,
        Reply::Failed(Failure::Fenced) => Status::Fenced,
        Reply::Failed(Failure::ReadOnly) => Status::ReadOnly,
        Reply::Failed(Failure::Unauthorized) => Status::Unauthorized,
        Reply::Failed(_) => Status::Io,
        _ => Status::Ok,
    }
}

/// Starts a bookie and registers it as `name`.
pub(crate) async fn start(name: &str, store: &dyn MetadataStore) -> (BookieId, Rc<Control>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    // The recorded registration, with this port as a varint of two or three bytes.
    let mut endpoint = vec![0x0a, 6];
    endpoint.extend(b"bookie");
    endpoint.push(0x10);
    let mut rest = u32::from(port);
    while rest >= 0x80 {
        endpoint.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    endpoint.push(rest as u8);
    endpoint.extend([0x1a, 9]);
    endpoint.extend(b"127.0.0.1");
    endpoint.extend([0x22, 10]);
    endpoint.extend(b"bookie-rpc");
    let mut info = vec![0x32, endpoint.len() as u8];
    info.extend(endpoint);
    let path = format!("/ledgers/available/{name}");
    store.put(&path, info.into(), Expect::Any, PutOptions::EPHEMERAL).await.unwrap();
    let control = Rc::new(Control::default());
    let shared = Rc::clone(&control);
    tokio::task::spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if shared.killed.get() {
                return;
            }
            shared.connections.set(shared.connections.get() + 1);
            let control = Rc::clone(&shared);
            tokio::task::spawn_local(async move {
                tokio::select! {
                    () = serve(&control, stream) => {}
                    () = control.kill.notified() => {}
                }
            });
        }
    });
    (BookieId::new(name).unwrap(), control)
}

async fn serve(control: &Control, mut stream: TcpStream) {
    let frames = Frames::new(MAX_FRAME);
    let (mut received, mut out) = (BytesMut::new(), BytesMut::new());
    loop {
        match stream.read_buf(&mut received).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        while let Some(frame) = frames.next(&mut received).unwrap() {
            if control.silent.get() {
                continue;
            }
            let is_binary = frame[0] == 2;
            let answered =
                if is_binary { binary(control, frame, &mut out) } else { protobuf(control, frame, &mut out) };
            if answered.is_none() {
                return;
            }
        }
        if stream.write_all(&out).await.is_err() {
            return;
        }
        out.clear();
    }
}

fn id_of(entry: &Bytes) -> (LedgerId, i64) {
    let number = |at: usize| u64::from_be_bytes(entry[at..at + 8].try_into().unwrap());
    (LedgerId(number(0)), number(8) as i64)
}

fn binary(control: &Control, frame: Bytes, out: &mut BytesMut) -> Option<()> {
    match v2::Request::decode(frame).ok()? {
        v2::Request::Add { flags, key, entry } => {
            let (ledger, id) = id_of(&entry);
            let mut whole = vec![0; v2::ADD_PREFIX];
            whole.extend(&entry);
            let call = if flags & v2::RECOVERY == 0 { Call::Add(whole.into()) } else { Call::WriteBack(entry) };
            let reply = control.serve(ledger, Some(key), &call);
            v2::Response::Add { status: status(&reply), ledger, entry: id }.encode(out);
        }
        v2::Request::Read { ledger, entry, .. } => {
            let reply = control.serve(ledger, None, &Call::Read(entry));
            let bytes = if let Reply::Entry(bytes) = &reply { bytes.clone() } else { Bytes::new() };
            v2::Response::Read { status: status(&reply), ledger, entry, bytes }.encode(out);
        }
        v2::Request::BatchRead { ledger, first, id, max_count, max_bytes, .. } => {
            if control.is_old.get() {
                return None;
            }
            let reply = control.serve(ledger, None, &Call::Batch { first, count: max_count, max_bytes });
            let entries = if let Reply::Entries(entries) = &reply { entries.clone() } else { Vec::new() };
            v2::Response::BatchRead { status: status(&reply), ledger, first, id, entries }.encode(out);
        }
        v2::Request::Auth(_) => return None,
    }
    Some(())
}

fn protobuf(control: &Control, frame: Bytes, out: &mut BytesMut) -> Option<()> {
    let request = v3::Request::decode(frame).ok()?;
    let mut response = v3::Response { header: request.header.clone(), ..v3::Response::default() };
    response.header.priority = None;
    let key = |bytes: &Bytes| bytes.first_chunk::<20>().map(|key| MasterKey(*key));
    if let Some(read) = request.read {
        let ledger = LedgerId(read.ledger as u64);
        let is_fence = read.flag == Some(v3::flag::FENCE_LEDGER);
        let call = if is_fence { Call::FencingRead(read.entry) } else { Call::Read(read.entry) };
        let reply = control.serve(ledger, read.master_key.as_ref().and_then(key), &call);
        response.status = status(&reply).to_v3();
        let body = if let Reply::Entry(bytes) = reply { Some(bytes) } else { None };
        response.read = Some(v3::ReadResponse {
            status: response.status,
            ledger: read.ledger,
            entry: read.entry,
            body,
            ..v3::ReadResponse::default()
        });
    } else if let Some(add) = request.add {
        let is_recovery = add.flag == Some(v3::flag::RECOVERY_ADD);
        let mut whole = vec![0; v2::ADD_PREFIX];
        whole.extend(&add.body);
        let call = if is_recovery { Call::WriteBack(add.body) } else { Call::Add(whole.into()) };
        let reply = control.serve(LedgerId(add.ledger as u64), key(&add.master_key), &call);
        response.status = status(&reply).to_v3();
        response.add = Some(v3::AddResponse { status: response.status, ledger: add.ledger, entry: add.entry });
    } else {
        response.status = Status::BadRequest.to_v3();
    }
    v3::encode(&response, out);
    Some(())
}

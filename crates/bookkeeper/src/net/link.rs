//! One connection, made when it is needed and made again after a pause when it was lost.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use plerion_clock::SharedClock;
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;

use super::in_flight::{InFlight, Key, Sent};
use super::{Settings, Waiter};
use crate::bookie::{Address, BookieId};
use crate::protocol::{Failure, Reply};
use crate::wire::{Frames, Status, v2, v3};

/// Frames that one system call writes at most.
const MAX_SLICES: usize = 64;
/// Room that is made before reading, in bytes.
const READ_ROOM: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    V2,
    V3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Up,
}

pub(super) struct Link {
    bookie: BookieId,
    protocol: Protocol,
    settings: Settings,
    clock: SharedClock,
    state: Cell<State>,
    /// Not before then is a connection tried again.
    not_before: Cell<Duration>,
    failures: Cell<u32>,
    queue: RefCell<VecDeque<Bytes>>,
    queued_bytes: Cell<usize>,
    in_flight: RefCell<InFlight<Waiter>>,
    wake: Notify,
}

impl Link {
    pub(super) fn new(bookie: BookieId, protocol: Protocol, settings: Settings, clock: SharedClock) -> Rc<Self> {
        Rc::new(Self {
            bookie,
            protocol,
            settings,
            clock,
            state: Cell::new(State::Idle),
            not_before: Cell::new(Duration::ZERO),
            failures: Cell::new(0),
            queue: RefCell::default(),
            queued_bytes: Cell::new(0),
            in_flight: RefCell::default(),
            wake: Notify::new(),
        })
    }

    /// Sends a frame; gives waiter and reason back if that cannot be done.
    pub(super) fn send(
        self: &Rc<Self>,
        address: Option<Address>,
        key: Key,
        frame: Bytes,
        waiter: Waiter,
        timeout: Duration,
    ) -> Result<(), (Waiter, Option<Failure>)> {
        let now = self.clock.monotonic();
        if self.state.get() == State::Idle {
            let Some(address) = address.filter(|_| now >= self.not_before.get()) else {
                return Err((waiter, Some(Failure::Disconnected)));
            };
            self.state.set(State::Up);
            tokio::task::spawn_local(drive(Rc::clone(self), address));
        }
        if self.queued_bytes.get() + frame.len() > self.settings.max_queued_bytes {
            return Err((waiter, Some(Failure::TimedOut)));
        }
        match self.in_flight.borrow_mut().put(key, waiter, now + timeout) {
            Sent::Down => {}
            Sent::Taken(waiter) => return Err((waiter, None)),
        }
        self.queued_bytes.set(self.queued_bytes.get() + frame.len());
        self.queue.borrow_mut().push_back(frame);
        self.wake.notify_one();
        Ok(())
    }

    fn answer(&self, waiter: Waiter, reply: Reply) {
        waiter.whom.answered(&self.bookie, waiter.token, reply);
    }

    /// The connection is gone: nothing that was asked on it will be answered.
    fn down(&self, why: &dyn std::fmt::Display, was_up: bool) {
        tracing::debug!(bookie = %self.bookie, %why, "connection to bookie lost");
        // Only a bookie that cannot be reached is left alone; one that hung up is asked again when there is need.
        let failures = if was_up { 0 } else { self.failures.get().saturating_add(1) };
        self.failures.set(failures);
        let pause = self.settings.reconnect_pause * ((1 << failures.min(6)) >> 1);
        self.not_before.set(self.clock.monotonic() + pause);
        self.queue.borrow_mut().clear();
        self.queued_bytes.set(0);
        self.state.set(State::Idle);
        let waiters = self.in_flight.borrow_mut().drain();
        for waiter in waiters {
            self.answer(waiter, Reply::Failed(Failure::Disconnected));
        }
    }

    fn expire(&self) {
        let expired = self.in_flight.borrow_mut().expire(self.clock.monotonic());
        for waiter in expired {
            self.answer(waiter, Reply::Failed(Failure::TimedOut));
        }
    }

    /// Hands the answer in a frame over; what is not understood ends the connection.
    fn dispatch(&self, frame: Bytes) -> Result<(), String> {
        let decoded = match self.protocol {
            Protocol::V2 => binary_answer(frame)?,
            Protocol::V3 => Some(protobuf_answer(frame)?),
        };
        let Some((key, reply)) = decoded else { return Ok(()) };
        let waiter = self.in_flight.borrow_mut().take(key);
        if let Some(waiter) = waiter {
            self.answer(waiter, reply);
        }
        Ok(())
    }
}

fn binary_answer(frame: Bytes) -> Result<Option<(Key, Reply)>, String> {
    let answer = match v2::Response::decode(frame).map_err(|error| error.to_string())? {
        v2::Response::Add { status, ledger, entry } => (Key::Add(ledger, entry), reply(status, || Reply::Added)),
        v2::Response::Read { status, ledger, entry, bytes } => {
            (Key::Read(ledger, entry), reply(status, || Reply::Entry(bytes)))
        }
        v2::Response::BatchRead { status, ledger, first, id, entries } => {
            (Key::Batch(ledger, first, id), reply(status, || Reply::Entries(entries)))
        }
        v2::Response::Auth(_) => return Ok(None),
    };
    Ok(Some(answer))
}

fn protobuf_answer(frame: Bytes) -> Result<(Key, Reply), String> {
    let response = v3::Response::decode(frame).map_err(|error| error.to_string())?;
    let status = Status::from_v3(response.status);
    let reply = match response.read {
        Some(read) => reply(status, || read.body.map_or(Reply::Failed(Failure::NoEntry), Reply::Entry)),
        None => reply(status, || Reply::Added),
    };
    Ok((Key::Txn(response.header.txn), reply))
}

fn reply(status: Status, success: impl FnOnce() -> Reply) -> Reply {
    if status == Status::Ok { success() } else { Reply::Failed(Failure::of(status)) }
}

async fn drive(link: Rc<Link>, address: Address) {
    let connecting = TcpStream::connect((address.host.as_str(), address.port));
    let stream = match tokio::time::timeout(link.settings.connect_timeout, connecting).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return link.down(&error, false),
        Err(_) => return link.down(&"no connection in time", false),
    };
    if let Err(error) = stream.set_nodelay(true) {
        tracing::warn!(bookie = %link.bookie, %error, "small packets to the bookie may be delayed");
    }
    let (reading, writing) = stream.into_split();
    let why = tokio::select! {
        error = read(&link, reading) => error,
        error = write(&link, writing) => error.to_string(),
        () = watch(&link) => "not needed any more".to_owned(),
    };
    link.down(&why, true);
}

/// Times requests out until nobody but the connection itself holds the link.
async fn watch(link: &Rc<Link>) {
    let settings = &link.settings;
    let period = (settings.add_timeout.min(settings.read_timeout) / 8).max(Duration::from_millis(1));
    while Rc::strong_count(link) > 1 {
        tokio::time::sleep(period).await;
        link.expire();
    }
}

async fn read(link: &Link, mut stream: OwnedReadHalf) -> String {
    let frames = Frames::new(link.settings.max_frame + (64 << 10));
    let mut received = BytesMut::new();
    loop {
        received.reserve(READ_ROOM);
        match stream.read_buf(&mut received).await {
            Ok(0) => return "the bookie hung up".to_owned(),
            Ok(_) => {}
            Err(error) => return error.to_string(),
        }
        loop {
            match frames.next(&mut received) {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    if let Err(why) = link.dispatch(frame) {
                        return why;
                    }
                }
                Err(error) => return error.to_string(),
            }
        }
    }
}

async fn write(link: &Link, mut stream: OwnedWriteHalf) -> std::io::Error {
    let mut batch: VecDeque<Bytes> = VecDeque::new();
    loop {
        if batch.is_empty() {
            let mut queue = link.queue.borrow_mut();
            let count = queue.len().min(MAX_SLICES);
            batch.extend(queue.drain(..count));
        }
        if batch.is_empty() {
            link.wake.notified().await;
            continue;
        }
        let slices: Vec<IoSlice<'_>> = batch.iter().map(|frame| IoSlice::new(frame)).collect();
        let mut written = match stream.write_vectored(&slices).await {
            Ok(0) => return std::io::ErrorKind::WriteZero.into(),
            Ok(written) => written,
            Err(error) => return error,
        };
        link.queued_bytes.set(link.queued_bytes.get().saturating_sub(written));
        while let Some(front) = batch.front_mut() {
            let taken = front.len().min(written);
            front.advance(taken);
            written -= taken;
            if !front.is_empty() {
                break;
            }
            batch.pop_front();
        }
    }
}

//! A connection to a broker, and the requests that set a scenario up.

use std::io::{self, IoSlice, Write};
use std::net::TcpStream;
use std::time::Duration;

use plerion_wire::encode::{self, PONG};
use plerion_wire::proto::command_lookup_topic_response::LookupType;
use plerion_wire::proto::command_subscribe::{InitialPosition, SubType};
use plerion_wire::proto::{self, BaseCommand, MessageIdData, ServerError, base_command::Type};
use prost::Message as _;

use crate::Error;
use crate::frames::FrameReader;

/// How often a reader looks up from its socket to see whether it is to stop.
const READ_TIMEOUT: Duration = Duration::from_millis(100);

/// How many read timeouts in a row a request is given.
const PATIENCE: u32 = 300;

/// What the client says it is.
const CLIENT: &str = concat!("plerion-bench-", env!("CARGO_PKG_VERSION"));

/// Newest protocol version that is understood.
const PROTOCOL: i32 = 21;

/// The writing half of a connection.
#[derive(Debug)]
pub(crate) struct Sender {
    socket: TcpStream,
    address: String,
}

impl Sender {
    /// Writes all of the parts, in as few system calls as they allow.
    pub(crate) fn write(&mut self, mut parts: &mut [IoSlice<'_>]) -> Result<(), Error> {
        // The kernel takes this many parts at a time.
        const PARTS: usize = 1024;
        while !parts.is_empty() {
            let at_once = parts.len().min(PARTS);
            match self.socket.write_vectored(&parts[..at_once]) {
                Ok(0) => return Err(self.lost(io::ErrorKind::WriteZero.into())),
                Ok(written) => IoSlice::advance_slices(&mut parts, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost(error)),
            }
        }
        Ok(())
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.write(&mut [IoSlice::new(bytes)])
    }

    pub(crate) fn command(&mut self, command: &BaseCommand) -> Result<(), Error> {
        let mut frame = Vec::with_capacity(256);
        encode::command(command, &mut frame);
        self.bytes(&frame)
    }

    pub(crate) fn flow(&mut self, consumer_id: u64, permits: u32) -> Result<(), Error> {
        let flow = proto::CommandFlow { consumer_id, message_permits: permits };
        self.command(&BaseCommand { flow: Some(flow.into()), ..of(Type::Flow) })
    }

    pub(crate) fn ack(&mut self, consumer_id: u64, ids: Vec<MessageIdData>, cumulative: bool) -> Result<(), Error> {
        let kind =
            if cumulative { proto::command_ack::AckType::Cumulative } else { proto::command_ack::AckType::Individual };
        let ack = proto::CommandAck { consumer_id, ack_type: kind.into(), message_id: ids, ..Default::default() };
        self.command(&BaseCommand { ack: Some(ack.into()), ..of(Type::Ack) })
    }

    fn lost(&self, source: io::Error) -> Error {
        Error::Lost { address: self.address.clone(), source }
    }
}

/// How to subscribe.
#[derive(Clone, Debug)]
pub(crate) struct Subscribe<'a> {
    pub(crate) topic: &'a str,
    pub(crate) subscription: &'a str,
    pub(crate) kind: SubType,
    pub(crate) consumer_id: u64,
    pub(crate) start: Start,
}

/// Where a new subscription starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Earliest,
    Latest,
    /// As a reader: from the earliest message, and nothing is left behind.
    ReadEarliest,
}

/// A connection on which requests are made one at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    pub(crate) reader: FrameReader,
    /// What the broker accepts as a message.
    pub(crate) max_message_size: usize,
    requests: u64,
}

impl Connection {
    /// Connects and shakes hands. `address` is a host and port.
    pub(crate) fn open(address: &str) -> Result<Self, Error> {
        let connect = |source| Error::Connect { address: address.to_owned(), source };
        let socket = TcpStream::connect(address).map_err(connect)?;
        socket.set_nodelay(true).map_err(connect)?;
        socket.set_read_timeout(Some(READ_TIMEOUT)).map_err(connect)?;
        let sender = Sender { socket: socket.try_clone().map_err(connect)?, address: address.to_owned() };
        let reader = FrameReader::new(socket, address.to_owned());
        let mut this = Self { sender, reader, max_message_size: 0, requests: 0 };
        let hello = proto::CommandConnect {
            client_version: CLIENT.into(),
            protocol_version: Some(PROTOCOL),
            auth_method_name: Some("none".into()),
            ..Default::default()
        };
        let request = BaseCommand { connect: Some(hello.into()), ..of(Type::Connect) };
        let answer = this.request(&request, Type::Connected, || "the connection".into())?;
        let limit = answer.connected.and_then(|connected| connected.max_message_size);
        this.max_message_size = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(5 << 20);
        Ok(this)
    }

    /// The service URL of the broker that serves the topic, or where to ask next.
    pub(crate) fn lookup(&mut self, topic: &str, authoritative: bool) -> Result<Lookup, Error> {
        let command = proto::CommandLookupTopic {
            topic: topic.into(),
            request_id: self.next_request(),
            authoritative: Some(authoritative),
            ..Default::default()
        };
        let request = BaseCommand { lookup_topic: Some(command.into()), ..of(Type::Lookup) };
        let what = || format!("the lookup of {topic}");
        let answer = self.request(&request, Type::LookupResponse, what)?;
        let answer = answer.lookup_topic_response.unwrap_or_default();
        let url = if answer.proxy_through_service_url() { String::new() } else { answer.broker_service_url().into() };
        match answer.response() {
            LookupType::Connect => Ok(Lookup::Here(url)),
            LookupType::Redirect => Ok(Lookup::Ask { url, authoritative: answer.authoritative() }),
            LookupType::Failed => Err(refused(what(), answer.error(), answer.message())),
        }
    }

    /// Opens a producer and returns its name.
    pub(crate) fn produce(&mut self, topic: &str, producer_id: u64) -> Result<String, Error> {
        let command = proto::CommandProducer {
            topic: topic.into(),
            producer_id,
            request_id: self.next_request(),
            ..Default::default()
        };
        let request = BaseCommand { producer: Some(command.into()), ..of(Type::Producer) };
        let answer = self.request(&request, Type::ProducerSuccess, || format!("a producer on {topic}"))?;
        Ok(answer.producer_success.unwrap_or_default().producer_name)
    }

    pub(crate) fn close_producer(&mut self, topic: &str, producer_id: u64) -> Result<(), Error> {
        let request_id = self.next_request();
        let command = proto::CommandCloseProducer { producer_id, request_id, ..Default::default() };
        let request = BaseCommand { close_producer: Some(command.into()), ..of(Type::CloseProducer) };
        self.request(&request, Type::Success, || format!("to close the producer on {topic}")).map(drop)
    }

    /// Subscribes; nothing comes before permits are given.
    pub(crate) fn subscribe(&mut self, subscribe: &Subscribe<'_>) -> Result<(), Error> {
        let reading = subscribe.start == Start::ReadEarliest;
        let earliest = MessageIdData { ledger_id: u64::MAX, entry_id: u64::MAX, ..Default::default() };
        let position =
            if subscribe.start == Start::Latest { InitialPosition::Latest } else { InitialPosition::Earliest };
        let command = proto::CommandSubscribe {
            topic: subscribe.topic.into(),
            subscription: subscribe.subscription.into(),
            sub_type: subscribe.kind.into(),
            consumer_id: subscribe.consumer_id,
            request_id: self.next_request(),
            durable: Some(!reading),
            start_message_id: reading.then_some(earliest),
            initial_position: Some(position.into()),
            ..Default::default()
        };
        let request = BaseCommand { subscribe: Some(command.into()), ..of(Type::Subscribe) };
        self.request(&request, Type::Success, || format!("a consumer on {}", subscribe.topic)).map(drop)
    }

    /// Removes the subscription of a consumer, whoever else is on it, skipping what is still under way to it.
    pub(crate) fn unsubscribe(&mut self, topic: &str, consumer_id: u64) -> Result<(), Error> {
        let request_id = self.next_request();
        let command = proto::CommandUnsubscribe { consumer_id, request_id, force: Some(true) };
        let request = BaseCommand { unsubscribe: Some(command.into()), ..of(Type::Unsubscribe) };
        self.request(&request, Type::Success, || format!("to unsubscribe from {topic}")).map(drop)
    }

    fn next_request(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    /// Sends a request and waits for its answer. Answers PINGs; whatever else comes before the answer is skipped.
    fn request(&mut self, request: &BaseCommand, want: Type, what: impl Fn() -> String) -> Result<BaseCommand, Error> {
        self.sender.command(request)?;
        let mut patience = PATIENCE;
        while patience > 0 {
            let Some(frame) = self.reader.next()? else {
                patience -= 1;
                continue;
            };
            if frame.is(Type::Ping) {
                self.sender.bytes(&PONG)?;
            } else if frame.is(want) || frame.is(Type::Error) {
                let answer = BaseCommand::decode(frame.command).map_err(|e| Error::Protocol(e.to_string()))?;
                return match &answer.error {
                    Some(error) if frame.is(Type::Error) => Err(refused(what(), error.error(), &error.message)),
                    _ => Ok(answer),
                };
            }
        }
        let seconds = (READ_TIMEOUT * PATIENCE).as_secs();
        Err(Error::Stalled { what: "answer to a request", seconds, pending: 1 })
    }
}

/// What a lookup tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The topic is served at this URL; at the address that was asked if empty.
    Here(String),
    /// The broker at this URL knows.
    Ask { url: String, authoritative: bool },
}

fn of(kind: Type) -> BaseCommand {
    BaseCommand { r#type: kind.into(), ..Default::default() }
}

fn refused(request: String, code: ServerError, message: &str) -> Error {
    Error::Refused { request, code: code.as_str_name().into(), message: message.into() }
}

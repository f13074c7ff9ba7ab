use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use plerion_wire::encode;
use plerion_wire::frame::{self, Frame};
use plerion_wire::proto::{
    BaseCommand, CommandConnect, CommandConnected, CommandPong, CommandSend, base_command::Type,
};
use prost::Message as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::answers::{refusal_of, request_of};
use crate::{Error, Incoming};

/// The largest frame that is accepted, in bytes.
const FRAME_LIMIT: usize = 64 << 20;

/// A connection to a broker.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    buffer: BytesMut,
    /// Frames that came before the answer that was waited for.
    early: VecDeque<Received>,
    requests: u64,
    /// How long a request waits for its answer.
    pub patience: Duration,
    /// Whether PINGs are answered, and not handed out.
    pub answers_pings: bool,
}

/// A frame that came.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// The command.
    pub command: BaseCommand,
    /// What came after it: a payload part after MESSAGE, nothing after others.
    pub payload: Bytes,
}

impl Received {
    /// The type of the command.
    pub fn kind(&self) -> Type {
        self.command.r#type()
    }

    /// The message of a MESSAGE.
    ///
    /// # Errors
    /// [`Error::Payload`] or [`Error::Metadata`] when it cannot be read, is without a checksum, or has a wrong one.
    pub fn message(&self) -> Result<Option<Incoming>, Error> {
        self.command.message.as_ref().map(|message| Incoming::read(message, &self.payload)).transpose()
    }
}

impl Client {
    /// Opens a connection and says nothing.
    ///
    /// # Errors
    /// [`Error::Io`] when nobody listens there.
    pub async fn connect(port: u16) -> Result<Self, Error> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: BytesMut::with_capacity(64 << 10),
            early: VecDeque::new(),
            requests: 0,
            patience: Duration::from_secs(20),
            answers_pings: true,
        })
    }

    /// Opens a connection and shakes hands as a client of today does.
    ///
    /// # Errors
    /// As [`connect`](Self::connect) and [`receive`](Self::receive).
    pub async fn open(port: u16) -> Result<Self, Error> {
        let mut client = Self::connect(port).await?;
        client.shake_hands(hello()).await?;
        Ok(client)
    }

    /// Sends CONNECT and waits for CONNECTED.
    ///
    /// # Errors
    /// [`Error::Refused`] when ERROR comes instead.
    pub async fn shake_hands(&mut self, hello: CommandConnect) -> Result<CommandConnected, Error> {
        self.send(hello).await?;
        let answer = self.await_frame(|frame| matches!(frame.kind(), Type::Connected | Type::Error)).await?;
        refused(&answer.command)?;
        Ok(*answer.command.connected.unwrap_or_default())
    }

    /// A request id that was not given before.
    pub fn next_request(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    /// Sends a command.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub async fn send(&mut self, command: impl Into<BaseCommand>) -> Result<(), Error> {
        let mut bytes = BytesMut::new();
        encode::command(&command.into(), &mut bytes);
        self.send_bytes(&bytes).await
    }

    /// Sends SEND with a payload part.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub async fn send_message(&mut self, send: CommandSend, payload: &[u8]) -> Result<(), Error> {
        self.send_bytes(&message_frame(send, payload)).await
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub async fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        Ok(self.stream.write_all(bytes).await?)
    }

    /// The next frame, whenever it comes. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Error::Closed`] or [`Error::Io`] when there will be none, and others when what comes makes no sense.
    pub async fn receive(&mut self) -> Result<Received, Error> {
        match self.early.pop_front() {
            Some(frame) => Ok(frame),
            None => self.read_frame().await,
        }
    }

    /// The next frame if one comes within `time`.
    ///
    /// # Errors
    /// [`Error::Silence`] if none does; others as [`receive`](Self::receive).
    pub async fn receive_within(&mut self, time: Duration) -> Result<Received, Error> {
        tokio::time::timeout(time, self.receive()).await.unwrap_or(Err(Error::Silence(time)))
    }

    /// The first frame that `wanted` says yes to, within the client's patience. What comes before it stays to be
    /// received.
    ///
    /// # Errors
    /// As [`receive_within`](Self::receive_within).
    pub async fn await_frame(&mut self, wanted: impl Fn(&Received) -> bool) -> Result<Received, Error> {
        if let Some(index) = self.early.iter().position(&wanted)
            && let Some(frame) = self.early.remove(index)
        {
            return Ok(frame);
        }
        let patience = self.patience;
        let wait = async {
            loop {
                let frame = self.read_frame().await?;
                if wanted(&frame) {
                    return Ok(frame);
                }
                self.early.push_back(frame);
            }
        };
        tokio::time::timeout(patience, wait).await.unwrap_or(Err(Error::Silence(patience)))
    }

    /// The first frame of a type, as [`await_frame`](Self::await_frame).
    ///
    /// # Errors
    /// As [`receive_within`](Self::receive_within).
    pub async fn await_kind(&mut self, kind: Type) -> Result<Received, Error> {
        self.await_frame(|frame| frame.kind() == kind).await
    }

    /// Sends a request with this id and waits for what is answered to it.
    ///
    /// # Errors
    /// [`Error::Refused`] when the answer is an error.
    pub async fn request(&mut self, id: u64, command: impl Into<BaseCommand>) -> Result<BaseCommand, Error> {
        self.send(command).await?;
        let answer = self.await_frame(|frame| request_of(&frame.command) == Some(id)).await?;
        refused(&answer.command)?;
        Ok(answer.command)
    }

    /// Waits until the broker closes the connection; what comes before is dropped.
    ///
    /// # Errors
    /// [`Error::Silence`] if it does not within the client's patience.
    pub async fn await_close(&mut self) -> Result<(), Error> {
        let patience = self.patience;
        let wait = async { while self.read_frame().await.is_ok() {} };
        tokio::time::timeout(patience, wait).await.map_err(|_| Error::Silence(patience))
    }

    async fn read_frame(&mut self) -> Result<Received, Error> {
        loop {
            while let Some(bytes) = frame::take(&mut self.buffer, FRAME_LIMIT)? {
                let Frame { command, payload } = Frame::parse(&bytes)?;
                let command = BaseCommand::decode(command)?;
                if command.r#type() == Type::Ping && self.answers_pings {
                    self.send(CommandPong {}).await?;
                } else {
                    return Ok(Received { command, payload: bytes.slice_ref(payload) });
                }
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(Error::Closed);
            }
        }
    }
}

/// A frame with SEND and its payload part.
pub(crate) fn message_frame(send: CommandSend, payload: &[u8]) -> BytesMut {
    let mut frame = BytesMut::with_capacity(payload.len() + 64);
    encode::command_with_payload(&send.into(), payload.len(), &mut frame);
    frame.extend_from_slice(payload);
    frame
}

fn hello() -> CommandConnect {
    CommandConnect {
        client_version: "plerion-test-client".into(),
        protocol_version: Some(21),
        auth_method_name: Some("none".into()),
        ..Default::default()
    }
}

fn refused(answer: &BaseCommand) -> Result<(), Error> {
    match refusal_of(answer) {
        Some((code, message)) => Err(Error::Refused { code, message }),
        None => Ok(()),
    }
}

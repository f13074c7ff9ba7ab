//! Calls to whichever server answers.

use std::time::Duration;

use futures::stream;
use prost::Message;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, ConnectError, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::{Error, Result};

/// How long after all servers failed they are tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// How a handle keeps its session.
#[derive(Debug, Clone)]
pub struct EtcdOptions {
    /// How long the servers wait for a silent client before its session is over, in whole seconds. They may grant a
    /// longer time; the shortest is 2 s by their defaults.
    pub session_timeout: Duration,
}

impl Default for EtcdOptions {
    fn default() -> Self {
        Self { session_timeout: Duration::from_secs(6) }
    }
}

/// The servers of one cluster.
pub(super) struct Servers {
    endpoints: Vec<Endpoint>,
    current: watch::Sender<Connection>,
    pub(super) patience: Duration,
}

/// A connection to one server.
#[derive(Clone)]
pub(super) struct Connection {
    channel: Channel,
    /// Grows with every connection.
    number: usize,
}

/// Why a call has no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// It did not come to anything.
    Undone(String),
    /// It may have.
    Unclear(String),
    /// The servers do not do it.
    Refused(Status),
}

impl Failure {
    pub(super) fn into_read_error(self) -> Error {
        match self {
            Self::Undone(why) | Self::Unclear(why) => Error::unavailable(why),
            Self::Refused(status) => Error::unavailable(status.message()),
        }
    }

    pub(super) fn into_write_error(self, path: &str) -> Error {
        match self {
            Self::Unclear(why) => Error::UnknownOutcome { path: path.to_owned(), why },
            other => other.into_read_error(),
        }
    }
}

impl Servers {
    /// From `http://host:port,host:port`.
    pub(super) fn new(addresses: &str, options: &EtcdOptions) -> Result<Self> {
        let endpoints: Vec<Endpoint> = addresses
            .split(',')
            .map(|address| {
                let address = address.trim();
                let url = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
                Endpoint::from_shared(url).map(|endpoint| endpoint.connect_timeout(options.session_timeout / 4))
            })
            .collect::<Result<_, _>>()
            .map_err(|error| Error::unavailable(format!("{addresses} is no address of etcd: {error}")))?;
        let Some(first) = endpoints.first() else { return Err(Error::unavailable("there is no address of etcd")) };
        let current = watch::Sender::new(Connection { channel: first.connect_lazy(), number: 0 });
        Ok(Self { endpoints, current, patience: options.session_timeout })
    }

    pub(super) fn current(&self) -> Connection {
        self.current.borrow().clone()
    }

    /// Waits until `connection` is given up.
    pub(super) async fn given_up(&self, connection: &Connection) {
        // An error cannot be: this value has the sender.
        let _ = self.current.subscribe().wait_for(|current| current.number != connection.number).await;
    }

    /// Goes on with the next server, unless somebody did so already.
    pub(super) fn give_up(&self, connection: &Connection) {
        self.current.send_if_modified(|current| {
            let is_current = current.number == connection.number;
            if is_current {
                let number = current.number + 1;
                *current = Connection { channel: self.endpoints[number % self.endpoints.len()].connect_lazy(), number };
            }
            is_current
        });
    }

    /// How long one server may take to answer.
    fn answer_time(&self) -> Duration {
        self.patience / 3
    }

    /// Calls until there is an answer, for as long as a session lasts.
    pub(super) async fn read<A, B>(&self, method: &'static str, request: A) -> Result<B, Failure>
    where
        A: Message + Clone + 'static,
        B: Message + Default + 'static,
    {
        self.call(method, request, true).await
    }

    /// Calls until the request was on its way to a server, which is done only once.
    pub(super) async fn write<A, B>(&self, method: &'static str, request: A) -> Result<B, Failure>
    where
        A: Message + Clone + 'static,
        B: Message + Default + 'static,
    {
        self.call(method, request, false).await
    }

    async fn call<A, B>(&self, method: &'static str, request: A, repeatable: bool) -> Result<B, Failure>
    where
        A: Message + Clone + 'static,
        B: Message + Default + 'static,
    {
        let deadline = Instant::now() + self.patience;
        loop {
            let connection = self.current();
            let call = self.once(&connection, method, request.clone());
            let failure = match timeout(self.answer_time(), call).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(status)) => judge(status),
                Err(_) => Failure::Unclear("etcd does not answer".to_owned()),
            };
            match failure {
                Failure::Refused(status) => return Err(Failure::Refused(status)),
                Failure::Unclear(why) if !repeatable => {
                    self.give_up(&connection);
                    return Err(Failure::Unclear(why));
                }
                failure => {
                    self.give_up(&connection);
                    if Instant::now() + PAUSE >= deadline {
                        return Err(failure);
                    }
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn once<A, B>(&self, connection: &Connection, method: &'static str, request: A) -> Result<B, Status>
    where
        A: Message + 'static,
        B: Message + Default + 'static,
    {
        let mut grpc = ready(connection).await?;
        let codec = ProstCodec::<A, B>::default();
        Ok(grpc.unary(with_leader(request), PathAndQuery::from_static(method), codec).await?.into_inner())
    }

    /// One answer of a method that answers with a stream.
    pub(super) async fn first_of<A, B>(
        &self,
        connection: &Connection,
        method: &'static str,
        request: A,
        until: Instant,
    ) -> Result<B, Failure>
    where
        A: Message + 'static,
        B: Message + Default + 'static,
    {
        let until = until.min(Instant::now() + self.answer_time());
        let answer = async {
            let mut grpc = ready(connection).await?;
            let codec = ProstCodec::<A, B>::default();
            let requests = with_leader(stream::iter([request]));
            let answers = grpc.streaming(requests, PathAndQuery::from_static(method), codec).await?;
            answers.into_inner().message().await?.ok_or_else(|| Status::unknown("etcd ended a stream"))
        };
        match timeout_at(until, answer).await {
            Ok(answer) => answer.map_err(judge),
            Err(_) => Err(Failure::Unclear("etcd does not answer".to_owned())),
        }
    }

    /// A stream of answers to one request, for as long as it lasts.
    pub(super) async fn stream_of<A, B>(
        &self,
        connection: &Connection,
        method: &'static str,
        request: A,
    ) -> Result<Streaming<B>, Status>
    where
        A: Message + 'static,
        B: Message + Default + 'static,
    {
        let mut grpc = ready(connection).await?;
        let codec = ProstCodec::<A, B>::default();
        // The servers end the stream when no more requests can come.
        let requests = futures::StreamExt::chain(stream::iter([request]), stream::pending());
        Ok(grpc.streaming(with_leader(requests), PathAndQuery::from_static(method), codec).await?.into_inner())
    }
}

async fn ready(connection: &Connection) -> Result<Grpc<Channel>, Status> {
    let mut grpc = Grpc::new(connection.channel.clone()).max_decoding_message_size(usize::MAX);
    // What is not ready has sent nothing.
    grpc.ready().await.map_err(|error| Status::failed_precondition(error.to_string()).undone(error))?;
    Ok(grpc)
}

/// A server that has lost its cluster is to say so.
fn with_leader<T>(message: T) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
    request
}

trait Undone {
    fn undone(self, source: tonic::transport::Error) -> Self;
}

impl Undone for Status {
    fn undone(mut self, source: tonic::transport::Error) -> Self {
        self.set_source(std::sync::Arc::new(ConnectError(source.into())));
        self
    }
}

fn judge(status: Status) -> Failure {
    let why = status.message().to_owned();
    if is_unconnected(&status) {
        return Failure::Undone(why);
    }
    match status.code() {
        // Said before anything is proposed to the cluster.
        Code::Unavailable if why.contains("no leader") || why.contains("not connected") => Failure::Undone(why),
        Code::ResourceExhausted => Failure::Undone(why),
        Code::InvalidArgument
        | Code::NotFound
        | Code::FailedPrecondition
        | Code::OutOfRange
        | Code::Unauthenticated
        | Code::PermissionDenied
        | Code::Unimplemented => Failure::Refused(status),
        _ => Failure::Unclear(why),
    }
}

fn is_unconnected(status: &Status) -> bool {
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        if error.is::<ConnectError>() {
            return true;
        }
        source = error.source();
    }
    false
}

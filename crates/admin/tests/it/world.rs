//! A broker with its admin interface, and an HTTP client that says what it gets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use plerion_admin::{Options, Ready};
use plerion_broker::{AllowAll, Authorizer, Broker, Parts, StoreFactory};
use plerion_clock::SystemClock;
use plerion_config::{LiveSettings, Sources};
use plerion_ledger::memory;
use plerion_metadata::MetadataStore;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// A broker that serves both protocols.
pub(crate) struct World {
    broker: Broker,
    pub(crate) http: SocketAddr,
    pub(crate) ready: Ready,
    shutdown: oneshot::Sender<()>,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
    metadata: Arc<plerion_metadata::MemoryStore>,
    ledgers: memory::MemoryStore,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The reason of a refusal.
    #[track_caller]
    pub(crate) fn reason(&self) -> String {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no reason in {}", self.text()));
        body["reason"].as_str().unwrap().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

impl World {
    /// Another door to the same broker, whose connections have `patience` from one answer to the next.
    pub(crate) fn impatient(&self, patience: Duration) -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let options = Options { patience, ..Options::default() };
        tokio::spawn(plerion_admin::serve(self.broker.handle(), listener, options, std::future::pending()));
        address
    }

    /// The paths of all rows below `path`.
    pub(crate) async fn rows(&self, path: &str) -> Vec<String> {
        let rows = self.metadata.scan(path, None, 10_000).await.unwrap();
        rows.into_iter().map(|(path, _)| path).collect()
    }

    pub(crate) async fn start() -> Self {
        Self::with(&[], Arc::new(AllowAll)).await
    }

    pub(crate) async fn with(settings: &[(&str, &str)], authorizer: Arc<dyn Authorizer>) -> Self {
        let metadata = Arc::new(plerion_metadata::MemoryStore::new());
        Self::on(metadata, memory::MemoryStore::new(), settings, authorizer).await
    }

    async fn on(
        metadata: Arc<plerion_metadata::MemoryStore>,
        ledgers: memory::MemoryStore,
        settings: &[(&str, &str)],
        authorizer: Arc<dyn Authorizer>,
    ) -> Self {
        let sources = Sources::new().set("brokerServicePort", "0").set("numIOThreads", "2");
        let sources = settings.iter().fold(sources, |sources, (key, value)| sources.set(key, value));
        let (settings, _) = sources.resolve().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let http = listener.local_addr().unwrap();
        let store: StoreFactory = {
            let ledgers = ledgers.clone();
            Arc::new(move || ledgers.shard())
        };
        let broker = Broker::start(Parts {
            settings: Arc::new(LiveSettings::new(settings)),
            clock: SystemClock::shared(),
            metadata: metadata.clone(),
            store,
            authorizer,
            web_port: Some(http.port()),
        })
        .await
        .unwrap();
        plerion_admin::restore_configuration(&broker.handle()).await.unwrap();
        let ready = Ready::default();
        let options = Options { ready: ready.clone(), ..Options::default() };
        let (shutdown, stopped) = oneshot::channel();
        let until = async { drop(stopped.await) };
        let serving = tokio::spawn(plerion_admin::serve(broker.handle(), listener, options, until));
        Self { broker, http, ready, shutdown, serving, metadata, ledgers }
    }

    /// Ends the broker and starts another one on the same stores.
    pub(crate) async fn restart(self) -> Self {
        let Self { broker, shutdown, serving, metadata, ledgers, .. } = self;
        shutdown.send(()).unwrap();
        serving.await.unwrap().unwrap();
        broker.stop().await;
        Self::on(metadata, ledgers, &[], Arc::new(AllowAll)).await
    }

    /// Where the binary protocol is spoken.
    pub(crate) fn pulsar(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.broker.port().unwrap()))
    }

    pub(crate) async fn request(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        let framing = body.map(|body| format!("Content-Length: {}\r\n", body.len())).unwrap_or_default();
        let body = body.unwrap_or_default();
        let text = format!("{method} {path} HTTP/1.1\r\nHost: it\r\nConnection: close\r\n{framing}\r\n{body}");
        self.raw(text.as_bytes()).await.pop().unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.request("GET", path, None).await
    }

    pub(crate) async fn put(&self, path: &str, body: &str) -> Answer {
        self.request("PUT", path, Some(body)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        self.request("POST", path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", path, None).await
    }

    /// Sends bytes as they are, and reads answers until the server closes the connection.
    pub(crate) async fn raw(&self, request: &[u8]) -> Vec<Answer> {
        let exchange = async {
            let mut stream = TcpStream::connect(self.http).await.unwrap();
            stream.write_all(request).await.unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).await.unwrap();
            bytes
        };
        let bytes = tokio::time::timeout(Duration::from_secs(20), exchange).await.expect("the server closes");
        let mut rest = &bytes[..];
        let mut answers = Vec::new();
        while !rest.is_empty() {
            let (answer, left) = parse(rest);
            answers.push(answer);
            rest = left;
        }
        answers
    }
}

fn parse(bytes: &[u8]) -> (Answer, &[u8]) {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    let mut answer = Answer { status, headers, body: Vec::new() };
    let mut rest = &bytes[end + 4..];
    if answer.header("transfer-encoding") == Some("chunked") {
        loop {
            let line = rest.windows(2).position(|window| window == b"\r\n").unwrap();
            let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
            answer.body.extend_from_slice(&rest[line + 2..line + 2 + size]);
            rest = &rest[line + 4 + size..];
            if size == 0 {
                return (answer, rest);
            }
        }
    }
    let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
    answer.body = rest[..length].to_vec();
    (answer, &rest[length..])
}

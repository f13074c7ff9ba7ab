use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use plerion_metadata::{EmbeddedOptions, EmbeddedStore, SharedMetadataStore};
use rand::Rng;
use rand::rngs::SmallRng;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::{Fate, LastWords, Node, SETTINGS, namespace};

/// A process that is killed with SIGKILL.
pub(crate) struct Process {
    directory: Option<TempDir>,
    child: Option<Child>,
}

impl Process {
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("plerion-kill-").tempdir_in(env!("CARGO_TARGET_TMPDIR"));
        Self { directory: Some(directory.expect("a directory for the data")), child: None }
    }

    fn path(&self) -> &Path {
        self.directory.as_ref().expect("there until dropped").path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.path().join("log")
    }

    /// Whether it logs, in this life or an earlier one, a line that `wanted` says yes to.
    pub(crate) async fn logs(&self, wanted: impl Fn(&str) -> bool) -> bool {
        for _ in 0..500 {
            if std::fs::read_to_string(self.log()).expect("a log").lines().any(&wanted) {
                return true;
            }
            // The log is copied by another thread.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }

    /// Starts it and gives its ports, that of the protocol and that of the REST interface.
    pub(crate) async fn boot(&mut self, settings: &[&str]) -> (u16, u16) {
        let ready = self.spawn(settings);
        let ports = tokio::time::timeout(Duration::from_secs(30), ready).await.expect("it starts within 30 s");
        ports.unwrap_or_else(|_| panic!("the broker ended instead of serving, see {}", self.log().display()))
    }

    /// Kills it with SIGKILL, if it runs.
    pub(crate) fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts the broker; its ports come through the channel, which closes when the broker ends.
    fn spawn(&mut self, settings: &[&str]) -> oneshot::Receiver<(u16, u16)> {
        let binary = std::env::var("PLERION_BINARY").unwrap_or_else(|_| env!("CARGO_BIN_EXE_plerion").into());
        let mut command = Command::new(binary);
        command.arg("standalone").arg("--data").arg(self.data()).args(["--log-format", "json"]);
        for setting in SETTINGS.iter().chain(&["storageSegmentSizeMB=16"]).chain(settings) {
            command.args(["--set", setting]);
        }
        let mut child = command.env_clear().stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
        let log = OpenOptions::new().create(true).append(true).open(self.log()).expect("a log file");
        let lines = BufReader::new(child.stderr.take().expect("piped"));
        let (ports, ready) = oneshot::channel();
        std::thread::spawn(move || copy_log(lines, log, ports));
        self.child = Some(child);
        ready
    }
}

/// Copies the log, and picks the ports from the line that tells that the broker serves.
fn copy_log(lines: impl BufRead, mut log: File, ports: oneshot::Sender<(u16, u16)>) {
    let mut ports = Some(ports);
    for line in lines.lines().map_while(Result::ok) {
        let _ = writeln!(log, "{line}");
        if line.contains("\"serving\"")
            && let Some(ports) = ports.take()
        {
            let event: serde_json::Value = serde_json::from_str(&line).expect("a line of JSON");
            let port = |name: &str| event[name].as_u64().and_then(|port| u16::try_from(port).ok()).expect("a port");
            let _ = ports.send((port("port"), port("web_port")));
        }
    }
}

impl Node for Process {
    const MAY_REFUSE: bool = false;

    async fn prepare(&mut self) {
        self.boot(&[]).await;
        self.end();
        let file = self.data().join("metadata/metadata.redb");
        let store = EmbeddedStore::open(&file, &EmbeddedOptions::default()).expect("a killed broker's metadata");
        let store = Arc::new(store);
        let shared: SharedMetadataStore = store.clone();
        namespace::make_deduplicating(&shared).await;
        store.close().await;
    }

    async fn start(&mut self, rng: &mut SmallRng, fate: Fate) -> Option<u16> {
        let shards = format!("numIOThreads={}", rng.random_range(1..=3));
        if fate == Fate::DieYoung {
            drop(self.spawn(&[&shards]));
            tokio::time::sleep(Duration::from_micros(rng.random_range(0..120_000))).await;
            return None;
        }
        Some(self.boot(&[&shards]).await.0)
    }

    async fn wait(&mut self, after: Duration) {
        tokio::time::sleep(after).await;
        let ended = self.child.as_mut().and_then(|child| child.try_wait().expect("a child of ours"));
        if let Some(status) = ended {
            panic!("the broker ended by itself with {status}, see {}", self.log().display());
        }
    }

    async fn kill(&mut self, _: &mut SmallRng) -> Option<LastWords> {
        self.end();
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
        if std::thread::panicking()
            && let Some(directory) = self.directory.take()
        {
            eprintln!("data and log are kept in {}", directory.keep().display());
        }
    }
}

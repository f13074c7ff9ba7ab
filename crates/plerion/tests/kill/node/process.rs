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

use super::{Fate, Node, namespace};

/// Settings that make much happen within a short life: small ledgers, frequent trimming and snapshots.
const SETTINGS: &[&str] = &[
    "brokerServicePort=0",
    "webServicePort=0",
    "storageSegmentSizeMB=16",
    "managedLedgerMaxEntriesPerLedger=300",
    "managedLedgerMinLedgerRolloverTimeMinutes=0",
    "retentionCheckIntervalInSeconds=1",
    "brokerDeduplicationEntriesInterval=100",
];

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

    /// Kills it with SIGKILL, if it runs.
    fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts the broker; the port comes through the channel, which closes when the broker ends.
    fn spawn(&mut self, settings: &[&str]) -> oneshot::Receiver<u16> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plerion"));
        command.arg("standalone").arg("--data").arg(self.data()).args(["--log-format", "json"]);
        for setting in SETTINGS.iter().chain(settings) {
            command.args(["--set", setting]);
        }
        let mut child = command.env_clear().stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
        let log = OpenOptions::new().create(true).append(true).open(self.log()).expect("a log file");
        let lines = BufReader::new(child.stderr.take().expect("piped"));
        let (port, ready) = oneshot::channel();
        std::thread::spawn(move || copy_log(lines, log, port));
        self.child = Some(child);
        ready
    }
}

/// Copies the log, and picks the port from the line that tells that the broker serves.
fn copy_log(lines: impl BufRead, mut log: File, port: oneshot::Sender<u16>) {
    let mut port = Some(port);
    for line in lines.lines().map_while(Result::ok) {
        let _ = writeln!(log, "{line}");
        if port.is_some() && line.contains("\"serving\"") {
            let event: serde_json::Value = serde_json::from_str(&line).expect("a line of JSON");
            let number = event["port"].as_u64().or_else(|| event["port"].as_str()?.parse().ok());
            let number = number.and_then(|number| u16::try_from(number).ok()).expect("a port");
            let _ = port.take().expect("checked").send(number);
        }
    }
}

impl Node for Process {
    const MAY_REFUSE: bool = false;

    async fn prepare(&mut self) {
        self.spawn(&[]).await.expect("it serves");
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
        let ready = self.spawn(&[&shards]);
        if fate == Fate::DieYoung {
            tokio::time::sleep(Duration::from_micros(rng.random_range(0..120_000))).await;
            return None;
        }
        let port = tokio::time::timeout(Duration::from_secs(30), ready).await.expect("it starts within 30 s");
        Some(port.unwrap_or_else(|_| panic!("the broker ended instead of serving, see {}", self.log().display())))
    }

    async fn wait(&mut self, after: Duration) {
        tokio::time::sleep(after).await;
        let ended = self.child.as_mut().and_then(|child| child.try_wait().expect("a child of ours"));
        if let Some(status) = ended {
            panic!("the broker ended by itself with {status}, see {}", self.log().display());
        }
    }

    async fn kill(&mut self, _: &mut SmallRng) {
        self.end();
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

//! ZooKeeper and bookies, one cluster for all tests that need one.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use plerion_bookkeeper::quorum::Quorum;
use plerion_bookkeeper::{BookKeeperStore, Config};
use plerion_clock::SystemClock;
use plerion_metadata::StoreOptions;

pub(crate) const BOOKIES: usize = 5;
const ZOOKEEPER: u16 = 22_181;
const FIRST_BOOKIE: u16 = 23_181;

pub(crate) struct Cluster {
    dir: tempfile::TempDir,
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    zookeeper: u32,
    bookies: Vec<u32>,
}

fn script(name: &str) -> String {
    format!("{}/tests/engines/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Whether the process was there.
fn signal(name: &str, process: u32) -> bool {
    Command::new("kill").arg(name).arg(process.to_string()).stderr(Stdio::null()).status().unwrap().success()
}

/// The cluster, with all its bookies at work.
pub(crate) fn cluster() -> MutexGuard<'static, Cluster> {
    static CLUSTER: OnceLock<Mutex<Cluster>> = OnceLock::new();
    // A test that failed leaves the cluster to the next one.
    let mut cluster =
        CLUSTER.get_or_init(|| Mutex::new(Cluster::start())).lock().unwrap_or_else(PoisonError::into_inner);
    cluster.heal();
    cluster
}

impl Cluster {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(script("cluster"))
            .arg(dir.path())
            .args([ZOOKEEPER.to_string(), FIRST_BOOKIE.to_string(), BOOKIES.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut cluster = Self { dir, _child: child, input, output, zookeeper: 0, bookies: vec![0; BOOKIES] };
        while cluster.line() {}
        cluster
    }

    /// Takes note of a process; says whether there will be another.
    fn line(&mut self) -> bool {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the cluster did not start, see {:?}", self.dir.path());
        let Some((name, process)) = line.trim().split_once(' ') else { return false };
        let process = process.parse().unwrap();
        match name.strip_prefix("bookie-") {
            Some(number) => self.bookies[number.parse::<usize>().unwrap()] = process,
            None => self.zookeeper = process,
        }
        true
    }

    fn heal(&mut self) {
        self.resume_zookeeper();
        for bookie in 0..BOOKIES {
            if !signal("-CONT", self.bookies[bookie]) {
                self.restart(bookie);
            }
        }
    }

    pub(crate) fn kill(&self, bookie: usize) {
        assert!(signal("-KILL", self.bookies[bookie]));
        // It is gone when its port is free.
        let port = FIRST_BOOKIE + u16::try_from(bookie).unwrap();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {}
    }

    /// What the original client prints: `write COUNT` or `read LEDGER`.
    pub(crate) fn peer(&self, verb: &str, digest: &str, password: &str, number: u64) -> String {
        let output = Command::new(script("peer"))
            .arg(self.dir.path())
            .args([verb, &ZOOKEEPER.to_string(), digest, password, &number.to_string()])
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn restart(&mut self, bookie: usize) {
        writeln!(self.input, "start {bookie}").unwrap();
        assert!(self.line());
    }

    pub(crate) fn stop(&self, bookie: usize) {
        assert!(signal("-STOP", self.bookies[bookie]));
    }

    pub(crate) fn go_on(&self, bookie: usize) {
        signal("-CONT", self.bookies[bookie]);
    }

    pub(crate) fn stop_zookeeper(&self) {
        signal("-STOP", self.zookeeper);
    }

    pub(crate) fn resume_zookeeper(&self) {
        signal("-CONT", self.zookeeper);
    }

    /// The number of a bookie by its id.
    pub(crate) fn number(id: &plerion_bookkeeper::bookie::BookieId) -> usize {
        usize::from(id.as_address().unwrap().port - FIRST_BOOKIE)
    }

    /// What BookKeeper's own shell answers.
    pub(crate) fn shell(&self, arguments: &[&str]) -> String {
        let output = Command::new(script("shell")).arg(self.dir.path()).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }

    /// A store on it, once all bookies are registered.
    pub(crate) async fn store(&self, quorum: (usize, usize, usize)) -> BookKeeperStore {
        self.store_with(quorum, |_| {}).await
    }

    /// The same, with another configuration.
    pub(crate) async fn store_with(
        &self,
        (ensemble, write, ack): (usize, usize, usize),
        change: impl Fn(&mut Config),
    ) -> BookKeeperStore {
        let url = format!("zk:127.0.0.1:{ZOOKEEPER}").parse().unwrap();
        let metadata = plerion_metadata::open(&url, &StoreOptions::default()).await.unwrap();
        let mut config = Config::new(Quorum::new(ensemble, write, ack).unwrap());
        config.connections.add_timeout = Duration::from_secs(2);
        config.connections.read_timeout = Duration::from_secs(2);
        config.connections.connect_timeout = Duration::from_secs(2);
        change(&mut config);
        let store = BookKeeperStore::open(config, metadata, SystemClock::shared()).await.unwrap();
        while store.directory().bookies().await.unwrap().values().filter(|bookie| bookie.writable).count() < BOOKIES {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        store
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The script ends everything when its input does; whoever is stopped has to hear of it.
        self.resume_zookeeper();
        (0..BOOKIES).for_each(|bookie| self.go_on(bookie));
    }
}

//! Real servers, each its own process that ends with the test.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// A server that can be killed, stopped and started again on its data.
pub(crate) struct Server {
    pub(crate) port: u16,
    script: PathBuf,
    arguments: Vec<String>,
    running: Option<(Child, String)>,
    _dir: TempDir,
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    pub(crate) fn zookeeper() -> Self {
        let (dir, port) = (tempfile::tempdir().unwrap(), free_port());
        Self::start("zookeeper", dir, port, vec![port.to_string()])
    }

    pub(crate) fn etcd() -> Self {
        let (port, peer) = (free_port(), free_port());
        Self::etcd_member("one", port, peer, &[("one", peer)])
    }

    /// A cluster of three.
    pub(crate) fn etcd_cluster() -> Vec<Self> {
        let peers = ["one", "two", "three"].map(|name| (name, free_port()));
        peers.iter().map(|(name, peer)| Self::etcd_member(name, free_port(), *peer, &peers)).collect()
    }

    fn etcd_member(name: &str, port: u16, peer: u16, members: &[(&str, u16)]) -> Self {
        let mut arguments = vec![name.to_owned(), port.to_string(), peer.to_string()];
        arguments.extend(members.iter().map(|(name, peer)| format!("{name}={peer}")));
        Self::start("etcd", tempfile::tempdir().unwrap(), port, arguments)
    }

    fn start(script: &str, dir: TempDir, port: u16, mut arguments: Vec<String>) -> Self {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/engines").join(script);
        arguments.insert(0, dir.path().to_str().unwrap().to_owned());
        let mut server = Self { port, script, arguments, running: None, _dir: dir };
        server.restart();
        server
    }

    /// Kills the server, as a crash does.
    pub(crate) fn kill(&mut self) {
        if let Some((mut child, pid)) = self.running.take() {
            signal("-KILL", &pid);
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }

    /// Starts the server on what it left, after a crash if it runs.
    pub(crate) fn restart(&mut self) {
        self.kill();
        let mut child = Command::new(&self.script)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pid = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut pid).unwrap();
        self.running = Some((child, pid.trim().to_owned()));
    }

    /// Lets the server do nothing until it is continued.
    pub(crate) fn stop(&self) {
        signal("-STOP", &self.running.as_ref().unwrap().1);
    }

    pub(crate) fn resume(&self) {
        signal("-CONT", &self.running.as_ref().unwrap().1);
    }

    /// Waits until the server takes connections.
    pub(crate) async fn ready(&self) {
        let connected = async {
            while tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), connected).await.unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn signal(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

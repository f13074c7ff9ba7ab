//! Very many clients that say nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tempfile::TempDir;

use crate::process::Broker;

/// As many as the limits of a process leave room for, with some to spare.
const MOST: usize = 10_000;
const SPARE: usize = 200;

/// How many files this process, and so its children, may have open.
fn limit() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("limits");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit of files");
    line.split_whitespace().nth(3).and_then(|soft| soft.parse().ok()).unwrap_or(usize::MAX)
}

fn figure(web_port: u16, name: &str) -> u64 {
    let mut stream = TcpStream::connect(("127.0.0.1", web_port)).expect("the REST interface");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: it\r\nConnection: close\r\n\r\n").expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|figure| figure.parse().ok()).unwrap_or_else(|| panic!("{name} is not in {text}"))
}

#[cfg(target_os = "linux")]
#[test]
fn ten_thousand_that_say_nothing_leave_nothing_behind() {
    let dir = TempDir::new().expect("a directory");
    let (broker, log) = Broker::start(dir.path(), &["--set", "keepAliveIntervalSeconds=5"]);
    let serving: serde_json::Value = serde_json::from_str(log.last().expect("a line")).expect("JSON");
    let port = |name: &str| u16::try_from(serving[name].as_u64().expect("a port")).expect("a port");
    let (port, web_port) = (port("port"), port("web_port"));
    assert_eq!(figure(web_port, "plerion_connections_silent_total"), 0);
    let before = broker.open_files();
    let count = MOST.min(limit().saturating_sub(SPARE));
    let clients: Vec<_> = (0..count).map(|_| TcpStream::connect(("127.0.0.1", port)).expect("accepted")).collect();
    for mut client in clients {
        client.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        assert_eq!(client.read(&mut [0]).expect("closed in time, by an orderly end"), 0);
    }
    // The gauge follows when the last connection's task has ended.
    let mut left = u64::MAX;
    for _ in 0..500 {
        left = figure(web_port, "pulsar_active_connections");
        if left == 0 && broker.open_files() <= before + 1 {
            break;
        }
        #[expect(clippy::disallowed_methods, reason = "another process is awaited")]
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!((left, figure(web_port, "plerion_connections_silent_total")), (0, count as u64));
    assert!(broker.open_files() <= before + 1, "{before} files before, {} after", broker.open_files());
    assert_eq!(broker.end("TERM"), Some(0));
}

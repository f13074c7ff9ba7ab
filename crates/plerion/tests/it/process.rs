//! Running the binary.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

/// The binary with arguments, away from the settings of whoever runs the tests.
pub(crate) fn plerion(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plerion"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub(crate) fn finish(mut command: Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("not killed"), text(stdout), text(stderr))
}

/// A running broker; killed when dropped.
pub(crate) struct Broker {
    child: Child,
    log: BufReader<std::process::ChildStderr>,
}

impl Broker {
    /// Starts a broker on free ports with its data in `data`, and waits until it serves.
    pub(crate) fn start(data: &std::path::Path, more: &[&str]) -> (Self, Vec<String>) {
        let data = data.to_str().expect("UTF-8");
        let free = ["--set", "brokerServicePort=0", "--set", "webServicePort=0", "--log-format", "json"];
        let mut command = plerion(&["standalone", "--data", data]);
        let mut child = command.args(free).args(more).stderr(Stdio::piped()).spawn().expect("the binary runs");
        let log = BufReader::new(child.stderr.take().expect("piped"));
        let mut broker = Self { child, log };
        let lines = broker.log_up_to("serving");
        (broker, lines)
    }

    /// The lines of the log up to the one that has `text`.
    pub(crate) fn log_up_to(&mut self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.log.read_line(&mut line).expect("readable");
            assert!(read > 0, "the process ended before it logged `{text}`: {lines:?}");
            let found = line.contains(text);
            lines.push(line);
            if found {
                return lines;
            }
        }
    }

    /// How many files and sockets it has open.
    pub(crate) fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("it runs").count()
    }

    /// Sends a signal, and waits for the end.
    pub(crate) fn end(mut self, signal: &str) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().expect("kill runs").success());
        self.child.wait().expect("ends").code()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! The signals that end the process in order.

use std::fmt;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

/// A signal that asks for an orderly end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// SIGTERM: a supervisor asks.
    Terminate,
    /// SIGINT: somebody at a terminal asks.
    Interrupt,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Terminate => "SIGTERM",
            Self::Interrupt => "SIGINT",
        })
    }
}

/// Listens for signals. From its creation on they no longer end the process by themselves.
#[derive(Debug)]
pub(crate) struct Shutdown {
    terminate: Signal,
    interrupt: Signal,
}

impl Shutdown {
    /// Starts to listen. Needs a runtime with I/O.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|cause| Failure::System { what: "listen for signals", cause });
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Resolves at the next signal. May be dropped and called again: a second signal asks to end at once.
    pub(crate) async fn requested(&mut self) -> Reason {
        tokio::select! {
            _ = self.terminate.recv() => Reason::Terminate,
            _ = self.interrupt.recv() => Reason::Interrupt,
        }
    }
}

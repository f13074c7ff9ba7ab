//! The network between a handle and its server.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What becomes of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// They arrive.
    Open,
    /// What the server says is lost.
    Mute,
    /// Nothing arrives, and nobody is told.
    Silent,
    /// Connections are closed at once.
    Cut,
}

/// A network that can be changed; it ends with its value.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    network: watch::Sender<Network>,
}

impl Proxy {
    pub(crate) async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (network, state) = watch::channel(Network::Open);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *state.borrow() == Network::Cut || state.has_changed().is_err() {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else { continue };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let up = carry(from_client, to_server, state.clone(), |network| network != Network::Silent);
                let down = carry(from_server, to_client, state.clone(), |network| network == Network::Open);
                tokio::spawn(async move {
                    tokio::select! { () = up => {}, () = down => {} }
                });
            }
        });
        Self { port, network }
    }

    pub(crate) fn set(&self, network: Network) {
        self.network.send_replace(network);
    }
}

/// Carries bytes until an end is closed or the network is cut.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut state: watch::Receiver<Network>,
    arrives: fn(Network) -> bool,
) {
    let mut cut = state.clone();
    let carried = async {
        let mut buffer = vec![0; 65_536];
        loop {
            let Ok(read @ 1..) = from.read(&mut buffer).await else { return };
            let network = *state.borrow_and_update();
            if arrives(network) && to.write_all(&buffer[..read]).await.is_err() {
                return;
            }
            if !arrives(network) {
                // A stream that has lost bytes is of no use any more.
                while arrives(*state.borrow()) || state.changed().await.is_ok() {
                    if *state.borrow_and_update() == Network::Open {
                        return;
                    }
                }
                return;
            }
        }
    };
    tokio::select! {
        () = carried => {}
        _ = cut.wait_for(|network| *network == Network::Cut) => {}
    }
}

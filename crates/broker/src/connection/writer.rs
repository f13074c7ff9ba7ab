//! The half of a connection that writes.

use std::io;
use std::rc::Rc;

use super::outbox::Written;
use super::{Closing, Connection, commands};
use crate::shard::Shard;

/// Writes what the outbox holds whenever there is something, until the connection is closed.
pub(super) async fn run(shard: Rc<Shard>, connection: Rc<Connection>) {
    loop {
        connection.write.notified().await;
        if let Err(error) = flush(&shard, &connection).await {
            tracing::debug!(client = %connection.address, %error, "write failed");
            connection.close();
        }
        match connection.closing.get() {
            Closing::Open => {}
            Closing::Draining | Closing::Now => break,
        }
    }
    connection.outbox.borrow_mut().clear();
}

async fn flush(shard: &Rc<Shard>, connection: &Rc<Connection>) -> io::Result<()> {
    while connection.outbox.borrow().queued() > 0 && connection.closing.get() != Closing::Now {
        let written = connection.outbox.borrow_mut().write_with(|slices| connection.stream.try_write_vectored(slices));
        match written {
            Ok(Written { bytes: 0, .. }) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                if connection.outstanding.sub(written.shared) {
                    commands::consumers_writable(shard, connection);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => connection.stream.writable().await?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

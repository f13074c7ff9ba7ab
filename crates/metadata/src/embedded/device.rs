//! The file under the database, and the memory of a failed sync.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::StorageBackend;
use rustix::fs::{FallocateFlags, fallocate};

/// How far behind the end of the file space is reserved, in bytes.
const LEAST_AHEAD: u64 = 4 << 20;
const MOST_AHEAD: u64 = 64 << 20;

/// Random access to the bytes of a file.
pub(super) trait Blocks: fmt::Debug + Send + Sync + 'static {
    fn len(&self) -> io::Result<u64>;
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()>;
    fn set_len(&self, len: u64) -> io::Result<()>;
    fn sync(&self) -> io::Result<()>;
    /// Takes space on the disk for all of the file and for it to grow, so that it can be written when the disk is full.
    fn reserve(&self);
    /// Lets another process have the file, although a late reader may keep it open a little longer.
    fn release(&self);
}

impl Blocks for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(out, offset)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write_all_at(data, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)?;
        self.reserve();
        Ok(())
    }

    fn reserve(&self) {
        let Ok(len) = Blocks::len(self) else { return };
        // The database doubles its file until it is long.
        let ahead = len.clamp(LEAST_AHEAD, MOST_AHEAD);
        let reserve = |bytes| fallocate(self, FallocateFlags::KEEP_SIZE, 0, bytes);
        if let Err(error) = reserve(len + ahead).or_else(|_| reserve(len)) {
            tracing::debug!(%error, "no space could be reserved for metadata");
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn release(&self) {
        if let Err(error) = self.unlock() {
            tracing::warn!(%error, "the metadata file stays locked until the process ends");
        }
    }
}

/// Blocks as the database uses them. Clones are the same device, so that a database can be closed and opened again
/// without letting go of the file or its lock.
#[derive(Debug, Clone)]
pub(super) struct Device {
    blocks: Arc<dyn Blocks>,
    sync_failed: Arc<AtomicBool>,
}

impl Device {
    pub(super) fn new(blocks: Arc<dyn Blocks>) -> Self {
        Self { blocks, sync_failed: Arc::default() }
    }

    pub(super) fn reserve(&self) {
        self.blocks.reserve();
    }

    pub(super) fn release(&self) {
        self.blocks.release();
    }

    /// Whether a sync ever failed. The kernel drops the pages it could not write and reports the next sync as
    /// successful, so nothing written from then on can be called durable.
    pub(super) fn sync_failed(&self) -> bool {
        self.sync_failed.load(Ordering::Acquire)
    }
}

impl StorageBackend for Device {
    fn len(&self) -> io::Result<u64> {
        self.blocks.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.blocks.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.blocks.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let outcome = self.blocks.sync();
        if outcome.is_err() {
            self.sync_failed.store(true, Ordering::Release);
        }
        outcome
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.blocks.write(offset, data)
    }
}

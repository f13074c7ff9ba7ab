//! The disk as an argument: one flat directory of files.
//!
//! Production uses a [`Directory`]; a simulation brings a disk that forgets what was not synced.

use std::io::{self, IoSlice};
use std::sync::Arc;

mod directory;
#[cfg(feature = "test-disk")]
pub mod sim;

pub use directory::Directory;

/// What [`File::write_direct`] takes multiples of, in bytes: no disk in use has longer blocks.
pub const ALIGNMENT: usize = 4096;

/// One directory, without subdirectories.
pub trait Disk: Send + Sync + 'static {
    /// Claims the directory for this process for as long as the returned value lives.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when another process holds it.
    fn lock(&self) -> io::Result<Box<dyn Send + Sync>>;

    /// Opens a file for reading and writing.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] when it is not there.
    fn open(&self, name: &str) -> io::Result<Arc<dyn File>>;

    /// Makes a file, or empties the one of that name. Its name is durable after [`sync_names`](Self::sync_names).
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>>;

    /// Gives a file a new name, replacing the file that had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file; a file that is open lives until it is closed.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names of all files, in no order.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes all creations, renames and removals so far durable.
    fn sync_names(&self) -> io::Result<()>;
}

/// An open file. Positional calls only, so that it can be shared.
pub trait File: Send + Sync + 'static {
    /// Reads into `buffer` and returns how many bytes were there; less than asked for only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `parts`, one after the other.
    fn write_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<()>;

    /// Like [`write_at`](Self::write_at), past the page cache where the file system can. The offset and the address and
    /// length of every part are multiples of [`ALIGNMENT`].
    fn write_direct(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<()> {
        self.write_at(parts, offset)
    }

    /// Makes everything written so far durable, and the length with it.
    fn sync(&self) -> io::Result<()>;

    /// The length in bytes.
    fn length(&self) -> io::Result<u64>;

    /// Reserves space for the first `length` bytes; where nothing was written, they read as zeros. A file system that
    /// cannot reserve answers success and leaves the length as it was.
    fn reserve(&self, length: u64) -> io::Result<()>;

    /// Cuts the file off at `length` bytes and gives reserved space behind it back.
    fn truncate(&self, length: u64) -> io::Result<()>;

    /// Says that a range will be read soon. A hint.
    fn will_read(&self, offset: u64, length: u64);

    /// Says that a range need not stay in the page cache. A hint.
    fn will_not_read(&self, offset: u64, length: u64);
}

/// Whether a failed call left the disk as it was because there was no room or no permission to write.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::FileTooLarge
    )
}

/// Reads a whole file.
pub(crate) fn read_all(file: &dyn File) -> io::Result<Vec<u8>> {
    let length = usize::try_from(file.length()?).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    let read = file.read_at(&mut bytes, 0)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Replaces the file `name` as a whole: after a crash it holds either what it held before or `bytes`.
pub(crate) fn replace(disk: &dyn Disk, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temporary = format!("{name}{TEMPORARY}");
    let file = disk.create(&temporary)?;
    file.write_at(&[IoSlice::new(bytes)], 0)?;
    file.sync()?;
    disk.rename(&temporary, name)?;
    disk.sync_names()
}

/// How the names of files end that a crash may leave behind half written.
pub(crate) const TEMPORARY: &str = ".tmp";

//! A directory of the operating system.

use std::fs;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};

use super::{Disk, File};

/// The most parts one vectored write takes (`IOV_MAX` of Linux).
const MAX_PARTS: usize = 1024;

/// A directory of the file system.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The directory at `path`, which is made if it is not there.
    ///
    /// # Errors
    /// Whatever making it answers.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        fs::create_dir_all(&path)?;
        Ok(Self { path })
    }

    /// The directory at `path`, which must be there.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] or [`io::ErrorKind::NotADirectory`].
    pub fn existing(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        if !fs::metadata(&path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Disk for Directory {
    fn lock(&self) -> io::Result<Box<dyn Send + Sync>> {
        let path = self.path.join("LOCK");
        let file = fs::File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.or_else(|error| if is_read_only(&error) { fs::File::open(&path) } else { Err(error) })?;
        file.try_lock()?;
        Ok(Box::new(file))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let path = self.path.join(name);
        // A directory on a read-only file system is still worth reading.
        let file = fs::File::options().read(true).write(true).open(&path);
        Ok(Arc::new(file.or_else(|error| if is_read_only(&error) { fs::File::open(&path) } else { Err(error) })?))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let path = self.path.join(name);
        Ok(Arc::new(fs::File::options().read(true).write(true).create(true).truncate(true).open(path)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn sync_names(&self) -> io::Result<()> {
        fs::File::open(&self.path)?.sync_all()
    }
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
}

impl File for fs::File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match FileExt::read_at(self, &mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, parts: &[IoSlice<'_>], mut offset: u64) -> io::Result<()> {
        let mut parts = parts.to_vec();
        let mut rest = &mut parts[..];
        // Parts of length 0 at the front are skipped, so that a write of 0 bytes means a disk that takes nothing.
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            let some = rest.len().min(MAX_PARTS);
            match rustix::io::pwritev(self, &rest[..some], offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    offset += written as u64;
                    IoSlice::advance_slices(&mut rest, written);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn reserve(&self, length: u64) -> io::Result<()> {
        match fallocate(self, FallocateFlags::KEEP_SIZE, 0, length) {
            Err(error) if error == rustix::io::Errno::OPNOTSUPP || error == rustix::io::Errno::NOSYS => Ok(()),
            other => Ok(other?),
        }
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn will_read(&self, offset: u64, length: u64) {
        // A hint that is not taken costs only time.
        let _ = fadvise(self, offset, std::num::NonZeroU64::new(length), Advice::WillNeed);
    }

    fn will_not_read(&self, offset: u64, length: u64) {
        // A hint that is not taken costs only memory the kernel can take back.
        let _ = fadvise(self, offset, std::num::NonZeroU64::new(length), Advice::DontNeed);
    }
}

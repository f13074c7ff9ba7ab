//! A directory of the operating system.

use std::fs;
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate};

use super::{ALIGNMENT, Disk, File};

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
        let file = file.or_else(|error| if is_read_only(&error) { fs::File::open(&path) } else { Err(error) })?;
        Ok(Arc::new(OpenFile::new(file)))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let path = self.path.join(name);
        let file = fs::File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Arc::new(OpenFile::new(file)))
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

/// An open file of the file system.
struct OpenFile {
    file: fs::File,
    /// The same file past the page cache, from when it is first wanted; `None` where the file system cannot.
    direct: OnceLock<Option<fs::File>>,
}

impl OpenFile {
    fn new(file: fs::File) -> Self {
        Self { file, direct: OnceLock::new() }
    }

    fn direct(&self) -> Option<&fs::File> {
        let open = || {
            // By its descriptor: the file may have got another name since.
            let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            let flags = OFlags::DIRECT.bits().cast_signed();
            fs::File::options().read(true).write(true).custom_flags(flags).open(path).ok()
        };
        self.direct.get_or_init(open).as_ref()
    }
}

/// Writes the parts to `file` until all are written or a call fails, and moves both arguments on by what was written.
fn write_parts(file: &fs::File, rest: &mut &mut [IoSlice<'_>], offset: &mut u64) -> io::Result<()> {
    // Parts of length 0 at the front are skipped, so that a write of 0 bytes means a disk that takes nothing.
    IoSlice::advance_slices(rest, 0);
    while !rest.is_empty() {
        let some = rest.len().min(MAX_PARTS);
        match rustix::io::pwritev(file, &rest[..some], *offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                *offset += written as u64;
                IoSlice::advance_slices(rest, written);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl File for OpenFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match FileExt::read_at(&self.file, &mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, parts: &[IoSlice<'_>], mut offset: u64) -> io::Result<()> {
        write_parts(&self.file, &mut &mut parts.to_vec()[..], &mut offset)
    }

    fn write_direct(&self, parts: &[IoSlice<'_>], mut offset: u64) -> io::Result<()> {
        debug_assert!(offset.is_multiple_of(ALIGNMENT as u64));
        debug_assert!(parts.iter().all(|part| part.as_ptr().align_offset(ALIGNMENT) == 0));
        let mut parts = parts.to_vec();
        let mut rest = &mut parts[..];
        if let Some(direct) = self.direct() {
            match write_parts(direct, &mut rest, &mut offset) {
                // A disk with longer blocks, or a write that ended between them.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
                done => return done,
            }
        }
        write_parts(&self.file, &mut rest, &mut offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn reserve(&self, length: u64) -> io::Result<()> {
        match fallocate(&self.file, FallocateFlags::empty(), 0, length) {
            Err(error) if error == rustix::io::Errno::OPNOTSUPP || error == rustix::io::Errno::NOSYS => Ok(()),
            other => Ok(other?),
        }
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn will_read(&self, offset: u64, length: u64) {
        // A hint that is not taken costs only time.
        let _ = fadvise(&self.file, offset, std::num::NonZeroU64::new(length), Advice::WillNeed);
    }

    fn will_not_read(&self, offset: u64, length: u64) {
        // A hint that is not taken costs only memory the kernel can take back.
        let _ = fadvise(&self.file, offset, std::num::NonZeroU64::new(length), Advice::DontNeed);
    }
}

//! Opening the file of an embedded store.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The version of the file's contents that this program writes.
pub const FORMAT_VERSION: u64 = 1;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be opened or created.
    #[error("cannot open the metadata file {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Another process has the store open.
    #[error("the metadata file {} is in use by another process", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a program that keeps its rows differently.
    #[error(
        "the metadata file has format {found}, this program knows format {supported}; use the program that wrote it"
    )]
    UnsupportedFormat {
        /// The file's format version.
        found: u64,
        /// The one format version this program can open.
        supported: u64,
    },
    /// The file's contents are damaged, or the disk fails.
    #[error("the metadata file cannot be read: {0}")]
    Database(Box<redb::Error>),
    /// A row needed at start cannot be understood.
    #[error(transparent)]
    Row(#[from] crate::Error),
}

impl<E: Into<redb::Error>> From<E> for OpenError {
    fn from(error: E) -> Self {
        Self::Database(Box::new(error.into()))
    }
}

/// Opens or creates the file and locks it for as long as it is open.
pub(super) fn open_file(path: &Path) -> Result<File, OpenError> {
    let failed = |source| OpenError::File { path: path.to_owned(), source };
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

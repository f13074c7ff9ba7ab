//! The directory that holds everything a broker keeps: owned by one process at a time, and marked with its format.
//!
//! | Entry | Is |
//! |---|---|
//! | `LOCK` | locked by the process that uses the directory |
//! | `FORMAT` | the format of everything else; written once, when the directory is made |
//! | `WIPE` | there while everything is being deleted, so that an interrupted deletion is finished at the next start |
//! | `ledgers/` | the ledger store's |
//! | `metadata/` | the metadata store's |

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

const LOCK: &str = "LOCK";
const FORMAT: &str = "FORMAT";
const NEW_FORMAT: &str = "FORMAT.new";
const WIPE: &str = "WIPE";
/// Made by mkfs at the root of a file system: no sign of foreign data, and not ours to delete.
const LOST_AND_FOUND: &str = "lost+found";

const FORMAT_PREFIX: &str = "plerion data format ";
/// The format this build reads and writes.
const CURRENT: u32 = 1;

/// What to delete before the directory is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wipe {
    /// What is there stays.
    Nothing,
    /// What is there goes, whatever its format.
    Everything,
}

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Another process uses it.
    #[error("data directory {} is in use by another process: stop it, or choose another with --data", .0.display())]
    InUse(PathBuf),
    /// A later version wrote it.
    #[error(
        "data directory {} has format {found}, this version reads up to {CURRENT}: use the version that wrote it, or \
         choose another directory with --data",
        path.display()
    )]
    Newer { path: PathBuf, found: u32 },
    /// It holds something else.
    #[error(
        "{} is not a data directory of Plerion's ({why}), and is left as it is: choose an empty or new directory with \
         --data",
        path.display()
    )]
    Foreign { path: PathBuf, why: String },
    /// The file system refused.
    #[error("cannot {what} in data directory {}: {cause}", path.display())]
    Io { path: PathBuf, what: &'static str, cause: io::Error },
}

/// A data directory, locked until this is dropped.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    path: PathBuf,
    _lock: File,
}

impl DataDirectory {
    /// Makes the directory and its parts where they are not there, locks it, checks its format, and deletes what is
    /// asked for.
    pub(crate) fn open(path: &Path, wipe: Wipe) -> Result<Self, Error> {
        let failed = |what| move |cause| Error::Io { path: path.to_owned(), what, cause };
        fs::create_dir_all(path).map_err(failed("create the directory itself"))?;
        if let Some(name) = foreign_entry(path).map_err(failed("list entries"))? {
            return Err(Error::Foreign { path: path.to_owned(), why: format!("it has {name}, but no file {FORMAT}") });
        }
        let lock = OpenOptions::new().create(true).append(true).open(path.join(LOCK)).map_err(failed("open LOCK"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Error::InUse(path.to_owned()),
            TryLockError::Error(cause) => failed("lock LOCK")(cause),
        })?;

        let format = read_format(path)?;
        let interrupted = path.join(WIPE).try_exists().map_err(failed("look for WIPE"))?;
        if wipe == Wipe::Everything || interrupted {
            delete_everything(path).map_err(failed("delete what is there"))?;
            write_format(path).map_err(failed("write FORMAT"))?;
        } else if let Some(found) = format {
            if found > CURRENT {
                return Err(Error::Newer { path: path.to_owned(), found });
            }
        } else {
            write_format(path).map_err(failed("write FORMAT"))?;
        }
        let directory = Self { path: path.to_owned(), _lock: lock };
        for part in [directory.ledgers(), directory.metadata()] {
            fs::create_dir_all(part).map_err(failed("make a part"))?;
        }
        Ok(directory)
    }

    /// Locks a directory that is there; nothing in it is changed.
    pub(crate) fn existing(path: &Path) -> Result<Self, Error> {
        let failed = |what| move |cause| Error::Io { path: path.to_owned(), what, cause };
        match read_format(path)? {
            None => return Err(Error::Foreign { path: path.to_owned(), why: format!("it has no file {FORMAT}") }),
            Some(found) if found > CURRENT => return Err(Error::Newer { path: path.to_owned(), found }),
            Some(_) => {}
        }
        let lock = OpenOptions::new().read(true).open(path.join(LOCK)).map_err(failed("open LOCK"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Error::InUse(path.to_owned()),
            TryLockError::Error(cause) => failed("lock LOCK")(cause),
        })?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// The directory itself.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the ledger store keeps its files.
    pub(crate) fn ledgers(&self) -> PathBuf {
        self.path.join("ledgers")
    }

    /// Where the metadata store keeps its files.
    pub(crate) fn metadata(&self) -> PathBuf {
        self.path.join("metadata")
    }
}

/// An entry that shows that the directory is not ours.
fn foreign_entry(path: &Path) -> io::Result<Option<String>> {
    if path.join(FORMAT).try_exists()? || path.join(WIPE).try_exists()? {
        return Ok(None);
    }
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if ![LOCK, NEW_FORMAT, LOST_AND_FOUND].iter().any(|ours| name == *ours) {
            return Ok(Some(name.to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

/// The format; `None` when nothing is there yet.
fn read_format(path: &Path) -> Result<Option<u32>, Error> {
    let text = match fs::read_to_string(path.join(FORMAT)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::Io { path: path.to_owned(), what: "read FORMAT", cause }),
    };
    let number = text.strip_prefix(FORMAT_PREFIX).and_then(|number| number.trim_end().parse().ok());
    let why = || format!("its file {FORMAT} does not read `{FORMAT_PREFIX}N`");
    number.map(Some).ok_or_else(|| Error::Foreign { path: path.to_owned(), why: why() })
}

/// Marks the directory with the current format: entirely, or not at all.
fn write_format(path: &Path) -> io::Result<()> {
    let new = path.join(NEW_FORMAT);
    let mut file = File::create(&new)?;
    file.write_all(format!("{FORMAT_PREFIX}{CURRENT}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(new, path.join(FORMAT))?;
    sync(path)
}

fn delete_everything(path: &Path) -> io::Result<()> {
    File::create(path.join(WIPE))?;
    sync(path)?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        if [LOCK, WIPE, LOST_AND_FOUND].iter().any(|kept| name == *kept) {
            continue;
        }
        if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
    }
    sync(path)?;
    fs::remove_file(path.join(WIPE))
}

/// Makes what happened to the directory's entries durable.
fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

//! What a write makes of a row: the decisions all engines share, without any I/O.

use bytes::Bytes;

use crate::{Error, Expect, MAX_VALUE_BYTES, Record, Result, Stat};

/// A session of an engine; the rows of session 0 belong to nobody and stay.
pub(crate) type SessionId = u64;

/// The owner of rows that are not ephemeral.
pub(crate) const NO_SESSION: SessionId = 0;

/// A row as engines keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) value: Bytes,
    pub(crate) version: u64,
    pub(crate) created: u64,
    pub(crate) modified: u64,
    pub(crate) session: SessionId,
}

impl Row {
    /// The row as a handle with the session `reader` sees it.
    pub(crate) fn record(&self, reader: SessionId) -> Record {
        Record { value: self.value.clone(), stat: self.stat(reader) }
    }

    pub(crate) fn stat(&self, reader: SessionId) -> Stat {
        Stat {
            version: self.version,
            created: self.created,
            modified: self.modified,
            ephemeral: self.session != NO_SESSION,
            created_by_self: self.session != NO_SESSION && self.session == reader,
        }
    }
}

/// The row that a put at `revision` makes of `current`.
pub(crate) fn put(
    path: &str,
    current: Option<&Row>,
    value: Bytes,
    expect: Expect,
    owner: SessionId,
    revision: u64,
) -> Result<Row> {
    if value.len() > MAX_VALUE_BYTES {
        return Err(Error::ValueTooLarge { path: path.to_owned(), size: value.len() });
    }
    check(path, current, expect)?;
    Ok(match current {
        Some(row) => {
            Row { value, version: row.version + 1, created: row.created, modified: revision, session: row.session }
        }
        None => Row { value, version: 0, created: revision, modified: revision, session: owner },
    })
}

/// Whether a delete may take `current` away.
pub(crate) fn delete(path: &str, current: Option<&Row>, expect: Expect, has_rows_below: bool) -> Result<()> {
    if current.is_none() {
        return Err(Error::NotFound { path: path.to_owned() });
    }
    check(path, current, expect)?;
    if has_rows_below {
        return Err(Error::NotEmpty { path: path.to_owned() });
    }
    Ok(())
}

fn check(path: &str, current: Option<&Row>, expect: Expect) -> Result<()> {
    match (expect, current) {
        (Expect::Any, _) | (Expect::Absent, None) => Ok(()),
        (Expect::Version(version), Some(row)) if row.version == version => Ok(()),
        (Expect::Absent, Some(_)) => Err(Error::AlreadyExists { path: path.to_owned() }),
        (Expect::Version(_), row) => {
            Err(Error::BadVersion { path: path.to_owned(), expected: expect, found: row.map(|row| row.version) })
        }
    }
}

/// The path a sequential put makes.
pub(crate) fn numbered(path: &str, revision: u64) -> String {
    format!("{path}{revision:020}")
}

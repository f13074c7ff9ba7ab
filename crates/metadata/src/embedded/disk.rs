//! The database file: what is durable.

use std::sync::Arc;

use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition};

use super::device::Device;
use super::open::OpenError;
use super::overlay::Change;
use super::{FORMAT_VERSION, codec};
use crate::row::{NO_SESSION, Row};
use crate::{Error, Result};

const ROWS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("rows");
/// Keys of the rows that may be ephemeral: a hint that saves a full scan when the sessions of an earlier process are
/// cleared away. The row itself decides.
const EPHEMERAL: TableDefinition<'_, &str, ()> = TableDefinition::new("ephemeral");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const FORMAT: &str = "format";
const REVISION: &str = "revision";

/// Added to the revision by each open, so that none given to a write that a crash took away is given again.
const REVISION_GAP: u64 = 1 << 20;

/// Changes that become durable together.
pub(super) struct Batch {
    pub(super) changes: Vec<(Arc<str>, Change)>,
    /// The store's revision once they are.
    pub(super) revision: u64,
}

/// An open database; only the writer has it.
pub(super) struct Disk {
    database: Database,
}

impl Disk {
    /// Opens the database on `device`, repairing it after a crash, or makes an empty one.
    pub(super) fn open(device: Device, cache_bytes: usize) -> Result<Self, OpenError> {
        let mut builder = Database::builder();
        builder.set_cache_size(cache_bytes);
        Ok(Self { database: builder.create_with_backend(device)? })
    }

    /// Checks the format, drops the rows of sessions that ended with their process, and returns the revision from
    /// which this process counts on.
    pub(super) fn start(&self) -> Result<u64, OpenError> {
        let transaction = self.database.begin_write()?;
        let revision = {
            let mut meta = transaction.open_table(META)?;
            let found = meta.get(FORMAT)?.map(|version| version.value());
            if let Some(found) = found.filter(|&found| found != FORMAT_VERSION) {
                return Err(OpenError::UnsupportedFormat { found, supported: FORMAT_VERSION });
            }
            let revision = meta.get(REVISION)?.map_or(0, |revision| revision.value() + REVISION_GAP);
            meta.insert(FORMAT, FORMAT_VERSION)?;
            meta.insert(REVISION, revision)?;

            let mut rows = transaction.open_table(ROWS)?;
            let mut ephemeral = transaction.open_table(EPHEMERAL)?;
            while let Some((key, _)) = ephemeral.pop_first()? {
                let row = rows.get(key.value())?.map(|row| codec::decode(key.value(), row.value())).transpose()?;
                if row.is_some_and(|row| row.session != NO_SESSION) {
                    rows.remove(key.value())?;
                }
            }
            revision
        };
        transaction.commit()?;
        Ok(revision)
    }

    /// Makes a batch durable, all of it or nothing. After an error the database must be opened again to find out
    /// which. A thorough commit takes twice as long, and if it is the last before a crash, the next open need not walk
    /// the whole database.
    pub(super) fn commit(&self, batch: &Batch, thorough: bool) -> Result<(), redb::Error> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_quick_repair(thorough);
        {
            let mut rows = transaction.open_table(ROWS)?;
            for (key, change) in &batch.changes {
                match &change.row {
                    Some(row) => {
                        rows.insert(&**key, &*codec::encode(row))?;
                        if row.session != NO_SESSION {
                            transaction.open_table(EPHEMERAL)?.insert(&**key, ())?;
                        }
                    }
                    None => {
                        let was_ephemeral = match rows.remove(&**key)? {
                            Some(row) => codec::decode(key, row.value()).is_ok_and(|row| row.session != NO_SESSION),
                            None => false,
                        };
                        if was_ephemeral {
                            transaction.open_table(EPHEMERAL)?.remove(&**key)?;
                        }
                    }
                }
            }
            transaction.open_table(META)?.insert(REVISION, batch.revision)?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// The revision of the last durable batch.
    pub(super) fn revision(&self) -> Result<u64, redb::Error> {
        let meta = self.database.begin_read()?.open_table(META)?;
        Ok(meta.get(REVISION)?.map_or(0, |revision| revision.value()))
    }

    /// The durable rows as of now.
    pub(super) fn snapshot(&self) -> Result<Snapshot, redb::Error> {
        Ok(Snapshot { rows: self.database.begin_read()?.open_table(ROWS)? })
    }
}

/// The durable rows at one moment.
pub(super) struct Snapshot {
    rows: ReadOnlyTable<&'static str, &'static [u8]>,
}

impl Snapshot {
    pub(super) fn get(&self, key: &str) -> Result<Option<Row>> {
        let row = self.rows.get(key).map_err(Error::unavailable)?;
        row.map(|row| codec::decode(key, row.value())).transpose()
    }

    /// The rows with keys in `from..end`, each read with `read`.
    pub(super) fn range<T>(
        &self,
        from: &str,
        end: &str,
        read: fn(&str, &[u8]) -> Result<T>,
    ) -> Result<impl Iterator<Item = Result<(String, T)>> + use<T>> {
        let rows = self.rows.range(from..end).map_err(Error::unavailable)?;
        Ok(rows.map(move |row| {
            let (key, value) = row.map_err(Error::unavailable)?;
            Ok((key.value().to_owned(), read(key.value(), value.value())?))
        }))
    }
}

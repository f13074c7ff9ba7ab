//! Finding out what came of a write whose outcome is unknown.

use bytes::Bytes;

use crate::{Error, Expect, MetadataStore, PutOptions, Record, Result, Written};

/// Reads back before an outcome is left unknown.
const ATTEMPTS: usize = 5;

/// What a row that was read back says of a write.
#[derive(Debug, PartialEq, Eq)]
enum Finding {
    Happened,
    /// Nothing has changed, and the same write can be made again.
    Pending,
    Lost,
    Unclear,
}

/// A put that is read back if its outcome is unknown, and made again if it did not happen.
///
/// The value must tell the writer: one that wrote the same bytes with the same expectation counts as this one. A row that
/// was made with [`Expect::Absent`] and deleted by somebody else before it was read back is made once more. Fails as
/// [`MetadataStore::put`] does; [`Error::UnknownOutcome`] remains where reading cannot tell, which is always so with
/// [`Expect::Any`] and with sequential rows, and if others have built on whatever happened.
pub async fn put_settled(
    store: &dyn MetadataStore,
    path: &str,
    value: Bytes,
    expect: Expect,
    options: PutOptions,
) -> Result<Written> {
    let mut unknown = match store.put(path, value.clone(), expect, options).await {
        Err(error @ Error::UnknownOutcome { .. }) if expect != Expect::Any && !options.sequential => error,
        outcome => return outcome,
    };
    for _ in 0..ATTEMPTS {
        let Ok(found) = store.get(path).await else { return Err(unknown) };
        match (judge(found.as_ref(), &value, expect, options), found) {
            (Finding::Happened, Some(record)) => return Ok(Written { path: path.to_owned(), stat: record.stat }),
            (Finding::Lost, found) => return Err(lost(path, expect, found.map(|record| record.stat.version))),
            (Finding::Pending, _) => match store.put(path, value.clone(), expect, options).await {
                // The first attempt may have come late, and then it is what this one lost to.
                Err(error) if error.is_conflict() => {}
                Err(error @ Error::UnknownOutcome { .. }) => unknown = error,
                // Whether the first attempt happened is as unknown as before.
                Err(_) => return Err(unknown),
                Ok(written) => return Ok(written),
            },
            (Finding::Unclear | Finding::Happened, _) => return Err(unknown),
        }
    }
    Err(unknown)
}

/// A delete that is read back if its outcome is unknown, and made again if the row is still as expected.
///
/// A row that is gone counts as deleted by this call.
pub async fn delete_settled(store: &dyn MetadataStore, path: &str, expect: Expect) -> Result<()> {
    let mut unknown = match store.delete(path, expect).await {
        Err(error @ Error::UnknownOutcome { .. }) => error,
        outcome => return outcome,
    };
    for _ in 0..ATTEMPTS {
        match store.delete(path, expect).await {
            Err(Error::NotFound { .. }) => return Ok(()),
            Err(error @ Error::UnknownOutcome { .. }) => unknown = error,
            outcome => return outcome,
        }
    }
    Err(unknown)
}

fn judge(found: Option<&Record>, value: &Bytes, expect: Expect, options: PutOptions) -> Finding {
    let is_ours = |record: &Record| {
        record.value == *value && (!options.ephemeral || expect != Expect::Absent || record.stat.created_by_self)
    };
    let first = match expect {
        Expect::Any => return Finding::Unclear,
        Expect::Absent => 0,
        Expect::Version(version) => version + 1,
    };
    match (found, expect) {
        (None, Expect::Absent) => Finding::Pending,
        (None, _) => Finding::Unclear,
        (Some(record), Expect::Version(version)) if record.stat.version == version => Finding::Pending,
        (Some(record), _) if record.stat.version == first => {
            if is_ours(record) {
                Finding::Happened
            } else {
                Finding::Lost
            }
        }
        (Some(_), _) => Finding::Unclear,
    }
}

fn lost(path: &str, expect: Expect, found: Option<u64>) -> Error {
    match expect {
        Expect::Version(_) => Error::BadVersion { path: path.to_owned(), expected: expect, found },
        Expect::Any | Expect::Absent => Error::AlreadyExists { path: path.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stat;

    #[test]
    fn a_row_read_back_tells_what_it_can() {
        let ours = Bytes::from_static(b"ours");
        let row = |value: &'static str, version, created_by_self| Record {
            value: Bytes::from_static(value.as_bytes()),
            stat: Stat { version, created: 1, modified: 1, ephemeral: created_by_self, created_by_self },
        };
        let plain = PutOptions::PERSISTENT;
        for (found, expect, options, finding) in [
            (None, Expect::Absent, plain, Finding::Pending),
            (Some(row("ours", 0, false)), Expect::Absent, plain, Finding::Happened),
            (Some(row("theirs", 0, false)), Expect::Absent, plain, Finding::Lost),
            (Some(row("theirs", 1, false)), Expect::Absent, plain, Finding::Unclear),
            (Some(row("ours", 0, false)), Expect::Absent, PutOptions::EPHEMERAL, Finding::Lost),
            (Some(row("ours", 0, true)), Expect::Absent, PutOptions::EPHEMERAL, Finding::Happened),
            (Some(row("before", 4, false)), Expect::Version(4), plain, Finding::Pending),
            (Some(row("ours", 5, false)), Expect::Version(4), plain, Finding::Happened),
            (Some(row("theirs", 5, false)), Expect::Version(4), plain, Finding::Lost),
            (Some(row("ours", 6, false)), Expect::Version(4), plain, Finding::Unclear),
            (None, Expect::Version(4), plain, Finding::Unclear),
        ] {
            assert_eq!(judge(found.as_ref(), &ours, expect, options), finding, "{found:?} {expect:?}");
        }
    }
}

//! Rows as bytes: version, created, modified and session as little-endian u64, then the value.

use bytes::Bytes;

use crate::row::Row;
use crate::{Error, Result, key};

const HEADER: usize = 32;

pub(super) fn encode(row: &Row) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + row.value.len());
    for number in [row.version, row.created, row.modified, row.session] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&row.value);
    bytes
}

pub(super) fn decode(row_key: &str, bytes: &[u8]) -> Result<Row> {
    let (header, value) = bytes
        .split_at_checked(HEADER)
        .ok_or_else(|| Error::Corrupt { path: key::decode(row_key), why: "its header is incomplete" })?;
    let mut numbers = header.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk));
    let mut number = || numbers.next().unwrap_or_default();
    Ok(Row {
        version: number(),
        created: number(),
        modified: number(),
        session: number(),
        value: Bytes::copy_from_slice(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_survives_and_a_torn_one_is_refused() {
        let row = Row { value: Bytes::from_static(b"value"), version: 1, created: 2, modified: 3, session: 4 };
        let bytes = encode(&row);
        assert_eq!(decode("\0a", &bytes), Ok(row));
        assert_eq!(
            decode("\0a", &bytes[..31]),
            Err(Error::Corrupt { path: "/a".to_owned(), why: "its header is incomplete" })
        );
    }
}

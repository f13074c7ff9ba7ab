//! How a cursor's recorded changes are put together.

use bytes::Bytes;
use plerion_subscription::Cursor;

/// Applies the changes `deltas` of a cursor to its `snapshot`, for [`plerion_managed_log::Context::merge`].
///
/// # Errors
/// What cannot be understood.
pub fn merge(snapshot: &[u8], deltas: &[Bytes]) -> Result<Bytes, String> {
    let mut cursor = Cursor::restore(snapshot).map_err(|error| error.to_string())?;
    for delta in deltas {
        cursor.apply(delta).map_err(|error| error.to_string())?;
    }
    Ok(cursor.snapshot().into())
}

//! Reading the disk through the overlay.

use std::iter;

use crate::Result;

/// The rows of `disk` with `changes` applied, both sorted by key; a change to `None` takes the row away.
pub(super) fn merged<T>(
    disk: impl Iterator<Item = Result<(String, T)>>,
    changes: impl IntoIterator<Item = (String, Option<T>)>,
) -> impl Iterator<Item = Result<(String, T)>> {
    let mut disk = disk.peekable();
    let mut changes = changes.into_iter().peekable();
    iter::from_fn(move || {
        loop {
            let disk_first = match (disk.peek(), changes.peek()) {
                (None, None) => return None,
                (Some(_), None) | (Some(Err(_)), _) => true,
                (None, Some(_)) => false,
                (Some(Ok((on_disk, _))), Some((changed, _))) => {
                    if on_disk == changed {
                        disk.next();
                        continue;
                    }
                    on_disk < changed
                }
            };
            if disk_first {
                return disk.next();
            }
            if let Some((key, Some(row))) = changes.next() {
                return Some(Ok((key, row)));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn merging_is_the_same_as_applying(
            disk in proptest::collection::btree_map("[a-e]", 0_u8..9, 0..5),
            changes in proptest::collection::btree_map("[a-e]", proptest::option::of(0_u8..9), 0..5),
        ) {
            let mut expected: BTreeMap<String, u8> = disk.clone();
            for (key, change) in &changes {
                match change {
                    Some(row) => drop(expected.insert(key.clone(), *row)),
                    None => drop(expected.remove(key)),
                }
            }
            let rows: Result<Vec<_>> = merged(disk.into_iter().map(Ok), changes).collect();
            prop_assert_eq!(rows.unwrap(), expected.into_iter().collect::<Vec<_>>());
        }
    }
}

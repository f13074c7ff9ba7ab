//! Keys that sort as a tree: a row, then what is below it, then its next sibling.
//!
//! Bytes of a path do not sort like that, because characters such as `-` sort before the slash: `/a`, `/a-b`,
//! `/a/c`. A key is the path with NUL, which no path contains, in place of each slash.

use crate::Result;

const SEPARATOR: char = '\0';
/// The successor of the separator: where the rows below a key end.
const AFTER_SEPARATOR: char = '\u{1}';

/// The key of a valid path; the root's is empty.
pub(crate) fn encode(path: &str) -> String {
    if path == "/" { String::new() } else { path.replace('/', "\0") }
}

/// The path of a key.
pub(crate) fn decode(key: &str) -> String {
    if key.is_empty() { "/".to_owned() } else { key.replace(SEPARATOR, "/") }
}

/// First possible key below `key`.
pub(crate) fn below_start(key: &str) -> String {
    format!("{key}{SEPARATOR}")
}

/// First key after all that is below `key`.
pub(crate) fn below_end(key: &str) -> String {
    format!("{key}{AFTER_SEPARATOR}")
}

/// Where a scan below `key` begins that has seen everything up to the path `after`.
pub(crate) fn scan_start(key: &str, after: Option<&str>) -> String {
    let start = below_start(key);
    match after {
        // NUL is the smallest character, so this is the immediate successor.
        Some(after) => start.max(format!("{}\0", encode(after))),
        None => start,
    }
}

/// Collects up to `limit` names one level below `key`, after the name `after`, from `open`, which iterates the
/// existing keys below `key` from a given one on.
pub(crate) fn children_page<I>(
    key: &str,
    after: Option<&str>,
    limit: usize,
    mut open: impl FnMut(String) -> Result<I>,
) -> Result<Vec<String>>
where
    I: Iterator<Item = Result<String>>,
{
    let start = below_start(key);
    let mut names: Vec<String> = Vec::new();
    let mut keys = open(after.map_or_else(|| start.clone(), |name| below_end(&format!("{start}{name}"))))?;
    while names.len() < limit {
        let Some(found) = keys.next().transpose()? else { break };
        let below = found.strip_prefix(&start).unwrap_or(&found);
        match below.split_once(SEPARATOR) {
            None => names.push(below.to_owned()),
            Some((name, _)) => {
                // Skips the rest of this child's rows, however many they are.
                keys = open(below_end(&format!("{start}{name}")))?;
                if names.last().is_none_or(|last| last != name) {
                    names.push(name.to_owned());
                }
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn pages(paths: &BTreeSet<String>, of: &str, limit: usize) -> Vec<String> {
        let keys: BTreeMap<String, ()> = paths.iter().map(|path| (encode(path), ())).collect();
        let end = below_end(&encode(of));
        let mut names: Vec<String> = Vec::new();
        loop {
            let after = names.last().cloned();
            let page = children_page(&encode(of), after.as_deref(), limit, |from| {
                Ok(keys.range(from.clone()..end.clone().max(from)).map(|(key, ())| Ok(key.clone())))
            })
            .unwrap();
            if page.is_empty() {
                return names;
            }
            names.extend(page);
        }
    }

    #[test]
    fn keys_sort_as_a_tree() {
        let mut paths = vec!["/a-b", "/a/c", "/a", "/a/c/d", "/a!"];
        paths.sort_by_key(|path| encode(path));
        assert_eq!(paths, ["/a", "/a/c", "/a/c/d", "/a!", "/a-b"]);
        assert_eq!(decode(&encode("/a/b")), "/a/b");
        assert_eq!(decode(&encode("/")), "/");
    }

    proptest! {
        #[test]
        fn children_are_the_distinct_next_segments(
            paths in proptest::collection::btree_set("(/[ab\u{1}!-]{1,2}){1,3}", 0..40), limit in 1_usize..4,
        ) {
            for of in ["/", "/a", "/a/b", "/-"] {
                let prefix = if of == "/" { "/".to_owned() } else { format!("{of}/") };
                let expected: BTreeSet<&str> = paths
                    .iter()
                    .filter_map(|path| path.strip_prefix(&prefix))
                    .filter_map(|rest| rest.split('/').next())
                    .collect();
                prop_assert_eq!(pages(&paths, of, limit), expected.into_iter().collect::<Vec<_>>());
            }
        }
    }
}

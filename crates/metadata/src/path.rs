//! Rules and parts of metadata paths.
//!
//! A path is `/` or one or more segments, each with a slash before it: `/admin/policies/public`. Segments are not
//! empty, are neither `.` nor `..`, and hold no NUL. Anything else, such as a topic's name, is percent-encoded by
//! whoever builds the path.

use crate::{Error, Result};

/// Checks the rules; `/` itself is a valid place to list and watch, but holds no row.
pub fn validate(path: &str) -> Result<()> {
    match broken_rule(path) {
        None => Ok(()),
        Some(why) => Err(Error::InvalidPath { path: path.to_owned(), why }),
    }
}

/// Checks the rules for a path that names a row.
pub(crate) fn validate_row(path: &str) -> Result<()> {
    if path == "/" {
        return Err(Error::InvalidPath { path: path.to_owned(), why: "the root holds no value" });
    }
    validate(path)
}

fn broken_rule(path: &str) -> Option<&'static str> {
    if path == "/" {
        return None;
    }
    let Some(segments) = path.strip_prefix('/') else {
        return Some("it must begin with a slash");
    };
    segments.split('/').find_map(|segment| match segment {
        "" => Some("a segment is empty"),
        "." | ".." => Some("a segment is . or .."),
        segment if segment.contains('\0') => Some("a segment contains NUL"),
        _ => None,
    })
}

/// The path one level up: `/` for `/a`, `None` for `/`.
pub fn parent(path: &str) -> Option<&str> {
    match path.rfind('/')? {
        0 if path.len() == 1 => None,
        0 => Some("/"),
        slash => Some(&path[..slash]),
    }
}

/// The last segment: `c` for `/a/b/c`, the empty string for `/`.
pub fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether `path` is `prefix` or lies below it, by segments: `/ab` is not below `/a`.
pub fn is_at_or_below(path: &str, prefix: &str) -> bool {
    prefix == "/" || path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `path` with one more segment.
pub fn child(path: &str, name: &str) -> String {
    if path == "/" { format!("/{name}") } else { format!("{path}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_what_is_broken() {
        for good in ["/", "/a", "/a/b", "/a/b c/%2F/é", "/a/..b"] {
            assert_eq!(validate(good), Ok(()), "{good}");
        }
        for (bad, rule) in [
            ("", "it must begin with a slash"),
            ("a/b", "it must begin with a slash"),
            ("/a/", "a segment is empty"),
            ("//a", "a segment is empty"),
            ("/a/../b", "a segment is . or .."),
            ("/a\0", "a segment contains NUL"),
        ] {
            assert_eq!(validate(bad), Err(Error::InvalidPath { path: bad.to_owned(), why: rule }), "{bad}");
        }
        assert!(validate_row("/").is_err());
    }

    #[test]
    fn parts_of_a_path() {
        assert_eq!(parent("/a/b"), Some("/a"));
        assert_eq!(parent("/a"), Some("/"));
        assert_eq!(parent("/"), None);
        assert_eq!(name("/a/b"), "b");
        assert_eq!(child("/", "a"), "/a");
        assert_eq!(child("/a", "b"), "/a/b");
        assert!(is_at_or_below("/a/b", "/a") && is_at_or_below("/a", "/a") && is_at_or_below("/a", "/"));
        assert!(!is_at_or_below("/ab", "/a") && !is_at_or_below("/", "/a"));
    }
}

//! Keys as rows, and pages of them.

use super::lease::Link;
use super::message::{KeyValue, RangeRequest, RangeResponse};
use super::servers::Failure;
use crate::row::SessionId;
use crate::{Record, Result, Stat, key};

const RANGE: &str = "/etcdserverpb.KV/Range";
/// Rows that are asked for at once: 1 MB each at most.
const PAGE: usize = 200;

impl Link {
    /// The key of a row.
    pub(super) fn key_of(&self, path: &str) -> String {
        format!("{}{}", self.root, key::encode(path))
    }

    /// The path of a key; nothing for keys that are not of this store.
    pub(super) fn path_of(&self, key: &[u8]) -> Option<String> {
        Some(key::decode(std::str::from_utf8(key).ok()?.strip_prefix(&self.root)?))
    }

    pub(super) async fn row(&self, path: &str) -> Result<Option<Record>> {
        let range = RangeRequest { key: self.key_of(path).into_bytes(), ..RangeRequest::default() };
        let found = self.range(range).await?;
        let reader = self.session.id();
        Ok(found.kvs.into_iter().next().map(|kv| Record { stat: stat(&kv, reader), value: kv.value }))
    }

    /// The store's revision as of now.
    pub(super) async fn revision(&self) -> Result<i64> {
        let key = self.key_of("/").into_bytes();
        let range = RangeRequest { key: [key, vec![0]].concat(), count_only: true, ..RangeRequest::default() };
        Ok(self.range(range).await?.header.unwrap_or_default().revision)
    }

    pub(super) async fn scan(&self, path: &str, after: Option<&str>, limit: usize) -> Result<Vec<(String, Record)>> {
        let parent = self.key_of(path);
        let below = key::below_start(&parent);
        let mut from =
            after.map_or_else(|| below.clone(), |after| below.clone().max(format!("{}\0", self.key_of(after))));
        let end = key::below_end(&parent);
        let reader = self.session.id();
        let mut rows = Vec::new();
        while rows.len() < limit && from < end {
            let page = PAGE.min(limit - rows.len());
            let range = RangeRequest {
                key: from.clone().into_bytes(),
                range_end: end.clone().into_bytes(),
                limit: i64::try_from(page).unwrap_or(i64::MAX),
                ..RangeRequest::default()
            };
            let found = self.range(range).await?;
            for kv in found.kvs {
                let Ok(last) = std::str::from_utf8(&kv.key) else { continue };
                // NUL is the smallest character, so this is the immediate successor.
                from = format!("{last}\0");
                if let Some(path) = self.path_of(&kv.key) {
                    rows.push((path, Record { stat: stat(&kv, reader), value: kv.value }));
                }
            }
            if !found.more {
                break;
            }
        }
        Ok(rows)
    }

    pub(super) async fn children_page(&self, path: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let parent = self.key_of(path);
        let (start, end) = (key::below_start(&parent), key::below_end(&parent));
        let mut from = after.map_or_else(|| start.clone(), |name| key::below_end(&format!("{start}{name}")));
        let mut names: Vec<String> = Vec::new();
        while names.len() < limit && from < end {
            let range = RangeRequest {
                key: from.clone().into_bytes(),
                range_end: end.clone().into_bytes(),
                limit: i64::try_from(PAGE.min(limit - names.len())).unwrap_or(i64::MAX),
                keys_only: true,
                ..RangeRequest::default()
            };
            let found = self.range(range).await?;
            for kv in found.kvs {
                let Ok(row) = std::str::from_utf8(&kv.key) else { continue };
                let Some(below) = row.strip_prefix(&start) else { continue };
                // Keys below a name that is known are skipped, on the next page too, however many they are.
                let name = below.split('\0').next().unwrap_or(below);
                if names.last().is_none_or(|last| last != name) {
                    names.push(name.to_owned());
                }
                from = key::below_end(&format!("{start}{name}"));
            }
            if !found.more {
                break;
            }
        }
        Ok(names)
    }

    async fn range(&self, range: RangeRequest) -> Result<RangeResponse> {
        self.servers.read(RANGE, range).await.map_err(Failure::into_read_error)
    }
}

pub(super) fn stat(kv: &KeyValue, reader: SessionId) -> Stat {
    Stat {
        version: version(kv),
        created: unsigned(kv.create_revision),
        modified: unsigned(kv.mod_revision),
        ephemeral: kv.lease != 0,
        created_by_self: kv.lease != 0 && kv.lease.cast_unsigned() == reader,
    }
}

/// The row's version: etcd begins to count at 1.
pub(super) fn version(kv: &KeyValue) -> u64 {
    unsigned(kv.version - 1)
}

/// A number that the servers keep with a sign it does not need.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

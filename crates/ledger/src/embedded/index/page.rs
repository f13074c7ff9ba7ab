//! Pages: the unit in which index files are read, checked and cached.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use crc32c::crc32c;
use parking_lot::Mutex;

/// The length of a page.
pub(crate) const PAGE: usize = 4096;

/// How much of a page is content; the rest is its checksum.
pub(crate) const CONTENT: usize = PAGE - 8;

/// Adds `items` to `out`, as many whole ones to a page as fit.
pub(crate) fn encode<const N: usize>(out: &mut Vec<u8>, items: impl Iterator<Item = [u8; N]>) {
    let mut start = out.len();
    for item in items {
        if out.len() - start + N > CONTENT {
            finish(out, start);
            start = out.len();
        }
        out.extend_from_slice(&item);
    }
    if out.len() > start {
        finish(out, start);
    }
}

fn finish(out: &mut Vec<u8>, start: usize) {
    out.resize(start + CONTENT, 0);
    let crc = crc32c(&out[start..]);
    out.extend_from_slice(&u64::from(crc).to_le_bytes());
}

/// Whether the checksum of a page is right.
pub(crate) fn is_sound(page: &[u8]) -> bool {
    page.len() == PAGE && page[CONTENT..] == u64::from(crc32c(&page[..CONTENT])).to_le_bytes()
}

/// Pages of index files in memory, bounded by number.
///
/// Two generations stand in for a list by age: what is used is in the young one; when that is half the bound, the old
/// one is dropped and the young one takes its place.
pub(crate) struct PageCache {
    half: usize,
    next_file: AtomicU64,
    generations: Mutex<Generations>,
}

/// The file, as numbered by [`PageCache::next_file`], and the number of the page in it.
pub(crate) type Key = (u64, u64);

#[derive(Default)]
struct Generations {
    young: HashMap<Key, Bytes>,
    old: HashMap<Key, Bytes>,
}

impl PageCache {
    pub(crate) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self { half: (bytes / PAGE / 2).max(1), next_file: AtomicU64::new(0), generations: Mutex::default() })
    }

    /// A number for a file whose pages are to be kept here.
    pub(crate) fn next_file(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// The page of `key`, from `load` if it is not in memory.
    pub(crate) fn get(&self, key: Key, load: impl FnOnce() -> io::Result<Bytes>) -> io::Result<Bytes> {
        let found = {
            let mut generations = self.generations.lock();
            match generations.young.get(&key) {
                Some(page) => return Ok(page.clone()),
                None => generations.old.remove(&key),
            }
        };
        let page = found.map_or_else(load, Ok)?;
        let mut generations = self.generations.lock();
        if generations.young.len() >= self.half {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(key, page.clone());
        Ok(page)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let generations = self.generations.lock();
        generations.young.len() + generations.old.len()
    }
}

//! Memory that may be written past the page cache.

use std::ops::Range;

use crate::disk::ALIGNMENT;

/// A buffer whose contents begin at an address that is a multiple of [`ALIGNMENT`], unless it was made small.
///
/// It never grows: what was handed out of its addresses stays true.
#[derive(Debug, Default)]
pub(crate) struct Aligned {
    bytes: Vec<u8>,
    start: usize,
}

impl Aligned {
    /// An empty buffer with room for `bytes`, filled up to whole pages.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let mut aligned = Self { bytes: Vec::with_capacity(bytes.next_multiple_of(ALIGNMENT) + ALIGNMENT), start: 0 };
        aligned.clear();
        aligned
    }

    /// An empty buffer with room for `bytes`, wherever it lies: for what is too little to waste a page on.
    pub(crate) fn small(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), start: 0 }
    }

    /// Takes everything out, and makes room for `bytes`.
    pub(crate) fn reset(&mut self, bytes: usize) {
        if self.room_if_empty() < bytes.next_multiple_of(ALIGNMENT) {
            *self = Self::with_capacity(bytes);
        } else {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.start = self.bytes.as_ptr().align_offset(ALIGNMENT);
        self.bytes.resize(self.start, 0);
    }

    fn room_if_empty(&self) -> usize {
        self.bytes.capacity().saturating_sub(self.start)
    }

    /// How many bytes it holds.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// How many bytes can be added.
    pub(crate) fn room(&self) -> usize {
        self.bytes.capacity() - self.bytes.len()
    }

    /// How many bytes of memory it takes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.for_more(bytes.len()).extend_from_slice(bytes);
    }

    /// Gives memory back that a small buffer turned out not to need. Moves the contents.
    pub(crate) fn shrink(&mut self) {
        debug_assert_eq!(self.start, 0, "only small buffers may move");
        self.bytes.shrink_to_fit();
    }

    /// Where to add up to `bytes` bytes.
    pub(crate) fn for_more(&mut self, bytes: usize) -> &mut Vec<u8> {
        assert!(bytes <= self.room(), "an aligned buffer must not move");
        &mut self.bytes
    }

    /// Adds zeros, up to `length` bytes in all.
    pub(crate) fn fill_to(&mut self, length: usize) {
        let (start, more) = (self.start, length.saturating_sub(self.len()));
        self.for_more(more).resize(start + length, 0);
    }

    /// Adds zeros up to whole pages.
    pub(crate) fn fill_page(&mut self) {
        self.fill_to(self.len().next_multiple_of(ALIGNMENT));
    }

    /// What it holds.
    pub(crate) fn contents(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Where in its memory the contents are.
    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.bytes.len()
    }
}

impl AsRef<[u8]> for Aligned {
    /// All of its memory; see [`range`](Self::range).
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_begin_and_end_with_a_page() {
        for bytes in [0, 1, ALIGNMENT - 1, ALIGNMENT, 70_000] {
            let mut aligned = Aligned::with_capacity(bytes);
            aligned.push(&vec![7; bytes]);
            let address = aligned.contents().as_ptr();
            aligned.fill_page();
            assert_eq!(aligned.contents().as_ptr(), address);
            assert_eq!(address.align_offset(ALIGNMENT), 0);
            assert_eq!(aligned.len() % ALIGNMENT, 0);
            assert!(aligned.contents()[bytes..].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn a_reset_makes_room() {
        let mut aligned = Aligned::default();
        for bytes in [10, 100_000, 5] {
            aligned.reset(bytes);
            assert!(aligned.len() == 0 && aligned.room() >= bytes);
            assert_eq!(aligned.contents().as_ptr().align_offset(ALIGNMENT), 0);
        }
    }
}

//! Laying a batch out for a write past the page cache.

use std::io::IoSlice;

use super::batch::Part;
use crate::disk::ALIGNMENT;
use crate::embedded::aligned::Aligned;
use crate::embedded::batch::HEADER;

/// Memory for what does not begin and end with a page by itself: the header and short parts.
#[derive(Default)]
pub(super) struct Staging {
    buffer: Aligned,
}

impl Staging {
    /// What is written: from the page that ends with `header` on, whole pages only. Parts that are pages are written
    /// from where they are, the others are copied.
    pub(super) fn lay_out<'a>(&'a mut self, header: &[u8; HEADER], parts: &'a [Part]) -> Vec<IoSlice<'a>> {
        let copied: usize = parts.iter().filter(|part| !part.is_pages).map(|part| part.bytes.len()).sum();
        let stretches = 1 + parts.iter().filter(|part| part.is_pages).count();
        self.buffer.reset(ALIGNMENT + copied + stretches * ALIGNMENT);
        self.buffer.fill_to(ALIGNMENT - HEADER);
        self.buffer.push(header);
        let mut ends = Vec::with_capacity(stretches);
        for part in parts {
            if part.is_pages {
                self.buffer.fill_page();
                ends.push(self.buffer.len());
            } else {
                self.buffer.push(&part.bytes);
            }
        }
        self.buffer.fill_page();

        let mut rest = self.buffer.contents();
        let mut taken = 0;
        let mut out = Vec::with_capacity(2 * stretches);
        for (part, end) in parts.iter().filter(|part| part.is_pages).zip(ends) {
            let (stretch, later) = rest.split_at(end - taken);
            (rest, taken) = (later, end);
            out.extend((!stretch.is_empty()).then(|| IoSlice::new(stretch)));
            out.push(IoSlice::new(&part.bytes));
        }
        out.extend((!rest.is_empty()).then(|| IoSlice::new(rest)));
        out
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn part(byte: u8, length: usize, is_pages: bool) -> Part {
        Part { bytes: Bytes::from(vec![byte; length]), is_pages }
    }

    #[test]
    fn stretches_between_pages_are_filled_up() {
        let parts = [part(1, 10, false), part(2, ALIGNMENT, true), part(3, ALIGNMENT, true), part(4, 5000, false)];
        let mut staging = Staging::default();
        let written: Vec<u8> = staging.lay_out(&[9; HEADER], &parts).iter().flat_map(|part| part.to_vec()).collect();
        let mut expected = vec![0; ALIGNMENT - HEADER];
        expected.extend([9; HEADER]);
        expected.extend([1; 10]);
        expected.resize(2 * ALIGNMENT, 0);
        expected.extend([2; ALIGNMENT]);
        expected.extend([3; ALIGNMENT]);
        expected.extend([4; 5000]);
        expected.resize(6 * ALIGNMENT, 0);
        assert!(written == expected);
    }
}

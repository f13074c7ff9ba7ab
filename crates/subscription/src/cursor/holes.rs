//! Sets of entries, kept as compressed bitmaps.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use roaring::RoaringBitmap;

use crate::Position;

/// Which 2³² entries of a ledger a bitmap speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Page {
    pub(super) ledger: i64,
    pub(super) high: u32,
}

/// A set of positions with entry numbers of at least 0. No page is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Holes {
    pages: BTreeMap<Page, RoaringBitmap>,
}

/// The page and the bit of a position; `None` for places that no entry can have.
fn locate(position: Position) -> Option<(Page, u32)> {
    let entry = u64::try_from(position.entry).ok()?;
    let high = (entry >> 32) as u32;
    Some((Page { ledger: position.ledger, high }, entry as u32))
}

fn position(page: Page, low: u32) -> Position {
    Position::new(page.ledger, ((u64::from(page.high) << 32) | u64::from(low)) as i64)
}

impl Holes {
    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    pub(super) fn len(&self) -> u64 {
        self.pages.values().map(RoaringBitmap::len).sum()
    }

    pub(super) fn contains(&self, position: Position) -> bool {
        locate(position).is_some_and(|(page, low)| self.pages.get(&page).is_some_and(|bits| bits.contains(low)))
    }

    /// Adds `position`; false if it was there.
    pub(super) fn insert(&mut self, position: Position) -> bool {
        locate(position).is_some_and(|(page, low)| self.pages.entry(page).or_default().insert(low))
    }

    /// Removes every position up to `up_to` included.
    pub(super) fn remove_up_to(&mut self, up_to: Position) {
        let Some((page, low)) = locate(up_to) else {
            self.pages.retain(|page, _| page.ledger >= up_to.ledger);
            return;
        };
        while let Some(mut first) = self.pages.first_entry() {
            if *first.key() > page {
                return;
            }
            if *first.key() == page {
                first.get_mut().remove_range(..=low);
                if !first.get().is_empty() {
                    return;
                }
            }
            first.remove();
        }
    }

    /// The first place at or after `from`, in its ledger, that is not in the set.
    pub(super) fn first_absent(&self, from: Position) -> Position {
        let mut at = from;
        while let Some((page, low)) = locate(at) {
            let Some(range) = self.pages.get(&page).and_then(|bits| bits.range(low..).next_range()) else { return at };
            if *range.start() != low {
                return at;
            }
            at = position(page, *range.end()).after();
        }
        at
    }

    /// Adds every position of `other`.
    pub(super) fn merge(&mut self, other: Self) {
        for (page, bits) in other.pages {
            self.add_page(page, bits);
        }
    }

    /// Adds the positions of one page.
    pub(super) fn add_page(&mut self, page: Page, bits: RoaringBitmap) {
        if !bits.is_empty() {
            *self.pages.entry(page).or_default() |= bits;
        }
    }

    pub(super) fn pages(&self) -> impl ExactSizeIterator<Item = (Page, &RoaringBitmap)> {
        self.pages.iter().map(|(page, bits)| (*page, bits))
    }

    /// The maximal runs of consecutive entries after `after`, ascending; a run ends with its ledger.
    pub(super) fn runs(&self) -> impl Iterator<Item = (Position, Position)> {
        let mut at = None;
        std::iter::from_fn(move || {
            let start = match at {
                None => self.pages.iter().next().and_then(|(page, bits)| Some(position(*page, bits.min()?))),
                Some(last) => self.next_present(last),
            }?;
            let end = self.first_absent(start).before();
            at = Some(end);
            Some((start, end))
        })
    }

    /// The first position of the set after `after`.
    fn next_present(&self, after: Position) -> Option<Position> {
        let (page, low) = locate(after)?;
        let here = self.pages.get(&page).and_then(|bits| {
            let next = bits.range((Excluded(low), Unbounded)).next()?;
            Some(position(page, next))
        });
        here.or_else(|| {
            let (page, bits) = self.pages.range((Excluded(page), Unbounded)).next()?;
            Some(position(*page, bits.min()?))
        })
    }
}

//! Where journals get their next segments from.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::aligned::Aligned;
use super::layout::segment_name;
use crate::disk::{ALIGNMENT, Disk, File};

/// A file to be written as a segment.
pub(crate) struct Spare {
    pub(crate) number: u64,
    pub(crate) file: Arc<dyn File>,
    pub(crate) length: u64,
    /// Whether it was there before it was needed.
    pub(crate) prepared: bool,
}

/// Spare segments.
///
/// Overwriting a file costs less to sync than growing one. So segments that hold nothing live any more are used again,
/// and others are filled with zeros ahead of use; a segment that must grow is the way out when both are late.
pub(crate) struct Supply {
    disk: Arc<dyn Disk>,
    next_number: AtomicU64,
    stock: Mutex<Stock>,
}

#[derive(Default)]
struct Stock {
    ready: Vec<Spare>,
    reserve: Option<Spare>,
}

impl Supply {
    pub(crate) fn new(disk: Arc<dyn Disk>, next_number: u64) -> Self {
        Self { disk, next_number: AtomicU64::new(next_number), stock: Mutex::default() }
    }

    /// A number no segment has had.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// A segment with room for `length` bytes if it can be had, but for no less than `least`.
    pub(crate) fn take(&self, length: u64, least: u64) -> io::Result<Spare> {
        let ready = {
            let mut stock = self.stock.lock();
            let found =
                stock.ready.iter().position(|spare| is_long_enough(spare.length, length) && spare.length >= least);
            found.map(|index| stock.ready.swap_remove(index))
        };
        if let Some(spare) = ready {
            return Ok(spare);
        }
        self.grow(length.max(least)).or_else(|error| {
            let small = (length / 4).max(least);
            if crate::disk::is_refusal(&error) && small < length { self.grow(small) } else { Err(error) }
        })
    }

    /// A new file with space for `length` bytes.
    fn grow(&self, length: u64) -> io::Result<Spare> {
        let number = self.next_number();
        let name = segment_name(number);
        let made = self.disk.create(&name).and_then(|file| {
            file.reserve(length)?;
            self.disk.sync_names()?;
            Ok(Spare { number, file, length, prepared: false })
        });
        if made.is_err() {
            self.discard(&name);
        }
        made
    }

    /// Removes a file that is of no use; should that fail, the next start tries again.
    fn discard(&self, name: &str) {
        if let Err(error) = self.disk.remove(name)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::debug!(name, %error, "could not remove a spare segment");
        }
    }

    /// The segment held back for when there is no other.
    pub(crate) fn take_reserve(&self) -> Option<Spare> {
        self.stock.lock().reserve.take()
    }

    /// Sees to it that there is a reserve of `length` bytes.
    pub(crate) fn restock_reserve(&self, length: u64) -> io::Result<()> {
        if self.stock.lock().reserve.is_none() {
            let spare = self.grow(length)?;
            self.stock.lock().reserve = Some(spare);
        }
        Ok(())
    }

    /// How many segments are ready for use.
    pub(crate) fn ready(&self) -> usize {
        self.stock.lock().ready.len()
    }

    /// Takes a file of a segment that holds nothing of worth, under a new number.
    pub(crate) fn recycle(&self, old: u64, file: Arc<dyn File>) -> io::Result<()> {
        let number = self.next_number();
        let length = file.length()?;
        self.disk.rename(&segment_name(old), &segment_name(number))?;
        self.disk.sync_names()?;
        self.stock.lock().ready.push(Spare { number, file, length, prepared: true });
        Ok(())
    }

    /// Takes a file that was prepared in an earlier life and not used since.
    pub(crate) fn adopt(&self, number: u64, file: Arc<dyn File>, length: u64) {
        self.stock.lock().ready.push(Spare { number, file, length, prepared: true });
    }

    /// Makes a segment of `length` bytes of zeros. `pause` is called after every step with its length and says whether
    /// to go on.
    pub(crate) fn fill(&self, length: u64, mut pause: impl FnMut(u64) -> bool) -> io::Result<()> {
        let mut spare = self.grow(length)?;
        let name = segment_name(spare.number);
        let mut zeros = Aligned::with_capacity(STEP as usize);
        zeros.fill_to(STEP as usize);
        let mut at = 0;
        while at < length {
            let step = STEP.min(length - at);
            let part = &zeros.contents()[..step as usize];
            // A segment may end with half a page.
            let written = if part.len().is_multiple_of(ALIGNMENT) {
                spare.file.write_direct(&[IoSlice::new(part)], at)
            } else {
                spare.file.write_at(&[IoSlice::new(part)], at)
            };
            let written = written.and_then(|()| spare.file.sync());
            at += step;
            if written.is_err() || !pause(step) {
                self.discard(&name);
                return written;
            }
        }
        spare.prepared = true;
        self.stock.lock().ready.push(spare);
        Ok(())
    }
}

/// Whether a file of `length` bytes will do as a segment of `wanted`. A segment that grew is hardly ever quite full.
pub(crate) fn is_long_enough(length: u64, wanted: u64) -> bool {
    length >= wanted - wanted / 8
}

/// How much is filled at once: little enough that a journal's sync is not held up by it.
const STEP: u64 = 1 << 20;

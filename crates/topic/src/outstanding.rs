//! What is on its way to a client.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes of messages on their way to one client: counted by the topics that send them, on whatever shard, and given
/// back by the connection as its socket takes them. A client that does not read holds a bounded number of bytes,
/// however many consumers it has: a topic that finds it full sends nothing more until it is told otherwise.
#[derive(Debug, Default)]
pub struct Outstanding {
    bytes: AtomicUsize,
    /// Some topic found it full and waits to be told.
    full: AtomicBool,
}

impl Outstanding {
    /// Above so many bytes a client is sent nothing more…
    pub const FULL: usize = 1 << 20;
    /// …until it is down to so many.
    pub const FREE: usize = Self::FULL / 2;

    /// How many bytes are on their way.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Counts bytes that are about to be sent; whether more may be sent after them.
    pub fn add(&self, bytes: usize) -> bool {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.takes_more()
    }

    /// Whether anything may be sent. After a no, the consumers of the client are told when it has become yes.
    pub(crate) fn takes_more(&self) -> bool {
        if self.bytes() < Self::FULL {
            return true;
        }
        self.full.store(true, Ordering::Release);
        // What filled it may have been taken meanwhile, by a socket that saw nobody waiting.
        self.bytes() < Self::FREE && self.full.swap(false, Ordering::AcqRel)
    }

    /// Gives bytes back that the client's socket has taken; whether those who wait are to be told that it is free.
    pub fn sub(&self, bytes: usize) -> bool {
        let before = self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        before.saturating_sub(bytes) < Self::FREE && self.full.swap(false, Ordering::AcqRel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_finds_it_full_is_told_once_when_it_is_free() {
        let outstanding = Outstanding::default();
        assert!(outstanding.add(Outstanding::FULL - 1));
        assert!(!outstanding.add(1), "full");
        assert!(!outstanding.sub(10), "half of it is still on its way");
        assert!(outstanding.sub(Outstanding::FREE));
        assert!(!outstanding.sub(100), "told already");
        assert!(outstanding.takes_more());
    }

    #[test]
    fn nobody_is_told_who_was_not_refused() {
        let outstanding = Outstanding::default();
        assert!(outstanding.add(Outstanding::FREE));
        assert!(!outstanding.sub(Outstanding::FREE));
        assert_eq!(outstanding.bytes(), 0);
    }
}

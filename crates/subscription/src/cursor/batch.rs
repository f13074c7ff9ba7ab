//! Which messages of a batch are left.

/// The messages of one batch that are not acknowledged: bit *i* of the words, least significant first, is 1 while
/// message *i* is unacknowledged, as on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remaining {
    words: Box<[u64]>,
}

impl Remaining {
    /// A batch of `size` messages (0: unknown) of which those of `ack_set` are left; words that are not sent are 0.
    pub(super) fn new(ack_set: &[i64], size: u32) -> Self {
        let size = if size == 0 { ack_set.len() * 64 } else { size as usize };
        let mut words: Vec<u64> = ack_set.iter().take(size.div_ceil(64)).map(|&word| word as u64).collect();
        if !size.is_multiple_of(64)
            && let Some(last) = words.get_mut(size / 64)
        {
            *last &= (1 << (size % 64)) - 1;
        }
        Self::from_words(words)
    }

    pub(super) fn from_words(mut words: Vec<u64>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        Self { words: words.into_boxed_slice() }
    }

    /// Keeps only the messages that `other` leaves as well; true if that took some away.
    pub(super) fn intersect(&mut self, other: &Self) -> bool {
        let kept = self.words.len().min(other.words.len());
        let words: Vec<u64> = self.words.iter().zip(&*other.words).map(|(a, b)| a & b).collect();
        let changed = self.words[kept..].iter().any(|&word| word != 0) || words[..] != self.words[..kept];
        if changed {
            *self = Self::from_words(words);
        }
        changed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(super) fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }
}

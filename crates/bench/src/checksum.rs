//! CRC-32C of a changing head in front of a constant tail.

/// Appends one constant run of bytes to whatever a checksum is of, in constant time.
///
/// CRC is linear over GF(2): the checksum of `head ++ tail` is that of `head` times a matrix that depends only on
/// the tail's length, plus the checksum of `tail`. Both are computed once.
#[derive(Clone, Debug)]
pub(crate) struct Appender {
    /// Column `i` is what bit `i` of the head's checksum contributes.
    columns: [u32; 32],
    tail: u32,
}

impl Appender {
    pub(crate) fn new(tail: &[u8]) -> Self {
        let columns = std::array::from_fn(|bit| crc32c::crc32c_combine(1 << bit, 0, tail.len()));
        Self { columns, tail: crc32c::crc32c(tail) }
    }

    /// The checksum of the head, whose own is `head`, followed by the tail.
    #[inline]
    pub(crate) fn append(&self, head: u32) -> u32 {
        let mut sum = self.tail;
        for (bit, column) in self.columns.iter().enumerate() {
            // All ones if the bit is set: no branch to mispredict.
            sum ^= column & (head >> bit & 1).wrapping_neg();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn equals_the_checksum_of_both_together(head in any::<Vec<u8>>(), tail in any::<Vec<u8>>()) {
            let whole = [head.as_slice(), tail.as_slice()].concat();
            prop_assert_eq!(Appender::new(&tail).append(crc32c::crc32c(&head)), crc32c::crc32c(&whole));
        }
    }
}

//! The few fields of receipts and deliveries that a load generator looks at, found without decoding the rest.

/// The value of a protobuf field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Int(u64),
    Bytes(&'a [u8]),
}

/// The fields of an encoded protobuf message, in order. Ends early where the encoding is broken, so that whatever
/// was to come counts as missing.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    #[inline]
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Int(self.varint()?),
            1 => Value::Bytes(self.take(8)?),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Bytes(self.take(4)?),
            _ => return None,
        };
        Some((key >> 3, value))
    }
}

/// The integer in a field.
#[inline]
pub(crate) fn int(message: &[u8], field: u64) -> Option<u64> {
    Fields::of(message).find_map(|found| match found {
        (number, Value::Int(value)) if number == field => Some(value),
        _ => None,
    })
}

/// The bytes, text or message in a field.
#[inline]
pub(crate) fn bytes(message: &[u8], field: u64) -> Option<&[u8]> {
    Fields::of(message).find_map(|found| match found {
        (number, Value::Bytes(value)) if number == field => Some(value),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn finds_fields_among_others_of_every_kind() {
        let message = [0x08, 0x96, 0x01, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1d, 1, 2, 3, 4, 0x22, 2, b'h', b'i', 0x28, 7];
        assert_eq!(int(&message, 1), Some(150));
        assert_eq!(bytes(&message, 4), Some(b"hi".as_slice()));
        assert_eq!(int(&message, 5), Some(7));
        assert_eq!(int(&message, 6), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_harmless(message in any::<Vec<u8>>()) {
            prop_assert!(Fields::of(&message).count() <= message.len());
        }
    }
}

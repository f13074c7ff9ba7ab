//! Percent-encoding of local names, as form values are encoded: a space is a plus sign.

use super::InvalidName;

/// Encodes everything but ASCII letters, digits and `.-*_`.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => encoded.push(char::from(byte)),
            b' ' => encoded.push('+'),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Undoes [`encode`]; also accepts characters that need no encoding as they are.
pub fn decode(text: &str) -> Result<String, InvalidName> {
    let refused = || InvalidName(format!("Invalid URL encoding: {text}"));
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let value = digit().zip(digit()).map(|(high, low)| high * 16 + low);
                u8::try_from(value.ok_or_else(refused)?).map_err(|_| refused())?
            }
            byte => byte,
        });
    }
    String::from_utf8(decoded).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn broken_encodings_are_refused() {
        for text in ["%", "%4", "%4g", "%+1", "%ff"] {
            assert_eq!(decode(text), Err(InvalidName(format!("Invalid URL encoding: {text}"))));
        }
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(text in "\\PC*") {
            prop_assert_eq!(decode(&encode(&text)), Ok(text));
        }
    }
}

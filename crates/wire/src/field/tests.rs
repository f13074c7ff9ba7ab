use proptest::prelude::*;

use super::*;

fn varint(bytes: &[u8]) -> Result<u64, DecodeError> {
    Fields::new(bytes).varint()
}

#[test]
fn varints_end_at_64_bits() {
    let of_ten = |last: u8| [&[0xFF; 9][..], &[last]].concat();
    assert_eq!(varint(&of_ten(1)), Ok(u64::MAX));
    assert_eq!(varint(&of_ten(0)), Ok(u64::MAX >> 1));
    assert_eq!(varint(&of_ten(2)), Err(DecodeError::VarintOverflow));
    assert_eq!(varint(&[0xFF; 11]), Err(DecodeError::VarintOverflow));
    assert_eq!(varint(&[0xFF; 9]), Err(DecodeError::Truncated));
    assert_eq!(varint(&[]), Err(DecodeError::Truncated));
    assert_eq!(varint(&[0x80, 0x80, 0]), Ok(0), "longer than need be, but a number");
}

#[test]
fn field_numbers_have_29_bits() {
    let number = |key: u64| {
        let mut bytes = Vec::new();
        prost::encoding::encode_varint(key, &mut bytes);
        bytes.push(0);
        Fields::new(&bytes).next().map(|field| field.map(|field| field.number))
    };
    assert_eq!(number(1 << 3), Ok(Some(1)));
    assert_eq!(number(0x1FFF_FFFF << 3), Ok(Some(0x1FFF_FFFF)));
    assert_eq!(number(0), Err(DecodeError::InvalidKey(0)));
    assert_eq!(number(0x2000_0000 << 3), Err(DecodeError::InvalidKey(1 << 32)));
    assert_eq!(number(u64::MAX), Err(DecodeError::InvalidKey(u64::MAX)));
}

#[test]
fn wire_types_3_4_6_and_7_are_refused() {
    for wire_type in [3, 4, 6, 7] {
        let field = Fields::new(&[1 << 3 | wire_type, 0]).next().map(|field| field.map(|field| field.number));
        assert_eq!(field, Err(DecodeError::UnsupportedWireType { number: 1, wire_type }));
    }
}

#[test]
fn fixed_width_fields_are_passed_over() {
    let bytes = [1 << 3 | 1, 0, 0, 0, 0, 0, 0, 0, 0, 2 << 3 | 5, 0, 0, 0, 0, 3 << 3, 7];
    let mut fields = Fields::new(&bytes);
    assert_eq!(fields.next().unwrap().unwrap().u64(), Err(DecodeError::WrongWireType(1)));
    assert_eq!(fields.next().unwrap().unwrap().bytes(), Err(DecodeError::WrongWireType(2)));
    assert_eq!(fields.next().unwrap().unwrap().u64(), Ok(7));
    assert!(fields.next().unwrap().is_none());
    assert!(Fields::new(&bytes[..5]).next().is_err());
}

proptest! {
    #[test]
    fn varints_are_read_as_prost_reads_them(bytes in prop::collection::vec(prop_oneof![0x80_u8..=0xFF, any::<u8>()], 0..12)) {
        let mut rest = &bytes[..];
        let prost = prost::encoding::decode_varint(&mut rest).ok();
        let mut fields = Fields::new(&bytes);
        prop_assert_eq!(fields.varint().ok(), prost);
        if prost.is_some() {
            prop_assert_eq!(fields.rest, rest);
        }
    }
}

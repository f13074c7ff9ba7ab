use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_is_put_is_taken(int: u64, block: Vec<u8>, ledger: i64, entry: i64, map: BTreeMap<String, String>, flag: Option<u64>) {
        let position = Position::new(ledger, entry);
        let sealed = seal(3, |out| {
            out.put_varint(int);
            out.put_block(&block);
            out.put_position(position);
            out.put_map(&map);
            out.put_option(flag, |out, value| out.put_varint(value));
        });
        let mut take = open(3, sealed).unwrap();
        prop_assert_eq!(take.int().unwrap(), int);
        prop_assert_eq!(&take.block().unwrap()[..], &block[..]);
        prop_assert_eq!(take.position().unwrap(), position);
        prop_assert_eq!(take.map().unwrap(), map);
        prop_assert_eq!(take.option(Take::int).unwrap(), flag);
        prop_assert!(take.is_empty());
    }

    #[test]
    fn no_input_panics(bytes: Vec<u8>) {
        let _ = open(1, Bytes::from(bytes.clone()));
        let mut take = Take::new(Bytes::from(bytes));
        let _ = take.map();
        let _ = take.position();
        let _ = take.int();
    }
}

#[test]
fn a_flipped_bit_is_noticed() {
    let sealed = seal(1, |out| out.put_block(b"state"));
    for at in 0..sealed.len() {
        let mut bytes = sealed.to_vec();
        bytes[at] ^= 0x10;
        assert!(open(1, Bytes::from(bytes)).is_err(), "byte {at}");
    }
    assert!(open(2, sealed).is_err());
}

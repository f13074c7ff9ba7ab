use proptest::prelude::*;

use super::*;

/// `crc32c("123456789")`, the check value of the CRC catalogue.
#[test]
fn checksum_is_castagnoli() {
    assert_eq!(checksum::crc32c(b"123456789"), 0xE306_9283);
    assert_eq!(checksum::crc32c_append(checksum::crc32c(b"1234"), b"56789"), 0xE306_9283);
}

fn plain(metadata: &[u8], body: &[u8]) -> Vec<u8> {
    [&(metadata.len() as u32).to_be_bytes(), metadata, body].concat()
}

fn checked(metadata: &[u8], body: &[u8]) -> Vec<u8> {
    let plain = plain(metadata, body);
    let part = Payload::parse(&plain).unwrap().missing_checksum().unwrap();
    [&part, &plain[..]].concat()
}

#[test]
fn splits_every_combination_of_optional_parts() {
    for with_checksum in [false, true] {
        for with_entry in [false, true] {
            let sent = if with_checksum { checked(b"meta", b"body") } else { plain(b"meta", b"body") };
            let entry = BrokerEntryMetadata { broker_timestamp: Some(1_700_000_000_000), index: Some(42) };
            let mut bytes = Vec::new();
            if with_entry {
                put_broker_entry(&entry, &mut bytes);
            }
            bytes.extend_from_slice(&sent);

            let payload = Payload::parse(&bytes).unwrap();
            assert_eq!((payload.metadata, payload.body), (&b"meta"[..], &b"body"[..]));
            assert_eq!(payload.checksum.is_some(), with_checksum);
            assert_eq!(payload.missing_checksum().is_none(), with_checksum);
            assert_eq!(payload.decode_broker_entry(), Ok(with_entry.then_some(entry)));
            assert_eq!(payload.without_broker_entry(), sent);
            assert_eq!(payload.verify(), Ok(()));
        }
    }
}

#[test]
fn an_empty_body_is_a_body() {
    let payload = checked(b"meta", b"");
    let payload = Payload::parse(&payload).unwrap();
    assert_eq!(payload.body, b"");
    assert_eq!(payload.verify(), Ok(()));
}

#[test]
fn a_changed_bit_fails_the_checksum() {
    let good = checked(b"meta", b"body");
    for bit in 8 * CHECKSUM_PART..8 * good.len() {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        match Payload::parse(&bad) {
            Ok(payload) => assert!(matches!(payload.verify(), Err(PayloadError::Checksum { .. })), "bit {bit}"),
            Err(error) => assert!(matches!(error, PayloadError::Truncated { .. }), "bit {bit}"),
        }
    }
}

#[test]
fn names_the_part_that_is_cut_off() {
    let mut bytes = Vec::new();
    put_broker_entry(&BrokerEntryMetadata { broker_timestamp: None, index: Some(7) }, &mut bytes);
    bytes.extend_from_slice(&checked(b"meta", b""));
    let part = |len: usize| match Payload::parse(&bytes[..len]) {
        Err(PayloadError::Truncated { part, .. }) => part,
        other => panic!("{len} bytes: {other:?}"),
    };
    assert_eq!(part(0), "metadata size");
    assert_eq!(part(2), "broker entry metadata size");
    assert_eq!(part(7), "broker entry metadata");
    assert_eq!(part(8), "metadata size");
    assert_eq!(part(10), "checksum");
    assert_eq!(part(14), "metadata size");
    assert_eq!(part(bytes.len() - 1), "metadata");
}

#[test]
fn a_size_beyond_the_frame_allocates_nothing() {
    assert_eq!(
        Payload::parse(&[0xFF, 0xFF, 0xFF, 0xFF, 1]),
        Err(PayloadError::Truncated { part: "metadata", need: u32::MAX as usize, left: 1 })
    );
}

proptest! {
    #[test]
    fn parts_put_together_come_apart(
        metadata in prop::collection::vec(any::<u8>(), 0..50),
        body in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let bytes = checked(&metadata, &body);
        let payload = Payload::parse(&bytes).unwrap();
        prop_assert_eq!((payload.metadata, payload.body), (&metadata[..], &body[..]));
        prop_assert_eq!(payload.verify(), Ok(()));
    }
}

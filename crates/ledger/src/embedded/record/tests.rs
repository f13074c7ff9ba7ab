use proptest::prelude::*;

use super::*;

const SEED: Seed = Seed(0x1234_5678_9abc_def0);

fn bodies() -> impl Strategy<Value = (Vec<u8>, Option<u8>)> {
    (proptest::collection::vec(any::<u8>(), 0..400), proptest::option::of(any::<u8>()))
}

fn body(bytes: &[u8], skip: Option<u8>) -> Body<'_> {
    let skip = skip.map(|skip| skip.min(u8::try_from(bytes.len()).unwrap_or(u8::MAX)));
    let verified = skip.map(|skip| Verified { skip, crc32c: crc32c(&bytes[usize::from(skip)..]) });
    Body { bytes, verified }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_entry_is_read_as_it_was_written(ledger: u64, entry: u64, (bytes, skip) in bodies()) {
        let mut out = Vec::new();
        let crc = encode(&mut out, SEED, ledger, entry, body(&bytes, skip));
        let header = Header::decode(&out, SEED).unwrap();
        prop_assert_eq!((header.kind, header.ledger, header.entry, header.crc), (Kind::Entry, ledger, entry, crc));
        prop_assert_eq!(header.size(), out.len());
        prop_assert!(header.verifies(&out[HEADER..]));
        prop_assert_eq!(&out[HEADER..], &bytes[..]);
    }

    #[test]
    fn any_flipped_bit_is_noticed((bytes, skip) in bodies(), at: prop::sample::Index, bit in 0..8u8) {
        let mut out = Vec::new();
        encode(&mut out, SEED, 7, 9, body(&bytes, skip));
        let at = at.index(out.len());
        out[at] ^= 1 << bit;
        let intact = Header::decode(&out, SEED).is_some_and(|header| {
            out.get(HEADER..header.size()).is_some_and(|body| header.verifies(body))
        });
        prop_assert!(!intact, "a flip at {} went unnoticed", at);
    }

    #[test]
    fn a_cut_record_is_noticed((bytes, skip) in bodies(), at: prop::sample::Index) {
        let mut out = Vec::new();
        encode(&mut out, SEED, 7, 9, body(&bytes, skip));
        out.truncate(at.index(out.len()));
        let intact = Header::decode(&out, SEED).is_some_and(|header| {
            out.get(HEADER..header.size()).is_some_and(|body| header.verifies(body))
        });
        prop_assert!(!intact);
    }

    #[test]
    fn control_records_are_read_as_they_were_written(ledger: u64, epoch: u64, last in proptest::option::of(0..u64::MAX), length: u64) {
        for control in [Control::Create(Epoch(epoch)), Control::Seal(Epoch(epoch), Closed { last, length }), Control::Delete] {
            let mut out = Vec::new();
            encode_control(&mut out, SEED, ledger, control);
            prop_assert!(out.len() <= Control::MAX);
            let header = Header::decode(&out, SEED).unwrap();
            prop_assert!(header.verifies(&out[HEADER..]));
            prop_assert_eq!(header.ledger, ledger);
            prop_assert_eq!(Control::decode(header.kind, &out[HEADER..]), Some(control));
        }
    }
}

#[test]
fn zeros_are_no_record() {
    assert_eq!(Header::decode(&[0; 64], SEED), None);
}

#[test]
fn a_record_of_another_seed_is_none_until_it_is_copied() {
    let (mut out, mut copied) = (Vec::new(), Vec::new());
    encode(&mut out, SEED, 1, 2, body(b"some bytes", Some(4)));
    let other = Seed(!SEED.0);
    assert_eq!(Header::decode(&out, other), None);
    copy(&mut copied, other, Header::decode(&out, SEED).unwrap(), &out[HEADER..]);
    let header = Header::decode(&copied, other).unwrap();
    assert!(header.verifies(&copied[HEADER..]));
    assert_eq!((header.ledger, header.entry), (1, 2));
}

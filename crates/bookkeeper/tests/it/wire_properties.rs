//! Whatever a bookie sends is read without a panic.

use bytes::{Bytes, BytesMut};
use plerion_bookkeeper::digest::{DigestType, Digester};
use plerion_bookkeeper::entry::{self, Header, Mismatch};
use plerion_bookkeeper::wire::{FrameError, Frames, v2, v3};
use plerion_ledger::LedgerId;
use proptest::prelude::*;
use prost::Message;

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let bytes = Bytes::from(bytes);
        let _ = v2::Request::decode(bytes.clone());
        let _ = v2::Response::decode(bytes.clone());
        let _ = v3::Response::decode(bytes.clone());
        for kind in [DigestType::Crc32, DigestType::Crc32c, DigestType::Hmac, DigestType::Dummy] {
            let digester = Digester::new(kind, b"x");
            let _ = entry::open(&digester, LedgerId(1), None, &bytes);
            let _ = entry::open_lac(&digester, LedgerId(1), &bytes);
        }
    }

    #[test]
    fn damaged_frames_of_the_binary_protocol_are_read_without_a_panic(
        operation in prop_oneof![Just(1_u8), Just(2), Just(3), Just(7), any::<u8>()],
        rest in proptest::collection::vec(any::<u8>(), 0..120),
    ) {
        let mut bytes = vec![2, operation, 0, 1];
        bytes.extend(rest);
        let _ = v2::Request::decode(bytes.clone().into());
        let _ = v2::Response::decode(bytes.into());
    }

    #[test]
    fn frames_are_found_however_they_are_cut(
        frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..8), step in 1_usize..20,
    ) {
        let mut stream = Vec::new();
        for frame in &frames {
            stream.extend(u32::try_from(frame.len()).unwrap().to_be_bytes());
            stream.extend(frame);
        }
        let (cutter, mut received, mut found) = (Frames::new(1000), BytesMut::new(), Vec::new());
        for piece in stream.chunks(step) {
            received.extend_from_slice(piece);
            while let Some(frame) = cutter.next(&mut received).unwrap() {
                found.push(frame.to_vec());
            }
        }
        prop_assert_eq!(found, frames);
        prop_assert!(received.is_empty());
    }

    /// C37: any change of one byte is found, by every digest.
    #[test]
    fn c37_a_changed_byte_is_found(
        body in proptest::collection::vec(any::<u8>(), 0..60), at in any::<prop::sample::Index>(), change in 1_u8..,
    ) {
        for kind in [DigestType::Crc32, DigestType::Crc32c, DigestType::Hmac] {
            let digester = Digester::new(kind, b"secret");
            let header = Header { ledger: LedgerId(9), entry: 4, lac: 2, length: 500 };
            let mut out = BytesMut::new();
            header.seal(&digester, &body, &mut out);
            let whole = Bytes::copy_from_slice(&out);
            prop_assert!(entry::open(&digester, LedgerId(9), Some(4), &whole).is_ok());
            let at = at.index(out.len());
            out[at] ^= change;
            prop_assert_eq!(entry::open(&digester, LedgerId(9), Some(4), &out.freeze()), Err(Mismatch::Digest));
        }
    }
}

/// Nothing is allocated for what was announced but has not come.
#[test]
fn an_announced_length_allocates_nothing() {
    let frames = Frames::new(5_242_880);
    let mut received = BytesMut::from(&5_242_876_u32.to_be_bytes()[..]);
    let before = received.capacity();
    assert_eq!(frames.next(&mut received), Ok(None));
    assert_eq!(received.capacity(), before);
    let mut received = BytesMut::from(&5_242_877_u32.to_be_bytes()[..]);
    assert!(matches!(frames.next(&mut received), Err(FrameError::TooLong { length: 5_242_877, .. })));
    // A batch whose entry claims four gigabytes.
    let mut batch = vec![2, 7, 0, 0];
    batch.extend([0; 28]);
    batch.extend([255, 255, 255, 255, 1]);
    assert_eq!(v2::Response::decode(batch.into()), Err(v2::Malformed::Short));
}

/// C37: an entry that is right in itself, but not the one asked for.
#[test]
fn c37_another_entry_is_found() {
    let digester = Digester::new(DigestType::Crc32c, b"");
    let sealed = |header: Header| {
        let mut out = BytesMut::new();
        header.seal(&digester, b"abc", &mut out);
        out.freeze()
    };
    let header = Header { ledger: LedgerId(9), entry: 4, lac: 2, length: 500 };
    let open = |header, ledger, entry| entry::open(&digester, LedgerId(ledger), entry, &sealed(header)).map(|_| ());
    assert_eq!(open(header, 9, Some(4)), Ok(()));
    assert_eq!(open(header, 9, None), Ok(()));
    assert_eq!(open(header, 8, Some(4)), Err(Mismatch::Ledger(LedgerId(9))));
    assert_eq!(open(header, 9, Some(5)), Err(Mismatch::Entry(4)));
    assert_eq!(open(Header { entry: -5, lac: -6, ..header }, 9, None), Err(Mismatch::Entry(-5)));
    let absurd = Header { entry: i64::MAX, ..header };
    assert_eq!(open(absurd, 9, None), Err(Mismatch::Entry(i64::MAX)));
    assert_eq!(open(Header { lac: 4, ..header }, 9, Some(4)), Err(Mismatch::Header));
    assert_eq!(open(Header { length: 2, ..header }, 9, Some(4)), Err(Mismatch::Header));
    assert_eq!(entry::open(&digester, LedgerId(9), None, &Bytes::from_static(&[0; 35])), Err(Mismatch::Short(35)));
}

/// C4: the size that a bookie was seen to take and the size it was seen to refuse.
#[test]
fn c4_the_longest_body_is_known() {
    assert_eq!(v2::max_body(5_242_880, 4), 5_242_816);
}

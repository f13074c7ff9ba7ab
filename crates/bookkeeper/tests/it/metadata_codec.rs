//! Stored metadata: the original's bytes, older formats, and bytes that are none.

use bytes::Bytes;
use plerion_bookkeeper::bookie::{BookieId, registered_address};
use plerion_bookkeeper::digest::DigestType;
use plerion_bookkeeper::directory::{ledger_of, ledger_path};
use plerion_bookkeeper::ledger_metadata::{LedgerMetadata, MetadataError, State};
use plerion_bookkeeper::quorum::Quorum;
use plerion_ledger::LedgerId;
use proptest::prelude::*;

use crate::golden::{hex, vectors};

fn stored(path: &str) -> Vec<u8> {
    let vectors = vectors();
    let case = vectors["metadata"].as_array().unwrap().iter().find(|case| case["path"] == path).unwrap();
    hex(case["hex"].as_str().unwrap())
}

#[test]
fn metadata_of_the_original_both_ways() {
    let vectors = vectors();
    let cases = vectors["metadata"].as_array().unwrap();
    assert_eq!(cases.len(), 7);
    for case in cases {
        let bytes = hex(case["hex"].as_str().unwrap());
        let metadata = LedgerMetadata::decode(&bytes).unwrap();
        assert_eq!(metadata.encode(), bytes, "{}", case["state"]);
    }
}

#[test]
fn its_fields_are_understood() {
    let two = LedgerMetadata::decode(&stored("/ledgers/00/0000/L0013")).unwrap();
    assert_eq!((two.state, two.last), (State::Closed, 102));
    assert_eq!(two.quorum, Quorum::new(3, 3, 2).unwrap());
    assert_eq!(two.segments.iter().map(|segment| segment.first).collect::<Vec<_>>(), [0, 34]);
    assert_eq!(two.segment_of(33).first, 0);
    assert_eq!(two.segment_of(34).first, 34);
    assert_eq!((two.end_of_segment(0), two.end_of_segment(34)), (33, i64::MAX));
    assert_eq!(two.segments[1].ensemble[0].as_str(), "127.0.0.1:3185");
    let hmac = LedgerMetadata::decode(&stored("/ledgers/00/0000/L0006")).unwrap();
    assert_eq!((hmac.digest, &hmac.password[..]), (Some(DigestType::Hmac), &b"secret"[..]));
    let created = LedgerMetadata::decode(&stored("/ledgers/00/0000/L0004")).unwrap();
    assert_eq!(created.custom("application"), Some(&Bytes::from("pulsar")));
    assert!(created.token.is_some());
}

/// C44: an ensemble was changed and nothing written to it; and a ledger without entries.
#[test]
fn c44_empty_segments_and_ledgers_are_read() {
    let trailing = LedgerMetadata::decode(&stored("/ledgers/00/0000/L0039")).unwrap();
    assert_eq!((trailing.last, trailing.last_segment().first, trailing.length), (4, 5, 35));
    assert_eq!(trailing.segment_of(4).first, 0);
    let empty = LedgerMetadata::decode(&stored("/ledgers/000/0000/0042/9496/L7296")).unwrap();
    assert_eq!((empty.state, empty.last, empty.length), (State::Closed, -1, 0));
}

/// C44, D11: the text form.
#[test]
fn c44_format_2_is_read_and_rewritten_as_3() {
    let text = "BookieMetadataFormatVersion\t2\nquorumSize: 2\nensembleSize: 3\nlength: 1200\nlastEntryId: 11\nstate: CLOSED\n\
        segment {\n  ensembleMember: \"127.0.0.1:3181\"\n  ensembleMember: \"b-2:3181\"\n  ensembleMember: \"b_3\"\n  firstEntryId: 0\n}\n\
        digestType: HMAC\npassword: \"a\\\"\\303\\251\\n\"\nackQuorumSize: 2\ncustomMetadata {\n  key: \"k\"\n  value: \"v\"\n}\nfuture: 4\n";
    let metadata = LedgerMetadata::decode(text.as_bytes()).unwrap();
    assert_eq!(metadata.quorum, Quorum::new(3, 2, 2).unwrap());
    assert_eq!((metadata.state, metadata.last, metadata.length), (State::Closed, 11, 1200));
    assert_eq!((metadata.digest, &metadata.password[..]), (Some(DigestType::Hmac), "a\"é\n".as_bytes()));
    assert_eq!(metadata.segments[0].ensemble[2].as_str(), "b_3");
    assert_eq!(metadata.custom("k"), Some(&Bytes::from("v")));
    let rewritten = metadata.encode();
    assert!(rewritten.starts_with(b"BookieMetadataFormatVersion\t3\n"));
    assert_eq!(LedgerMetadata::decode(&rewritten).unwrap(), metadata);
}

/// C44, D11: the oldest form.
#[test]
fn c44_format_1_is_read() {
    let decode = |rest: &str| LedgerMetadata::decode(format!("BookieMetadataFormatVersion\t1\n{rest}").as_bytes());
    let open = decode("2\n3\n0\n0\ta:1\tb:1\tc:1\n7\ta:1\td:1\tc:1\n").unwrap();
    assert_eq!((open.state, open.segments.len(), open.quorum), (State::Open, 2, Quorum::new(3, 2, 2).unwrap()));
    assert_eq!(decode("1\n1\n0\n0\ta:1\n-102\tCLOSED\n").unwrap().state, State::InRecovery);
    let closed = decode("1\n1\n55\n0\ta:1\n9\tCLOSED\n").unwrap();
    assert_eq!((closed.state, closed.last, closed.length), (State::Closed, 9, 55));
}

/// C44: what is not known is refused, what is new is kept.
#[test]
fn c44_unknown_formats_are_refused_and_unknown_fields_kept() {
    assert_eq!(
        LedgerMetadata::decode(b"BookieMetadataFormatVersion\t4\nx"),
        Err(MetadataError::Version("4".to_owned()))
    );
    assert_eq!(LedgerMetadata::decode(b"{}"), Err(MetadataError::NoVersion));
    let mut bytes = stored("/ledgers/00/0000/L0012");
    // Field 90, as text, and field 91, as eight bytes; the length before the message grows by 6 + 10.
    bytes.extend(hex("d20503616263d9050102030405060708"));
    let at = "BookieMetadataFormatVersion\t3\n".len();
    bytes[at] += 16;
    let mut metadata = LedgerMetadata::decode(&bytes).unwrap();
    assert_eq!(metadata.encode(), bytes);
    metadata.state = State::Closed;
    assert!(metadata.encode().ends_with(&hex("d20503616263d9050102030405060708")));
}

#[test]
fn contradictions_are_refused() {
    let change = |change: fn(&mut LedgerMetadata)| {
        let mut metadata = LedgerMetadata::decode(&stored("/ledgers/00/0000/L0013")).unwrap();
        change(&mut metadata);
        LedgerMetadata::decode(&metadata.encode())
    };
    assert!(change(|_| {}).is_ok());
    assert!(change(|metadata| metadata.segments.clear()).is_err());
    assert!(change(|metadata| metadata.segments[0].first = 1).is_err());
    assert!(change(|metadata| metadata.segments[1].first = 0).is_err());
    assert!(change(|metadata| metadata.last = -2).is_err());
    assert!(change(|metadata| metadata.last = i64::MAX).is_err());
    assert!(change(|metadata| metadata.segments[1].first = i64::MAX).is_err());
    assert!(
        change(|metadata| {
            metadata.segments[1].ensemble.pop();
        })
        .is_err()
    );
}

/// U13: others drop the token and reorder custom metadata.
#[test]
fn u13_metadata_is_compared_by_meaning() {
    let mine = LedgerMetadata::decode(&stored("/ledgers/00/0000/L0004")).unwrap();
    let mut theirs = mine.clone();
    theirs.token = Some(0);
    theirs.custom.reverse();
    assert!(mine != theirs && mine.is_equivalent(&theirs));
    theirs.last = 7;
    assert!(!mine.is_equivalent(&theirs));
}

#[test]
fn paths_are_those_of_the_original() {
    let vectors = vectors();
    for case in vectors["paths"].as_array().unwrap() {
        let (ledger, path) = (LedgerId(case["ledger"].as_u64().unwrap()), case["path"].as_str().unwrap());
        assert_eq!(format!("/{}", ledger_path(ledger)), path);
        assert_eq!(ledger_of(&path[1..]), Some(ledger));
    }
    for none in ["00/0000/0007", "0/0/L7", "00/0000/Lx007", "underreplication/00/L0001", "000/0000/0000/0000/L0007"] {
        assert_eq!(ledger_of(none), None, "{none}");
    }
}

#[test]
fn registrations_are_those_of_the_original() {
    let vectors = vectors();
    let available = vectors["registration"]
        .as_array()
        .unwrap()
        .iter()
        .find(|case| case["path"] == "/ledgers/available/127.0.0.1:3181");
    let id = BookieId::new("any-name").unwrap();
    let address = registered_address(&id, &hex(available.unwrap()["hex"].as_str().unwrap())).unwrap();
    assert_eq!(address.to_string(), "127.0.0.1:3181");
    assert_eq!(registered_address(&id, b""), None);
    assert_eq!(registered_address(&BookieId::new("host:77").unwrap(), b"").unwrap().to_string(), "host:77");
    assert_eq!(registered_address(&id, b"\xff\xff"), None);
    assert_eq!(BookieId::new("a/b"), None);
    assert_eq!(BookieId::new(""), None);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(
        version in prop_oneof![Just(1), Just(2), Just(3)], rest in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = format!("BookieMetadataFormatVersion\t{version}\n").into_bytes();
        bytes.extend(rest);
        let _ = LedgerMetadata::decode(&bytes);
        let _ = registered_address(&BookieId::new("a:1").unwrap(), &bytes);
    }

    #[test]
    fn damaged_metadata_is_read_without_a_panic(at in any::<prop::sample::Index>(), change in any::<u8>()) {
        let mut bytes = stored("/ledgers/00/0000/L0013");
        let at = at.index(bytes.len());
        bytes[at] = change;
        let _ = LedgerMetadata::decode(&bytes);
    }
}

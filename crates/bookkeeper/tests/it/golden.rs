//! Bytes recorded from the original's bookies and client, both ways.

use bytes::{Bytes, BytesMut};
use plerion_bookkeeper::digest::{DigestType, Digester, MasterKey};
use plerion_bookkeeper::entry::{self, Header};
use plerion_bookkeeper::wire::{Frames, MAX_FRAME, Status, v2, v3};
use plerion_ledger::LedgerId;
use prost::Message;
use serde_json::Value;

pub(crate) fn vectors() -> Value {
    serde_json::from_str(include_str!("../fixtures/vectors.json")).unwrap()
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn frame(text: &str) -> Bytes {
    let mut bytes = BytesMut::from(&hex(text)[..]);
    let frame = Frames::new(MAX_FRAME).next(&mut bytes).unwrap().unwrap();
    assert!(bytes.is_empty());
    frame
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[test]
fn keys_are_those_of_the_original() {
    let vectors = vectors();
    let keys = vectors["keys"].as_object().unwrap();
    assert_eq!(keys.len(), 3);
    for (password, keys) in keys {
        assert_eq!(MasterKey::of(password.as_bytes()).0.to_vec(), hex(keys["master_key"].as_str().unwrap()));
    }
}

/// C2: every digest and password gives the original's bytes, and its bytes are read.
#[test]
fn c2_digests_are_those_of_the_original() {
    let vectors = vectors();
    let mut seen = Vec::new();
    for case in vectors["digests"].as_array().unwrap() {
        let kind = DigestType::from_name(case["digest"].as_str().unwrap()).unwrap();
        let ledger = LedgerId(case["ledger"].as_u64().unwrap());
        let expected = Bytes::from(hex(case["entry_hex"].as_str().unwrap()));
        let lac = case["lac"].as_i64().unwrap();
        let Some(body) = case["body"].as_str() else {
            let digester = Digester::new(kind, b"");
            assert_eq!(entry::seal_lac(&digester, ledger, lac), expected);
            assert_eq!(entry::open_lac(&digester, ledger, &expected), Ok(lac));
            continue;
        };
        let digester = Digester::new(kind, case["password"].as_str().unwrap().as_bytes());
        let header =
            Header { ledger, entry: case["entry"].as_i64().unwrap(), lac, length: case["length"].as_i64().unwrap() };
        let mut out = BytesMut::new();
        header.seal(&digester, body.as_bytes(), &mut out);
        assert_eq!(out, expected, "{kind:?}");
        let opened = entry::open(&digester, ledger, Some(header.entry), &expected).unwrap();
        assert_eq!((opened.header, &opened.body[..]), (header, body.as_bytes()));
        assert_eq!(DigestType::from_number(i64::from(kind.number())), Some(kind));
        seen.push(kind);
    }
    seen.dedup();
    assert_eq!(seen, [DigestType::Crc32c, DigestType::Crc32, DigestType::Hmac, DigestType::Dummy]);
}

/// C3: the binary protocol's frames, bit by bit.
#[test]
fn c3_binary_frames_are_those_of_the_original() {
    let vectors = vectors();
    let (mut requests, mut responses, mut refused) = (0, 0, 0);
    for case in vectors["v2"].as_array().unwrap() {
        let (name, request) = (case["name"].as_str().unwrap(), case["request"].as_str().unwrap());
        if name.starts_with("v3") || name.starts_with("frame 6 MiB") {
            continue;
        }
        match v2::Request::decode(frame(request)) {
            Ok(decoded) => {
                let mut out = BytesMut::new();
                decoded.encode(&mut out);
                assert_eq!(out, &hex(request)[..], "{name}");
                requests += 1;
            }
            // What a bookie refuses, the decoder does as well.
            Err(_) => {
                assert_eq!(case["response"], "connection reset", "{name}");
                refused += 1;
            }
        }
        let response = case["response"].as_str().unwrap();
        if is_hex(response) {
            let mut out = BytesMut::new();
            v2::Response::decode(frame(response)).unwrap().encode(&mut out);
            assert_eq!(out, &hex(response)[..], "{name}");
            responses += 1;
        }
    }
    assert!(requests >= 30 && responses >= 30 && refused == 4, "{requests} {responses} {refused}");
}

/// C3: the frame of an add as the writer builds it.
#[test]
fn c3_a_writers_add_is_that_of_the_original() {
    let header = Header { ledger: LedgerId(0), entry: 1, lac: 0, length: 11 };
    let built = v2::add_frame(MasterKey::of(b""), &header, &Digester::new(DigestType::Crc32c, b""), b"world!");
    assert_eq!(built, hex(vectors()["v2"][1]["request"].as_str().unwrap()));
}

/// C3: the protobuf protocol's frames, bit by bit.
#[test]
fn c3_protobuf_frames_are_those_of_the_original() {
    let vectors = vectors();
    let (mut requests, mut responses) = (0, 0);
    for case in vectors["v3"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        // An operation that is never sent: its body is dropped.
        if name.starts_with("list of entries") {
            continue;
        }
        let request = case["request"].as_str().unwrap();
        let mut out = BytesMut::new();
        v3::encode(&v3::Request::decode(frame(request)).unwrap(), &mut out);
        assert_eq!(out, &hex(request)[..], "{name}");
        requests += 1;
        let response = case["response"].as_str().unwrap();
        if is_hex(response) {
            let mut out = BytesMut::new();
            v3::encode(&v3::Response::decode(frame(response)).unwrap(), &mut out);
            assert_eq!(out, &hex(response)[..], "{name}");
            responses += 1;
        }
    }
    assert!(requests >= 30 && responses >= 30, "{requests} {responses}");
}

/// C3: what is not known is no reason to give up a connection.
#[test]
fn c3_unknown_codes_and_fields_survive() {
    let mut out = BytesMut::new();
    v2::Response::Add { status: Status::Other(999), ledger: LedgerId(7), entry: 3 }.encode(&mut out);
    let decoded = v2::Response::decode(out.freeze().slice(4..)).unwrap();
    assert!(matches!(decoded, v2::Response::Add { status: Status::Other(999), .. }));
    // Field 55 is in no message.
    let mut bytes = hex("0a060803100218011000aa0606080010051800");
    bytes.extend(hex("ba0303616263"));
    let decoded = v3::Response::decode(&bytes[..]).unwrap();
    assert_eq!((decoded.header.txn, decoded.status), (1, 0));
}

/// U14: the code at which the original's client drops the connection.
#[test]
fn u14_a_bookie_in_limbo_is_told_apart() {
    assert_eq!(Status::from_v2(107), Status::UnknownLedgerState);
    assert_eq!(Status::from_v3(507), Status::UnknownLedgerState);
    for code in [0, 1, 2, 100, 101, 102, 103, 104, 105, 106, 107, 12345] {
        assert_eq!(Status::from_v2(code).to_v2(), code);
    }
    for code in [0, 402, 403, 404, 501, 502, 503, 504, 505, 506, 507, 12345] {
        assert_eq!(Status::from_v3(code).to_v3(), code);
    }
}

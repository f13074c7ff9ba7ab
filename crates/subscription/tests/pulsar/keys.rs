//! Hashes, keys, and the Failover pick.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plerion_subscription::failover::{self, Spread};
use plerion_subscription::murmur3_32;
use plerion_subscription::sticky::{KeyFacts, range_hash, ring_hash};

use super::{cases, int, load, text};

#[test]
fn hashes_of_keys() {
    let file = load("key-shared.json");
    let cases = cases(&file, "keys");
    for case in cases {
        let key = STANDARD.decode(text(&case[0])).expect("base64");
        let murmur = murmur3_32(&key);
        assert_eq!(i64::from(murmur), int(&case[1]), "murmur of {case}");
        assert_eq!(i64::from(ring_hash(murmur, u16::MAX)), int(&case[2]), "ring hash of {case}");
        assert_eq!(i64::from(range_hash(murmur, 65536)), int(&case[3]), "range hash of {case}");
        assert_eq!(i64::from(range_hash(murmur, 10)), int(&case[4]), "small range hash of {case}");
    }
    assert_eq!(cases.len(), 141);
}

#[test]
fn keys_of_metadata() {
    let file = load("key-shared.json");
    let cases = cases(&file, "sticky_key");
    let mut refused = 0;
    for case in cases {
        let facts = KeyFacts {
            ordering_key: case["orderingKey"].as_str().map(str::as_bytes),
            partition_key: case["partitionKey"].as_str(),
            partition_key_b64: case["partitionKeyB64Encoded"].as_bool().unwrap_or(false),
            producer_name: case["producerName"].as_str(),
            sequence_id: case["sequenceId"].as_u64(),
        };
        if case.get("error").is_some() {
            // Pulsar's cached path throws, the other one takes the constant.
            assert_eq!(&*facts.key(), b"NONE_KEY", "{case}");
            refused += 1;
            continue;
        }
        assert_eq!(STANDARD.encode(facts.key()), text(&case["keyBase64"]), "{case}");
        assert_eq!(i64::from(ring_hash(facts.hash(), u16::MAX)), int(&case["hash1to65535"]), "{case}");
    }
    assert_eq!((cases.len(), refused), (12, 1));
}

#[test]
fn active_consumer_of_failover_subscriptions() {
    let file = load("key-shared.json");
    let cases = cases(&file, "failover_pick");
    for case in cases {
        let partition = u32::try_from(int(&case["partitionIndex"])).ok();
        let consistent_hashing = case["consistentHashing"].as_bool().expect("a bool");
        let spread = Spread::new(text(&case["topic"]), partition, consistent_hashing);
        let consumers = case["consumers"].as_array().expect("consumers");
        let consumers = consumers.iter().map(|consumer| (text(&consumer[0]), int(&consumer[1]) as i32));
        assert_eq!(failover::pick(consumers, spread), Some(int(&case["active"]) as usize), "{case}");
    }
    assert_eq!(cases.len(), 60);
}

use proptest::prelude::*;

use super::special::Special;
use super::{BundleError, BundleRange, Bundles, topic_hash};

#[test]
fn crc32_matches_the_published_check_value() {
    assert_eq!(topic_hash("123456789"), 0xcbf4_3926);
}

#[test]
fn worked_examples_of_topics() {
    let cases = [
        ("persistent://public/default/my-topic", 4, "0x00000000_0x40000000"),
        ("persistent://public/default/my-topic-partition-2", 4, "0xc0000000_0xffffffff"),
        ("non-persistent://public/default/my-topic", 4, "0x80000000_0xc0000000"),
        ("persistent://my-tenant/my-ns/orders", 12, "0xd5555552_0xeaaaaaa7"),
        ("persistent://pulsar/system/loadbalancer-service-unit-state", 64, "0x44000000_0x48000000"),
        ("persistent://public/default/中文", 4, "0x00000000_0x40000000"),
        ("persistent://pulsar/broker-1:8080/healthcheck", 1, "0x00000000_0xffffffff"),
    ];
    for (topic, count, range) in cases {
        assert_eq!(Bundles::equal(count).unwrap().find_topic(topic).to_string(), range, "{topic}");
    }
}

#[test]
fn the_last_hash_belongs_to_the_last_bundle() {
    for count in [1, 2, 3, 4, 128, 255] {
        let bundles = Bundles::equal(count).unwrap();
        assert_eq!(Some(bundles.find(u32::MAX)), bundles.get(bundles.len() - 1));
    }
}

#[test]
fn json_is_bundles_data() {
    let text = r#"{"boundaries":["0x00000000","0x80000000","0xffffffff"],"numBundles":2}"#;
    let bundles: Bundles = serde_json::from_str(text).unwrap();
    assert_eq!(bundles, Bundles::equal(2).unwrap());
    assert_eq!(serde_json::to_string(&bundles).unwrap(), text);
    assert!(serde_json::from_str::<Bundles>(r#"{"boundaries":["0x00000001","0xffffffff"]}"#).is_err());
}

#[test]
fn a_request_cannot_claim_unbounded_memory() {
    assert_eq!(Bundles::equal(u32::MAX), Err(BundleError::TooManyBundles { count: u32::MAX as usize }));
    assert!(Bundles::equal(1 << 20).is_ok());
    assert!(Bundles::whole().split_equally(BundleRange::FULL, u32::MAX).is_err());
}

#[test]
fn bug_pulsar_5510_a_repeated_split_is_refused_and_changes_nothing() {
    let bundles = Bundles::equal(4).unwrap();
    let parent = bundles.find(0);
    let split = bundles.split_at(parent, &[0x1000_0000]).unwrap();
    assert_eq!(split.bundles.split_at(parent, &[0x1000_0000]), Err(BundleError::UnknownRange { range: parent }));
}

#[test]
fn namespaces_with_a_fixed_owner() {
    assert_eq!(Special::of("pulsar/b-1:8080"), Some(Special::Heartbeat { broker: "b-1:8080" }));
    assert_eq!(Special::of("pulsar/use/b-1:8080"), Some(Special::Heartbeat { broker: "b-1:8080" }));
    assert_eq!(Special::of("sla-monitor/b-1:8080"), Some(Special::SlaMonitor { broker: "b-1:8080" }));
    assert_eq!(Special::of("sla-monitor/use/b-1:8080"), Some(Special::SlaMonitor { broker: "b-1:8080" }));
    assert_eq!(Special::of("pulsar/system"), Some(Special::System));
    for ordinary in
        ["pulsar/b-1", "pulsar/b-1:http", "pulsar/:8080", "public/b-1:8080", "pulsar", "pulsar//b:1", "a/b/c"]
    {
        assert_eq!(Special::of(ordinary), None, "{ordinary}");
    }
    assert!(!Special::is_pinned("pulsar/system"));
}

/// INV-OWN-2, stated on the ranges alone.
fn assert_covers_the_ring(bundles: &Bundles) {
    let ranges: Vec<BundleRange> = bundles.iter().collect();
    assert_eq!(ranges[0].lower(), 0);
    assert_eq!(ranges[ranges.len() - 1].upper(), u32::MAX);
    for pair in ranges.windows(2) {
        assert_eq!(pair[0].upper(), pair[1].lower());
    }
    assert!(ranges.iter().all(|r| r.lower() < r.upper()));
}

proptest! {
    #[test]
    fn inv_own_2_holds_through_any_sequence_of_splits(
        count in 1_u32..300,
        steps in prop::collection::vec((any::<u32>(), prop::collection::vec(any::<u32>(), 0..4), 0_u32..5), 0..40),
        probes in prop::collection::vec(any::<u32>(), 20),
    ) {
        let mut bundles = Bundles::equal(count).unwrap();
        assert_covers_the_ring(&bundles);
        for (hash, positions, parts) in steps {
            let parent = bundles.find(hash);
            let result = if parts == 0 {
                // Half of the positions are folded into the parent, so that valid and refused cuts both occur.
                let width = parent.upper() - parent.lower();
                let positions: Vec<u32> =
                    positions.iter().map(|&p| if p % 2 == 0 { parent.lower() + p % width } else { p }).collect();
                bundles.split_at(parent, &positions)
            } else {
                bundles.split_equally(parent, parts)
            };
            let Ok(split) = result else { continue };
            assert_covers_the_ring(&split.bundles);
            prop_assert_eq!(split.children[0].lower(), parent.lower());
            prop_assert_eq!(split.children[split.children.len() - 1].upper(), parent.upper());
            prop_assert_eq!(split.bundles.len(), bundles.len() - 1 + split.children.len());
            bundles = split.bundles;
        }
        for hash in probes.into_iter().chain([0, u32::MAX]) {
            prop_assert_eq!(bundles.iter().filter(|r| r.contains(hash)).count(), 1);
            prop_assert!(bundles.find(hash).contains(hash));
        }
        let boundaries: Vec<u32> = bundles.boundaries().collect();
        prop_assert_eq!(Bundles::from_boundaries(&boundaries).unwrap(), bundles);
    }

    #[test]
    fn a_range_reads_back_from_its_text(lower in any::<u32>(), upper in any::<u32>()) {
        prop_assume!(lower < upper);
        let range = BundleRange::new(lower, upper).unwrap();
        prop_assert_eq!(range.to_string().parse::<BundleRange>().unwrap(), range);
    }

    #[test]
    fn reading_a_range_never_panics(text in ".{0,24}") {
        let _ = text.parse::<BundleRange>();
    }
}

use proptest::prelude::*;

use super::ServiceUnitState::{Assigning, Free, Owned, Releasing, Splitting};
use super::{
    Lookup, ServiceUnitRecord, ServiceUnitState, Storage, accept, assigned_broker, lookup_owner, next_version,
    override_orphan,
};

fn record(state: ServiceUnitState, dst: Option<&str>, source: Option<&str>, version: i64) -> ServiceUnitRecord {
    ServiceUnitRecord::new(state, dst.map(str::to_owned), source.map(str::to_owned), 0, version).unwrap()
}

#[test]
fn a_transfer_is_four_records() {
    let steps = [
        record(Assigning, Some("a"), None, 1),
        record(Owned, Some("a"), None, 2),
        record(Releasing, Some("b"), Some("a"), 3),
        record(Assigning, Some("b"), Some("a"), 4),
        record(Owned, Some("b"), Some("a"), 5),
    ];
    for storage in [Storage::SystemTopic, Storage::MetadataStore] {
        let mut current: Option<&ServiceUnitRecord> = None;
        for step in &steps {
            assert_eq!(step.version_id, next_version(current));
            assert!(accept(current, Some(step), storage), "{step:?}");
            current = Some(step);
        }
    }
}

#[test]
fn the_first_of_two_racing_records_wins() {
    let owned = record(Owned, Some("a"), None, 2);
    let unload = record(Releasing, None, Some("a"), 3);
    let split = record(Splitting, None, Some("a"), 3);
    assert!(accept(Some(&owned), Some(&unload), Storage::MetadataStore));
    assert!(accept(Some(&owned), Some(&split), Storage::MetadataStore));
    assert!(!accept(Some(&unload), Some(&split), Storage::MetadataStore));
    assert!(!accept(Some(&split), Some(&unload), Storage::MetadataStore));
}

#[test]
fn bug_pulsar_26520_a_cleanup_that_lost_the_race_wins_with_the_next_version() {
    let assigning = record(Assigning, Some("dying"), None, 1);
    let late = override_orphan(&assigning, Some("b"), true, 0);
    let owned = record(Owned, Some("dying"), None, 2);
    assert!(!accept(Some(&owned), Some(&late), Storage::MetadataStore));
    let again = override_orphan(&owned, Some("b"), true, 0);
    assert!(accept(Some(&owned), Some(&again), Storage::MetadataStore));
    assert_eq!((again.state, again.destination(), again.source()), (Releasing, Some("b"), Some("dying")));
}

#[test]
fn bug_pulsar_23349_an_orphan_without_source_can_be_freed() {
    let free = override_orphan(&record(Assigning, Some("a"), None, 7), None, true, 0);
    assert_eq!((free.state, free.destination(), free.source(), free.version_id), (Free, None, None, 8));
    let text = serde_json::to_string(&free).unwrap();
    assert_eq!(serde_json::from_str::<ServiceUnitRecord>(&text).unwrap(), free);
}

#[test]
fn bug_pulsar_21332_the_releasing_source_is_answered_at_once() {
    let unload = record(Releasing, None, Some("a"), 3);
    assert_eq!(lookup_owner(Some(&unload), "a", |_| true), Lookup::Unowned);
    let transfer = record(Releasing, Some("b"), Some("a"), 3);
    assert_eq!(lookup_owner(Some(&transfer), "a", |_| true), Lookup::Broker("b"));
    assert_eq!(assigned_broker(Some(&transfer)), Some("b"));
}

fn any_record() -> impl Strategy<Value = ServiceUnitRecord> {
    let broker = prop::option::of(prop::sample::select(vec!["a", "b", "c", " "]));
    let state = prop::sample::select(ServiceUnitState::ALL.to_vec());
    (state, broker.clone(), broker, any::<i64>()).prop_filter_map("names a broker", |(state, dst, source, version)| {
        ServiceUnitRecord::new(state, dst.map(str::to_owned), source.map(str::to_owned), 0, version).ok()
    })
}

proptest! {
    /// Whatever record an orphan has become, its override is a valid record that is accepted over it.
    #[test]
    fn every_orphan_can_be_overridden(
        orphan in any_record().prop_filter("can be an orphan", |r| r.state.is_active()),
        selected in prop::option::of(prop::sample::select(vec!["a", "b", "d"])),
        graceful in any::<bool>(),
    ) {
        let record = override_orphan(&orphan, selected, graceful, 1);
        let text = serde_json::to_string(&record).unwrap();
        prop_assert_eq!(&serde_json::from_str::<ServiceUnitRecord>(&text).unwrap(), &record);
        for storage in [Storage::SystemTopic, Storage::MetadataStore] {
            prop_assert!(accept(Some(&orphan), Some(&record), storage));
        }
    }

    /// No two different records of one version both stand, in whatever order they arrive.
    #[test]
    fn one_record_per_version(from in any_record(), mut a in any_record(), mut b in any_record()) {
        a.version_id = next_version(Some(&from));
        b.version_id = a.version_id;
        for storage in [Storage::SystemTopic, Storage::MetadataStore] {
            if accept(Some(&from), Some(&a), storage) {
                prop_assert!(!accept(Some(&a), Some(&b), storage));
            }
        }
    }
}

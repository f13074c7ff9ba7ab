//! The contract of `MetadataStore`, held against every engine.

mod elections;
mod listing;
mod sessions;
mod unknown;
mod watching;
mod writes;

/// Runs each case on each engine.
macro_rules! conformance {
    ($($cases:tt)*) => {
        on_engine! { memory [] crate::cluster::Cluster::memory(); $($cases)* }
        on_engine! { on_disk [] crate::cluster::Cluster::embedded(); $($cases)* }
        on_engine! {
            zookeeper [#[ignore = "needs ZooKeeper"]] crate::cluster::Cluster::zookeeper().await; $($cases)*
        }
        on_engine! { etcd [#[ignore = "needs etcd"]] crate::cluster::Cluster::etcd().await; $($cases)* }
    };
}

macro_rules! on_engine {
    ($engine:ident $attributes:tt $open:expr; $($module:ident :: { $($case:ident),* $(,)? })*) => {
        mod $engine {
            $($(case! { $attributes $case $module $open })*)*
        }
    };
}

macro_rules! case {
    ([$(#[$attribute:meta])*] $case:ident $module:ident $open:expr) => {
        #[tokio::test]
        $(#[$attribute])*
        async fn $case() {
            super::$module::$case(&$open).await;
        }
    };
}

conformance! {
    writes::{
        versions_count_changes, a_write_happens_only_as_expected, revisions_never_repeat, deletes_follow_their_rules,
        sequential_paths_sort_by_creation, sequential_paths_are_nobody_elses, bad_input_is_refused,
        one_of_many_writers_wins, a_lost_race_shows_its_winner, counters_lose_nothing,
        eventual_writes_are_seen_at_once, reads_by_another_handle_see_every_acknowledged_write,
    }
    unknown::{
        an_unknown_outcome_that_happened_is_found, an_unknown_outcome_that_did_not_happen_is_made_up_for,
        an_unknown_outcome_that_lost_is_a_conflict, an_unknown_delete_is_settled,
    }
    listing::{children_are_one_level, pages_have_no_gaps, trees_are_deleted, a_row_needs_no_parent}
    watching::{
        a_watch_tells_of_every_change_in_order, a_watch_is_bounded_by_segments, a_seen_change_is_readable,
        a_slow_watcher_is_told_to_read_again, concurrent_changes_are_all_told,
    }
    sessions::{
        ephemeral_rows_end_with_their_handle, ephemeral_rows_end_with_an_expired_session,
        a_row_keeps_its_kind, rows_know_their_session,
    }
    elections::{
        the_first_candidate_leads, leadership_passes_on, a_lost_session_ends_leadership, observers_see_each_leader,
        a_dropped_campaign_is_taken_up, bug_pulsar_24478_no_leader_acts_on_a_lost_session,
    }
}

//! The simulation finds the defects of other clients.

use plerion_bookkeeper::protocol::defects::{Defect, Defects};

use super::run;

/// Looks from a seed on that was seen to be near one that shows it.
fn found(defect: Defect, first: u64) -> String {
    for seed in first..first + 20_000 {
        if let Err(violation) = run(seed, Defects::with(defect)) {
            return format!("seed {seed}: {violation}");
        }
    }
    panic!("{defect:?} is not found")
}

macro_rules! finds {
    ($($(#[$doc:meta])* $name:ident: $defect:ident from $first:literal,)*) => {
        $($(#[$doc])* #[test] fn $name() { println!("{}", found(Defect::$defect, $first)); })*
    };
}

finds! {
    d1_giving_up_on_a_recovery_begun_is_found: GivesUpOnRecoveryBegun from 0,
    d2_absence_by_the_first_answer_is_found: FirstAbsenceDecides from 0,
    d4_weak_coverage_is_found: WeakCoverage from 3300,
    d5_a_dropped_segment_is_found: DropsReplacedSegment from 1350,
    d6_a_dead_bookie_that_comes_back_is_found: ForgetsFirstReplacement from 10700,
    d7_refusing_anothers_end_is_found: RefusesWinner from 0,
    d8_waiting_for_ever_is_found: NoTimeOuts from 0,
    d9_a_close_that_stops_changes_is_found: CloseStopsChanges from 0,
    d10_recovery_without_priority_is_found: NoPriority from 0,
    u1_a_length_from_the_wrong_entry_is_found: LengthFromLac from 0,
    u4_trusting_fences_that_are_forgotten_is_found: NoGuard from 3700,
    u6_counting_answers_of_replaced_bookies_is_found: StaleAnswers from 0,
    acknowledging_during_a_change_is_found: AcknowledgesDuringChange from 0,
    taking_damage_for_absence_is_found: MismatchIsAbsence from 16800,
    taking_silence_for_absence_is_found: SilenceIsAbsence from 750,
}

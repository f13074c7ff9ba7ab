//! What may be concluded from which answers.

use plerion_bookkeeper::quorum::{Members, Quorum};

const SIZES: [(usize, usize, usize); 11] = [
    (1, 1, 1),
    (2, 2, 1),
    (2, 2, 2),
    (3, 3, 1),
    (3, 3, 2),
    (3, 3, 3),
    (3, 2, 2),
    (4, 4, 2),
    (5, 3, 2),
    (5, 5, 2),
    (6, 3, 2),
];

fn members(bits: u32, ensemble: usize) -> Members {
    (0..ensemble).filter(|index| bits >> index & 1 == 1).collect()
}

/// C20: for every subset of silent bookies, a ledger counts as fenced exactly when no ack quorum of any write set can
/// be found among them.
#[test]
fn c20_coverage_of_every_subset() {
    for (ensemble, write, ack) in SIZES {
        let quorum = Quorum::new(ensemble, write, ack).unwrap();
        for answered in 0..1_u32 << ensemble {
            // By the reason, not by the rule: could an entry still be acknowledged by silent bookies alone?
            let could = (0..ensemble).any(|entry| {
                (0..write).filter(|offset| answered >> ((entry + offset) % ensemble) & 1 == 0).count() >= ack
            });
            assert_eq!(quorum.is_covered_by(members(answered, ensemble)), !could, "{quorum:?} {answered:b}");
        }
    }
}

/// C20, D4: the original's table of how many may be silent.
#[test]
fn c20_how_many_may_be_silent() {
    for ((ensemble, write, ack), silent) in SIZES.into_iter().zip([0, 0, 1, 0, 1, 2, 1, 1, 1, 1, 2]) {
        let quorum = Quorum::new(ensemble, write, ack).unwrap();
        let most = (0..1_u32 << ensemble)
            .filter(|answered| quorum.is_covered_by(members(*answered, ensemble)))
            .map(|answered| ensemble - answered.count_ones() as usize)
            .max();
        assert_eq!(most, Some(silent), "{quorum:?}");
    }
}

#[test]
fn write_sets_are_striped() {
    let quorum = Quorum::new(5, 3, 2).unwrap();
    assert_eq!(quorum.write_set(3).collect::<Vec<_>>(), [3, 4, 0]);
    assert!(quorum.holds(3, 0) && !quorum.holds(3, 1));
    assert_eq!(quorum.absent(), 2);
    assert_eq!(Quorum::new(3, 3, 1).unwrap().absent(), 3);
}

#[test]
fn sizes_have_an_order() {
    for (ensemble, write, ack) in [(0, 0, 0), (1, 1, 0), (2, 3, 1), (3, 2, 3), (65, 3, 2)] {
        assert_eq!(Quorum::new(ensemble, write, ack), None);
    }
}

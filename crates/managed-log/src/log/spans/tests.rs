use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Every entry, in order: the model.
fn entries(ledgers: &[(i64, u64)]) -> Vec<Position> {
    ledgers
        .iter()
        .flat_map(|&(ledger, count)| (0..count.cast_signed()).map(move |entry| Position::new(ledger, entry)))
        .collect()
}

fn ledgers() -> impl Strategy<Value = Vec<(i64, u64)>> {
    vec((1_i64..4, 1_u64..5), 0..6).prop_map(|steps| {
        let mut id = 0;
        steps
            .into_iter()
            .map(|(step, count)| {
                id += step;
                (id, count)
            })
            .collect()
    })
}

fn position() -> impl Strategy<Value = Position> {
    prop_oneof![
        8 => (-1_i64..20, -1_i64..6).prop_map(|(ledger, entry)| Position::new(ledger, entry)),
        1 => Just(Position::EARLIEST),
        1 => Just(Position::LATEST),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn spans_are_the_list_of_entries(
        mut ledgers in ledgers(),
        removed in 0_usize..4,
        empty_last: bool,
        a in position(),
        b in position(),
        n in 0_u64..12,
    ) {
        let mut spans = Spans::new(None);
        for &(ledger, count) in &ledgers {
            spans.push(ledger, count);
        }
        if empty_last {
            spans.push(19, 0);
        }
        let last_ever = entries(&ledgers).last().copied().unwrap_or(Position::EARLIEST);
        let removed = removed.min(ledgers.len());
        if removed > 0 {
            spans.remove_to(ledgers[removed - 1].0);
            ledgers.drain(..removed);
        }
        let model = entries(&ledgers);

        prop_assert_eq!(spans.len(), model.len() as u64);
        prop_assert_eq!(spans.last(), last_ever);
        match model.first() {
            Some(&first) => prop_assert_eq!(spans.first(), first),
            None => prop_assert!(spans.first() > last_ever),
        }
        prop_assert_eq!(spans.contains(a), model.contains(&a));
        prop_assert_eq!(spans.ceiling(a), model.iter().copied().find(|&entry| entry >= a));
        prop_assert_eq!(spans.floor(a), model.iter().copied().rev().find(|&entry| entry <= a));
        prop_assert_eq!(spans.next(a), model.iter().copied().find(|&entry| entry > a));
        prop_assert_eq!(spans.previous(a), model.iter().copied().rev().find(|&entry| entry < a));
        let count = model.iter().filter(|&&entry| entry >= a && entry <= b).count() as u64;
        prop_assert_eq!(spans.count(a, b), count);
        let after: Vec<_> = model.iter().copied().filter(|&entry| entry > a).take(n as usize).collect();
        prop_assert_eq!(spans.after_n(a, n), after.last().copied().unwrap_or(a));
    }
}

#[test]
fn an_empty_ledger_gives_way_to_the_next() {
    let mut spans = Spans::new(Some(Position::new(3, 7)));
    assert_eq!((spans.first(), spans.last()), (Position::new(3, 8), Position::new(3, 7)));
    spans.push(5, 0);
    spans.push(6, 0);
    spans.grow(2);
    assert_eq!((spans.first(), spans.last()), (Position::new(6, 0), Position::new(6, 1)));
}

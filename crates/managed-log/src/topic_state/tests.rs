use plerion_subscription::{Layout, Position};

use super::*;

fn start() -> Bytes {
    Bytes::from(Cursor::new(Position::new(1, 0)).snapshot())
}

fn moved_to(entry: i64) -> Bytes {
    let mut cursor = Cursor::new(Position::new(1, 0));
    cursor.seek(Position::new(1, entry + 1), None, &Everything);
    Bytes::from(cursor.drain().unwrap())
}

/// A log with every entry of ledger 1 up to 99.
struct Everything;

impl Layout for Everything {
    fn first(&self) -> Position {
        Position::new(1, 0)
    }

    fn last(&self) -> Position {
        Position::new(1, 99)
    }

    fn ceiling(&self, from: Position) -> Option<Position> {
        Some(from.max(self.first())).filter(|&position| position <= self.last())
    }

    fn floor(&self, up_to: Position) -> Option<Position> {
        Some(up_to.min(self.last())).filter(|&position| position >= self.first())
    }

    fn count(&self, from: Position, up_to: Position) -> u64 {
        u64::try_from(up_to.entry - from.entry + 1).unwrap_or(0)
    }
}

fn changes() -> Vec<Change> {
    let properties = Properties::from([("a".to_owned(), "b".to_owned())]);
    vec![
        Change::Created { cursor: Rc::from("one"), snapshot: start(), properties: Properties::new() },
        Change::Moved { cursor: Rc::from("one"), delta: moved_to(3) },
        Change::Moved { cursor: Rc::from("gone"), delta: Bytes::from("x") },
        Change::Created { cursor: Rc::from("two"), snapshot: Bytes::new(), properties: properties.clone() },
        Change::Described { cursor: Rc::from("one"), properties },
        Change::Deleted { cursor: Rc::from("two") },
        Change::Dedup { snapshot: Bytes::from("d") },
        Change::Moved { cursor: Rc::from("one"), delta: moved_to(7) },
    ]
}

#[test]
fn changes_survive_their_binary_form() {
    let mut out = BytesMut::new();
    changes().iter().for_each(|change| change.encode(&mut out));
    let mut take = Take::new(out.freeze());
    for change in changes() {
        assert_eq!(Change::decode(&mut take).unwrap(), change);
    }
    assert!(take.is_empty());
}

#[test]
fn a_state_is_its_changes_merged() {
    let mut state = TopicState::default();
    changes().into_iter().for_each(|change| state.apply(change));
    state.merge().unwrap();
    assert_eq!(state.cursors.len(), 1);
    let cursor = Cursor::restore(&state.cursors["one"].snapshot).unwrap();
    assert_eq!(cursor.mark_delete(), Position::new(1, 7));
    assert_eq!(state.cursors["one"].properties["a"], "b");
    assert_eq!(TopicState::decode(state.encode()).unwrap(), state);
}

#[test]
fn an_empty_state_takes_no_space() {
    assert!(TopicState::default().encode().is_empty());
    assert_eq!(TopicState::decode(Bytes::new()).unwrap(), TopicState::default());
}

#[test]
fn a_cursor_that_cannot_be_merged_is_named() {
    let mut state = TopicState::default();
    state.apply(Change::Created { cursor: Rc::from("c"), snapshot: Bytes::from("bad"), properties: Properties::new() });
    state.apply(Change::Moved { cursor: Rc::from("c"), delta: Bytes::new() });
    let why = state.merge().unwrap_err();
    assert!(why.starts_with("cursor \"c\": "), "{why}");
}

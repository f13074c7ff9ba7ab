//! The writer.

use plerion_bookkeeper::bookie::BookieId;
use plerion_bookkeeper::directory::{Ask, Told};
use plerion_bookkeeper::ledger_metadata::{LedgerMetadata, State, Versioned};
use plerion_bookkeeper::protocol::writer::{Config, Error, Event, Mode, Writer};
use plerion_bookkeeper::protocol::{Action, Failure, Purpose, Reply, Token, Wake};

use super::{LEDGER, SOUND, Spares, bookie, digester, found, key, open_metadata, sort, spares};

struct Desk {
    writer: Writer,
    places: Spares,
    out: Vec<Action<Event>>,
    stored: LedgerMetadata,
    version: u64,
}

impl Desk {
    fn new(quorum: (usize, usize, usize), places: Spares) -> Self {
        let stored = open_metadata(quorum);
        let config = Config {
            ledger: LEDGER,
            digester: digester(),
            key: key(),
            max_body: 100,
            max_changes: 5,
            max_pending_entries: 1_000,
            max_pending_bytes: 1 << 20,
            defects: SOUND,
        };
        let writer = Writer::new(config, Versioned { metadata: stored.clone(), version: 0 });
        Self { writer, places, out: Vec::new(), stored, version: 0 }
    }

    /// The same after every bookie took entry 0, so that the guard is lifted.
    fn at_work(quorum: (usize, usize, usize), places: Spares) -> Self {
        let mut desk = Self::new(quorum, places);
        for entry in 0..quorum.0 as i64 {
            desk.append();
            for index in desk.stored.quorum.write_set(entry).collect::<Vec<_>>() {
                desk.ok(index, entry);
            }
        }
        while desk.serve_store() {}
        assert_eq!(desk.writer.acknowledged(), quorum.0 as i64 - 1);
        desk.out.clear();
        desk
    }

    fn append(&mut self) -> i64 {
        self.writer.append(b"seven b", &mut self.places, &mut self.out).unwrap()
    }

    fn reply(&mut self, from: BookieId, index: usize, entry: i64, reply: Reply) {
        let token = Token { index, entry, purpose: Purpose::Store };
        self.writer.on_reply(&from, token, reply, &mut self.places, &mut self.out);
    }

    fn ok(&mut self, index: usize, entry: i64) {
        let from = self.writer.ensemble()[index].clone();
        self.reply(from, index, entry, Reply::Added);
    }

    fn fail(&mut self, index: usize, entry: i64, failure: Failure) {
        let from = self.writer.ensemble()[index].clone();
        self.reply(from, index, entry, Reply::Failed(failure));
    }

    fn told(&mut self, told: Told) {
        self.writer.on_told(told, &mut self.places, &mut self.out);
    }

    /// Answers the open question as a store does; says whether there was one.
    fn serve_store(&mut self) -> bool {
        let at = self.out.iter().position(|action| matches!(action, Action::Ask(_)));
        let Some(at) = at else { return false };
        let Action::Ask(ask) = self.out.remove(at) else { return false };
        match ask {
            Ask::Read => self.told(found(&self.stored.clone(), self.version)),
            Ask::Write { version, .. } if version != self.version => self.told(Told::Conflict),
            Ask::Write { metadata, .. } => {
                self.stored = (*metadata).clone();
                self.version += 1;
                self.told(Told::Written(self.version));
            }
        }
        true
    }

    fn events(&mut self) -> Vec<Event> {
        sort(&mut self.out).told
    }

    fn sent_to(&mut self) -> Vec<(BookieId, i64)> {
        sort(&mut self.out).sends.into_iter().map(|(to, _, token)| (to, token.entry)).collect()
    }
}

/// C6: answers in reverse order are acknowledged in order, all at once.
#[test]
fn c6_acknowledgements_are_in_order() {
    let mut desk = Desk::at_work((3, 3, 2), spares(3..5));
    (3..103).for_each(|entry| assert_eq!(desk.append(), entry));
    for entry in (3..103).rev() {
        desk.ok(0, entry);
        desk.ok(1, entry);
        assert_eq!(desk.writer.acknowledged(), if entry == 3 { 102 } else { 2 });
    }
    assert_eq!(desk.events(), [Event::Advanced(102)]);
}

/// C7: the third answer changes nothing.
#[test]
fn c7_a_late_third_answer() {
    let mut desk = Desk::at_work((3, 3, 2), spares(3..5));
    desk.append();
    desk.ok(0, 3);
    desk.ok(2, 3);
    assert_eq!(desk.events(), [Event::Advanced(3)]);
    desk.ok(1, 3);
    assert!(desk.out.is_empty());
}

/// C12: the answer of a bookie that was replaced comes after the change, and does not count.
#[test]
fn c12_a_replaced_bookie_does_not_count() {
    let mut desk = Desk::at_work((3, 3, 2), spares(3..5));
    desk.append();
    desk.ok(1, 3);
    desk.fail(0, 3, Failure::TimedOut);
    assert!(desk.serve_store());
    assert_eq!(desk.writer.ensemble()[0], bookie(3));
    desk.reply(bookie(0), 0, 3, Reply::Added);
    assert_eq!(desk.writer.acknowledged(), 2);
    desk.ok(0, 3);
    // The new member makes the guard look again.
    assert_eq!(desk.writer.acknowledged(), 2);
    assert!(desk.serve_store());
    assert_eq!(desk.writer.acknowledged(), 3);
}

/// C13: a second bookie fails while the first is being replaced; both are before anything is acknowledged.
#[test]
fn c13_a_second_failure_during_a_change() {
    let mut desk = Desk::at_work((3, 3, 2), spares(3..6));
    desk.append();
    desk.fail(0, 3, Failure::Disconnected);
    desk.ok(2, 3);
    desk.fail(1, 3, Failure::Disconnected);
    assert!(desk.serve_store());
    assert_eq!(desk.writer.acknowledged(), 2);
    assert!(!desk.out.iter().any(|action| matches!(action, Action::Send { to, .. } if *to == bookie(3))));
    assert!(desk.serve_store());
    assert_eq!(desk.writer.ensemble(), [bookie(3), bookie(4), bookie(2)]);
    assert_eq!((desk.stored.segments.len(), desk.stored.last_segment().first), (2, 3));
    desk.out.retain(|action| matches!(action, Action::Send { to, .. } if *to != bookie(0) && *to != bookie(1)));
    assert!(desk.sent_to().ends_with(&[(bookie(3), 3), (bookie(4), 3)]));
}

/// C14: an entry that the replaced bookie does not hold is acknowledged after the change without being sent again.
#[test]
fn c14_a_complete_entry_elsewhere_is_acknowledged_after_the_change() {
    let mut desk = Desk::at_work((3, 2, 2), spares(3..5));
    assert_eq!((desk.append(), desk.append()), (3, 4));
    desk.out.clear();
    // Entry 3 is on 0 and 1, entry 4 on 1 and 2. A failure of 0 at entry 3 begins the change.
    desk.fail(0, 3, Failure::TimedOut);
    desk.ok(1, 4);
    desk.ok(2, 4);
    assert!(desk.serve_store());
    assert_eq!(desk.sent_to(), [(bookie(3), 3)]);
    desk.ok(0, 3);
    desk.ok(1, 3);
    assert!(desk.serve_store());
    assert_eq!(desk.events(), [Event::Advanced(4)]);
}

/// C15, U6: an append during a change goes to the members that stay; the rest of it to whoever comes.
#[test]
fn c15_appends_during_a_change() {
    let mut desk = Desk::at_work((3, 3, 2), spares(3..5));
    desk.append();
    desk.fail(0, 3, Failure::TimedOut);
    let ask = desk.out.iter().position(|action| matches!(action, Action::Ask(_))).unwrap();
    let ask = desk.out.remove(ask);
    desk.out.clear();
    desk.append();
    assert_eq!(desk.sent_to(), [(bookie(1), 4), (bookie(2), 4)]);
    desk.out.push(ask);
    assert!(desk.serve_store());
    assert_eq!(desk.sent_to(), [(bookie(3), 3), (bookie(3), 4)]);
}

/// C16: a failure after the ack quorum is dealt with by the next append.
#[test]
fn c16_a_failure_after_the_quorum() {
    let mut desk = Desk::at_work((3, 3, 2), spares(3..5));
    desk.append();
    desk.ok(0, 3);
    desk.ok(1, 3);
    desk.fail(2, 3, Failure::TimedOut);
    assert!(!sort(&mut desk.out).asks.iter().any(|ask| matches!(ask, Ask::Write { .. })));
    desk.append();
    assert!(sort(&mut desk.out).asks.iter().any(|ask| matches!(ask, Ask::Write { .. })));
}

/// C17: closing now closes at what is acknowledged, in spite of what is under way.
#[test]
fn c17_close_with_appends_under_way() {
    let mut desk = Desk::at_work((3, 3, 2), spares(3..5));
    (3..103).for_each(|entry| assert_eq!(desk.append(), entry));
    desk.fail(0, 3, Failure::Disconnected);
    desk.writer.close(Mode::Now, &mut desk.out);
    (3..103).for_each(|entry| desk.ok(1, entry));
    (3..103).for_each(|entry| desk.ok(2, entry));
    while desk.serve_store() {}
    assert_eq!(desk.events(), [Event::Closed { last: 2, length: 21 }]);
    assert_eq!((desk.stored.state, desk.stored.last), (State::Closed, 2));
}

/// C18: what a close finds.
#[test]
fn c18_what_close_finds() {
    let close = |state, last: i64| {
        let mut desk = Desk::at_work((3, 3, 2), spares(3..5));
        desk.stored.state = state;
        (desk.stored.last, desk.stored.length) = (last, (last + 1) * 7);
        desk.version += 1;
        desk.writer.close(Mode::Drain, &mut desk.out);
        while desk.serve_store() {}
        desk.events()
    };
    assert_eq!(close(State::Closed, 2), [Event::Closed { last: 2, length: 21 }]);
    assert_eq!(close(State::Closed, 3), [Event::Failed(Error::Fenced)]);
    assert_eq!(close(State::InRecovery, -1), [Event::Failed(Error::Fenced)]);
    assert_eq!(close(State::Open, -1), [Event::Closed { last: 2, length: 21 }]);
    let mut desk = Desk::at_work((3, 3, 2), spares(3..5));
    desk.writer.close(Mode::Drain, &mut desk.out);
    desk.told(Told::Unavailable("away".into()));
    assert_eq!(desk.events(), [Event::Failed(Error::Unavailable("away".into()))]);
    assert_eq!(desk.stored.state, State::Open);
}

/// C34: recovery came before the change of the ensemble.
#[test]
fn c34_a_change_that_meets_recovery() {
    let mut desk = Desk::at_work((3, 3, 2), spares(3..5));
    desk.append();
    desk.fail(0, 3, Failure::TimedOut);
    desk.stored.state = State::InRecovery;
    desk.version += 1;
    while desk.serve_store() {}
    assert_eq!(desk.events(), [Event::Failed(Error::Fenced)]);
    assert_eq!(desk.writer.append(b"x", &mut desk.places, &mut desk.out), Err(Error::Fenced));
}

/// C36: a busy bookie is asked again, with the same bytes and without a change.
#[test]
fn c36_a_busy_bookie_is_asked_again() {
    let mut desk = Desk::at_work((3, 3, 2), spares(3..5));
    desk.append();
    let first = sort(&mut desk.out).sends[0].1.clone();
    for _ in 0..5 {
        desk.fail(0, 3, Failure::Busy);
        let wanted = sort(&mut desk.out);
        assert!(wanted.asks.is_empty());
        let [wake @ Wake::Again { .. }] = &wanted.wakes[..] else { panic!("not asked again") };
        desk.writer.on_wake(wake.clone(), &mut desk.out);
        assert_eq!(sort(&mut desk.out).sends[0].1, first);
    }
    desk.ok(0, 3);
    desk.ok(1, 3);
    assert_eq!(desk.events(), [Event::Advanced(3)]);
}

/// C45: the answer to a change is lost; its own write is recognised.
#[test]
fn c45_a_lost_answer_to_a_change() {
    let mut desk = Desk::at_work((3, 3, 2), spares(3..5));
    desk.append();
    desk.fail(0, 3, Failure::TimedOut);
    let wanted = sort(&mut desk.out);
    let [Ask::Write { metadata, .. }] = &wanted.asks[..] else { panic!("no change") };
    (desk.stored, desk.version) = ((**metadata).clone(), desk.version + 1);
    desk.told(Told::Unknown);
    assert!(desk.serve_store());
    assert_eq!(desk.writer.ensemble()[0], bookie(3));
    assert_eq!(desk.version, 1);
    assert_eq!(desk.sent_to(), [(bookie(3), 3)]);
}

/// C51: a connection is dropped with a thousand appends under way: each is resolved once.
#[test]
fn c51_a_dropped_connection() {
    let mut desk = Desk::at_work((3, 3, 2), spares(3..4));
    (3..503).for_each(|entry| assert_eq!(desk.append(), entry));
    (3..503).for_each(|entry| desk.reply(bookie(0), 0, entry, Reply::Failed(Failure::Disconnected)));
    while desk.serve_store() {}
    for index in 0..2 {
        (3..503).for_each(|entry| desk.ok(index, entry));
    }
    while desk.serve_store() {}
    let mut last = 2;
    for event in desk.events() {
        let Event::Advanced(to) = event else { panic!("{event:?}") };
        assert!(to > last);
        last = to;
    }
    assert_eq!((last, desk.stored.segments.len()), (502, 2));
}

/// C54, U3: every replacement fails; the changes have a limit.
#[test]
fn c54_changes_have_a_limit() {
    let mut desk = Desk::at_work((3, 3, 2), spares(3..100));
    desk.append();
    for _ in 0..10 {
        if desk.writer.pending() > 0 {
            desk.fail(0, 3, Failure::Disconnected);
            while desk.serve_store() {}
        }
    }
    assert!(desk.events().contains(&Event::Failed(Error::TooManyChanges(5))));
    assert_eq!(desk.version, 5);
}

/// U15: nothing limits the rate; what waits has a limit.
#[test]
fn u15_only_what_waits_is_limited() {
    let mut desk = Desk::at_work((3, 3, 2), spares(3..5));
    for _ in 0..1_000 {
        desk.append();
    }
    let full = desk.writer.append(b"x", &mut desk.places, &mut desk.out);
    assert!(matches!(full, Err(Error::Full { entries: 1_000, .. })));
    let long = desk.writer.append(&[0; 101], &mut desk.places, &mut desk.out);
    assert_eq!(long, Err(Error::TooLong { size: 101, max: 100 }));
}

/// U4: the guard is lifted only by a read begun when every member held an entry.
#[test]
fn u4_a_read_begun_too_early_does_not_lift_the_guard() {
    let mut desk = Desk::new((3, 3, 2), spares(3..5));
    desk.append();
    desk.ok(0, 0);
    desk.ok(1, 0);
    // The question is open; now the third answers, too late for it.
    desk.ok(2, 0);
    assert_eq!(desk.writer.acknowledged(), -1);
    let reads = |desk: &Desk| desk.out.iter().filter(|action| matches!(action, Action::Ask(Ask::Read))).count();
    assert_eq!(reads(&desk), 1);
    desk.serve_store();
    assert_eq!((desk.writer.acknowledged(), reads(&desk)), (0, 1));
    // Recovery began in between and every bookie forgot: the next read sees it.
    desk.append();
    desk.ok(0, 1);
    desk.ok(1, 1);
    desk.stored.state = State::InRecovery;
    desk.serve_store();
    assert_eq!(desk.writer.acknowledged(), 0);
    assert!(desk.events().contains(&Event::Failed(Error::Fenced)));
}

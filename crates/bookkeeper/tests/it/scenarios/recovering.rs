//! Recovery.

use bytes::Bytes;
use plerion_bookkeeper::digest::DigestType;
use plerion_bookkeeper::directory::{Ask, Told};
use plerion_bookkeeper::ledger_metadata::{LedgerMetadata, State};
use plerion_bookkeeper::protocol::recovery::{Config, EPOCH_KEY, Error, Event, Recovery};
use plerion_bookkeeper::protocol::{Action, Call, Failure, Purpose, Reply, Token};
use plerion_bookkeeper::wire::Status;

use super::{LEDGER, SOUND, Spares, bookie, found, open_metadata, sealed, spares};

const ABSENT: Reply = Reply::Failed(Failure::NoEntry);
const SILENT: Reply = Reply::Failed(Failure::TimedOut);

struct Desk {
    recovery: Recovery,
    places: Spares,
    out: Vec<Action<Event>>,
    stored: LedgerMetadata,
    version: u64,
}

impl Desk {
    fn new(stored: LedgerMetadata, places: Spares) -> Self {
        let config = Config {
            ledger: LEDGER,
            password: Bytes::new(),
            digest: DigestType::Crc32c,
            epoch: None,
            window: 4,
            defects: SOUND,
        };
        let mut out = Vec::new();
        let recovery = Recovery::start(config, &mut out);
        let mut desk = Self { recovery, places, out, stored, version: 0 };
        while desk.serve_store() {}
        desk
    }

    fn serve_store(&mut self) -> bool {
        let at = self.out.iter().position(|action| matches!(action, Action::Ask(_)));
        let Some(at) = at else { return false };
        let Action::Ask(ask) = self.out.remove(at) else { return false };
        let told = match ask {
            Ask::Read => found(&self.stored, self.version),
            Ask::Write { version, .. } if version != self.version => Told::Conflict,
            Ask::Write { metadata, .. } => {
                self.stored = (*metadata).clone();
                self.version += 1;
                Told::Written(self.version)
            }
        };
        self.recovery.on_told(told, &mut self.out);
        true
    }

    fn say(&mut self, who: usize, index: usize, purpose: Purpose, entry: i64, reply: Reply) {
        let token = Token { index, entry, purpose };
        self.recovery.on_reply(&bookie(who), token, reply, &mut self.places, &mut self.out);
    }

    fn fence(&mut self, index: usize, reply: Reply) {
        self.say(index, index, Purpose::Fence, -1, reply);
    }

    fn find(&mut self, index: usize, entry: i64, reply: Reply) {
        self.say(index, index, Purpose::Find, entry, reply);
    }

    /// Everybody has entries up to `last`, and says that `last - 1` is acknowledged.
    fn fence_all(&mut self, last: i64) {
        let members = self.stored.quorum.ensemble();
        (0..members).for_each(|index| self.fence(index, Reply::Entry(sealed(last, last - 1))));
    }

    /// Answers every open write-back, and the store, until nothing is open.
    fn write_back(&mut self) {
        loop {
            let at = self
                .out
                .iter()
                .position(|action| matches!(action, Action::Send { token, .. } if token.purpose == Purpose::Store));
            if let Some(at) = at
                && let Action::Send { to, call, token } = self.out.remove(at)
            {
                assert!(matches!(call, Call::WriteBack(_)));
                self.recovery.on_reply(&to, token, Reply::Added, &mut self.places, &mut self.out);
            } else if !self.serve_store() {
                return;
            }
        }
    }

    fn event(&mut self) -> Option<Event> {
        let at = self.out.iter().position(|action| matches!(action, Action::Tell(_)))?;
        if let Action::Tell(event) = self.out.remove(at) { Some(event) } else { None }
    }

    fn end(&mut self) -> (i64, i64) {
        match self.event() {
            Some(Event::Done(metadata)) => (metadata.last, metadata.length),
            other => panic!("{other:?}"),
        }
    }
}

/// A recovery in an earlier term gives way to a later one, before and after its own mark.
#[test]
fn a_later_term_owns_the_ledger() {
    let mut stored = open_metadata((3, 3, 2));
    stored.set_custom(EPOCH_KEY, Bytes::from("5"));
    let start = |epoch| Config {
        ledger: LEDGER,
        password: Bytes::new(),
        digest: DigestType::Crc32c,
        epoch: Some(epoch),
        window: 4,
        defects: SOUND,
    };
    let mut desk = Desk::new(stored, spares(3..5));
    desk.out.clear();
    desk.recovery = Recovery::start(start(4), &mut desk.out);
    while desk.serve_store() {}
    assert_eq!(desk.event(), Some(Event::Failed(Error::Owned(5))));
    desk.recovery = Recovery::start(start(6), &mut desk.out);
    while desk.serve_store() {}
    assert_eq!(desk.stored.custom(EPOCH_KEY), Some(&Bytes::from("6")));
    // Somebody in term 7 marks the ledger, while this one is about to close it.
    desk.fence_all(4);
    (0..3).for_each(|index| desk.find(index, 4, Reply::Entry(sealed(4, 3))));
    desk.stored.set_custom(EPOCH_KEY, Bytes::from("7"));
    desk.version += 1;
    (0..2).for_each(|index| desk.find(index, 5, ABSENT));
    desk.write_back();
    assert_eq!(desk.event(), Some(Event::Failed(Error::Owned(7))));
    assert_eq!(desk.stored.state, State::InRecovery);
}

/// C20: recovery begins to search exactly when the answers cover the ensemble.
#[test]
fn c20_fencing_waits_for_coverage() {
    let mut desk = Desk::new(open_metadata((3, 2, 2)), spares(3..5));
    desk.fence(0, ABSENT);
    let searches = |desk: &Desk| {
        desk.out.iter().any(|action| matches!(action, Action::Send { token, .. } if token.purpose == Purpose::Find))
    };
    assert!(!searches(&desk));
    desk.fence(0, ABSENT);
    assert!(!searches(&desk), "one bookie counted twice");
    desk.fence(1, ABSENT);
    assert!(searches(&desk));
    // Whoever was silent so far is fenced before its "no" counts.
    let mut sends = desk.out.iter().filter_map(|action| match action {
        Action::Send { call, token, .. } if token.purpose == Purpose::Find => Some(call),
        _ => None,
    });
    assert!(sends.all(|call| matches!(call, Call::FencingRead(_))));
}

/// C21, D4: with an ack quorum of one, a single silent bookie may hold what was acknowledged.
#[test]
fn c21_one_silent_bookie_prevents_the_end() {
    let mut desk = Desk::new(open_metadata((3, 3, 1)), spares(3..5));
    desk.fence(0, ABSENT);
    desk.fence(2, ABSENT);
    desk.fence(1, SILENT);
    assert!(matches!(desk.event(), Some(Event::Failed(Error::NotFenced { .. }))));
    assert_eq!(desk.stored.state, State::InRecovery);
}

/// C23, D1: somebody began to recover it and died.
#[test]
fn c23_a_recovery_left_behind_is_done() {
    let mut left = open_metadata((3, 3, 2));
    left.state = State::InRecovery;
    let mut desk = Desk::new(left, spares(3..5));
    desk.fence_all(4);
    (0..3).for_each(|index| desk.find(index, 4, if index == 0 { Reply::Entry(sealed(4, 3)) } else { ABSENT }));
    (0..3).for_each(|index| desk.find(index, 5, ABSENT));
    desk.write_back();
    assert_eq!(desk.end(), (4, 35));
}

/// C24: an entry that only the first bookie has is written to all of them.
#[test]
fn c24_a_partial_last_entry_is_recovered() {
    let mut desk = Desk::new(open_metadata((3, 3, 2)), spares(3..5));
    desk.fence_all(4);
    desk.find(0, 4, Reply::Entry(sealed(4, 3)));
    desk.find(0, 5, Reply::Entry(sealed(5, 3)));
    let written: Vec<_> = desk
        .out
        .iter()
        .filter_map(|action| match action {
            Action::Send { to, call: Call::WriteBack(bytes), token } if token.entry == 5 => {
                Some((to.clone(), bytes.clone()))
            }
            _ => None,
        })
        .collect();
    // U12: the original bytes, its old LAC included.
    assert_eq!(written, [2, 0, 1].map(|number| (bookie(number), sealed(5, 3))));
    desk.find(0, 6, ABSENT);
    desk.find(1, 6, ABSENT);
    desk.write_back();
    assert_eq!(desk.end(), (5, 42));
}

/// C25, U1: an entry on one bookie, which two others do not have, is left out; the length is that of the end.
#[test]
fn c25_a_partial_last_entry_is_left_out() {
    let mut desk = Desk::new(open_metadata((3, 3, 2)), spares(3..5));
    // Entry 5 tells that 4 is acknowledged, and a length of 42.
    desk.fence(0, Reply::Entry(sealed(5, 4)));
    desk.fence(1, Reply::Entry(sealed(4, 3)));
    desk.find(1, 5, ABSENT);
    desk.find(2, 5, ABSENT);
    // Too late.
    desk.find(0, 5, Reply::Entry(sealed(5, 4)));
    desk.say(1, 1, Purpose::Read, 4, Reply::Entry(sealed(4, 3)));
    desk.write_back();
    assert_eq!(desk.end(), (4, 35));
}

/// C26, D2: two bookies are silent, one says no: that is no end.
#[test]
fn c26_silence_is_not_absence() {
    let mut desk = Desk::new(open_metadata((3, 3, 2)), spares(3..5));
    desk.fence_all(4);
    desk.find(2, 4, ABSENT);
    desk.find(0, 4, SILENT);
    desk.find(1, 4, SILENT);
    assert!(matches!(desk.event(), Some(Event::Failed(Error::Undecided { entry: 4, .. }))));
    assert_eq!(desk.stored.state, State::InRecovery);
}

/// C27, D2: the first answer is no, the last one has it.
#[test]
fn c27_the_last_answer_has_it() {
    let mut desk = Desk::new(open_metadata((3, 3, 2)), spares(3..5));
    desk.fence_all(4);
    desk.find(2, 4, ABSENT);
    desk.find(1, 4, SILENT);
    desk.find(0, 4, Reply::Entry(sealed(4, 3)));
    (1..3).for_each(|index| desk.find(index, 5, ABSENT));
    desk.write_back();
    assert_eq!(desk.end(), (4, 35));
}

/// C29, D5: a bookie is dead from the start of the segment on: it is replaced in place.
#[test]
fn c29_a_replacement_at_the_start_of_a_segment() {
    let mut desk = Desk::new(open_metadata((3, 3, 2)), spares(3..5));
    desk.fence(0, Reply::Entry(sealed(0, -1)));
    desk.fence(1, Reply::Entry(sealed(0, -1)));
    desk.find(0, 0, Reply::Entry(sealed(0, -1)));
    desk.say(2, 2, Purpose::Store, 0, SILENT);
    (0..2).for_each(|index| desk.find(index, 1, ABSENT));
    desk.write_back();
    assert_eq!(desk.end(), (0, 7));
    assert_eq!(desk.stored.segments.len(), 1);
    assert_eq!(desk.stored.last_segment().ensemble, [bookie(0), bookie(1), bookie(3)]);
}

/// C30, D6: two bookies die one after the other; neither is named in the end.
#[test]
fn c30_two_replacements() {
    let mut desk = Desk::new(open_metadata((3, 3, 2)), spares(3..5));
    desk.fence(0, Reply::Entry(sealed(0, -1)));
    desk.fence(1, Reply::Entry(sealed(0, -1)));
    desk.find(0, 0, Reply::Entry(sealed(0, -1)));
    desk.say(2, 2, Purpose::Store, 0, SILENT);
    desk.say(1, 1, Purpose::Store, 0, SILENT);
    desk.find(0, 1, ABSENT);
    desk.find(1, 1, ABSENT);
    desk.write_back();
    assert_eq!(desk.end(), (0, 7));
    assert_eq!(desk.stored.last_segment().ensemble, [bookie(0), bookie(4), bookie(3)]);
}

/// C33: another recoverer closes while this one writes back an entry that the other left out.
#[test]
fn c33_anothers_end_is_adopted() {
    let mut desk = Desk::new(open_metadata((3, 3, 2)), spares(3..5));
    desk.fence_all(5);
    desk.find(0, 5, Reply::Entry(sealed(5, 4)));
    desk.stored.state = State::Closed;
    (desk.stored.last, desk.stored.length) = (4, 35);
    desk.version += 1;
    (1..3).for_each(|index| desk.find(index, 6, ABSENT));
    desk.write_back();
    assert_eq!(desk.end(), (4, 35));
}

/// C34: the writer's change came before the mark: the new ensemble is fenced.
#[test]
fn c34_a_change_before_the_mark_is_seen() {
    let mut stored = open_metadata((3, 3, 2));
    let mut desk = Desk::new(stored.clone(), spares(3..5));
    // A recovery whose mark meets a changed ledger.
    let config = Config {
        ledger: LEDGER,
        password: Bytes::new(),
        digest: DigestType::Crc32c,
        epoch: None,
        window: 4,
        defects: SOUND,
    };
    desk.out.clear();
    desk.recovery = Recovery::start(config, &mut desk.out);
    desk.out.clear();
    desk.recovery.on_told(found(&stored, 0), &mut desk.out);
    desk.out.clear();
    assert!(stored.change_ensemble(3, vec![bookie(0), bookie(1), bookie(4)]));
    desk.stored = stored;
    desk.version = 1;
    desk.recovery.on_told(Told::Conflict, &mut desk.out);
    while desk.serve_store() {}
    let asked: Vec<_> = desk
        .out
        .iter()
        .filter_map(|action| if let Action::Send { to, .. } = action { Some(to.clone()) } else { None })
        .collect();
    assert_eq!(asked, [bookie(0), bookie(1), bookie(4)]);
}

/// C37: damage is neither an entry nor its absence.
#[test]
fn c37_damage_decides_nothing() {
    let mut desk = Desk::new(open_metadata((3, 3, 2)), spares(3..5));
    desk.fence_all(4);
    let mut damaged = sealed(4, 3).to_vec();
    damaged[40] ^= 1;
    desk.find(0, 4, Reply::Entry(damaged.into()));
    desk.find(1, 4, ABSENT);
    desk.find(2, 4, Reply::Entry(sealed(3, 2)));
    assert!(matches!(desk.event(), Some(Event::Failed(Error::Undecided { entry: 4, .. }))));
}

/// C38, U14: bookies that lost their journal say nothing about what they had.
#[test]
fn c38_limbo_is_not_absence() {
    let limbo = Reply::Failed(Failure::Error(Status::UnknownLedgerState));
    let mut desk = Desk::new(open_metadata((3, 3, 2)), spares(3..5));
    desk.fence(0, limbo.clone());
    desk.fence(1, limbo.clone());
    desk.fence(2, ABSENT);
    assert!(matches!(desk.event(), Some(Event::Failed(Error::NotFenced { .. }))));
    let mut desk = Desk::new(open_metadata((3, 3, 2)), spares(3..5));
    desk.fence_all(4);
    desk.find(0, 4, limbo.clone());
    desk.find(1, 4, limbo);
    desk.find(2, 4, ABSENT);
    assert!(matches!(desk.event(), Some(Event::Failed(Error::Undecided { .. }))));
}

/// U2: nothing was found, and the last segment holds no entry: the length is in the segment before.
#[test]
fn u2_an_empty_last_segment() {
    let mut stored = open_metadata((3, 3, 2));
    assert!(stored.change_ensemble(5, vec![bookie(0), bookie(1), bookie(4)]));
    let mut desk = Desk::new(stored, spares(5..6));
    desk.say(0, 0, Purpose::Fence, -1, Reply::Entry(sealed(4, 3)));
    desk.say(4, 2, Purpose::Fence, -1, ABSENT);
    desk.say(0, 0, Purpose::Find, 5, ABSENT);
    desk.say(4, 2, Purpose::Find, 5, ABSENT);
    // Entry 4 is on the bookies of the first segment.
    desk.say(2, 2, Purpose::Read, 4, Reply::Entry(sealed(4, 3)));
    desk.write_back();
    assert_eq!(desk.end(), (4, 35));
}

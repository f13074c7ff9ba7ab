//! Writers, recoverers, bookies and the metadata store, joined by a network that loses, delays and repeats.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use bytes::Bytes;
use plerion_bookkeeper::bookie::BookieId;
use plerion_bookkeeper::digest::{DigestType, Digester, MasterKey};
use plerion_bookkeeper::directory::{Ask, Told};
use plerion_bookkeeper::ledger_metadata::LedgerMetadata;
use plerion_bookkeeper::protocol::defects::{Defect, Defects};
use plerion_bookkeeper::protocol::recovery::{self, Recovery};
use plerion_bookkeeper::protocol::writer::{self, Writer};
use plerion_bookkeeper::protocol::{Call, Failure, Places, Reply, Token, Wake};
use plerion_bookkeeper::quorum::Quorum;
use plerion_ledger::LedgerId;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::bookie::Bookie;
use super::store::Store;

pub(crate) const LEDGER: LedgerId = LedgerId(7);
const TIME_OUT: u64 = 20_000;

/// What went wrong.
pub(crate) type Violation = String;

pub(crate) enum Event {
    Arrive { actor: usize, to: BookieId, call: Call, token: Token, request: u64 },
    Answer { actor: usize, from: BookieId, token: Token, reply: Reply, request: u64, life: u32 },
    TimeOut { request: u64 },
    Ask { actor: usize, ask: Ask, answered: bool },
    Told { actor: usize, told: Told },
    Wake { actor: usize, wake: Wake },
    Do(Step),
}

/// What a test plans.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Append(usize),
    Close(writer::Mode),
    CrashWriter,
    Recover,
    CrashBookie(usize),
    RestartBookie(usize),
    Stall(usize),
    Resume(usize),
    ReadOnly(usize, bool),
    Limbo(usize),
    Store(bool),
}

pub(crate) enum Actor {
    Writer(Box<Writer>),
    Recovery(Box<Recovery>),
    Gone,
}

/// Chances in a thousand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chances {
    pub(crate) lost: u32,
    pub(crate) twice: u32,
    pub(crate) slow: u32,
    pub(crate) busy: u32,
    pub(crate) damaged: u32,
    pub(crate) store_lost: u32,
}

struct Choice<'a> {
    bookies: &'a BTreeMap<BookieId, Bookie>,
    rng: &'a mut StdRng,
}

impl Places for Choice<'_> {
    fn replace(
        &mut self,
        ensemble: &[BookieId],
        failed: &BTreeMap<usize, BookieId>,
        avoid: &BTreeSet<BookieId>,
    ) -> BTreeMap<usize, BookieId> {
        let mut free: Vec<&BookieId> = self
            .bookies
            .iter()
            .filter(|(id, bookie)| !bookie.read_only && !ensemble.contains(id) && !avoid.contains(id))
            .map(|(id, _)| id)
            .filter(|id| !failed.values().any(|lost| lost == *id))
            .collect();
        let mut chosen = BTreeMap::new();
        for index in failed.keys() {
            if free.is_empty() {
                break;
            }
            chosen.insert(*index, free.swap_remove(self.rng.random_range(0..free.len())).clone());
        }
        chosen
    }
}

pub(crate) struct World {
    pub(crate) rng: StdRng,
    pub(crate) now: u64,
    sequence: u64,
    times: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Event>,
    pub(crate) bookies: BTreeMap<BookieId, Bookie>,
    stalled: BTreeMap<BookieId, Vec<Event>>,
    pub(crate) store: Store,
    pub(crate) actors: Vec<Actor>,
    pub(crate) quorum: Quorum,
    pub(crate) chances: Chances,
    pub(crate) defects: Defects,
    open: BTreeMap<u64, (usize, BookieId, Token)>,
    next_request: u64,
    pub(crate) acknowledged: i64,
    pub(crate) appended: Vec<Bytes>,
    pub(crate) writer_over: bool,
    pub(crate) ends: BTreeSet<(i64, i64)>,
    pub(crate) recoveries_failed: u32,
    pub(crate) seen: BTreeMap<String, u64>,
    pub(crate) violation: Option<Violation>,
    /// The latest term, if terms are used.
    pub(crate) epoch: Option<u64>,
}

pub(crate) fn body(entry: usize, size: usize) -> Bytes {
    Bytes::from(vec![(entry % 251) as u8; size])
}

impl World {
    pub(crate) fn new(seed: u64, quorum: Quorum, spare: usize, chances: Chances, defects: Defects) -> Self {
        let ids: Vec<BookieId> =
            (0..quorum.ensemble() + spare).map(|at| BookieId::new(&format!("b{at}:1")).unwrap()).collect();
        let ensemble = ids[..quorum.ensemble()].to_vec();
        let metadata = LedgerMetadata::open(quorum, ensemble, DigestType::Crc32c, Bytes::new());
        let store = Store::new(&metadata);
        let mut world = Self {
            rng: StdRng::seed_from_u64(seed),
            now: 0,
            sequence: 0,
            times: BinaryHeap::new(),
            events: BTreeMap::new(),
            bookies: ids.into_iter().map(|id| (id, Bookie::default())).collect(),
            stalled: BTreeMap::new(),
            store,
            actors: Vec::new(),
            quorum,
            chances,
            defects,
            open: BTreeMap::new(),
            next_request: 0,
            acknowledged: -1,
            appended: Vec::new(),
            writer_over: false,
            ends: BTreeSet::new(),
            recoveries_failed: 0,
            seen: BTreeMap::new(),
            violation: None,
            epoch: seed.is_multiple_of(2).then_some(1),
        };
        let config = writer::Config {
            ledger: LEDGER,
            digester: Digester::new(DigestType::Crc32c, b""),
            key: MasterKey::of(b""),
            max_body: 1 << 20,
            max_changes: 50,
            max_pending_entries: 10_000,
            max_pending_bytes: 1 << 30,
            defects,
        };
        world.actors.push(Actor::Writer(Box::new(Writer::new(config, world.store.versioned()))));
        world
    }

    pub(crate) fn saw(&mut self, what: impl Into<String>) {
        *self.seen.entry(what.into()).or_default() += 1;
    }

    pub(crate) fn violate(&mut self, what: impl Into<String>) {
        self.violation.get_or_insert_with(|| what.into());
    }

    pub(crate) fn at(&mut self, time: u64, event: Event) {
        self.sequence += 1;
        self.times.push(Reverse((time, self.sequence)));
        self.events.insert(self.sequence, event);
    }

    fn chance(&mut self, thousandths: u32) -> bool {
        self.rng.random_range(0..1000) < thousandths
    }

    fn delay(&mut self) -> u64 {
        let slow = self.chance(self.chances.slow);
        if slow { self.rng.random_range(5_000..60_000) } else { self.rng.random_range(50..2_000) }
    }

    /// Somebody takes the ledger over: in a new term, in one of before, or without terms.
    pub(crate) fn start_recovery(&mut self, is_new: bool) -> usize {
        if let Some(epoch) = &mut self.epoch {
            *epoch += u64::from(is_new);
        }
        let before = self.epoch.is_some() && !is_new && self.chance(300);
        let epoch = self.epoch.map(|epoch| epoch - u64::from(before && epoch > 0));
        let config = recovery::Config {
            ledger: LEDGER,
            password: Bytes::new(),
            digest: DigestType::Crc32c,
            epoch,
            window: 8,
            defects: self.defects,
        };
        let mut out = Vec::new();
        let recovery = Recovery::start(config, &mut out);
        self.actors.push(Actor::Recovery(Box::new(recovery)));
        let actor = self.actors.len() - 1;
        self.carry_out_recovery(actor, out);
        actor
    }

    /// Runs until nothing is left to do, or `until`; says whether nothing is left.
    pub(crate) fn run(&mut self, until: u64) -> bool {
        while self.violation.is_none() {
            let Some(Reverse((time, sequence))) = self.times.peek().copied() else { return true };
            if time > until {
                self.now = until;
                return false;
            }
            self.times.pop();
            self.now = time;
            if let Some(event) = self.events.remove(&sequence) {
                self.handle(event);
            }
        }
        false
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive { actor, to, call, token, request } => self.arrive(actor, to, call, token, request),
            Event::Answer { actor, from, token, reply, request, life } => {
                let is_open = self.open.remove(&request).is_some();
                let is_old = self.bookies[&from].life != life;
                if !is_open {
                    self.saw("answer: late or repeated");
                }
                let reply =
                    if is_old && is_open && self.rng.random() { Reply::Failed(Failure::Disconnected) } else { reply };
                self.reply(actor, &from, token, reply);
            }
            Event::TimeOut { request } => {
                if let Some((actor, from, token)) = self.open.remove(&request) {
                    self.saw("answer: none in time");
                    self.reply(actor, &from, token, Reply::Failed(Failure::TimedOut));
                }
            }
            Event::Ask { actor, ask, answered } => self.ask(actor, ask, answered),
            Event::Told { actor, told } => self.told(actor, told),
            Event::Wake { actor, wake } => self.wake(actor, wake),
            Event::Do(step) => self.step(step),
        }
    }

    fn arrive(&mut self, actor: usize, to: BookieId, call: Call, token: Token, request: u64) {
        let busy = self.chance(self.chances.busy);
        let damaged = self.chance(self.chances.damaged);
        let priority = !self.defects.has(Defect::NoPriority);
        let Some(bookie) = self.bookies.get_mut(&to) else { return };
        let life = bookie.life;
        if bookie.stalled {
            self.stalled.entry(to.clone()).or_default().push(Event::Arrive { actor, to, call, token, request });
            return;
        }
        let reply = if !bookie.alive {
            Reply::Failed(Failure::Disconnected)
        } else if busy {
            Reply::Failed(Failure::Busy)
        } else {
            match bookie.serve(&call, priority) {
                Reply::Entry(bytes) if damaged => {
                    let mut bytes = bytes.to_vec();
                    let end = bytes.len() - 1;
                    bytes[end] ^= 1;
                    Reply::Entry(bytes.into())
                }
                reply => reply,
            }
        };
        self.saw(match &reply {
            Reply::Added => "bookie: added".to_owned(),
            Reply::Entry(_) => format!("bookie: entry{}", if damaged { ", damaged" } else { "" }),
            Reply::Entries(_) => "bookie: entries".to_owned(),
            Reply::Failed(failure) => format!("bookie: {failure:?}"),
        });
        let is_lost = self.chance(self.chances.lost);
        for _ in 0..1 + u32::from(self.chance(self.chances.twice)) {
            let time = self.now + self.delay();
            if !is_lost {
                let (from, reply) = (to.clone(), reply.clone());
                self.at(time, Event::Answer { actor, from, token, reply, request, life });
            }
        }
    }

    fn ask(&mut self, actor: usize, ask: Ask, answered: bool) {
        let time = self.now + self.delay();
        let told = if self.store.is_away && answered {
            self.saw("store: away");
            Ok(Told::Unavailable("away".into()))
        } else {
            self.store.serve(&ask)
        };
        match told {
            Err(broken) => self.violate(broken),
            Ok(told) => {
                if let (Told::Written(_), Ask::Write { metadata, .. }) = (&told, &ask) {
                    self.saw(format!("metadata: {:?}, {} segments", metadata.state, metadata.segments.len()));
                }
                if matches!(told, Told::Conflict) {
                    self.saw("metadata: conflict");
                }
                if answered {
                    self.at(time, Event::Told { actor, told });
                }
            }
        }
    }

    fn reply(&mut self, actor: usize, from: &BookieId, token: Token, reply: Reply) {
        let mut places = Choice { bookies: &self.bookies, rng: &mut self.rng };
        match &mut self.actors[actor] {
            Actor::Writer(writer) => {
                let mut out = Vec::new();
                writer.on_reply(from, token, reply, &mut places, &mut out);
                self.carry_out(actor, out);
            }
            Actor::Recovery(recovery) => {
                let mut out = Vec::new();
                recovery.on_reply(from, token, reply, &mut places, &mut out);
                self.carry_out_recovery(actor, out);
            }
            Actor::Gone => {}
        }
    }

    fn told(&mut self, actor: usize, told: Told) {
        let mut places = Choice { bookies: &self.bookies, rng: &mut self.rng };
        match &mut self.actors[actor] {
            Actor::Writer(writer) => {
                let mut out = Vec::new();
                writer.on_told(told, &mut places, &mut out);
                self.carry_out(actor, out);
            }
            Actor::Recovery(recovery) => {
                let mut out = Vec::new();
                recovery.on_told(told, &mut out);
                self.carry_out_recovery(actor, out);
            }
            Actor::Gone => {}
        }
    }

    fn wake(&mut self, actor: usize, wake: Wake) {
        match &mut self.actors[actor] {
            Actor::Writer(writer) => {
                let mut out = Vec::new();
                writer.on_wake(wake, &mut out);
                self.carry_out(actor, out);
            }
            Actor::Recovery(recovery) => {
                let mut out = Vec::new();
                recovery.on_wake(wake, &mut out);
                self.carry_out_recovery(actor, out);
            }
            Actor::Gone => {}
        }
    }

    fn step(&mut self, step: Step) {
        let name = |at: usize| BookieId::new(&format!("b{at}:1")).unwrap();
        let kind = format!("{step:?}");
        self.saw(format!("step: {}", kind.split('(').next().unwrap_or_default()));
        match step {
            Step::Append(size) => {
                let data = body(self.appended.len(), size);
                let mut out = Vec::new();
                let mut places = Choice { bookies: &self.bookies, rng: &mut self.rng };
                if let Actor::Writer(writer) = &mut self.actors[0]
                    && let Ok(entry) = writer.append(&data, &mut places, &mut out)
                {
                    assert_eq!(entry, self.appended.len() as i64);
                    self.appended.push(data);
                }
                self.carry_out(0, out);
            }
            Step::Close(mode) => {
                let mut out = Vec::new();
                if let Actor::Writer(writer) = &mut self.actors[0] {
                    writer.close(mode, &mut out);
                }
                self.carry_out(0, out);
            }
            Step::CrashWriter => {
                self.actors[0] = Actor::Gone;
                self.writer_over = true;
            }
            Step::Recover => {
                let is_new = self.rng.random();
                self.start_recovery(is_new);
            }
            Step::CrashBookie(at) => {
                self.stalled.remove(&name(at));
                self.bookies.get_mut(&name(at)).unwrap().crash();
            }
            Step::RestartBookie(at) => self.bookies.get_mut(&name(at)).unwrap().alive = true,
            Step::Stall(at) => self.bookies.get_mut(&name(at)).unwrap().stalled = true,
            Step::Resume(at) => {
                self.bookies.get_mut(&name(at)).unwrap().stalled = false;
                for event in self.stalled.remove(&name(at)).unwrap_or_default() {
                    self.at(self.now, event);
                }
            }
            Step::ReadOnly(at, read_only) => self.bookies.get_mut(&name(at)).unwrap().read_only = read_only,
            Step::Limbo(at) => self.bookies.get_mut(&name(at)).unwrap().limbo = true,
            Step::Store(is_away) => self.store.is_away = is_away,
        }
    }

    pub(super) fn send(&mut self, actor: usize, to: BookieId, call: Call, token: Token) {
        self.next_request += 1;
        let request = self.next_request;
        self.open.insert(request, (actor, to.clone(), token));
        if !self.defects.has(Defect::NoTimeOuts) {
            self.at(self.now + TIME_OUT, Event::TimeOut { request });
        }
        if self.chance(self.chances.lost) {
            return;
        }
        for _ in 0..1 + u32::from(self.chance(self.chances.twice)) {
            let time = self.now + self.delay();
            self.at(time, Event::Arrive { actor, to: to.clone(), call: call.clone(), token, request });
        }
    }

    pub(super) fn put_ask(&mut self, actor: usize, ask: Ask) {
        let time = self.now + self.delay();
        if self.chance(self.chances.store_lost) {
            // Nobody answers; a write may have been made, may be made later, or may never be.
            let is_write = matches!(ask, Ask::Write { .. });
            self.saw(if is_write { "store: outcome unknown" } else { "store: unavailable" });
            if is_write && self.rng.random() {
                let late = self.now + self.rng.random_range(0..20_000);
                self.at(late, Event::Ask { actor, ask, answered: false });
            }
            let told = if is_write { Told::Unknown } else { Told::Unavailable("lost".into()) };
            self.at(time, Event::Told { actor, told });
            return;
        }
        self.at(time, Event::Ask { actor, ask, answered: true });
    }
}

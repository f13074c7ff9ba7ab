//! Writing a ledger.
//!
//! Entries go to the bookies of their write set at once and are acknowledged in order, when an ack quorum of the
//! *current* ensemble has them, no ensemble change is under way, and nobody can have taken the ledger over unnoticed
//! (`guard`).

mod change;
mod close;
mod guard;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use plerion_ledger::LedgerId;

use super::defects::{Defect, Defects};
use super::{Action, Busy, Call, Failure, Places, Purpose, Reply, Token, Wake};
use crate::bookie::BookieId;
use crate::digest::{Digester, MasterKey};
use crate::directory::Told;
use crate::entry::{Header, NONE};
use crate::ledger_metadata::Versioned;
use crate::quorum::{Members, Quorum};
use crate::wire::v2;

use change::Change;
use close::Close;
pub use close::Mode;
use guard::Guard;

/// Bytes of entries that are kept for bookies that have not answered after an ack quorum has.
const TRAILING_BYTES: usize = 8 << 20;

/// What a writer is made with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The ledger.
    pub ledger: LedgerId,
    /// Its digest.
    pub digester: Digester,
    /// Its key.
    pub key: MasterKey,
    /// The longest body, in bytes.
    pub max_body: usize,
    /// How often the ensemble may change before the ledger is given up.
    pub max_changes: u32,
    /// Refuse appends when so many entries are not acknowledged.
    pub max_pending_entries: usize,
    /// Refuse appends when so many bytes are not acknowledged.
    pub max_pending_bytes: usize,
    /// For tests.
    pub defects: Defects,
}

/// What a writer tells its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Every entry up to this one is acknowledged.
    Advanced(i64),
    /// Nothing more will be acknowledged.
    Failed(Error),
    /// The ledger is closed with this last entry and length.
    Closed {
        /// The last entry, [`NONE`] if there is none.
        last: i64,
        /// The sum of the bodies' lengths in bytes.
        length: i64,
    },
}

/// Why a writer is over, or an append was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Somebody else recovers the ledger, or has.
    #[error("the ledger was taken over")]
    Fenced,
    /// The ledger was deleted.
    #[error("the ledger was deleted")]
    Deleted,
    /// A bookie did not accept the password.
    #[error("bookie {0} does not accept the ledger's password, or does not let this client in")]
    Unauthorized(BookieId),
    /// There is nobody to take the place of a failed bookie.
    #[error("not enough bookies: nobody can take the place of {0}")]
    NotEnoughBookies(BookieId),
    /// Bookies failed again and again.
    #[error("the ensemble was changed {0} times, which is the limit")]
    TooManyChanges(u32),
    /// The ledger is closed.
    #[error("the ledger is closed")]
    Closed,
    /// The metadata store could not be asked, so that the ledger may still be open.
    #[error("the ledger may still be open, the metadata store says: {0}")]
    Unavailable(Arc<str>),
    /// Somebody else changed what only the writer may change.
    #[error("the ledger's metadata is not what its writer left: {0}")]
    Metadata(Arc<str>),
    /// The entry does not fit a frame. Nothing was sent and the writer goes on.
    #[error("an entry of {size} bytes is too long, at most {max} are allowed")]
    TooLong {
        /// The entry's size.
        size: usize,
        /// The limit.
        max: usize,
    },
    /// Too much waits for acknowledgement. Nothing was sent and the writer goes on.
    #[error("too much waits for acknowledgement: {entries} entries, {bytes} bytes")]
    Full {
        /// Entries waiting.
        entries: usize,
        /// Bytes waiting.
        bytes: usize,
    },
}

/// What is on its way for a metadata question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asking {
    Guard,
    Change,
    Close,
}

#[derive(Debug)]
struct Pending {
    frame: Bytes,
    length: i64,
    acks: Members,
}

#[derive(Debug)]
struct Trailing {
    entry: i64,
    frame: Bytes,
}

/// The writer of one ledger.
#[derive(Debug)]
pub struct Writer {
    config: Config,
    stored: Versioned,
    quorum: Quorum,
    ensemble: Vec<BookieId>,
    /// The entries after the last acknowledged one.
    pending: VecDeque<Pending>,
    pending_bytes: usize,
    trailing: VecDeque<Trailing>,
    trailing_bytes: usize,
    length: i64,
    acknowledged: i64,
    acknowledged_length: i64,
    /// Members that failed and still have to be replaced.
    noted: BTreeMap<usize, BookieId>,
    change: Option<Change>,
    changes: u32,
    guard: Guard,
    close: Option<Close>,
    asking: Option<Asking>,
    over: Option<Error>,
    busy: Busy,
}

type Out = Vec<Action<Event>>;

impl Writer {
    /// The writer of a ledger that was just created with this metadata.
    pub fn new(config: Config, stored: Versioned) -> Self {
        let ensemble = stored.metadata.last_segment().ensemble.clone();
        Self {
            quorum: stored.metadata.quorum,
            config,
            stored,
            ensemble,
            pending: VecDeque::new(),
            pending_bytes: 0,
            trailing: VecDeque::new(),
            trailing_bytes: 0,
            length: 0,
            acknowledged: NONE,
            acknowledged_length: 0,
            noted: BTreeMap::new(),
            change: None,
            changes: 0,
            guard: Guard::default(),
            close: None,
            asking: None,
            over: None,
            busy: Busy::default(),
        }
    }

    /// The last acknowledged entry.
    pub fn acknowledged(&self) -> i64 {
        self.acknowledged
    }

    /// The bookies that hold new entries.
    pub fn ensemble(&self) -> &[BookieId] {
        &self.ensemble
    }

    /// The metadata as the writer last left it.
    pub fn stored(&self) -> &Versioned {
        &self.stored
    }

    /// Entries that wait for acknowledgement.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// The frame of an entry that is not acknowledged yet; the entry begins at [`v2::ADD_PREFIX`].
    pub fn frame(&self, entry: i64) -> Option<&Bytes> {
        let at = usize::try_from(entry - self.acknowledged - 1).ok()?;
        self.pending.get(at).map(|pending| &pending.frame)
    }

    /// Numbers an entry, sends it to its write set and returns its number.
    ///
    /// # Errors
    /// [`Error`]: nothing was sent. After [`Error::TooLong`] and [`Error::Full`] the writer goes on.
    pub fn append(&mut self, body: &[u8], places: &mut dyn Places, out: &mut Out) -> Result<i64, Error> {
        if let Some(over) = &self.over {
            return Err(over.clone());
        }
        if self.close.is_some() {
            return Err(Error::Closed);
        }
        if body.len() > self.config.max_body {
            return Err(Error::TooLong { size: body.len(), max: self.config.max_body });
        }
        let (entries, bytes) = (self.pending.len(), self.pending_bytes);
        if entries >= self.config.max_pending_entries || bytes + body.len() > self.config.max_pending_bytes {
            return Err(Error::Full { entries, bytes });
        }
        let entry = self.acknowledged + 1 + entries as i64;
        self.length += body.len() as i64;
        let header = Header { ledger: self.config.ledger, entry, lac: self.acknowledged, length: self.length };
        let frame = v2::add_frame(self.config.key, &header, &self.config.digester, body);
        self.pending_bytes += frame.len();
        self.pending.push_back(Pending { frame: frame.clone(), length: self.length, acks: Members::NONE });
        // Members that failed get nothing: whoever takes their place will.
        self.start_change(places, out);
        if self.over.is_some() {
            return Ok(entry);
        }
        for index in self.quorum.write_set(entry) {
            let is_failed = self.change.as_ref().is_some_and(|change| change.failed.contains_key(&index));
            if !is_failed {
                self.send(index, entry, frame.clone(), out);
            }
        }
        Ok(entry)
    }

    fn send(&self, index: usize, entry: i64, frame: Bytes, out: &mut Out) {
        let token = Token { index, entry, purpose: Purpose::Store };
        out.push(Action::Send { to: self.ensemble[index].clone(), call: Call::Add(frame), token });
    }

    /// A bookie answered.
    pub fn on_reply(&mut self, from: &BookieId, token: Token, reply: Reply, places: &mut dyn Places, out: &mut Out) {
        if self.over.is_some() {
            return;
        }
        let is_current = self.ensemble.get(token.index) == Some(from);
        match reply {
            Reply::Failed(Failure::Fenced) => self.fail(Error::Fenced, out),
            _ if !is_current && !self.config.defects.has(Defect::StaleAnswers) => {}
            Reply::Added => {
                self.busy.forget(token);
                if is_current {
                    self.guard.holds.insert(token.index);
                }
                if let Some(pending) = self.pending_mut(token.entry) {
                    pending.acks.insert(token.index);
                }
                self.advance(out);
            }
            Reply::Failed(Failure::Unauthorized) => self.fail(Error::Unauthorized(from.clone()), out),
            Reply::Failed(Failure::Busy) => self.again(from, token, places, out),
            // An add is never answered with entries: whoever does so is not to be relied on.
            Reply::Failed(_) | Reply::Entry(_) | Reply::Entries(_) => self.note(from, token, places, out),
        }
    }

    /// A time is over.
    pub fn on_wake(&mut self, wake: Wake, out: &mut Out) {
        match wake {
            Wake::Again { to, call, token } => {
                let is_current = self.ensemble.get(token.index) == Some(&to);
                let is_failed = self.change.as_ref().is_some_and(|change| change.failed.contains_key(&token.index));
                if self.over.is_none() && is_current && !is_failed {
                    out.push(Action::Send { to, call, token });
                }
            }
            Wake::Ask => {
                if let Some(change) = &mut self.change {
                    change.pausing = false;
                }
                self.guard.pausing = false;
                self.proceed(out);
            }
            Wake::Speculate => {}
        }
    }

    /// The metadata store answered.
    pub fn on_told(&mut self, told: Told, places: &mut dyn Places, out: &mut Out) {
        let asking = self.asking.take();
        if self.over.is_some() {
            return;
        }
        match asking {
            Some(Asking::Guard) => self.guard_told(told, out),
            Some(Asking::Change) => self.change_told(told, places, out),
            Some(Asking::Close) => self.close_told(told, out),
            None => {}
        }
        self.proceed(out);
    }

    /// Asks the metadata store the most urgent question, unless one is open.
    fn proceed(&mut self, out: &mut Out) {
        if self.over.is_some() || self.asking.is_some() {
            return;
        }
        let ask = self
            .change_asks()
            .map(|ask| (Asking::Change, ask))
            .or_else(|| self.close_asks().map(|ask| (Asking::Close, ask)))
            .or_else(|| self.guard_asks().map(|ask| (Asking::Guard, ask)));
        if let Some((asking, ask)) = ask {
            self.asking = Some(asking);
            out.push(Action::Ask(ask));
        }
    }

    fn pending_mut(&mut self, entry: i64) -> Option<&mut Pending> {
        let at = usize::try_from(entry - self.acknowledged - 1).ok()?;
        self.pending.get_mut(at)
    }

    /// A busy bookie is asked again after a while, with the same bytes.
    fn again(&mut self, from: &BookieId, token: Token, places: &mut dyn Places, out: &mut Out) {
        let pending = self.frame(token.entry).cloned();
        let frame = pending.or_else(|| {
            self.trailing.iter().find(|trailing| trailing.entry == token.entry).map(|trailing| trailing.frame.clone())
        });
        match frame.and_then(|frame| Some((frame, self.busy.pause(token)?))) {
            Some((frame, after)) => {
                let wake = Wake::Again { to: from.clone(), call: Call::Add(frame), token };
                out.push(Action::Wake { after, wake });
            }
            None => self.note(from, token, places, out),
        }
    }

    /// A member failed. It is replaced at once if an entry may need it, else with the next append.
    fn note(&mut self, from: &BookieId, token: Token, places: &mut dyn Places, out: &mut Out) {
        self.busy.forget(token);
        if self.ensemble.get(token.index) != Some(from) {
            return;
        }
        if !self.change.as_ref().is_some_and(|change| change.failed.contains_key(&token.index)) {
            self.noted.insert(token.index, from.clone());
        }
        let needed = self.quorum.ack();
        if self.pending_mut(token.entry).is_some_and(|pending| pending.acks.len() < needed) {
            self.start_change(places, out);
        }
    }

    /// Acknowledges what can be.
    fn advance(&mut self, out: &mut Out) {
        let before = self.acknowledged;
        let held = self.change.is_some() && !self.config.defects.has(Defect::AcknowledgesDuringChange);
        while !held && !self.is_sealed() {
            let Some(head) = self.pending.front() else { break };
            if head.acks.len() < self.quorum.ack() || !self.guard_allows(self.acknowledged + 1) {
                break;
            }
            let Some(head) = self.pending.pop_front() else { break };
            self.acknowledged += 1;
            self.acknowledged_length = head.length;
            self.pending_bytes -= head.frame.len();
            if head.acks.len() < self.quorum.write() {
                self.keep_trailing(self.acknowledged, head.frame);
            }
        }
        if self.acknowledged > before {
            out.push(Action::Tell(Event::Advanced(self.acknowledged)));
        }
        self.proceed(out);
    }

    fn keep_trailing(&mut self, entry: i64, frame: Bytes) {
        self.trailing_bytes += frame.len();
        self.trailing.push_back(Trailing { entry, frame });
        while self.trailing_bytes > TRAILING_BYTES {
            let Some(oldest) = self.trailing.pop_front() else { break };
            self.trailing_bytes -= oldest.frame.len();
        }
    }

    /// Ends the writer.
    fn fail(&mut self, error: Error, out: &mut Out) {
        self.pending.clear();
        self.trailing.clear();
        self.pending_bytes = 0;
        self.change = None;
        self.over = Some(error.clone());
        out.push(Action::Tell(Event::Failed(error)));
    }
}

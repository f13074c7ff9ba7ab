//! The store as one shard sees it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use futures::channel::oneshot;

use super::engine::Engine;
use super::id_hash::IdMap;
use super::inbox::{Answer, Completion, Inbox};
use super::journal::{Command, Reply};
use crate::{AppendError, Body, Error, LedgerId, LedgerStore};

mod client;
mod lane;
mod ledger;
mod tail;
mod writer;

use lane::Lane;
use ledger::Ledger;
use tail::Tail;

/// A shard's side of the store. Appends gather in one block per journal; a local task ships the blocks after every
/// scheduling round in which something was appended, and tells the sinks what the journals answer.
pub(super) struct Shard {
    engine: Arc<Engine>,
    inbox: Arc<Inbox>,
    lanes: Vec<RefCell<Lane>>,
    tail: RefCell<Tail>,
    /// Ledgers with a writer on this shard or with entries in its tail.
    ledgers: RefCell<IdMap<Rc<Ledger>>>,
    /// Who waits for an answer.
    waiting: RefCell<IdMap<oneshot::Sender<Result<Answer, Error>>>>,
    next_token: Cell<u64>,
    /// Whether the local task knows that there is something to ship.
    awake: Cell<bool>,
}

impl Shard {
    /// A shard's client; a local task runs for as long as it lives.
    pub(super) fn start(engine: Arc<Engine>) -> Rc<dyn LedgerStore> {
        engine.shards.fetch_add(1, Ordering::Relaxed);
        let shard = Rc::new(Self {
            lanes: engine
                .journals
                .iter()
                .map(|_| RefCell::new(Lane::new(engine.seed, engine.config.direct_bytes)))
                .collect(),
            tail: RefCell::new(Tail::new(&engine)),
            inbox: Arc::default(),
            ledgers: RefCell::default(),
            waiting: RefCell::default(),
            next_token: Cell::new(0),
            awake: Cell::new(false),
            engine,
        });
        tokio::task::spawn_local(drive(Rc::downgrade(&shard), Arc::clone(&shard.inbox)));
        Rc::new(client::Client(shard))
    }

    fn append(&self, ledger: &Rc<Ledger>, body: Body<'_>) -> u64 {
        let mut lane = self.lanes[ledger.journal].borrow_mut();
        if lane.is_full_for(body.bytes.len()) {
            self.ship(ledger.journal, &mut lane);
        }
        let entry = lane.push(ledger, body, &mut self.tail.borrow_mut());
        if lane.is_full() {
            self.ship(ledger.journal, &mut lane);
        } else if !self.awake.replace(true) {
            self.inbox.waker.wake();
        }
        entry
    }

    /// Gives the block that is being filled to its journal.
    fn ship(&self, journal: usize, lane: &mut Lane) {
        let Some(block) = lane.finish(&self.inbox, &mut self.tail.borrow_mut(), &mut self.ledgers.borrow_mut()) else {
            return;
        };
        if self.engine.journals[journal].push(Command::Append(block)).is_err() {
            lane.give_up(&AppendError::Unavailable(Arc::from("the store is closed")));
        }
    }

    /// Gives a command to a journal, behind everything this shard has appended to it, and waits for the answer.
    async fn ask(&self, journal: usize, command: impl FnOnce(Reply) -> Command) -> Result<Answer, Error> {
        let answer = {
            self.ship(journal, &mut self.lanes[journal].borrow_mut());
            let token = self.next_token.get();
            self.next_token.set(token + 1);
            let (sender, answer) = oneshot::channel();
            self.waiting.borrow_mut().insert(token, sender);
            let command = command(Reply { inbox: Arc::clone(&self.inbox), token });
            if self.engine.journals[journal].push(command).is_err() {
                self.waiting.borrow_mut().remove(&token);
            }
            answer
        };
        answer.await.unwrap_or_else(|_| Err(Error::Unavailable(Arc::from("the store is closed"))))
    }

    fn ship_all(&self) {
        for (journal, lane) in self.lanes.iter().enumerate() {
            self.ship(journal, &mut lane.borrow_mut());
        }
    }

    fn complete(&self, completion: Completion) {
        match completion {
            Completion::Resolved { journal } => {
                let resolved = self.lanes[journal].borrow_mut().resolved();
                for (ledger, last) in resolved.iter().flat_map(|touched| touched.iter()) {
                    ledger.advanced(*last);
                }
            }
            Completion::Failed { ledger: LedgerId(ledger), error } => {
                let ledger = self.ledgers.borrow().get(&ledger).cloned();
                if let Some(ledger) = ledger {
                    ledger.fail(error);
                }
            }
            Completion::Answer { token, answer } => {
                let waiting = self.waiting.borrow_mut().remove(&token);
                if let Some(waiting) = waiting {
                    // Whoever asked may have gone.
                    let _ = waiting.send(answer);
                }
            }
        }
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        self.engine.shards.fetch_sub(1, Ordering::Relaxed);
        self.inbox.waker.wake();
    }
}

/// Ships blocks and delivers completions for as long as the shard lives.
async fn drive(shard: Weak<Shard>, inbox: Arc<Inbox>) {
    let mut completions = Vec::new();
    poll_fn(move |context| {
        inbox.waker.register(context.waker());
        let Some(shard) = shard.upgrade() else { return Poll::Ready(()) };
        shard.awake.set(false);
        shard.ship_all();
        inbox.take(&mut completions);
        for completion in completions.drain(..) {
            shard.complete(completion);
        }
        Poll::Pending
    })
    .await;
}

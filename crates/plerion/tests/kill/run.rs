//! Life after life of one broker.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use plerion_test_client::Error;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::history::{Figures, History};
use crate::metronome::Metronome;
use crate::node::{Fate, Node};
use crate::workload::{self, Life, Mode, Shared};

/// How long it may take until nothing is left to do.
const DRAIN: Duration = Duration::from_secs(60);

/// A run with one broker.
pub(crate) struct Run<N> {
    node: N,
    history: Shared,
    rng: SmallRng,
    metronome: Metronome,
}

impl<N: Node> Run<N> {
    pub(crate) fn new(node: N, seed: u64) -> Self {
        let history = Rc::new(RefCell::new(History::new(seed, N::MAY_REFUSE)));
        Self { node, history, rng: SmallRng::seed_from_u64(seed), metronome: Metronome::start() }
    }

    /// Lives and dies until it was killed that often, then checks that nothing is missing and nothing comes back.
    pub(crate) async fn go(mut self, kills: u64) -> Figures {
        self.node.prepare().await;
        self.make_subscriptions().await;
        for _ in 0..kills {
            self.live_and_die().await;
        }
        // The second time shows that what was acknowledged stays so.
        for _ in 0..2 {
            self.drain().await;
        }
        std::mem::take(&mut self.history.borrow_mut().figures)
    }

    async fn make_subscriptions(&mut self) {
        loop {
            self.history.borrow_mut().born();
            let Some(port) = self.node.start(&mut self.rng, Fate::Live).await else {
                self.die(JoinSet::new()).await;
                continue;
            };
            match workload::subscribe_all(port).await {
                Ok(()) => return self.die(JoinSet::new()).await,
                Err(Error::Refused { .. } | Error::Closed | Error::Io(_)) if N::MAY_REFUSE => {
                    self.die(JoinSet::new()).await;
                }
                Err(error) => self.history.borrow().violated(&format!("not subscribed: {error}")),
            }
        }
    }

    async fn live_and_die(&mut self) {
        let fate = if self.rng.random_bool(0.1) { Fate::DieYoung } else { Fate::Die };
        self.history.borrow_mut().born();
        let began = Instant::now();
        let mut clients = JoinSet::new();
        if let Some(port) = self.node.start(&mut self.rng, fate).await {
            self.started(began);
            let may_refuse = N::MAY_REFUSE;
            let life = Life { port, mode: Mode::Busy, may_refuse, seed: self.rng.random() };
            workload::start(&life, &self.history, &mut clients);
            let millis = if self.rng.random_bool(0.2) { 0..60 } else { 60..700 };
            let after = Duration::from_millis(self.rng.random_range(millis));
            self.node.wait(after).await;
        }
        self.die(clients).await;
    }

    async fn drain(&mut self) {
        self.history.borrow_mut().born();
        let began = Instant::now();
        let port = self.node.start(&mut self.rng, Fate::Live).await.expect("its fate is to live");
        self.started(began);
        let life = Life { port, mode: Mode::Drain, may_refuse: false, seed: self.rng.random() };
        let mut clients = JoinSet::new();
        workload::start(&life, &self.history, &mut clients);
        if tokio::time::timeout(DRAIN, end_of(&mut clients)).await.is_err() {
            let history = self.history.borrow();
            history.violated(&format!("not done after {DRAIN:?}: {}", history.missing()));
        }
        self.die(JoinSet::new()).await;
    }

    fn started(&mut self, began: Instant) {
        let mut history = self.history.borrow_mut();
        let slowest = &mut history.figures.slowest_start;
        *slowest = began.elapsed().max(*slowest);
    }

    /// Kills the broker and waits for its clients, who go on with what they find in their sockets.
    async fn die(&mut self, mut clients: JoinSet<()>) {
        let at = Instant::now();
        let last_words = self.node.kill(&mut self.rng).await;
        end_of(&mut clients).await;
        self.history.borrow_mut().died(at, last_words, self.metronome.late());
    }
}

/// Waits for clients, and passes a failure of theirs on.
async fn end_of(clients: &mut JoinSet<()>) {
    while let Some(ended) = clients.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

/// How often brokers are to be killed.
pub(crate) fn kills(unless_told: u64) -> u64 {
    number("PLERION_KILLS").unwrap_or(unless_told)
}

/// What random choices start from.
pub(crate) fn seed() -> u64 {
    number("PLERION_SEED").unwrap_or(1)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// Runs what spawns local tasks.
pub(crate) fn on_one_thread<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

//! One random run.

use plerion_managed_log::{Error, Retention, StateLog};
use plerion_subscription::{Layout, Position};
use rand::rngs::SmallRng;
use rand::seq::IteratorRandom;
use rand::{Rng, SeedableRng};

use super::model::{CursorModel, Model};
use crate::metadata::Fault;
use crate::topic::Topic;
use crate::world::{World, settle};

const PATHS: [&str; 2] = ["/topics/a", "/topics/b"];
const STEPS: usize = 120;

struct Run {
    world: World,
    rng: SmallRng,
    bundle: StateLog,
    topics: Vec<(Option<Topic>, Model)>,
}

pub(super) async fn run(seed: u64) {
    let mut world = World::new();
    world.config.state_log_bytes = 1_500;
    let bundle = world.bundle().await;
    let topics = PATHS.iter().map(|_| (None, Model::default())).collect();
    let mut run = Run { world, rng: SmallRng::seed_from_u64(seed), bundle, topics };
    for _ in 0..STEPS {
        run.step().await;
    }
    run.crash(0).await;
}

impl Run {
    async fn step(&mut self) {
        let at = self.rng.random_range(0..PATHS.len());
        if self.topics[at].0.is_none() {
            self.open(at).await;
        }
        match self.rng.random_range(0..100) {
            0..30 => self.publish(at).await,
            30..55 => self.acknowledge(at),
            55..65 => self.flush(at).await,
            65..72 => self.subscribe(at).await,
            72..75 => self.unsubscribe(at).await,
            75..83 => self.trim(at).await,
            83..88 => self.close(at).await,
            88..91 => self.restart().await,
            91..94 => self.crash_amid_work(at).await,
            94..97 => {
                let fault = [Fault::Unavailable, Fault::UnknownDone, Fault::UnknownLost];
                self.world.metadata.fail_next(fault[self.rng.random_range(0..fault.len())]);
            }
            97..98 => drop(self.topics[at].0.take()),
            _ => {
                self.world.ledgers.fail_writers("the test says so");
                settle().await;
            }
        }
        self.observe().await;
    }

    async fn open(&mut self, at: usize) {
        loop {
            match Topic::try_open(&self.bundle, PATHS[at], plerion_managed_log::OpenMode::CreateDurably).await {
                Ok(topic) => {
                    self.topics[at].1.recovered(&topic).await;
                    self.topics[at].0 = Some(topic);
                    return;
                }
                Err(error) => {
                    expected(&error);
                    settle().await;
                    if self.bundle.failure().is_some() {
                        Box::pin(self.restart()).await;
                    }
                }
            }
        }
    }

    async fn publish(&mut self, at: usize) {
        for _ in 0..self.rng.random_range(1..8) {
            let (Some(topic), model) = &mut self.topics[at] else { return };
            if !model.append(topic) {
                break;
            }
        }
        settle().await;
    }

    fn acknowledge(&mut self, at: usize) {
        let (Some(topic), model) = &mut self.topics[at] else { return };
        let Some((name, cursor)) = model.cursors.iter_mut().choose(&mut self.rng) else { return };
        let count = self.rng.random_range(1..6);
        let open: Vec<_> = model
            .confirmed
            .keys()
            .copied()
            .filter(|&position| !cursor.has(position) && topic.log.contains(position))
            .take(12)
            .choose_multiple(&mut self.rng, count);
        if self.bundle.failure().is_none() && !model.unsure.contains(name) {
            for position in open {
                topic.ack(name, position);
                cursor.recorded.insert(position);
            }
        }
    }

    async fn flush(&mut self, at: usize) {
        let Some(topic) = &self.topics[at].0 else { return };
        if topic.log.flush().await.map_err(|error| expected(&error)).is_ok() {
            self.topics.iter_mut().filter(|(topic, _)| topic.is_some()).for_each(|(_, model)| model.flushed());
        }
    }

    async fn subscribe(&mut self, at: usize) {
        let name = format!("c{}", self.rng.random_range(0..3));
        let from_start = self.rng.random_bool(0.5);
        let (Some(topic), model) = &mut self.topics[at] else { return };
        if model.cursors.contains_key(&name) || model.unsure.contains(&name) || topic.log.failure().is_some() {
            return;
        }
        let start = match topic.log.first_position() {
            Some(first) if from_start => first.before(),
            _ => topic.log.last_confirmed(),
        };
        let snapshot = plerion_subscription::cursor::Cursor::new(start);
        let bytes = bytes::Bytes::from(snapshot.snapshot());
        match topic.log.create_cursor(&name, bytes, Default::default()).await {
            Ok(()) => {
                topic.events.cursors.borrow_mut().insert(name.clone(), snapshot);
                model.cursors.insert(name, CursorModel { start: Some(start), ..CursorModel::default() });
            }
            Err(error) => {
                expected(&error);
                model.unsure.insert(name);
                self.close(at).await;
            }
        }
    }

    async fn unsubscribe(&mut self, at: usize) {
        let (Some(topic), model) = &mut self.topics[at] else { return };
        let Some(name) = model.cursors.keys().choose(&mut self.rng).cloned() else { return };
        let outcome = topic.log.delete_cursor(&name).await;
        topic.events.cursors.borrow_mut().remove(&name);
        model.cursors.remove(&name);
        if let Err(error) = outcome {
            expected(&error);
            model.unsure.insert(name);
            self.close(at).await;
        }
    }

    async fn trim(&mut self, at: usize) {
        self.world.clock.advance(std::time::Duration::from_secs(self.rng.random_range(0..20_000)));
        let (Some(topic), model) = &mut self.topics[at] else { return };
        if model.cursors.is_empty() || !model.unsure.is_empty() {
            return;
        }
        let slowest: Option<Position> = model.cursors.keys().map(|name| topic.mark_delete(name)).min();
        let _ = topic.log.trim(slowest, Retention::NONE).await.map_err(|error| expected(&error));
        model.check_unconsumed(topic);
    }

    async fn close(&mut self, at: usize) {
        let (topic, model) = &mut self.topics[at];
        let Some(topic) = topic.take() else { return };
        let outcome = topic.log.close().await;
        settle().await;
        model.observe(&topic);
        match outcome {
            Ok(()) => {
                assert!(model.is_settled(), "closing resolves what is under way");
                model.flushed();
            }
            Err(error) => expected(&error),
        }
    }

    /// The bundle's owner closes everything and a new one opens it, whatever state it is in.
    async fn restart(&mut self) {
        for at in 0..self.topics.len() {
            self.close(at).await;
        }
        let _ = self.bundle.close().await.map_err(|error| expected(&error));
        self.world.epoch += 1;
        self.bundle = self.open_bundle().await;
    }

    async fn open_bundle(&self) -> StateLog {
        loop {
            match StateLog::open(self.world.context(), crate::world::BUNDLE, plerion_ledger::Epoch(self.world.epoch))
                .await
            {
                Ok(bundle) => return bundle,
                Err(error) => expected(&error),
            }
        }
    }

    async fn crash(&mut self, kept: usize) {
        let keep_eventual = self.rng.random_bool(0.5);
        self.world.crash(kept, keep_eventual);
        self.topics.iter_mut().for_each(|(topic, _)| *topic = None);
        self.bundle = self.open_bundle().await;
        for at in 0..self.topics.len() {
            self.open(at).await;
        }
    }

    async fn crash_amid_work(&mut self, at: usize) {
        self.world.ledgers.hold();
        self.publish(at).await;
        self.acknowledge(at);
        let flush = self.bundle.flush();
        self.publish((at + 1) % PATHS.len()).await;
        if self.rng.random_bool(0.7) {
            let kept = self.rng.random_range(0..6);
            self.crash(kept).await;
        } else {
            self.world.ledgers.release();
            let _ = flush.await.map_err(|error| expected(&error));
        }
    }

    /// Takes what the topics were told; failed ones are given up.
    async fn observe(&mut self) {
        if self.rng.random_bool(0.7) {
            settle().await;
        }
        for at in 0..self.topics.len() {
            let (topic, model) = &mut self.topics[at];
            if let Some(topic) = topic {
                model.observe(topic);
                if let Some(error) = topic.log.failure() {
                    expected(&error);
                    self.close(at).await;
                }
            }
        }
        if self.bundle.failure().is_some() {
            self.restart().await;
        }
    }
}

/// There is one owner at a time here: nobody is ever fenced, and whatever fails is worth a retry.
fn expected(error: &Error) {
    assert!(!error.is_fenced(), "{error}");
    assert!(error.is_retryable() || matches!(error, Error::Closed | Error::StateLog(_)), "{error:?}");
}

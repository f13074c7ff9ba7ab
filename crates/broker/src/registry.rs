//! The bundles and topics that are open on a shard.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use plerion_managed_log::{OpenMode, StateLog};
use plerion_resources::names::TopicName;
use plerion_topic::{Bundle, Topic};
use rustc_hash::FxHashMap;
use tokio::sync::oneshot;
use tokio::task::spawn_local;

use crate::failure::Failure;
use crate::namespaces::BundleName;
use crate::shard::Shard;

/// How long opening a topic may take, from the first request on.
const LOAD: Duration = Duration::from_secs(60);

/// What is open on a shard.
#[derive(Default)]
pub(crate) struct Registry {
    topics: RefCell<FxHashMap<TopicName, Slot<Rc<Topic>>>>,
    bundles: RefCell<FxHashMap<BundleName, Slot<Rc<Bundle>>>>,
}

/// Something that is open or on its way to be, or to be closed.
enum Slot<T> {
    Open(T),
    /// Who waits for the outcome.
    Opening(Vec<oneshot::Sender<Result<T, Failure>>>),
    /// Who waits for it to be gone.
    Closing(Vec<oneshot::Sender<()>>),
}

/// What a caller of [`Registry`] finds.
enum Found<T> {
    Open(T),
    /// Nobody has begun: it is for the caller to open it, and to wait.
    Absent(oneshot::Receiver<Result<T, Failure>>),
    Opening(oneshot::Receiver<Result<T, Failure>>),
    Closing(oneshot::Receiver<()>),
}

fn find<K: Clone + Eq + std::hash::Hash, T: Clone>(slots: &RefCell<FxHashMap<K, Slot<T>>>, key: &K) -> Found<T> {
    let mut slots = slots.borrow_mut();
    match slots.get_mut(key) {
        Some(Slot::Open(open)) => Found::Open(open.clone()),
        Some(Slot::Opening(waiting)) => {
            let (done, outcome) = oneshot::channel();
            waiting.push(done);
            Found::Opening(outcome)
        }
        Some(Slot::Closing(waiting)) => {
            let (done, gone) = oneshot::channel();
            waiting.push(done);
            Found::Closing(gone)
        }
        None => {
            let (done, outcome) = oneshot::channel();
            slots.insert(key.clone(), Slot::Opening(vec![done]));
            Found::Absent(outcome)
        }
    }
}

fn opened<K: Eq + std::hash::Hash, T: Clone>(
    slots: &RefCell<FxHashMap<K, Slot<T>>>,
    key: K,
    outcome: &Result<T, Failure>,
) {
    let slot = {
        let mut slots = slots.borrow_mut();
        match outcome {
            Ok(open) => slots.insert(key, Slot::Open(open.clone())),
            Err(_) => slots.remove(&key),
        }
    };
    if let Some(Slot::Opening(waiting)) = slot {
        for waiter in waiting {
            let _ = waiter.send(outcome.clone());
        }
    }
}

fn closed<K: Eq + std::hash::Hash, T>(slots: &RefCell<FxHashMap<K, Slot<T>>>, key: &K) {
    let slot = slots.borrow_mut().remove(key);
    if let Some(Slot::Closing(waiting)) = slot {
        for waiter in waiting {
            let _ = waiter.send(());
        }
    }
}

fn interrupted() -> Failure {
    Failure::not_ready("the broker is stopping")
}

impl Registry {
    /// The topics that are open.
    pub(crate) fn topics(&self) -> Vec<Rc<Topic>> {
        let topics = self.topics.borrow();
        topics
            .values()
            .filter_map(|slot| if let Slot::Open(topic) = slot { Some(topic.clone()) } else { None })
            .collect()
    }

    /// The topic called `name`, if it is open.
    pub(crate) fn open_topic(&self, name: &TopicName) -> Option<Rc<Topic>> {
        match self.topics.borrow().get(name) {
            Some(Slot::Open(topic)) => Some(topic.clone()),
            _ => None,
        }
    }

    /// How many topics are open.
    pub(crate) fn topic_count(&self) -> usize {
        self.topics.borrow().len()
    }

    /// Marks an open bundle as closing.
    fn begin_closing(&self, name: &BundleName) -> Option<Rc<Bundle>> {
        let mut bundles = self.bundles.borrow_mut();
        let slot = bundles.get_mut(name)?;
        let Slot::Open(bundle) = slot else { return None };
        let bundle = bundle.clone();
        *slot = Slot::Closing(Vec::new());
        Some(bundle)
    }

    /// The names of the bundles that are open, with how many topics each has open.
    pub(crate) fn bundles(&self) -> Vec<BundleName> {
        self.bundles.borrow().keys().cloned().collect()
    }
}

impl Shard {
    /// The topic called `name`, opened if need be. Whoever asks meanwhile gets the same outcome; one that fails leaves
    /// nothing behind.
    pub(crate) async fn topic(self: &Rc<Self>, name: &TopicName, mode: OpenMode) -> Result<Rc<Topic>, Failure> {
        loop {
            match find(&self.registry.topics, name) {
                Found::Open(topic) => return Ok(topic),
                Found::Closing(gone) => {
                    let _ = gone.await;
                }
                Found::Opening(outcome) => match outcome.await.map_err(|_| interrupted())? {
                    // Whoever opened it was not to make it, but this caller is.
                    Err(failure) if failure.is_absence() && mode != OpenMode::MustExist => {}
                    outcome => return outcome,
                },
                Found::Absent(outcome) => {
                    let (shard, name) = (self.clone(), name.clone());
                    spawn_local(async move {
                        let changes = shard.core.namespaces.changes();
                        let work = shard.open(&name, mode);
                        let outcome = within(LOAD, work).await;
                        match &outcome {
                            Ok(_) => shard.counters().topic_loaded(),
                            Err(failure) => {
                                shard.counters().topic_load_failed();
                                tracing::debug!(topic = %name, %failure, "topic not opened");
                            }
                        }
                        opened(&shard.registry.topics, name, &outcome);
                        // Until then nobody else has it follow changed policies.
                        if let Ok(topic) = outcome
                            && shard.core.namespaces.changes() != changes
                            && let Err(failure) = shard.apply_policies(&topic).await
                        {
                            tracing::warn!(topic = %topic.name(), %failure, "changed policies not followed");
                        }
                    });
                    return outcome.await.map_err(|_| interrupted())?;
                }
            }
        }
    }

    async fn open(self: &Rc<Self>, name: &TopicName, mode: OpenMode) -> Result<Rc<Topic>, Failure> {
        let overrides = self.core.overrides(name).await?;
        if !name.is_persistent() {
            let topic = Topic::open_non_persistent(self.context.clone(), name.clone());
            topic.set_overrides(overrides);
            return Ok(topic);
        }
        let bundle_name = self.core.namespaces.bundle_of(name).await?;
        let bundle = self.bundle(&bundle_name).await?;
        let path = crate::serving::log_path(name);
        let (topic, created) = Topic::open(self.context.clone(), bundle, name.clone(), &path, mode).await.map_err(
            |error| match error {
                plerion_topic::Error::NotFound(_) => Failure::no_topic(format!("Topic {name} does not exist")),
                error => error.into(),
            },
        )?;
        topic.set_overrides(overrides);
        if let Err(failure) = self.apply_deduplication(&topic).await {
            // Nothing was recorded that closing could lose.
            let _ = topic.close().await;
            return Err(failure);
        }
        if created {
            self.core.topic_changes.created(name);
        }
        Ok(topic)
    }

    /// The bundle called `name`, opened if need be.
    async fn bundle(self: &Rc<Self>, name: &BundleName) -> Result<Rc<Bundle>, Failure> {
        loop {
            match find(&self.registry.bundles, name) {
                Found::Open(bundle) => return Ok(bundle),
                Found::Closing(gone) => {
                    let _ = gone.await;
                }
                Found::Opening(outcome) => return outcome.await.map_err(|_| interrupted())?,
                Found::Absent(outcome) => {
                    let (shard, name) = (self.clone(), name.clone());
                    spawn_local(async move {
                        let work = async {
                            let context = shard.log_context(name.key());
                            let log = StateLog::open(context, &name.path(), shard.core.epoch).await;
                            log.map(Bundle::new).map_err(|error| plerion_topic::Error::from(error).into())
                        };
                        let outcome = within(LOAD, work).await;
                        if let Ok(bundle) = &outcome {
                            spawn_local(shard.clone().watch_bundle(name.clone(), bundle.clone()));
                        }
                        opened(&shard.registry.bundles, name, &outcome);
                    });
                    return outcome.await.map_err(|_| interrupted())?;
                }
            }
        }
    }

    /// Closes a bundle's topics when its state log fails: they are opened anew with it.
    async fn watch_bundle(self: Rc<Self>, name: BundleName, bundle: Rc<Bundle>) {
        let error = bundle.state_log.failed().await;
        if matches!(error, plerion_managed_log::Error::Closed) {
            return;
        }
        tracing::error!(bundle = %name, %error, "state log failed, its topics are opened anew");
        self.close_bundle(&name).await;
    }

    /// Closes the topic called `name`, if it is open, and waits until it is gone.
    pub(crate) async fn unload(self: &Rc<Self>, name: &TopicName) -> Result<(), Failure> {
        self.end(name, async |topic| topic.close().await).await
    }

    /// Deletes the topic called `name`.
    pub(crate) async fn delete(self: &Rc<Self>, name: &TopicName, force: bool) -> Result<(), Failure> {
        let topic = self.topic(name, OpenMode::MustExist).await?;
        topic.check_deletable(force).map_err(Failure::from)?;
        self.end(name, async |topic| topic.delete(force).await).await?;
        self.core.topic_changes.deleted(name);
        Ok(())
    }

    /// Takes a topic out of service by `end`. Whoever asks for it meanwhile waits.
    async fn end(
        self: &Rc<Self>,
        name: &TopicName,
        end: impl AsyncFnOnce(&Rc<Topic>) -> Result<(), plerion_topic::Error>,
    ) -> Result<(), Failure> {
        loop {
            match find(&self.registry.topics, name) {
                Found::Closing(gone) => {
                    let _ = gone.await;
                    return Ok(());
                }
                Found::Opening(outcome) => {
                    let _ = outcome.await;
                }
                Found::Absent(_) => {
                    self.registry.topics.borrow_mut().remove(name);
                    return Ok(());
                }
                Found::Open(topic) => {
                    self.registry.topics.borrow_mut().insert(name.clone(), Slot::Closing(Vec::new()));
                    let outcome = end(&topic).await;
                    closed(&self.registry.topics, name);
                    return outcome.map_err(Failure::from);
                }
            }
        }
    }

    /// Closes a bundle and all its topics.
    pub(crate) async fn close_bundle(self: &Rc<Self>, name: &BundleName) {
        let Some(bundle) = self.registry.begin_closing(name) else { return };
        for topic in self.registry.topics() {
            if topic.is_of(&bundle)
                && let Err(failure) = self.unload(topic.name()).await
            {
                tracing::warn!(topic = %topic.name(), %failure, "topic not closed cleanly");
            }
        }
        if let Err(error) = bundle.state_log.close().await {
            tracing::warn!(bundle = %name, %error, "state log not closed cleanly");
        }
        closed(&self.registry.bundles, name);
    }

    /// Closes everything, so that the next start finds nothing to recover.
    pub(crate) async fn close_all(self: &Rc<Self>) {
        for topic in self.registry.topics() {
            if let Err(failure) = self.unload(topic.name()).await {
                tracing::warn!(topic = %topic.name(), %failure, "topic not closed cleanly");
            }
        }
        for bundle in self.registry.bundles() {
            self.close_bundle(&bundle).await;
        }
    }
}

async fn within<T>(patience: Duration, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    match tokio::time::timeout(patience, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Failure::not_ready("opening the topic takes too long")),
    }
}

//! A broker as its administrators use it.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use plerion_config::LiveSettings;
use plerion_resources::Resources;
use plerion_resources::names::TopicName;
use tokio::sync::oneshot;

use crate::addresses::Advertised;
use crate::authorizer::{Authorizer, Operation, Role};
use crate::core::Core;
use crate::failure::Failure;
use crate::metrics::ShardCounters;
use crate::shard::{Shard, Stopped};

mod foundation;
mod namespaces;
mod schemas;
mod subscriptions;
mod topics;
mod totals;
mod volatile;

pub use subscriptions::Peeked;
pub use topics::{CursorStats, InternalStats, LedgerStats};
pub use totals::BrokerTotals;

/// A broker as its administrators use it, from any thread. Clones are handles to the same broker.
#[derive(Clone)]
pub struct Handle(Arc<Core>);

impl Handle {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self(core)
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0
    }

    /// Tenants, namespaces, policies and schemas.
    pub fn resources(&self) -> &Resources {
        &self.0.resources
    }

    /// The settings, which may be changed here.
    pub fn settings(&self) -> &Arc<LiveSettings> {
        &self.0.settings
    }

    /// Whether `role` may do `operation`.
    pub fn allows(&self, role: &Role, operation: &Operation<'_>) -> bool {
        Authorizer::allows(&*self.0.authorizer, role, operation)
    }

    /// The addresses of the broker that serves a topic, for clients of `listener`.
    ///
    /// # Errors
    /// [`Failure`] when the namespace is not there or the listener is not known.
    pub async fn locate(&self, name: &TopicName, listener: Option<&str>) -> Result<Advertised, Failure> {
        crate::lookup::locate(&self.0, name, listener).await
    }

    /// How many partitions a topic has; 0 if it is not partitioned.
    ///
    /// # Errors
    /// [`Failure`] when the namespace is not there, or the topic is not and must not be made.
    pub async fn partitions(&self, name: &TopicName, may_create: bool) -> Result<u32, Failure> {
        crate::lookup::partitions(&self.0, name, may_create).await
    }

    /// This broker's name among its peers: `host:web port`.
    pub fn broker_id(&self) -> String {
        self.0.addresses.broker_id()
    }

    /// This broker's own addresses.
    pub fn addresses(&self) -> Advertised {
        self.0.addresses.of(None).unwrap_or_default()
    }

    /// What each shard has counted.
    pub fn counters(&self) -> &[Arc<ShardCounters>] {
        &self.0.counters
    }

    /// Has every shard take over settings that were changed.
    pub fn settings_changed(&self) {
        for shard in 0..self.0.doors.count() {
            self.0.doors.call(shard, |shard| {
                shard.refresh_settings();
                shard.registry.topics().iter().for_each(|topic| topic.refresh_settings());
            });
        }
    }

    /// Has shard `home` run `work`, and waits for its result.
    async fn on<F, T>(&self, home: u16, work: impl FnOnce(Rc<Shard>) -> F + Send + 'static) -> Result<T, Failure>
    where
        F: Future<Output = T> + 'static,
        T: Send + 'static,
    {
        let (done, result) = oneshot::channel();
        self.0.doors.call(usize::from(home), move |shard| {
            let shard = shard.clone();
            tokio::task::spawn_local(async move {
                // Whoever asked may be gone by now.
                let _ = done.send(work(shard).await);
            });
        });
        result.await.map_err(|_| Stopped.into())
    }

    /// Has the shard where `name` lives run `work`.
    async fn at<F, T>(
        &self,
        name: &TopicName,
        work: impl FnOnce(Rc<Shard>, TopicName) -> F + Send + 'static,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>> + 'static,
        T: Send + 'static,
    {
        let home = self.0.home_of(name).await?;
        let name = name.clone();
        self.on(home, move |shard| work(shard, name)).await?
    }
}

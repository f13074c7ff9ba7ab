//! What is done now and then, for every topic of a shard.

use std::rc::Rc;
use std::time::Duration;

use plerion_config::InactiveTopicMode;
use plerion_managed_log::Retention;
use plerion_topic::Topic;

use crate::shard::Shard;

/// How often the shard looks what is due.
const TICK: Duration = Duration::from_secs(1);
/// The time that rates are averages of.
const RATES: Duration = Duration::from_secs(10);
/// How long a topic nobody uses stays in memory.
const IDLE: Duration = Duration::from_secs(60);

/// How many topics are closed or deleted side by side: they share syncs, and leave most of each to those who publish.
const RETIRED_AT_ONCE: usize = 16;

/// When the things that are done at intervals were done last.
#[derive(Default)]
struct Done {
    retention: Duration,
    expiry: Duration,
    inactive: Duration,
    deduplication: Duration,
    rates: Duration,
}

/// Looks after the topics of `shard`, for ever.
pub(crate) async fn run(shard: Rc<Shard>) {
    let mut done = Done::default();
    loop {
        tokio::time::sleep(TICK).await;
        let now = shard.clock().monotonic();
        let settings = shard.settings();
        let due = |last: &mut Duration, every: Duration| {
            let due = now.saturating_sub(*last) >= every;
            if due {
                *last = now;
            }
            due
        };
        if due(&mut done.rates, RATES) {
            shard.registry.topics().iter().for_each(|topic| topic.sample(RATES));
        }
        if due(&mut done.retention, settings.retention.retention_interval) {
            for topic in shard.registry.topics() {
                trim(&shard, &topic).await;
            }
        }
        if due(&mut done.expiry, settings.retention.expiry_interval) {
            for topic in shard.registry.topics() {
                expire(&shard, &topic).await;
            }
        }
        if settings.deduplication.snapshot_interval.is_some_and(|every| due(&mut done.deduplication, every)) {
            for topic in shard.registry.topics() {
                topic.purge_deduplication();
                topic.record_deduplication();
            }
        }
        if due(&mut done.inactive, settings.topics.delete_inactive_interval.min(IDLE)) {
            for some in shard.registry.topics().chunks(RETIRED_AT_ONCE) {
                let mut retiring = tokio::task::JoinSet::new();
                for topic in some {
                    let (shard, topic) = (shard.clone(), topic.clone());
                    retiring.spawn_local(async move { retire(&shard, &topic).await });
                }
                while retiring.join_next().await.is_some() {}
                tokio::task::yield_now().await;
            }
        }
    }
}

async fn trim(shard: &Rc<Shard>, topic: &Rc<Topic>) {
    let settings = shard.settings();
    let default =
        Retention { minutes: settings.retention.retention_minutes, megabytes: settings.retention.retention_size_mb };
    if let Err(error) = topic.trim(topic.overrides().retention.unwrap_or(default)).await {
        tracing::warn!(topic = %topic.name(), %error, "space not given back");
    }
}

async fn expire(shard: &Rc<Shard>, topic: &Rc<Topic>) {
    let ttl = topic.overrides().message_ttl.or(shard.settings().retention.message_ttl);
    if let Some(ttl) = ttl.filter(|ttl| !ttl.is_zero())
        && let Err(error) = topic.expire(ttl).await
    {
        tracing::warn!(topic = %topic.name(), %error, "old messages not expired");
    }
}

/// Deletes a topic that nobody uses and nobody subscribes to, and takes one that is merely not used out of memory.
async fn retire(shard: &Rc<Shard>, topic: &Rc<Topic>) {
    let Some(idle) = topic.idle() else { return };
    let settings = shard.settings();
    let rules = &settings.topics;
    let after = rules.delete_inactive_after.unwrap_or(rules.delete_inactive_interval);
    let forgotten = match rules.delete_inactive_mode {
        InactiveTopicMode::NoSubscriptions => topic.subscriptions().is_empty(),
        InactiveTopicMode::SubscriptionsCaughtUp => topic.backlog() == 0,
    };
    let outcome = if rules.delete_inactive && forgotten && idle >= after && !topic.name().is_system() {
        tracing::info!(topic = %topic.name(), "inactive topic deleted");
        shard.delete(topic.name(), false).await
    } else if idle >= IDLE {
        shard.unload(topic.name()).await
    } else {
        return;
    };
    if let Err(failure) = outcome {
        tracing::debug!(topic = %topic.name(), %failure, "topic not retired");
    }
}

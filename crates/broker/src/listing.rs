//! The topics of a namespace.

use std::collections::BTreeSet;
use std::rc::Rc;

use plerion_resources::names::{Domain, NamespaceName};

use crate::failure::Failure;
use crate::shard::Shard;

/// Which topics are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Those that keep messages.
    Persistent,
    /// Those that do not; only the ones in use exist.
    NonPersistent,
    /// Both.
    All,
}

/// The full names of a namespace's topics, partitions and all, sorted, without those of the system.
pub(crate) async fn topics(shard: &Rc<Shard>, namespace: &NamespaceName, kind: Kind) -> Result<Vec<String>, Failure> {
    let mut topics = BTreeSet::new();
    if kind != Kind::NonPersistent {
        let kept = shard.core.resources.topics().list(namespace, Domain::Persistent).await?;
        topics.extend(kept.into_iter().filter(|name| !name.is_system()).map(|name| name.to_string()));
    }
    if kind != Kind::Persistent {
        for home in 0..shard.core.doors.count() {
            let namespace = namespace.clone();
            let open = shard
                .on(u16::try_from(home).unwrap_or(u16::MAX), move |shard| async move {
                    let open = shard.registry.topics();
                    let names = open.iter().map(|topic| topic.name());
                    let named = names.filter(|name| !name.is_persistent() && *name.namespace() == namespace);
                    named.map(ToString::to_string).collect::<Vec<_>>()
                })
                .await?;
            topics.extend(open);
        }
    }
    Ok(topics.into_iter().collect())
}

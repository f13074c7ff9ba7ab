//! Who is told when topics come and go.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use plerion_resources::names::{NamespaceName, TopicName};
use plerion_resources::topic_list;
use plerion_topic::ConnectionId;
use plerion_wire::proto::CommandWatchTopicUpdate;
use rustc_hash::FxHashMap;

use crate::mesh::Doors;

/// A client that watches the topics of a namespace.
pub(crate) struct Watcher {
    connection: ConnectionId,
    id: u64,
    namespace: NamespaceName,
    pattern: topic_list::TopicPattern,
    /// The topics its client knows of.
    known: BTreeSet<String>,
}

impl Watcher {
    /// A watcher of the topics of `namespace` that match `pattern`.
    pub(crate) fn new(
        connection: ConnectionId,
        id: u64,
        namespace: &NamespaceName,
        pattern: topic_list::TopicPattern,
    ) -> Self {
        Self { connection, id, namespace: namespace.clone(), pattern, known: BTreeSet::new() }
    }
}

/// The watchers of all connections.
pub(crate) struct TopicChanges {
    doors: Doors,
    watchers: Mutex<FxHashMap<(ConnectionId, u64), Watcher>>,
}

impl TopicChanges {
    pub(crate) fn new(doors: Doors) -> Self {
        Self { doors, watchers: Mutex::default() }
    }

    /// Adds a watcher; one of the same connection and id is replaced.
    pub(crate) fn watch(&self, watcher: Watcher) {
        self.watchers.lock().insert((watcher.connection, watcher.id), watcher);
    }

    /// Notes what the client of a watcher is told to begin with.
    pub(crate) fn listed(&self, connection: ConnectionId, id: u64, topics: &[String]) {
        if let Some(watcher) = self.watchers.lock().get_mut(&(connection, id)) {
            watcher.known.extend(topics.iter().cloned());
        }
    }

    /// Takes a watcher out.
    pub(crate) fn unwatch(&self, connection: ConnectionId, id: u64) {
        self.watchers.lock().remove(&(connection, id));
    }

    /// Takes all watchers of a connection out.
    pub(crate) fn forget(&self, connection: ConnectionId) {
        self.watchers.lock().retain(|(owner, _), _| *owner != connection);
    }

    /// Tells of a topic that was made.
    pub(crate) fn created(&self, name: &TopicName) {
        self.tell(name, |watcher, update, topic| {
            watcher.known.insert(topic.clone());
            update.new_topics.push(topic);
        });
    }

    /// Tells of a topic that was deleted.
    pub(crate) fn deleted(&self, name: &TopicName) {
        self.tell(name, |watcher, update, topic| {
            watcher.known.remove(&topic);
            update.deleted_topics.push(topic);
        });
    }

    fn tell(&self, name: &TopicName, what: impl Fn(&mut Watcher, &mut CommandWatchTopicUpdate, String)) {
        let mut watchers = self.watchers.lock();
        if watchers.is_empty() || !name.is_persistent() || name.is_system() {
            return;
        }
        let topic = name.to_string();
        for watcher in watchers.values_mut() {
            if watcher.namespace != *name.namespace() || !watcher.pattern.matches(&topic) {
                continue;
            }
            let mut update = CommandWatchTopicUpdate { watcher_id: watcher.id, ..CommandWatchTopicUpdate::default() };
            what(watcher, &mut update, topic.clone());
            // That of the whole list: a client that reconnects says by it what it knows.
            update.topics_hash = topic_list::hash(&watcher.known.iter().collect::<Vec<_>>());
            let connection = watcher.connection;
            self.doors.call(usize::from(connection.shard), move |shard| {
                if let Some(connection) = shard.switchboard.connection(connection.key) {
                    connection.send(&update.into());
                }
            });
        }
    }
}

//! GET_TOPICS_OF_NAMESPACE and the watching of topic lists.

use plerion_resources::names::NamespaceName;
use plerion_resources::topic_list::{self, TopicPattern};
use plerion_wire::proto::{
    CommandGetTopicsOfNamespace, CommandGetTopicsOfNamespaceResponse, CommandWatchTopicList,
    CommandWatchTopicListClose, CommandWatchTopicListSuccess, command_get_topics_of_namespace::Mode,
};

use super::Caller;
use crate::authorizer::Operation;
use crate::failure::Failure;
use crate::listing::{self, Kind};
use crate::watchers::Watcher;

fn namespace(caller: &Caller, name: &str) -> Result<NamespaceName, Failure> {
    let namespace = name.parse::<NamespaceName>()?;
    caller.authorize(&Operation::ListTopics(&namespace))?;
    Ok(namespace)
}

/// Lists the topics of a namespace; one that is not there has none.
pub(super) fn topics(caller: Caller, command: CommandGetTopicsOfNamespace) {
    let request_id = command.request_id;
    caller.respond(request_id, move |caller| async move {
        let namespace = namespace(&caller, &command.namespace)?;
        let kind = match command.mode() {
            Mode::Persistent => Kind::Persistent,
            Mode::NonPersistent => Kind::NonPersistent,
            Mode::All => Kind::All,
        };
        let mut topics = listing::topics(&caller.shard, &namespace, kind).await?;
        let settings = caller.shard.settings();
        let mut filtered = false;
        if let Some(pattern) = &command.topics_pattern
            && settings.topics.match_patterns
            && pattern.len() <= settings.topics.max_pattern_length as usize
            && let Ok(pattern) = TopicPattern::new(pattern)
        {
            topics.retain(|topic| pattern.matches(topic));
            filtered = true;
        }
        let hash = topic_list::hash(&topics);
        let changed = command.topics_hash.as_deref() != Some(&*hash);
        Ok(CommandGetTopicsOfNamespaceResponse {
            request_id,
            topics: if changed { topics } else { Vec::new() },
            filtered: Some(filtered),
            topics_hash: Some(hash),
            changed: Some(changed),
        })
    });
}

/// Lists the topics of a namespace that match a pattern, and tells of every change from then on.
pub(super) fn watch(caller: Caller, command: CommandWatchTopicList) {
    let request_id = command.request_id;
    caller.respond(request_id, move |caller| async move {
        let namespace = namespace(&caller, &command.namespace)?;
        let settings = caller.shard.settings();
        if !settings.topics.match_patterns {
            return Err(Failure::not_allowed(
                "Unable to handle CommandWatchTopicList because topic list watcher is disabled.",
            ));
        }
        if command.topics_pattern.len() > settings.topics.max_pattern_length as usize {
            let most = settings.topics.max_pattern_length;
            return Err(Failure::not_allowed(format!("Pattern longer than maximum: {most}")));
        }
        let pattern =
            TopicPattern::new(&command.topics_pattern).map_err(|error| Failure::not_allowed(error.to_string()))?;
        let watcher = Watcher::new(caller.connection.id, command.watcher_id, &namespace, pattern.clone());
        // Watched before listed: what changes in between is told twice rather than never.
        caller.shard.core.topic_changes.watch(watcher);
        if caller.shard.switchboard.connection(caller.connection.id.key).is_none() {
            // The connection has ended, and with it the watches it had until then.
            caller.shard.core.topic_changes.forget(caller.connection.id);
        }
        let mut topics = listing::topics(&caller.shard, &namespace, Kind::Persistent).await?;
        topics.retain(|topic| pattern.matches(topic));
        caller.shard.core.topic_changes.listed(caller.connection.id, command.watcher_id, &topics);
        let hash = topic_list::hash(&topics);
        let known = command.topics_hash.as_deref() == Some(&*hash);
        Ok(CommandWatchTopicListSuccess {
            request_id,
            watcher_id: command.watcher_id,
            topic: if known { Vec::new() } else { topics },
            topics_hash: hash,
        })
    });
}

/// Ends a watch.
pub(super) fn unwatch(caller: &Caller, command: &CommandWatchTopicListClose) {
    caller.shard.core.topic_changes.unwatch(caller.connection.id, command.watcher_id);
    caller.succeed(command.request_id);
}

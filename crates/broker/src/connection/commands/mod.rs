//! The commands that are rare enough to take their time.
//!
//! Each runs as a task of its own, so that a slow one holds nothing up; the client told them apart by request ids.

use std::future::Future;
use std::rc::Rc;

use plerion_resources::names::TopicName;
use plerion_topic::ConnectionId;
use plerion_wire::ServerError;
use plerion_wire::proto::BaseCommand;
use plerion_wire::proto::base_command::Type;

use super::{Attached, Connection, reader::Ended};
use crate::authorizer::Operation;
use crate::failure::Failure;
use crate::mesh::Message;
use crate::shard::Shard;

mod consuming;
mod listing;
mod lookup;
mod producing;
mod schemas;

/// A connection's end of a request: the shard and the connection it is on.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) shard: Rc<Shard>,
    pub(super) connection: Rc<Connection>,
}

impl Caller {
    /// The end of a connection of this shard, while it is open.
    fn of(shard: &Rc<Shard>, connection: ConnectionId) -> Option<Self> {
        let connection = shard.switchboard.connection(connection.key)?;
        Some(Self { shard: shard.clone(), connection })
    }

    /// The topic a client names.
    ///
    /// # Errors
    /// What is wrong with the name.
    fn topic(&self, name: &str) -> Result<TopicName, Failure> {
        name.parse::<TopicName>()
            .map_err(|error| Failure::new(ServerError::InvalidTopicName, format!("Invalid topic name: {error}")))
    }

    /// Whether the client may do `operation`.
    ///
    /// # Errors
    /// The refusal it gets otherwise.
    fn authorize(&self, operation: &Operation<'_>) -> Result<(), Failure> {
        let role = &self.connection.session().role;
        if self.shard.core.authorizer.allows(role, operation) {
            Ok(())
        } else {
            Err(Failure::new(ServerError::AuthorizationError, operation.refusal()))
        }
    }

    /// Sends `answer`, or the error that answers request `request_id`.
    fn answer(&self, request_id: u64, answer: Result<impl Into<BaseCommand>, Failure>) {
        match answer {
            Ok(command) => self.connection.send(&command.into()),
            Err(failure) => self.fail(request_id, &failure),
        }
    }

    fn fail(&self, request_id: u64, failure: &Failure) {
        self.shard.counters().request_failed();
        tracing::debug!(client = %self.connection.address, code = ?failure.code, %failure, "request failed");
        self.connection.send_error(request_id, failure.code, &failure.message);
    }

    fn succeed(&self, request_id: u64) {
        self.connection.write(|buf| plerion_wire::encode::success(request_id, buf), bytes::Bytes::new());
    }

    /// Runs `work` and sends its answer.
    fn respond<F, C>(self, request_id: u64, work: impl FnOnce(Self) -> F)
    where
        F: Future<Output = Result<C, Failure>> + 'static,
        C: Into<BaseCommand>,
    {
        let work = work(self.clone());
        tokio::task::spawn_local(async move {
            let answer = work.await;
            self.answer(request_id, answer);
        });
    }
}

/// Handles a command.
pub(super) fn handle(shard: &Rc<Shard>, connection: &Rc<Connection>, command: BaseCommand) -> Result<(), Ended> {
    let caller = Caller { shard: shard.clone(), connection: connection.clone() };
    let Ok(kind) = Type::try_from(command.r#type) else { return Ok(()) };
    macro_rules! body {
        ($field:ident) => {
            match command.$field {
                Some(body) => *body,
                None => return Err(Ended::Protocol(format!("{kind:?} without its body"))),
            }
        };
    }
    match kind {
        Type::PartitionedMetadata => lookup::partitions(caller, body!(partition_metadata)),
        Type::Lookup => lookup::lookup(caller, body!(lookup_topic)),
        Type::GetTopicsOfNamespace => listing::topics(caller, body!(get_topics_of_namespace)),
        Type::WatchTopicList => listing::watch(caller, body!(watch_topic_list)),
        Type::WatchTopicListClose => listing::unwatch(&caller, &body!(watch_topic_list_close)),
        Type::Producer => producing::open(caller, body!(producer)),
        Type::CloseProducer => producing::close(caller, &body!(close_producer)),
        Type::Subscribe => consuming::subscribe(caller, body!(subscribe)),
        Type::CloseConsumer => consuming::close(caller, &body!(close_consumer)),
        Type::Unsubscribe => consuming::unsubscribe(caller, &body!(unsubscribe)),
        Type::Seek => consuming::seek(caller, body!(seek)),
        Type::GetLastMessageId => consuming::last_message_id(caller, &body!(get_last_message_id)),
        Type::ConsumerStats => consuming::stats(caller, &body!(consumer_stats)),
        Type::GetSchema => schemas::get(caller, body!(get_schema)),
        Type::GetOrCreateSchema => schemas::get_or_create(caller, body!(get_or_create_schema)),
        Type::Connect => return Err(Ended::Protocol("CONNECT on a connection that is open".into())),
        Type::TcClientConnectRequest => {
            caller.fail(body!(tc_client_connect_request).request_id, &no_transactions());
        }
        Type::NewTxn => caller.fail(body!(new_txn).request_id, &no_transactions()),
        Type::AddPartitionToTxn => caller.fail(body!(add_partition_to_txn).request_id, &no_transactions()),
        Type::AddSubscriptionToTxn => caller.fail(body!(add_subscription_to_txn).request_id, &no_transactions()),
        Type::EndTxn => caller.fail(body!(end_txn).request_id, &no_transactions()),
        _ => tracing::debug!(client = %connection.address, ?kind, "command ignored"),
    }
    Ok(())
}

fn no_transactions() -> Failure {
    Failure::not_allowed("Transactions are not enabled.")
}

/// Tells the topics of `connection` that it is gone.
pub(super) fn detach_all(shard: &Rc<Shard>, connection: &Rc<Connection>) {
    let attachments = connection.attachments.take();
    for (home, key) in attachments.producers.values().filter_map(Attached::place) {
        producing::detach(shard, home, key);
    }
    for (home, key) in attachments.consumers.values().filter_map(Attached::place) {
        consuming::detach(shard, home, key);
    }
    shard.core.topic_changes.forget(connection.id);
}

/// Tells the consumers of `connection` that its socket takes more.
pub(super) fn consumers_writable(shard: &Rc<Shard>, connection: &Rc<Connection>) {
    for (home, key) in connection.consumer_places() {
        if home != shard.id {
            shard.switchboard.mesh.post(home, Message::Writable { consumer: key });
        } else if let Some(consumer) = shard.context.consumers.get(key) {
            consumer.writable(true);
        }
    }
}

//! SUBSCRIBE and what a consumer asks for.

use std::future::Future;
use std::rc::Rc;

use plerion_resources::names;
use plerion_subscription::Position;
use plerion_subscription::dispatcher::{KeyShared, Kind};
use plerion_topic::{Consumer, ConsumerKey, NewConsumer, Seat, Start, Target};
use plerion_wire::ServerError;
use plerion_wire::proto::{
    self, CommandCloseConsumer, CommandConsumerStats, CommandConsumerStatsResponse, CommandGetLastMessageId,
    CommandGetLastMessageIdResponse, CommandSeek, CommandSubscribe, CommandSuccess, CommandUnsubscribe,
    command_subscribe::{InitialPosition, SubType},
};
use tokio::task::spawn_local;

use super::{Caller, producing::properties, schemas};
use crate::authorizer::Operation;
use crate::connection::{Attached, Attempt, Connection, forget};
use crate::failure::Failure;
use crate::shard::Shard;
use crate::stats::{timestamp, type_name};

/// Opens a consumer. Asked again under the same id, the client gets the same answer.
pub(super) fn subscribe(caller: Caller, command: CommandSubscribe) {
    let (id, request_id) = (command.consumer_id, command.request_id);
    let attempt = {
        let attachments = &mut *caller.connection.attachments.borrow_mut();
        match attachments.consumers.get(&id) {
            Some(Attached::Open { .. }) => return caller.succeed(request_id),
            Some(Attached::Opening(_)) => {
                let failure = Failure::not_ready("Consumer is already present on the connection");
                return caller.fail(request_id, &failure);
            }
            None => {}
        }
        let ticket = attachments.ticket();
        attachments.consumers.insert(id, Attached::Opening(ticket));
        Attempt { connection: caller.connection.id, id, request_id, ticket }
    };
    spawn_local(async move {
        if let Err(failure) = create(&caller, attempt, command).await {
            answer(&caller.shard, attempt, Err(failure));
        }
    });
}

/// Notes the outcome of an attempt on its connection, and tells the client.
fn answer(shard: &Rc<Shard>, attempt: Attempt, outcome: Result<(u16, ConsumerKey), Failure>) {
    let caller = Caller::of(shard, attempt.connection);
    let wanted = caller.as_ref().filter(|caller| {
        let opened = outcome.as_ref().ok();
        let opened = opened.map(|(home, key)| Attached::Open { home: *home, key: *key, reply: () });
        attempt.settle(&mut caller.connection.attachments.borrow_mut().consumers, opened)
    });
    match (outcome, wanted) {
        (Ok((home, key)), Some(caller)) => {
            caller.succeed(attempt.request_id);
            shard.post(home, move |shard| {
                if let Some(consumer) = shard.context.consumers.get(key) {
                    consumer.answered();
                }
            });
        }
        (Err(failure), Some(caller)) => caller.fail(attempt.request_id, &failure),
        // The client has closed it, or the connection, meanwhile.
        (Ok((home, key)), None) => detach(shard, home, key),
        (Err(_), None) => {}
    }
}

/// Opens a consumer where its topic lives, and answers.
///
/// # Errors
/// [`Failure`] when it did not come to that; the client has no answer yet.
async fn create(caller: &Caller, attempt: Attempt, command: CommandSubscribe) -> Result<(), Failure> {
    let name = caller.topic(&command.topic)?;
    if let Err(error) = names::subscription::check(&command.subscription) {
        return Err(Failure::new(ServerError::ProducerBusy, error.to_string()));
    }
    caller.authorize(&Operation::Consume(&name, &command.subscription))?;
    let home = caller.shard.home_of(&name).await?;
    let (connection, client) = (caller.connection.id, caller.connection.facts());
    let work = move |shard: Rc<Shard>| async move {
        let topic = shard.readable_topic(&name, command.force_topic_creation != Some(false)).await?;
        schemas::for_consumer(&shard, &name, &topic, command.schema.as_ref()).await?;
        let settings = shard.settings();
        let may_create = topic.overrides().auto_create_subscription;
        let may_create = may_create.unwrap_or(settings.topics.auto_create_subscription);
        let mut new = request(command, connection, client, may_create)?;
        if let Start::Published(seconds) = new.start {
            let back = seconds.saturating_mul(1_000);
            new.start = Start::Published(shard.clock().wall_ms().saturating_sub(back));
        }
        if !settings.subscriptions.types.contains(&config_type(new.kind)) {
            let why = format!("Topic[{name}] doesn't support {} sub type!", type_name(new.kind));
            return Err(Failure::not_allowed(why));
        }
        Ok::<_, Failure>((home, shard.unless_held(connection, || topic.subscribe(new.clone())).await?.key))
    };
    // The topic may have more to say to the client at once; that must find the consumer on the connection.
    caller.shard.on_then(home, work, move |shard, outcome| answer(shard, attempt, outcome)).await?;
    Ok(())
}

/// What the client asks for, in the topic's terms.
fn request(
    command: CommandSubscribe,
    connection: plerion_topic::ConnectionId,
    client: plerion_topic::ClientFacts,
    may_create: bool,
) -> Result<NewConsumer, Failure> {
    let kind = match command.sub_type() {
        SubType::Exclusive => Kind::Exclusive,
        SubType::Shared => Kind::Shared,
        SubType::Failover => Kind::Failover,
        SubType::KeyShared => Kind::KeyShared,
    };
    if command.read_compacted == Some(true) && !kind.is_single() {
        return Err(Failure::not_allowed("readCompacted only allowed on failover or exclusive subscriptions"));
    }
    let start = match (&command.start_message_id, command.start_message_rollback_duration_sec) {
        (_, Some(seconds)) if seconds > 0 => Start::Published(seconds),
        (Some(id), _) => Start::At(Position::new(id.ledger_id.cast_signed(), id.entry_id.cast_signed())),
        (None, _) if command.initial_position() == InitialPosition::Earliest => Start::Earliest,
        (None, _) => Start::Latest,
    };
    Ok(NewConsumer {
        connection,
        client,
        id: command.consumer_id,
        kind,
        priority: command.priority_level.unwrap_or(0),
        durable: command.durable.unwrap_or(true),
        start,
        key_shared: command.key_shared_meta.as_ref().map(key_shared),
        // Java clients send −1 for none.
        epoch: command.consumer_epoch.filter(|epoch| *epoch != u64::MAX),
        name: command.consumer_name.unwrap_or_default(),
        subscription: command.subscription,
        metadata: properties(command.metadata),
        properties: properties(command.subscription_properties).into_iter().collect(),
        may_create,
    })
}

fn key_shared(meta: &proto::KeySharedMeta) -> KeyShared {
    let sticky = meta.key_shared_mode() == proto::KeySharedMode::Sticky;
    KeyShared {
        ranges: sticky.then(|| meta.hash_ranges.iter().map(|range| (range.start, range.end)).collect()),
        allow_out_of_order: meta.allow_out_of_order_delivery.unwrap_or(false),
    }
}

/// Closes a consumer; what it has not acknowledged goes to others.
pub(super) fn close(caller: Caller, command: &CommandCloseConsumer) {
    let (id, request_id) = (command.consumer_id, command.request_id);
    let closed = caller.connection.attachments.borrow_mut().consumers.remove(&id);
    let Some((home, key)) = closed.and_then(|slot| slot.place()) else { return caller.succeed(request_id) };
    spawn_local(async move {
        let closing = caller.shard.on(home, move |shard| async move {
            if let Some(consumer) = shard.context.consumers.get(key) {
                consumer.close();
            }
        });
        // A broker that stops meanwhile closes the consumer too.
        let _ = closing.await;
        caller.succeed(request_id);
    });
}

/// Takes a consumer off its subscription: its client is gone.
pub(super) fn detach(shard: &Rc<Shard>, home: u16, key: ConsumerKey) {
    shard.post(home, move |shard| {
        if let Some(consumer) = shard.context.consumers.get(key) {
            consumer.close();
        }
    });
}

impl Connection {
    /// Tells the client that its consumer at `place` is gone, and forgets it.
    pub(crate) fn consumer_closed_by_broker(&self, place: (u16, ConsumerKey), id: u64) {
        if !forget(&mut self.attachments.borrow_mut().consumers, id, place) {
            return;
        }
        let close = CommandCloseConsumer { consumer_id: id, request_id: u64::MAX, ..CommandCloseConsumer::default() };
        self.send(&close.into());
    }
}

/// Runs `work` on a consumer, where its topic lives.
async fn with_consumer<F, T>(
    caller: &Caller,
    id: u64,
    missing: ServerError,
    work: impl FnOnce(Rc<Consumer>) -> F + Send + 'static,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>> + 'static,
    T: Send + 'static,
{
    let gone = || Failure::new(missing, "Consumer not found");
    let place = caller.connection.attachments.borrow().consumers.get(&id).and_then(Attached::place);
    let (home, key) = place.ok_or_else(gone)?;
    let found = caller.shard.on(home, move |shard| async move {
        match shard.context.consumers.get(key) {
            Some(consumer) => Some(work(consumer).await),
            None => None,
        }
    });
    found.await?.ok_or_else(gone)?
}

/// Ends a subscription for good.
pub(super) fn unsubscribe(caller: Caller, command: &CommandUnsubscribe) {
    let (id, request_id) = (command.consumer_id, command.request_id);
    let force = command.force.unwrap_or(false);
    caller.respond(request_id, move |caller| async move {
        let work = move |consumer: Rc<Consumer>| async move { Ok(consumer.unsubscribe(force).await?) };
        with_consumer(&caller, id, ServerError::MetadataError, work).await?;
        caller.connection.attachments.borrow_mut().consumers.remove(&id);
        Ok(CommandSuccess { request_id, schema: None })
    });
}

/// Moves a subscription. Its consumers are closed, this one too, before the answer.
pub(super) fn seek(caller: Caller, command: CommandSeek) {
    let request_id = command.request_id;
    caller.respond(request_id, move |caller| async move {
        let target = match (command.message_id, command.message_publish_time) {
            (Some(id), _) => {
                let position = Position::new(id.ledger_id.cast_signed(), id.entry_id.cast_signed());
                if id.ack_set.is_empty() { Target::Entry(position) } else { Target::Batch(position, id.ack_set) }
            }
            (None, Some(at)) => Target::Time(at),
            (None, None) => {
                return Err(Failure::not_allowed("SEEK needs a message id or a publish time"));
            }
        };
        let work = move |consumer: Rc<Consumer>| async move {
            match &consumer.subscription {
                Seat::Persistent(subscription) => Ok(subscription.seek(target).await?),
                Seat::NonPersistent(_) => {
                    Err(Failure::not_allowed("Seek operation is not supported on a non-persistent topic"))
                }
            }
        };
        with_consumer(&caller, command.consumer_id, ServerError::MetadataError, work).await?;
        Ok(CommandSuccess { request_id, schema: None })
    });
}

/// Says where the topic ends.
pub(super) fn last_message_id(caller: Caller, command: &CommandGetLastMessageId) {
    let (id, request_id) = (command.consumer_id, command.request_id);
    caller.respond(request_id, move |caller| async move {
        let work = move |consumer: Rc<Consumer>| async move {
            match &consumer.subscription {
                Seat::Persistent(subscription) => {
                    let partition = subscription.partition();
                    Ok((subscription.last_message().await?, partition))
                }
                Seat::NonPersistent(_) => Err(Failure::not_allowed("a non-persistent topic keeps no messages")),
            }
        };
        let (last, partition) = with_consumer(&caller, id, ServerError::MetadataError, work).await?;
        let message_id = |position: Position| proto::MessageIdData {
            ledger_id: position.ledger.cast_unsigned(),
            entry_id: position.entry.cast_unsigned(),
            partition: Some(partition.map_or(-1, u32::cast_signed)),
            batch_index: Some(-1),
            ..proto::MessageIdData::default()
        };
        Ok(CommandGetLastMessageIdResponse {
            last_message_id: proto::MessageIdData {
                batch_index: Some(last.batch_index),
                batch_size: (last.batch_size > 0).then_some(last.batch_size),
                ..message_id(last.position)
            },
            request_id,
            consumer_mark_delete_position: Some(message_id(last.mark_delete)),
        })
    });
}

/// Gives a consumer's figures.
pub(super) fn stats(caller: Caller, command: &CommandConsumerStats) {
    let (id, request_id) = (command.consumer_id, command.request_id);
    caller.respond(request_id, move |caller| async move {
        let work = move |consumer: Rc<Consumer>| async move { Ok(figures(&consumer, request_id)) };
        match with_consumer(&caller, id, ServerError::ConsumerNotFound, work).await {
            Ok(response) => Ok(response),
            Err(failure) => Ok(CommandConsumerStatsResponse {
                request_id,
                error_code: Some(failure.code.into()),
                error_message: Some(failure.message),
                ..CommandConsumerStatsResponse::default()
            }),
        }
    });
}

fn figures(consumer: &Consumer, request_id: u64) -> CommandConsumerStatsResponse {
    let figures = consumer.figures();
    let backlog = match &consumer.subscription {
        Seat::Persistent(subscription) => subscription.backlog(),
        Seat::NonPersistent(_) => 0,
    };
    CommandConsumerStatsResponse {
        request_id,
        consumer_name: Some(consumer.name.to_string()),
        available_permits: figures.as_ref().map(|figures| figures.permits.max(0).cast_unsigned()),
        unacked_messages: figures.as_ref().map(|figures| figures.unacked),
        blocked_consumer_on_unacked_msgs: figures.as_ref().map(|figures| figures.blocked),
        address: Some(consumer.client.address.to_string()),
        connected_since: Some(timestamp(consumer.connected_since)),
        r#type: Some(type_name(consumer.subscription.kind()).to_owned()),
        msg_rate_expired: Some(0.0),
        msg_backlog: Some(backlog),
        ..CommandConsumerStatsResponse::default()
    }
}

fn config_type(kind: Kind) -> plerion_config::SubscriptionType {
    match kind {
        Kind::Exclusive => plerion_config::SubscriptionType::Exclusive,
        Kind::Shared => plerion_config::SubscriptionType::Shared,
        Kind::Failover => plerion_config::SubscriptionType::Failover,
        Kind::KeyShared => plerion_config::SubscriptionType::KeyShared,
    }
}

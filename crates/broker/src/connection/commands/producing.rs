//! PRODUCER and CLOSE_PRODUCER.

use std::collections::BTreeMap;
use std::rc::Rc;

use plerion_resources::names::TopicName;
use plerion_topic::{NewProducer, ProducerKey, Start};
use plerion_wire::ServerError;
use plerion_wire::proto::{self, CommandCloseProducer, CommandProducer, CommandProducerSuccess};
use tokio::task::spawn_local;

use super::{Caller, schemas};
use crate::authorizer::Operation;
use crate::connection::{Attached, Attempt, Connection, forget};
use crate::failure::Failure;
use crate::shard::Shard;

/// What the topic's shard has made.
struct Opened {
    home: u16,
    key: ProducerKey,
    success: CommandProducerSuccess,
}

/// Opens a producer. Asked again under the same id, the client gets the same answer.
pub(super) fn open(caller: Caller, command: CommandProducer) {
    let (id, request_id) = (command.producer_id, command.request_id);
    let attempt = {
        let attachments = &mut *caller.connection.attachments.borrow_mut();
        match attachments.producers.get(&id) {
            Some(Attached::Open { reply, .. }) => {
                let again = CommandProducerSuccess { request_id, ..reply.clone() };
                return caller.connection.send(&again.into());
            }
            Some(Attached::Opening(_)) => {
                let failure = Failure::not_ready("Producer is already present on the connection");
                return caller.fail(request_id, &failure);
            }
            None => {}
        }
        let ticket = attachments.ticket();
        attachments.producers.insert(id, Attached::Opening(ticket));
        Attempt { connection: caller.connection.id, id, request_id, ticket }
    };
    spawn_local(async move {
        if let Err(failure) = create(&caller, attempt, command).await {
            answer(&caller.shard, attempt, Err(failure));
        }
    });
}

/// Notes the outcome of an attempt on its connection, and tells the client.
fn answer(shard: &Rc<Shard>, attempt: Attempt, outcome: Result<Opened, Failure>) {
    let caller = Caller::of(shard, attempt.connection);
    let wanted = caller.as_ref().filter(|caller| {
        let opened = outcome.as_ref().ok();
        let opened = opened.map(|Opened { home, key, success }| Attached::Open {
            home: *home,
            key: *key,
            reply: success.clone(),
        });
        attempt.settle(&mut caller.connection.attachments.borrow_mut().producers, opened)
    });
    match (outcome, wanted) {
        (Ok(opened), Some(caller)) => caller.connection.send(&opened.success.into()),
        (Err(failure), Some(caller)) => caller.fail(attempt.request_id, &failure),
        // The client has closed it, or the connection, meanwhile.
        (Ok(opened), None) => detach(shard, opened.home, opened.key),
        (Err(_), None) => {}
    }
}

/// Opens a producer where its topic lives, and answers.
///
/// # Errors
/// [`Failure`] when it did not come to that; the client has no answer yet.
async fn create(caller: &Caller, attempt: Attempt, command: CommandProducer) -> Result<(), Failure> {
    let name = caller.topic(&command.topic)?;
    caller.authorize(&Operation::Produce(&name))?;
    let home = caller.shard.home_of(&name).await?;
    let (connection, client) = (caller.connection.id, caller.connection.facts());
    let work = move |shard: Rc<Shard>| async move {
        let topic = shard.writable_topic(&name).await?;
        let overrides = topic.overrides();
        let must_encrypt = overrides.encryption_required.unwrap_or(shard.settings().topics.encryption_required);
        if command.encrypted != Some(true) && must_encrypt {
            return Err(Failure::new(ServerError::MetadataError, "Encryption is required in topic"));
        }
        let schema_version = schemas::for_producer(&shard, &topic, command.schema.as_ref()).await?;
        if let Some(subscription) = command.initial_subscription_name.as_deref().filter(|name| !name.is_empty()) {
            initial_subscription(&shard, &topic, &name, subscription).await?;
        }
        let given = command.producer_name.filter(|given| !given.is_empty());
        let new = NewProducer {
            connection,
            client,
            id: command.producer_id,
            request_id: command.request_id,
            user_provided_name: given.is_some() && command.user_provided_producer_name != Some(false),
            name: given.unwrap_or_else(|| shard.core.names.next()),
            epoch: command.epoch.unwrap_or(0),
            access: command
                .producer_access_mode
                .and_then(|mode| proto::ProducerAccessMode::try_from(mode).ok())
                .unwrap_or(proto::ProducerAccessMode::Shared),
            topic_epoch: command.topic_epoch,
            schema_version,
            metadata: properties(command.metadata),
        };
        let producer = shard.unless_held(connection, || topic.attach(new.clone())).await?;
        Ok(Opened { home, key: producer.key, success: producer.success() })
    };
    // The topic may have more to say to the client at once; that must find the producer on the connection.
    caller.shard.on_then(home, work, move |shard, outcome| answer(shard, attempt, outcome)).await?;
    Ok(())
}

async fn initial_subscription(
    shard: &Rc<Shard>,
    topic: &Rc<plerion_topic::Topic>,
    name: &TopicName,
    subscription: &str,
) -> Result<(), Failure> {
    if !name.is_persistent() {
        return Err(Failure::not_allowed("a non-persistent topic keeps no subscriptions"));
    }
    if topic.subscription(subscription).is_some() {
        return Ok(());
    }
    let may_create = topic.overrides().auto_create_subscription;
    if !may_create.unwrap_or(shard.settings().topics.auto_create_subscription) {
        let why = "Could not create the initial subscription due to the auto subscription creation is not allowed.";
        return Err(Failure::not_allowed(why));
    }
    match topic.create_subscription(subscription, Start::Earliest, Default::default()).await {
        Ok(_) | Err(plerion_topic::Error::SubscriptionExists(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Closes a producer after everything it has sent is answered.
pub(super) fn close(caller: Caller, command: &CommandCloseProducer) {
    let (id, request_id) = (command.producer_id, command.request_id);
    let closed = {
        let mut attachments = caller.connection.attachments.borrow_mut();
        let closed = attachments.producers.remove(&id);
        attachments.producer_closed(id, caller.shard.clock().monotonic());
        closed
    };
    let Some((home, key)) = closed.and_then(|slot| slot.place()) else { return caller.succeed(request_id) };
    spawn_local(async move {
        let closing = caller.shard.on(home, move |shard| async move {
            if let Some(producer) = shard.context.producers.get(key) {
                producer.close().await;
            }
        });
        // A broker that stops meanwhile closes the producer too.
        let _ = closing.await;
        caller.succeed(request_id);
    });
}

/// Takes a producer off its topic: its client is gone.
pub(super) fn detach(shard: &Rc<Shard>, home: u16, key: ProducerKey) {
    shard.post(home, move |shard| {
        if let Some(producer) = shard.context.producers.get(key) {
            producer.abandon();
        }
    });
}

impl Connection {
    /// Tells the client that the producer at `place`, which waited for its topic, may publish.
    pub(crate) fn producer_admitted(&self, place: (u16, ProducerKey), id: u64, success: CommandProducerSuccess) {
        {
            let producers = &mut self.attachments.borrow_mut().producers;
            let Some(Attached::Open { home, key, reply }) = producers.get_mut(&id) else { return };
            if (*home, *key) != place {
                return;
            }
            reply.clone_from(&success);
        }
        self.send(&success.into());
    }

    /// Refuses the producer at `place`, which waited for its topic, and forgets it.
    pub(crate) fn producer_refused_by_broker(
        &self,
        place: (u16, ProducerKey),
        id: u64,
        request_id: u64,
        error: ServerError,
        message: &str,
    ) {
        if forget(&mut self.attachments.borrow_mut().producers, id, place) {
            self.send_error(request_id, error, message);
        }
    }

    /// Tells the client that its producer at `place` is gone, and forgets it.
    pub(crate) fn producer_closed_by_broker(&self, place: (u16, ProducerKey), id: u64) {
        {
            let mut attachments = self.attachments.borrow_mut();
            if !forget(&mut attachments.producers, id, place) {
                return;
            }
            attachments.producer_closed(id, self.clock.monotonic());
        }
        let close = CommandCloseProducer { producer_id: id, request_id: u64::MAX, ..CommandCloseProducer::default() };
        self.send(&close.into());
    }
}

/// Keys and values as a client gave them.
pub(super) fn properties(pairs: Vec<proto::KeyValue>) -> BTreeMap<String, String> {
    pairs.into_iter().map(|pair| (pair.key, pair.value)).collect()
}

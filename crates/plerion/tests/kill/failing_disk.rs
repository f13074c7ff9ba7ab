//! A disk that is full, read-only or failing: producers are told to try again, consumers go on, and nothing that was
//! promised is lost.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::time::Duration;

use plerion_ledger::disk::sim::Faults;
use plerion_test_client::proto::ServerError;
use plerion_test_client::proto::command_ack::AckType;
use plerion_test_client::proto::command_subscribe::SubType;
use plerion_test_client::{Client, Consumer, Error, Incoming, Outgoing, Received, Type};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::time::{Instant, timeout};

use crate::node::PowerCut;
use crate::run;

const TOPIC: &str = "persistent://public/default/failing";
const RECOVERY: Duration = Duration::from_secs(20);

/// What a failing disk must go on doing, or must not do.
#[derive(Clone, Copy)]
struct Expected {
    /// It refuses messages sooner or later.
    refuses: bool,
    /// It takes acknowledgements.
    acknowledges: bool,
}

#[test]
fn a_full_disk_takes_no_messages_until_there_is_room() {
    let faults = |used| Faults { capacity: Some(used), ..Faults::default() };
    run::on_one_thread(fail_and_recover(faults, Expected { refuses: true, acknowledges: false }));
}

#[test]
fn acknowledgements_are_durable_on_a_full_disk() {
    let faults = |used| Faults { capacity: Some(used), ..Faults::default() };
    run::on_one_thread(fail_and_recover(faults, Expected { refuses: true, acknowledges: true }));
}

#[test]
fn a_disk_that_becomes_read_only_is_used_again_when_it_can_be_written() {
    let faults = |_| Faults { failing_writes: Some((ErrorKind::ReadOnlyFilesystem, u32::MAX)), ..Faults::default() };
    run::on_one_thread(fail_and_recover(faults, Expected { refuses: true, acknowledges: false }));
}

#[test]
fn writes_that_fail_cost_no_promise() {
    let faults = |_| Faults { failing_writes: Some((ErrorKind::Other, u32::MAX)), ..Faults::default() };
    run::on_one_thread(fail_and_recover(faults, Expected { refuses: true, acknowledges: false }));
}

#[test]
fn a_sync_that_fails_costs_no_promise() {
    let faults = |_| Faults { failing_syncs: 1, ..Faults::default() };
    run::on_one_thread(fail_and_recover(faults, Expected { refuses: false, acknowledges: false }));
}

/// A topic with one producer and one subscription, before, while and after its disk fails.
struct World {
    node: PowerCut,
    port: u16,
    /// The number of the next message.
    next: u64,
    receipted: BTreeSet<u64>,
    acked: BTreeSet<u64>,
    /// Acknowledged with an error for an answer, or none: it is not known whether that will be remembered.
    maybe_acked: BTreeSet<u64>,
}

async fn fail_and_recover(faults: impl FnOnce(u64) -> Faults, expected: Expected) {
    let mut node = PowerCut::default();
    let port = node.boot(2).await.expect("it serves");
    let (next, receipted, acked, maybe_acked) = Default::default();
    let mut world = World { node, port, next, receipted, acked, maybe_acked };
    let mut reader = world.subscribe().await.expect("a subscription");
    let mut writer = world.producer().await.expect("a producer");
    for _ in 0..20 {
        world.publish(&mut writer).await.expect("a receipt");
    }
    let mut read = Vec::new();
    for _ in 0..10 {
        read.push(next_message(&mut reader).await);
    }
    world.ack(&mut reader, &read[..5]).await.expect("acknowledged");

    let used = world.node.machine.used();
    world.node.machine.set_faults(faults(used));
    let refusal = world.publish_until_refused(&mut writer).await;
    let may_retry = [ServerError::PersistenceError, ServerError::ServiceNotReady];
    match refusal {
        Some(error) => assert!(error.code().is_some_and(|code| may_retry.contains(&code)), "refused with {error}"),
        None => assert!(!expected.refuses, "all was taken"),
    }
    while read.len() < world.receipted.len() {
        read.push(next_message(&mut reader).await);
    }
    for part in read[5..15].chunks(2) {
        let acked = world.ack(&mut reader, part).await;
        assert!(acked.is_ok() || !expected.acknowledges, "not acknowledged: {acked:?}");
        if matches!(acked, Err(Error::Closed)) {
            break;
        }
    }

    world.node.machine.set_faults(Faults::default());
    world.publish_again().await;
    world.lose_power().await;
    let mut reader = world.subscribe().await.expect("the subscription");
    let mut missing = &(&world.receipted - &world.acked) - &world.maybe_acked;
    while !missing.is_empty() {
        let number = number(&next_message(&mut reader).await);
        assert!(!world.acked.contains(&number), "{number} was acknowledged and came again");
        missing.remove(&number);
    }
}

impl World {
    async fn subscribe(&self) -> Result<Client, Error> {
        let mut client = Client::open(self.port).await?;
        client.subscribe(&Consumer::new(TOPIC, "sub", SubType::Shared, 1)).await?;
        client.flow(1, 10_000).await?;
        Ok(client)
    }

    async fn producer(&self) -> Result<Client, Error> {
        let mut client = Client::open(self.port).await?;
        client.produce(TOPIC, 1, "producer").await?;
        Ok(client)
    }

    /// Publishes a message, all in all enough of them to need new segments.
    async fn publish(&mut self, client: &mut Client) -> Result<(), Error> {
        let number = self.next;
        self.next += 1;
        let body = [&number.to_be_bytes()[..], &vec![number as u8; 20_000]].concat();
        client.publish_and_wait(1, number, &Outgoing::new("producer", number, body).payload()).await?;
        self.receipted.insert(number);
        Ok(())
    }

    /// Publishes until that fails; what is prepared may still be written to. Gives up after 4 MB.
    async fn publish_until_refused(&mut self, client: &mut Client) -> Option<Error> {
        for _ in 0..200 {
            if let Err(error) = self.publish(client).await {
                return Some(error);
            }
        }
        None
    }

    /// Publishes as a client does that tries again.
    async fn publish_again(&mut self) {
        let began = Instant::now();
        loop {
            let outcome = match self.producer().await {
                Ok(mut client) => self.publish(&mut client).await,
                Err(error) => Err(error),
            };
            match outcome {
                Ok(()) => return,
                Err(error) => assert!(began.elapsed() < RECOVERY, "still refused: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Acknowledges durably.
    async fn ack(&mut self, client: &mut Client, messages: &[Incoming]) -> Result<(), Error> {
        let ids: Vec<_> = messages.iter().map(|message| message.id.clone()).collect();
        self.maybe_acked.extend(messages.iter().map(number));
        let request = client.ack_with_request(1, AckType::Individual, &ids).await?;
        let answers = |frame: &Received| {
            let response = frame.command.ack_response.as_ref();
            frame.kind() == Type::CloseConsumer || response.is_some_and(|of| of.request_id == Some(request))
        };
        // A consumer that is closed gets no answer.
        let answer = client.await_frame(answers).await?.command.ack_response.ok_or(Error::Closed)?;
        if answer.error.is_some() {
            return Err(Error::Refused { code: answer.error(), message: answer.message().into() });
        }
        self.acked.extend(messages.iter().map(number));
        Ok(())
    }

    async fn lose_power(&mut self) {
        self.node.cut(&mut SmallRng::seed_from_u64(7)).await;
        self.port = self.node.boot(1).await.expect("it serves again");
    }
}

fn number(message: &Incoming) -> u64 {
    u64::from_be_bytes(*message.body.first_chunk().expect("a number"))
}

/// The next message, which comes in time whatever ails the disk.
async fn next_message(client: &mut Client) -> Incoming {
    let message = async {
        loop {
            let frame = client.receive().await.expect("a connection");
            assert!(frame.command.close_consumer.is_none(), "the consumer was closed");
            if let Some(message) = frame.message().expect("a message") {
                return message;
            }
        }
    };
    timeout(RECOVERY, message).await.expect("a message")
}

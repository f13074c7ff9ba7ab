//! One run: the topic, its clients, and what happens to them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use plerion_managed_log::Retention;
use plerion_subscription::Position;
use plerion_subscription::dispatcher::Kind;
use plerion_topic::{Consumer, NewConsumer, Start, Target, Topic};
use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom as _, IteratorRandom as _};

use super::Step;
use super::model::{Places, Sender, Subscription, key};
use crate::message::{Outgoing, ack, ack_up_to, ack_with_request, redeliver};
use crate::recorder::{Delivered, Said};
use crate::world::{World, connection, consumer, producer, settle};

const SUBSCRIPTIONS: [(&str, Kind); 4] =
    [("exclusive", Kind::Exclusive), ("failover", Kind::Failover), ("shared", Kind::Shared), ("keys", Kind::KeyShared)];

/// A consumer, which of the subscriptions it is of, and how many messages it may still be sent.
struct Session {
    consumer: Rc<Consumer>,
    of: usize,
    permits: i64,
}

pub(super) struct Run {
    world: World,
    topic: Rc<Topic>,
    senders: [Sender; 3],
    sessions: BTreeMap<u64, Session>,
    subscriptions: [Subscription; 4],
    /// The entries that are or were in the log, as they were read.
    log: BTreeMap<Position, String>,
    /// The entries that clients have receipts of.
    confirmed: BTreeMap<Position, String>,
    held: bool,
    next_id: u64,
    pub(super) redelivered: usize,
}

impl Run {
    pub(super) async fn new() -> Self {
        let world = World::with(|settings| {
            settings.subscriptions.max_unacked_per_consumer = Some(40);
            settings.subscriptions.failover_delay = Duration::from_millis(50);
            settings.deduplication.snapshot_entries = 20;
        })
        .await;
        let topic = world.open().await;
        topic.set_deduplication(true).await.unwrap();
        for (name, _) in SUBSCRIPTIONS {
            topic.create_subscription(name, Start::Earliest, Default::default()).await.unwrap();
        }
        Self {
            world,
            topic,
            senders: Default::default(),
            sessions: BTreeMap::new(),
            subscriptions: Default::default(),
            log: BTreeMap::new(),
            confirmed: BTreeMap::new(),
            held: false,
            next_id: 1,
            redelivered: 0,
        }
    }

    pub(super) fn stored(&self) -> usize {
        self.log.len()
    }

    pub(super) async fn step(&mut self, step: Step, rng: &mut StdRng) {
        match step {
            Step::Publish => self.publish(rng).await,
            Step::Consume => self.consume(rng).await,
            Step::Leave => {
                if let Some(id) = self.sessions.keys().copied().choose(rng) {
                    self.sessions[&id].consumer.close();
                    self.gone(id);
                }
            }
            Step::Acknowledge => self.acknowledge(rng),
            Step::AskAgain => self.ask_again(rng),
            Step::Pass => {
                self.world.pass(Duration::from_millis(100)).await;
                self.listen();
                if !self.held {
                    self.subscriptions.iter_mut().for_each(Subscription::saved);
                }
            }
            Step::Hold => {
                self.world.ledgers.hold();
                self.held = true;
            }
            Step::Release => self.release().await,
            Step::Seek => self.seek(rng).await,
            Step::Trim => {
                self.read_all().await;
                self.topic.trim(Retention::NONE).await.unwrap();
            }
            Step::Reopen => {
                self.release().await;
                self.reopen().await;
            }
            Step::Crash => self.crash(rng.random_range(0..4)).await,
            Step::FailStore => {
                self.world.ledgers.hold();
                self.publish(rng).await;
                self.world.ledgers.fail_writers("the disk is gone");
                settle().await;
                self.listen();
                self.crash(rng.random_range(0..4)).await;
            }
            Step::FillStore => self.fill_store(rng).await,
            Step::LoseProducer => {
                let number = rng.random_range(0..self.senders.len());
                if let Some(session) = self.senders[number].session.take() {
                    session.abandon();
                }
            }
        }
        settle().await;
        self.listen();
    }

    async fn publish(&mut self, rng: &mut StdRng) {
        let number = rng.random_range(0..self.senders.len());
        if self.senders[number].session.is_none() {
            let id = self.next_id();
            let name = format!("p{number}");
            // A client that comes back counts its reconnections, so that it replaces itself.
            let new = plerion_topic::NewProducer { epoch: id, user_provided_name: false, ..producer(id, id, &name) };
            let session = self.topic.attach(new).await.unwrap();
            self.senders[number].session = Some(session.clone());
            let open: Vec<_> = self.senders[number].open.iter().copied().collect();
            for sequence in open {
                self.send(number, &session, sequence);
            }
        }
        let session = self.senders[number].session.clone().unwrap();
        for _ in 0..rng.random_range(1..6) {
            let sender = &mut self.senders[number];
            let sequence = sender.next;
            sender.next += 1;
            sender.open.push_back(sequence);
            self.send(number, &session, sequence);
        }
    }

    fn send(&self, number: usize, session: &plerion_topic::Producer, sequence: u64) {
        let body = format!("{number}-{sequence}");
        let key = Some(key(&body).to_string());
        self.world.send(session, &Outgoing { body, key, ..Outgoing::new(sequence) });
    }

    async fn consume(&mut self, rng: &mut StdRng) {
        let of = rng.random_range(0..SUBSCRIPTIONS.len());
        let present: Vec<u64> = self.sessions.iter().filter(|(_, one)| one.of == of).map(|(id, _)| *id).collect();
        let most = if SUBSCRIPTIONS[of].1 == Kind::Exclusive { 1 } else { 3 };
        let id = if present.len() < most && (present.is_empty() || rng.random_bool(0.4)) {
            let id = self.next_id();
            let (name, kind) = SUBSCRIPTIONS[of];
            let consumer = self.topic.subscribe(consumer(id, name, kind)).await.unwrap();
            self.sessions.insert(id, Session { consumer, of, permits: 0 });
            id
        } else {
            *present.choose(rng).unwrap()
        };
        let session = self.sessions.get_mut(&id).unwrap();
        let permits = rng.random_range(1..20);
        session.permits += i64::from(permits);
        session.consumer.flow(permits);
    }

    fn acknowledge(&mut self, rng: &mut StdRng) {
        let Some((id, positions)) = self.some_held(rng) else { return };
        let session = &self.sessions[&id];
        let subscription = &mut self.subscriptions[session.of];
        if SUBSCRIPTIONS[session.of].1.is_single() && rng.random_bool(0.5) {
            let up_to = *positions.last().unwrap();
            ack_up_to(&session.consumer, up_to);
            subscription.ack(Places { below: up_to.after(), ..Places::default() }, None);
        } else {
            let request = rng.random_bool(0.5).then_some(id * 1_000_000 + self.next_id);
            self.next_id += 1;
            match request {
                Some(request) => ack_with_request(&session.consumer, positions.iter().copied(), request),
                None => ack(&session.consumer, positions.iter().copied()),
            }
            subscription.ack(Places { single: positions.into_iter().collect(), ..Places::default() }, request);
        }
    }

    fn ask_again(&mut self, rng: &mut StdRng) {
        let Some((id, positions)) = self.some_held(rng) else { return };
        let session = &self.sessions[&id];
        let held = &mut self.subscriptions[session.of].held;
        if SUBSCRIPTIONS[session.of].1.is_single() {
            held.clear();
        } else {
            positions.iter().for_each(|position| _ = held.remove(position));
        }
        redeliver(&session.consumer, positions, None);
    }

    /// Some of what some consumer has.
    fn some_held(&self, rng: &mut StdRng) -> Option<(u64, Vec<Position>)> {
        let id = self.sessions.keys().copied().choose(rng)?;
        let held = &self.subscriptions[self.sessions[&id].of].held;
        let own = held.iter().filter(|(_, held)| held.by == id).map(|(position, _)| *position);
        let some: Vec<_> = own.filter(|_| rng.random_bool(0.6)).collect();
        (!some.is_empty()).then_some((id, some))
    }

    async fn seek(&mut self, rng: &mut StdRng) {
        self.read_all().await;
        let of = rng.random_range(0..SUBSCRIPTIONS.len());
        let Some(target) = self.log.keys().copied().choose(rng) else { return };
        let subscription = self.topic.subscription(SUBSCRIPTIONS[of].0).unwrap();
        subscription.seek(Target::Entry(target)).await.unwrap();
        self.listen();
        assert!(self.sessions.values().all(|session| session.of != of), "its consumers were sent away");
        self.subscriptions[of].moved(target);
    }

    async fn release(&mut self) {
        self.world.ledgers.release();
        self.held = false;
        settle().await;
        self.listen();
    }

    /// Appends are refused for a while: the topic fails and is opened anew.
    async fn fill_store(&mut self, rng: &mut StdRng) {
        self.release().await;
        self.world.pass(Duration::from_millis(100)).await;
        self.world.ledgers.refuse_appends(Some("disk full"));
        self.publish(rng).await;
        settle().await;
        self.listen();
        assert!(self.topic.failure().is_some());
        self.world.ledgers.refuse_appends(None);
        self.reopen().await;
    }

    async fn reopen(&mut self) {
        let failed = self.topic.failure().is_some();
        assert_eq!(self.topic.close().await.is_err(), failed);
        settle().await;
        self.listen();
        assert!(self.sessions.is_empty() && self.senders.iter().all(|sender| sender.session.is_none()));
        assert_eq!(self.world.clients.reserved.get(), 0);
        self.subscriptions.iter_mut().for_each(Subscription::saved);
        self.open().await;
    }

    async fn crash(&mut self, kept: usize) {
        self.listen();
        self.sessions.clear();
        self.senders.iter_mut().for_each(|sender| sender.session = None);
        self.subscriptions.iter_mut().for_each(Subscription::crashed);
        self.held = false;
        self.world.crash(kept).await;
        self.open().await;
    }

    async fn open(&mut self) {
        self.topic = self.world.open().await;
        self.topic.set_deduplication(true).await.unwrap();
        assert_eq!(self.topic.subscriptions().len(), SUBSCRIPTIONS.len());
    }

    /// Takes note of what clients were told.
    fn listen(&mut self) {
        for said in self.world.clients.take() {
            match said {
                Said::Receipt { producer, sequence, position, .. } => self.receipt(producer, sequence, position),
                Said::SendError { producer, .. } | Said::ProducerClosed { producer, .. } => {
                    if let Some(number) = self.sender(producer) {
                        // Clients reconnect.
                        self.senders[number].session.take().unwrap().abandon();
                    }
                }
                Said::Message(message) => self.message(&message),
                Said::ConsumerClosed { consumer, .. } => self.gone(consumer),
                Said::Command { command, .. } => {
                    if let Some(response) = command.ack_response {
                        assert_eq!(response.error.is_some(), self.world.bundle.state_log.failure().is_some());
                        let request = response.request_id.unwrap();
                        if response.error.is_none() {
                            self.subscriptions.iter_mut().for_each(|one| one.confirmed(request));
                        }
                    }
                }
                Said::ProducerRefused { .. } => panic!("nobody waits"),
            }
        }
    }

    fn receipt(&mut self, producer: u64, sequence: u64, position: Position) {
        // Of an earlier session the client does not hear.
        let Some(number) = self.sender(producer) else { return };
        let first = self.senders[number].open.pop_front();
        assert_eq!(first, Some(sequence), "receipts come in the order of the messages");
        if position != Position::EARLIEST {
            self.confirmed.insert(position, format!("{number}-{sequence}"));
        }
    }

    fn message(&mut self, message: &Delivered) {
        let session = self.sessions.get_mut(&message.consumer).unwrap();
        session.permits -= 1;
        assert!(session.permits >= 0, "consumer {} was sent more than it asked for", message.consumer);
        self.redelivered += usize::from(message.redeliveries > 0);
        let of = session.of;
        self.subscriptions[of].delivered(SUBSCRIPTIONS[of].1, message);
    }

    fn sender(&self, id: u64) -> Option<usize> {
        self.senders.iter().position(|sender| sender.session.as_ref().is_some_and(|session| session.id == id))
    }

    fn gone(&mut self, id: u64) {
        if let Some(session) = self.sessions.remove(&id) {
            self.subscriptions[session.of].held.retain(|_, held| held.by != id);
        }
    }

    fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Reads the whole log, and checks that it only grew. Nothing is held back then.
    async fn read_all(&mut self) -> Vec<Position> {
        self.release().await;
        let id = self.next_id();
        let reader = NewConsumer { durable: false, ..consumer(id, "reader", Kind::Exclusive) };
        let reader = self.topic.subscribe(reader).await.unwrap();
        reader.flow(100_000);
        settle().await;
        reader.close();
        let mut there = Vec::new();
        for message in self.world.clients.messages() {
            assert_eq!(message.to, connection(id), "everybody else was listened to");
            let before = self.log.insert(message.position, message.body.clone());
            assert!(before.is_none_or(|before| before == message.body), "{} is another message now", message.position);
            there.push(message.position);
        }
        there
    }

    /// Lets everything come to its end, and checks what must be true then.
    pub(super) async fn finish(&mut self) {
        self.release().await;
        for number in 0..self.senders.len() {
            while !self.senders[number].open.is_empty() {
                if self.senders[number].session.is_none() {
                    let id = self.next_id();
                    let name = format!("p{number}");
                    let new =
                        plerion_topic::NewProducer { epoch: id, user_provided_name: false, ..producer(id, id, &name) };
                    self.senders[number].session = Some(self.topic.attach(new).await.unwrap());
                    let session = self.senders[number].session.clone().unwrap();
                    for sequence in self.senders[number].open.clone() {
                        self.send(number, &session, sequence);
                    }
                }
                settle().await;
                self.listen();
            }
        }
        for id in self.sessions.keys().copied().collect::<Vec<_>>() {
            self.sessions[&id].consumer.close();
            self.gone(id);
            // Another one may have got what it had.
            self.listen();
        }
        settle().await;
        self.listen();
        let there = self.read_all().await;
        self.check_log();
        for of in 0..SUBSCRIPTIONS.len() {
            self.drain(of, &there).await;
        }
        assert_eq!(self.world.clients.reserved.get(), 0);
        assert!(self.world.context.consumers.is_empty());
    }

    /// Every message is stored once, in its producer's order, where its receipt said.
    fn check_log(&self) {
        for (number, sender) in self.senders.iter().enumerate() {
            let prefix = format!("{number}-");
            let own =
                self.log.values().filter_map(|body| body.strip_prefix(&prefix)).map(|n| n.parse::<u64>().unwrap());
            assert!(own.eq(0..sender.next), "producer {number}");
        }
        for (position, body) in &self.confirmed {
            assert_eq!(self.log.get(position), Some(body), "{position} was confirmed");
        }
    }

    /// Whatever a subscription has not acknowledged comes, and then nothing is left.
    async fn drain(&mut self, of: usize, there: &[Position]) {
        let (name, kind) = SUBSCRIPTIONS[of];
        let due: Vec<_> = there.iter().filter(|position| self.subscriptions[of].is_due(**position)).collect();
        let id = self.next_id();
        let consumer = self.topic.subscribe(consumer(id, name, kind)).await.unwrap();
        consumer.flow(100_000);
        self.sessions.insert(id, Session { consumer: consumer.clone(), of, permits: 100_000 });
        let mut came = BTreeSet::new();
        loop {
            settle().await;
            self.listen();
            let held: BTreeSet<_> = self.subscriptions[of].held.keys().copied().collect();
            if held.is_empty() {
                break;
            }
            came.extend(held.iter().copied());
            ack(&consumer, held.iter().copied());
            self.subscriptions[of].ack(Places { single: held, ..Places::default() }, None);
        }
        for position in due {
            assert!(came.contains(position), "{name} never got {position}");
        }
        assert_eq!(self.topic.subscription(name).unwrap().backlog(), 0, "{name}");
        consumer.close();
        self.sessions.remove(&id);
    }
}

//! As much of a broker as the scenarios need, to run them against in one process.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;
use plerion_wire::proto::command_lookup_topic_response::LookupType;
use plerion_wire::proto::{self, BaseCommand, base_command::Type};
use plerion_wire::{Command, Frame, MessageMetadata, Payload, ServerError, encode, frame};

/// What the broker does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    /// Refuses the hundredth message.
    RefusesASend,
    /// Closes the producer at the hundredth message.
    ClosesAProducer,
    /// Delivers each message a second time.
    Repeats,
}

/// Starts a broker that lives as long as the process, and returns its address.
pub(super) fn start(flaw: Flaw) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    let broker = Arc::new(Broker { flaw, state: Mutex::default() });
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (broker, socket) = (Arc::clone(&broker), socket.expect("a connection"));
            std::thread::spawn(move || broker.serve(socket));
        }
    });
    address
}

struct Broker {
    flaw: Flaw,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The payload parts of each topic's entries.
    entries: HashMap<String, Vec<Vec<u8>>>,
    subscriptions: HashMap<(String, String), Subscription>,
}

#[derive(Default)]
struct Subscription {
    next: usize,
    consumers: Vec<Consumer>,
}

struct Consumer {
    socket: TcpStream,
    peer: SocketAddr,
    id: u64,
    permits: i64,
}

/// What a connection has opened.
struct Session {
    peer: SocketAddr,
    producers: HashMap<u64, (String, Option<u64>)>,
    consumers: HashMap<u64, (String, String)>,
}

impl Broker {
    fn serve(&self, mut socket: TcpStream) {
        let (mut buffer, mut chunk) = (Vec::new(), vec![0; 1 << 16]);
        let peer = socket.peer_addr().expect("connected");
        let mut session = Session { peer, producers: HashMap::new(), consumers: HashMap::new() };
        while let Ok(count @ 1..) = socket.read(&mut chunk) {
            buffer.extend_from_slice(&chunk[..count]);
            let mut start = 0;
            while let Some(size) = frame::peek(&buffer[start..], 8 << 20).expect("a valid frame") {
                let frame = Frame::parse(&buffer[start..start + size]).expect("a valid frame");
                self.handle(&mut session, &socket, &frame);
                start += size;
            }
            buffer.drain(..start);
        }
        for subscription in self.state.lock().subscriptions.values_mut() {
            subscription.consumers.retain(|consumer| consumer.peer != session.peer);
        }
    }

    fn handle(&self, session: &mut Session, socket: &TcpStream, frame: &Frame<'_>) {
        let mut out = Vec::new();
        match Command::decode(frame.command).expect("a valid command") {
            Command::Send(send) => {
                let (topic, last) = session.producers.get_mut(&send.producer_id).expect("an open producer");
                Payload::parse(frame.payload).expect("a payload").verify().expect("a right checksum");
                assert!(last.is_none_or(|last| last < send.sequence_id), "sequence ids grow");
                *last = Some(send.highest_sequence_id.unwrap_or(send.sequence_id));
                let mut state = self.state.lock();
                let entries = state.entries.entry(topic.clone()).or_default();
                entries.push(frame.payload.to_vec());
                let entry_id = entries.len() as u64 - 1;
                match self.flaw {
                    Flaw::RefusesASend if entry_id == 99 => {
                        let error = ServerError::TopicTerminatedError;
                        encode::send_error(send.producer_id, send.sequence_id, error, "terminated", &mut out);
                    }
                    Flaw::ClosesAProducer if entry_id == 99 => {
                        let producer_id = send.producer_id;
                        let close =
                            proto::CommandCloseProducer { producer_id, request_id: u64::MAX, ..Default::default() };
                        encode::command(
                            &BaseCommand { close_producer: Some(close.into()), ..of(Type::CloseProducer) },
                            &mut out,
                        );
                    }
                    _ => {
                        let receipt = encode::SendReceipt {
                            producer_id: send.producer_id,
                            sequence_id: send.sequence_id,
                            highest_sequence_id: 0,
                            ledger_id: 1,
                            entry_id,
                        };
                        encode::send_receipt(&receipt, &mut out);
                    }
                }
                self.dispatch(&mut state, topic);
            }
            Command::Flow(flow) => {
                let name = &session.consumers[&flow.consumer_id];
                let mut state = self.state.lock();
                let subscription = state.subscriptions.get_mut(name).expect("subscribed");
                let mine = |consumer: &&mut Consumer| (consumer.peer, consumer.id) == (session.peer, flow.consumer_id);
                let consumer = subscription.consumers.iter_mut().find(mine).expect("subscribed");
                consumer.permits += i64::from(flow.permits);
                self.dispatch(&mut state, &name.0);
            }
            Command::Other(command) => self.answer(session, socket, &command, &mut out),
            _ => {}
        }
        // Whoever has left does not need an answer.
        let _ = { socket }.write_all(&out);
    }

    fn answer(&self, session: &mut Session, socket: &TcpStream, command: &BaseCommand, out: &mut Vec<u8>) {
        if command.connect.is_some() {
            let connected = proto::CommandConnected {
                server_version: "test".into(),
                protocol_version: Some(21),
                max_message_size: Some(1 << 20),
                ..Default::default()
            };
            encode::command(&BaseCommand { connected: Some(connected.into()), ..of(Type::Connected) }, out);
        } else if let Some(lookup) = &command.lookup_topic {
            let here = proto::CommandLookupTopicResponse {
                request_id: lookup.request_id,
                broker_service_url: Some(format!("pulsar://{}", socket.local_addr().expect("connected"))),
                response: Some(LookupType::Connect.into()),
                ..Default::default()
            };
            let answer = BaseCommand { lookup_topic_response: Some(here.into()), ..of(Type::LookupResponse) };
            encode::command(&answer, out);
        } else if let Some(producer) = &command.producer {
            session.producers.insert(producer.producer_id, (producer.topic.clone(), None));
            let success = proto::CommandProducerSuccess {
                request_id: producer.request_id,
                producer_name: format!("p-{}", producer.producer_id),
                ..Default::default()
            };
            let answer = BaseCommand { producer_success: Some(success.into()), ..of(Type::ProducerSuccess) };
            encode::command(&answer, out);
        } else if let Some(subscribe) = &command.subscribe {
            let name = (subscribe.topic.clone(), subscribe.subscription.clone());
            let mut state = self.state.lock();
            let end = state.entries.get(&name.0).map_or(0, Vec::len);
            let latest = subscribe.initial_position() == proto::command_subscribe::InitialPosition::Latest;
            let new = || Subscription { next: if latest { end } else { 0 }, consumers: Vec::new() };
            let subscription = state.subscriptions.entry(name.clone()).or_insert_with(new);
            let socket = socket.try_clone().expect("a socket");
            subscription.consumers.push(Consumer { socket, peer: session.peer, id: subscribe.consumer_id, permits: 0 });
            session.consumers.insert(subscribe.consumer_id, name);
            encode::success(subscribe.request_id, out);
        } else if let Some(close) = &command.close_producer {
            session.producers.remove(&close.producer_id);
            encode::success(close.request_id, out);
        } else if let Some(unsubscribe) = &command.unsubscribe {
            self.state.lock().subscriptions.remove(&session.consumers[&unsubscribe.consumer_id]);
            encode::success(unsubscribe.request_id, out);
        }
    }

    /// Delivers what the subscriptions of a topic have not had, each key always to the same consumer.
    fn dispatch(&self, state: &mut State, topic: &str) {
        let State { entries, subscriptions } = state;
        let Some(entries) = entries.get(topic) else { return };
        for (_, subscription) in subscriptions.iter_mut().filter(|((of, _), _)| of == topic) {
            while let (Some(entry), [_, ..]) = (entries.get(subscription.next), &*subscription.consumers) {
                let payload = Payload::parse(entry).expect("a payload");
                let metadata = MessageMetadata::peek(payload.metadata).expect("metadata");
                let mut hasher = DefaultHasher::new();
                metadata.partition_key.hash(&mut hasher);
                let count = subscription.consumers.len();
                let consumer = &mut subscription.consumers[hasher.finish() as usize % count];
                if consumer.permits <= 0 {
                    break;
                }
                consumer.permits -= i64::from(metadata.num_messages());
                consumer.deliver(subscription.next as u64, entry);
                if self.flaw == Flaw::Repeats {
                    consumer.deliver(subscription.next as u64, entry);
                }
                subscription.next += 1;
            }
        }
    }
}

impl Consumer {
    fn deliver(&mut self, entry_id: u64, entry: &[u8]) {
        let message = encode::Message {
            consumer_id: self.id,
            ledger_id: 1,
            entry_id,
            partition: -1,
            redelivery_count: 0,
            ack_set: &[],
            consumer_epoch: None,
        };
        let mut out = Vec::new();
        encode::message_header(&message, entry.len(), &mut out);
        out.extend_from_slice(entry);
        // Whoever has left gets nothing.
        let _ = self.socket.write_all(&out);
    }
}

fn of(kind: Type) -> BaseCommand {
    BaseCommand { r#type: kind.into(), ..Default::default() }
}

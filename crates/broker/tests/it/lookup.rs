//! LOOKUP.

use std::sync::Arc;
use std::time::Duration;

use plerion_broker::{Authorizer, Operation, Role};
use plerion_test_client::{Outgoing, Type};
use plerion_wire::ServerError;
use plerion_wire::proto::{
    CommandLookupTopic, CommandPartitionedTopicMetadata, CommandProducer, command_lookup_topic_response::LookupType,
    command_subscribe::SubType,
};

use crate::support::{World, everywhere, everywhere_with, on_one_shard, producer, subscription};

fn lookup(topic: &str, listener: Option<&str>) -> impl FnOnce(u64) -> CommandLookupTopic {
    let (topic, listener) = (topic.to_owned(), listener.map(ToOwned::to_owned));
    move |request_id| CommandLookupTopic { topic, request_id, advertised_listener_name: listener, ..Default::default() }
}

#[test]
fn a_topic_is_served_here() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for topic in ["t", "public/default/t", "persistent://public/default/t", "non-persistent://public/default/t"] {
            let found = client.ask(lookup(topic, None)).await.lookup_topic_response.unwrap();
            assert_eq!(found.response(), LookupType::Connect);
            assert!(found.authoritative());
            assert_eq!(found.proxy_through_service_url, Some(false));
            assert_eq!(found.broker_service_url, Some(format!("pulsar://127.0.0.1:{}", world.port())));
            assert_eq!(found.broker_service_url_tls, None, "half-filled addresses harm");
            assert_eq!(found.error, None);
        }
    });
}

/// Whatever an authoritative question would mean in a cluster, one broker always answers for itself (apache/pulsar#7041,
/// apache/pulsar#1265, apache/pulsar-client-cpp#146).
#[test]
fn d01_d03_d04_a_lookup_never_redirects() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for authoritative in [None, Some(false), Some(true)] {
            let make =
                |request_id| CommandLookupTopic { topic: "t".into(), request_id, authoritative, ..Default::default() };
            let found = client.ask(make).await.lookup_topic_response.unwrap();
            assert_eq!(found.response(), LookupType::Connect);
        }
    });
}

/// apache/pulsar#13664: lookups do not wait for topics, and what is refused gives its permit back.
#[test]
fn d06_lookup_permits_come_back_on_every_path() {
    everywhere_with(&[("maxConcurrentLookupRequest", "1")], async |world| {
        let mut client = world.session().await;
        for _ in 0..20 {
            client.ask(lookup("t", None)).await;
            client.refusal(lookup("t", Some("nobody"))).await;
            client.refusal(lookup("no-such-tenant/ns/t", None)).await;
            client.refusal(lookup("a/b", None)).await;
            let missing = |request_id| CommandPartitionedTopicMetadata {
                topic: "no-such-tenant/ns/t".into(),
                request_id,
                ..Default::default()
            };
            client.refusal(missing).await;
        }
    });
}

/// apache/pulsar-client-go#697: clients wedge when a lookup takes long.
#[test]
fn d06_l03_lookups_do_not_wait_for_topics() {
    everywhere(async |world| {
        let topic = "persistent://public/default/stuck";
        let mut stuck = world.session().await;
        stuck.open_producer(producer(topic, 1)).await;
        // A topic is not closed before what is under way has its answer, and nobody opens it before it is closed.
        world.ledgers.hold();
        stuck.publish(1, 0, &Outgoing::new("it", 0, "x").payload()).await.unwrap();
        world.until("it is under way", async |world| world.handle().totals().await.unwrap().publishing_bytes > 0).await;
        let lookups = async {
            stuck.send(CommandProducer { request_id: 99, ..producer(topic, 2) }).await.unwrap();
            let mut client = world.session().await;
            client.patience = Duration::from_secs(1);
            for _ in 0..20 {
                client.ask(lookup(topic, None)).await;
            }
            world.ledgers.release();
        };
        tokio::join!(world.unload(topic), lookups);
        stuck.await_kind(Type::ProducerSuccess).await.unwrap();
    });
}

/// apache/pulsar#13069: the first lookups of a bundle at once.
#[test]
fn d07_concurrent_first_lookups_agree() {
    everywhere(async |world| {
        let mut clients = Vec::new();
        for _ in 0..20 {
            clients.push(world.session().await);
        }
        let asked = clients.iter_mut().map(|client| client.ask(lookup("cold", None)));
        for answer in futures::future::join_all(asked).await {
            let found = answer.lookup_topic_response.unwrap();
            assert_eq!(found.response(), LookupType::Connect);
            assert_eq!(found.broker_service_url, Some(format!("pulsar://127.0.0.1:{}", world.port())));
        }
    });
}

/// Clients look for this text, and keep their connection on it.
#[test]
fn an_unknown_listener_is_refused_in_pulsars_words() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let (code, text) = client.refusal(lookup("t", Some("test"))).await;
        assert_eq!(code, ServerError::ServiceNotReady);
        assert!(text.contains("the broker do not have test listener"), "{text}");
        client.ask(lookup("t", Some(""))).await;
    });
}

#[test]
fn a_listener_has_its_own_address() {
    let listeners = "internal:pulsar://10.0.0.1:6650,external:pulsar://broker.example.com:16650";
    let settings = [("advertisedListeners", listeners), ("internalListenerName", "internal")];
    on_one_shard(&settings, async |world| {
        let mut client = world.session().await;
        for (listener, address) in [
            (Some("external"), "pulsar://broker.example.com:16650"),
            (Some("internal"), "pulsar://10.0.0.1:6650"),
            (None, "pulsar://10.0.0.1:6650"),
        ] {
            let found = client.ask(lookup("t", listener)).await.lookup_topic_response.unwrap();
            assert_eq!(found.broker_service_url.as_deref(), Some(address));
        }
        let (code, text) = client.refusal(lookup("t", Some("other"))).await;
        assert_eq!(code, ServerError::ServiceNotReady);
        assert!(text.contains("the broker do not have other listener"), "{text}");
    });
}

/// apache/pulsar-client-go's `TestNamespaceTopicsNamespaceDoesNotExit` and others wait for a definite answer.
#[test]
fn a_missing_namespace_is_a_definite_answer() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for topic in ["no-such-tenant/default/t", "public/no-such-namespace/t"] {
            let (code, text) = client.refusal(lookup(topic, None)).await;
            assert_eq!(code, ServerError::TopicNotFound, "{text}");
            assert!(!text.is_empty());
        }
    });
}

#[test]
fn an_invalid_name_is_refused() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for topic in ["a/b", "persistent://public", "nothing://public/default/t", ""] {
            let (code, text) = client.refusal(lookup(topic, None)).await;
            assert_eq!(code, ServerError::InvalidTopicName, "{topic}");
            assert!(text.starts_with("Invalid topic name: "), "{text}");
        }
    });
}

/// Forbids everything.
struct Nobody;

impl Authorizer for Nobody {
    fn allows(&self, _role: &Role, _operation: &Operation<'_>) -> bool {
        false
    }
}

#[test]
fn whoever_may_not_is_told_so_in_pulsars_words() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let world = World::start(1, &[], Arc::new(Nobody)).await;
        let mut client = world.session().await;
        let refused = |code, text: &str| {
            assert_eq!(code, ServerError::AuthorizationError);
            text.to_owned()
        };
        let (code, _) = client.refusal(lookup("t", None)).await;
        assert_eq!(code, ServerError::AuthorizationError);
        let partitions =
            |request_id| CommandPartitionedTopicMetadata { topic: "t".into(), request_id, ..Default::default() };
        let (code, text) = client.refusal(partitions).await;
        assert_eq!(refused(code, &text), "Client is not authorized to Get Partition Metadata");
        let (code, text) = client.refused_producer(producer("t", 1)).await;
        assert_eq!(refused(code, &text), "Client is not authorized to Produce");
        let (code, text) = client.refused_consumer(subscription("t", "s", SubType::Shared, 1)).await;
        assert_eq!(refused(code, &text), "Client is not authorized to subscribe");
        world.stop().await;
    });
}

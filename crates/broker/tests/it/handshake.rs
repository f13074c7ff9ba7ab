//! CONNECT and CONNECTED.

use plerion_test_client::Type;
use plerion_wire::proto::{
    CommandConnect, CommandConnected, CommandPing, CommandPong, FeatureFlags, command_subscribe::SubType,
};

use crate::support::{World, everywhere, everywhere_with, name, on_one_shard, producer, subscription};

fn connect(protocol_version: Option<i32>) -> CommandConnect {
    CommandConnect { client_version: "Pulsar-CPP-v4.2.0".into(), protocol_version, ..Default::default() }
}

async fn connected(world: &World, hello: CommandConnect) -> CommandConnected {
    world.silent().await.shake_hands(hello).await.unwrap()
}

#[test]
fn connected_says_what_clients_need() {
    everywhere_with(&[("maxMessageSize", "1048576")], async |world| {
        let connected = connected(world, connect(Some(21))).await;
        assert!(!connected.server_version.is_empty(), "clients in C++ give up without it");
        assert_eq!(connected.max_message_size, Some(1_048_576));
        let flags = connected.feature_flags.unwrap();
        assert_eq!(flags.supports_topic_watchers, Some(true));
        assert_eq!(flags.supports_get_partitioned_metadata_without_auto_creation, Some(true));
        assert!(!flags.supports_auth_refresh(), "nobody is asked to authenticate");
        assert!(!flags.supports_partial_producer());
    });
}

#[test]
fn topic_watchers_are_announced_only_where_they_are_served() {
    let settings = [("enableBrokerSideSubscriptionPatternEvaluation", "false")];
    on_one_shard(&settings, async |world| {
        let connected = connected(world, connect(Some(21))).await;
        assert_eq!(connected.feature_flags.unwrap().supports_topic_watchers, Some(false));
    });
}

#[test]
fn the_lower_protocol_version_is_agreed_on() {
    on_one_shard(&[], async |world| {
        for (client, agreed) in
            [(Some(12), 12), (Some(20), 20), (Some(21), 21), (Some(99), 21), (Some(0), 0), (None, 0)]
        {
            assert_eq!(connected(world, connect(client)).await.protocol_version, Some(agreed), "{client:?}");
        }
    });
}

/// Every optional field of CONNECT is taken.
#[test]
fn what_proxies_and_newer_clients_add_is_taken() {
    on_one_shard(&[], async |world| {
        let hello = CommandConnect {
            auth_method_name: Some("none".into()),
            proxy_to_broker_url: Some("localhost:6650".into()),
            feature_flags: Some(FeatureFlags {
                supports_auth_refresh: Some(true),
                supports_broker_entry_metadata: Some(true),
                ..Default::default()
            }),
            proxy_version: Some("1".into()),
            ..connect(Some(21))
        };
        connected(world, hello).await;
    });
}

#[test]
fn anything_before_connect_closes_the_connection() {
    everywhere(async |world| {
        let mut client = world.silent().await;
        client.send(CommandPing {}).await.unwrap();
        client.await_close().await.unwrap();
        let mut client = world.silent().await;
        client.send(CommandPong {}).await.unwrap();
        client.await_close().await.unwrap();
        let mut client = world.silent().await;
        client.send(producer("t", 1)).await.unwrap();
        client.await_close().await.unwrap();
        let mut client = world.silent().await;
        client.flow(1, 1).await.unwrap();
        client.await_close().await.unwrap();
        // An HTTP client at the wrong door.
        let mut client = world.silent().await;
        client.send_bytes(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        client.await_close().await.unwrap();
        world.until("nobody is left", async |world| world.open_connections() == 0).await;
    });
}

#[test]
fn a_second_connect_closes_the_connection() {
    on_one_shard(&[], async |world| {
        let mut client = world.session().await;
        client.send(connect(Some(21))).await.unwrap();
        client.await_close().await.unwrap();
    });
}

#[test]
fn ping_is_answered_by_pong() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for _ in 0..3 {
            client.send(CommandPing {}).await.unwrap();
            client.await_kind(Type::Pong).await.unwrap();
        }
    });
}

/// Commands that follow CONNECT in the same segment are served.
#[test]
fn nothing_has_to_wait_for_connected() {
    everywhere(async |world| {
        let mut client = world.silent().await;
        client.send(connect(Some(21))).await.unwrap();
        client.open_producer(producer("persistent://public/default/eager", 1)).await;
        client.await_kind(Type::Connected).await.unwrap();
    });
}

#[test]
fn statistics_show_who_the_client_is() {
    everywhere(async |world| {
        let topic = "persistent://public/default/who";
        let mut client = world.silent().await;
        client.shake_hands(connect(Some(21))).await.unwrap();
        client.open_producer(producer(topic, 1)).await;
        client.open_consumer(subscription(topic, "s", SubType::Shared, 1)).await;
        let stats = world.handle().topic_stats(&name(topic)).await.unwrap();
        assert_eq!(stats.publishers[0].client_version, "Pulsar-CPP-v4.2.0");
        assert_eq!(stats.subscriptions["s"].consumers[0].client_version, "Pulsar-CPP-v4.2.0");
    });
}

/// Some clients close the connection on commands they do not know: nothing is sent that nobody asked for.
#[test]
fn old_clients_are_not_told_of_active_consumers() {
    everywhere(async |world| {
        let topic = "persistent://public/default/old";
        for (version, told) in [(11, 0), (12, 1)] {
            let mut client = world.silent().await;
            client.shake_hands(connect(Some(version))).await.unwrap();
            client.open_consumer(subscription(topic, "s", SubType::Failover, 1)).await;
            client.settle(1).await;
            assert_eq!(client.arrived().await.len(), told, "version {version}");
            client.close_consumer(1).await.unwrap();
        }
    });
}

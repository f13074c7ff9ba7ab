//! What happens when somebody is faster than somebody else.

use std::time::Duration;

use plerion_test_client::{Outgoing, Type};
use plerion_wire::proto::{CommandPing, command_subscribe::SubType};

use crate::support::{Session, World, everywhere, everywhere_with, on_one_shard, producer, subscription};

const TOPIC: &str = "persistent://public/default/pressure";
const MIB: u64 = 1 << 20;

/// What the kernel keeps of a loopback connection, at most; twice over for good measure.
const SOCKET_BUFFERS: u64 = 16 * MIB;

/// Publishes `mebibytes` MiB in messages of 64 KiB.
async fn publish(client: &mut Session, producer_id: u64, mebibytes: u64) {
    let body = vec![7; 64 << 10];
    for number in 0..mebibytes * 16 {
        client.publish(producer_id, number, &Outgoing::new("it", number, body.clone()).payload()).await.unwrap();
    }
    for _ in 0..mebibytes * 16 {
        client.receipt().await;
    }
}

/// The bytes handed out by the time that no more are.
async fn handed_out(world: &World) -> u64 {
    let mut before = 0;
    loop {
        let now = world.handle().totals().await.unwrap().bytes_out;
        if now == before && now > 0 {
            return now;
        }
        before = now;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// However many permits a client gives, what waits for its socket is bounded; nothing is lost by it.
async fn not_reading(world: &World) {
    let mut client = world.session().await;
    client.open_producer(producer(TOPIC, 1)).await;
    publish(&mut client, 1, 40).await;
    let mut slow = world.session().await;
    slow.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
    slow.flow(1, 1_000_000).await.unwrap();
    let queued = handed_out(world).await;
    assert!(queued < SOCKET_BUFFERS + 8 * MIB, "{} MiB are on their way", queued / MIB);
    // Others are served meanwhile.
    client.open_consumer(subscription(TOPIC, "other", SubType::Exclusive, 1)).await;
    client.take(1, 10).await;
    for number in 0..40 * 16 {
        assert_eq!(slow.message().await.position().entry, number);
    }
}

#[test]
fn a_client_that_does_not_read_is_sent_no_more() {
    on_one_shard(&[], not_reading);
}

#[test]
fn a_client_of_another_shard_that_does_not_read_is_sent_no_more() {
    everywhere(not_reading);
}

/// The bound is the connection's, not that of each of its consumers.
#[test]
fn many_consumers_do_not_multiply_what_a_connection_is_sent() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        publish(&mut client, 1, 4).await;
        let mut slow = world.session().await;
        for id in 0..30 {
            slow.open_consumer(subscription(TOPIC, &format!("s-{id}"), SubType::Exclusive, id)).await;
        }
        for id in 0..30 {
            slow.flow(id, 1_000_000).await.unwrap();
        }
        let queued = handed_out(world).await;
        assert!(queued < SOCKET_BUFFERS + 8 * MIB, "{} MiB are on their way", queued / MIB);
        for _ in 0..30 * 4 * 16 {
            slow.message().await;
        }
    });
}

const SMALL_BUDGET: &[(&str, &str)] = &[("maxMessagePublishBufferSizeInMB", "1")];

/// apache/pulsar#5513, apache/pulsar#7499: producers of many topics, faster than a store that stands still.
#[test]
fn k01_k03_what_is_being_published_is_bounded_over_all_topics() {
    everywhere_with(SMALL_BUDGET, async |world| {
        let connections = 4;
        let mut clients = Vec::new();
        for number in 0..connections {
            let mut client = world.session().await;
            for id in 0..5 {
                client.open_producer(producer(&format!("{TOPIC}-{number}-{id}"), id)).await;
            }
            clients.push(client);
        }
        world.ledgers.hold();
        let body = vec![7; 32 << 10];
        let mut sending = Vec::new();
        for mut client in clients {
            let body = body.clone();
            sending.push(tokio::spawn(async move {
                for number in 0..200 {
                    let payload = Outgoing::new("it", number, body.clone()).payload();
                    client.publish(number % 5, number, &payload).await.unwrap();
                }
                client
            }));
        }
        let mut most = 0;
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            most = most.max(world.handle().totals().await.unwrap().publishing_bytes as u64);
        }
        // What one read of each connection brought may come on top.
        assert!(most >= MIB / 2, "{most} bytes: the budget is used");
        assert!(most <= MIB + connections * MIB / 2, "{most} bytes are being published");
        world.ledgers.release();
        for client in sending {
            let mut client = client.await.unwrap();
            for _ in 0..200 {
                client.receipt().await;
            }
        }
        assert_eq!(world.handle().totals().await.unwrap().publishing_bytes, 0, "all of it is given back");
    });
}

/// A client's SENDs without an answer are bounded by their number, too.
#[test]
fn unanswered_sends_are_bounded() {
    everywhere_with(&[("maxPendingPublishRequestsPerConnection", "10")], async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        world.ledgers.hold();
        let body = vec![7; 64 << 10];
        let sending = tokio::spawn(async move {
            for number in 0..200 {
                client.publish(1, number, &Outgoing::new("it", number, body.clone()).payload()).await.unwrap();
            }
            client
        });
        let limit = 30 * (64 << 10);
        let mut most = 0;
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            most = most.max(world.handle().totals().await.unwrap().publishing_bytes);
        }
        assert!(most > 0 && most < limit, "{most} bytes are being published");
        world.ledgers.release();
        let mut client = sending.await.unwrap();
        for number in 0..200 {
            assert_eq!(client.receipt().await.sequence_id, number);
        }
    });
}

/// What is refused, or belongs to a producer that is gone, gives its budget back as well.
#[test]
fn the_budget_comes_back_on_every_path() {
    everywhere_with(SMALL_BUDGET, async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        let body = vec![7; 512 << 10];
        let good = Outgoing::new("it", 0, body).payload();
        let mut damaged = good.clone();
        *damaged.last_mut().unwrap() ^= 1;
        for number in 0..10 {
            assert!(client.publish_and_wait(1, number, &damaged).await.is_err());
        }
        for round in 0..10 {
            // It meets the closing of its topic.
            client.publish(1, round, &good).await.unwrap();
            world.unload(TOPIC).await;
            client.await_kind(Type::CloseProducer).await.unwrap();
            client.publish(1, round, &good).await.unwrap();
            client.open_producer(producer(TOPIC, 1)).await;
        }
        // One whose connection ends.
        world.ledgers.hold();
        let mut gone = world.session().await;
        gone.open_producer(producer(TOPIC, 2)).await;
        gone.publish(2, 0, &good).await.unwrap();
        gone.send(CommandPing {}).await.unwrap();
        gone.await_kind(Type::Pong).await.unwrap();
        drop(gone);
        world.ledgers.release();
        world
            .until("nothing is under way", async |world| world.handle().totals().await.unwrap().publishing_bytes == 0)
            .await;
        client.publish_and_wait(1, 99, &good).await.unwrap();
    });
}

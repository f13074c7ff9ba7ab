//! What acknowledgements survive.

use std::collections::BTreeSet;
use std::time::Duration;

use plerion_subscription::Position;
use plerion_subscription::dispatcher::Kind;
use plerion_wire::ServerError;
use plerion_wire::proto::base_command::Type;

use crate::consuming::filled;
use crate::message::{Outgoing, ack, ack_batch, ack_with_request};
use crate::recorder::Recorder;
use crate::world::{World, on_shard, settle};

/// The requests that were answered, and with which error.
fn responses(clients: &Recorder) -> Vec<(u64, Option<i32>)> {
    let responses = clients.commands(Type::AckResponse).into_iter().map(|(_, command)| command.ack_response.unwrap());
    responses.map(|response| (response.request_id.unwrap(), response.error)).collect()
}

#[test]
fn an_acknowledgement_is_confirmed_when_it_is_durable() {
    on_shard(async {
        let mut world = World::new().await;
        let topic = filled(&world, 4).await;
        let one = world.consumer(&topic, Kind::Shared, 1, 10).await;
        let messages = world.clients.messages();
        world.ledgers.hold();
        ack_with_request(&one, [messages[0].position], 100);
        ack_with_request(&one, [messages[2].position], 101);
        world.pass(Duration::from_secs(5)).await;
        assert_eq!(responses(&world.clients), []);
        world.ledgers.release();
        settle().await;
        assert_eq!(responses(&world.clients), [(100, None), (101, None)]);
        world.crash(0).await;
        let topic = world.open().await;
        world.consumer(&topic, Kind::Shared, 1, 10).await;
        assert_eq!(world.clients.bodies(), ["1", "3"]);
    });
}

#[test]
fn an_acknowledgement_that_cannot_be_recorded_is_refused() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 2).await;
        let one = world.consumer(&topic, Kind::Shared, 1, 10).await;
        let messages = world.clients.messages();
        world.ledgers.hold();
        ack_with_request(&one, [messages[0].position], 100);
        settle().await;
        world.ledgers.fail_writers("gone");
        settle().await;
        // The state log has failed by now.
        ack_with_request(&one, [messages[1].position], 101);
        settle().await;
        let error = Some(i32::from(ServerError::PersistenceError));
        assert_eq!(responses(&world.clients), [(100, error), (101, error)]);
    });
}

#[test]
fn what_is_not_durable_yet_is_known_by_its_age() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 3).await;
        let one = world.consumer(&topic, Kind::Shared, 1, 10).await;
        let messages = world.clients.messages();
        let saves = world.context.ack_saves.clone();
        assert_eq!(saves.unsaved_since(), None);
        world.pass(Duration::from_millis(5)).await;
        ack(&one, [messages[0].position]);
        assert_eq!(saves.unsaved_since(), Some(Duration::from_millis(5)));
        world.pass(Duration::from_millis(45)).await;
        assert_eq!(
            (saves.unsaved_since(), saves.slowest()),
            (None, Duration::from_millis(45)),
            "time passes in one step"
        );
        assert_eq!(saves.counts()[..2], [0, 1], "between 25 and 50 ms");
        world.ledgers.hold();
        ack(&one, [messages[1].position]);
        world.pass(Duration::from_millis(45)).await;
        ack(&one, [messages[2].position]);
        world.pass(Duration::from_millis(200)).await;
        assert_eq!(saves.unsaved_since(), Some(Duration::from_millis(50)), "the oldest of two saves");
        world.ledgers.fail_writers("gone");
        settle().await;
        assert_eq!(saves.unsaved_since(), Some(Duration::from_millis(50)), "a save that failed saved nothing");
    });
}

#[test]
fn an_acknowledgement_without_an_answer_is_durable_within_100_ms() {
    on_shard(async {
        let mut world = World::new().await;
        let topic = filled(&world, 3).await;
        let one = world.consumer(&topic, Kind::Shared, 1, 10).await;
        let messages = world.clients.messages();
        ack(&one, [messages[0].position]);
        world.pass(Duration::from_millis(30)).await;
        ack(&one, [messages[1].position]);
        world.pass(Duration::from_millis(50)).await;
        ack(&one, [messages[2].position]);
        world.pass(Duration::from_millis(10)).await;
        world.crash(0).await;
        let topic = world.open().await;
        world.consumer(&topic, Kind::Shared, 1, 10).await;
        assert_eq!(world.clients.bodies(), ["2"], "the first two are, the last was too young");
    });
}

#[test]
fn bug_pulsar_25540_thirty_thousand_alternate_acknowledgements_survive_a_crash() {
    const COUNT: u64 = 30_000;
    on_shard(async {
        let mut world = World::new().await;
        world.config.max_entries_per_ledger = 10_000;
        world.crash(0).await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        for first in (0..COUNT).step_by(1_000) {
            world.publish(&a, first..first + 1_000).await;
        }
        let one = world.consumer(&topic, Kind::Shared, 1, COUNT as u32).await;
        while world.clients.said().len() < 2 * COUNT as usize {
            settle().await;
        }
        let messages = world.clients.messages();
        assert_eq!(messages.len() as u64, COUNT);
        let even: Vec<Position> = messages.iter().step_by(2).map(|message| message.position).collect();
        for some in even.chunks(1_000) {
            ack(&one, some.iter().copied());
        }
        world.pass(Duration::from_millis(100)).await;
        world.crash(0).await;
        let topic = world.open().await;
        assert_eq!(topic.subscription("s").unwrap().backlog(), COUNT / 2);
        world.consumer(&topic, Kind::Shared, 1, COUNT as u32).await;
        let mut odd = BTreeSet::new();
        while odd.len() < COUNT as usize / 2 {
            settle().await;
            odd.extend(world.clients.messages().into_iter().map(|message| message.body.parse::<u64>().unwrap()));
        }
        settle().await;
        assert_eq!(world.clients.messages(), []);
        assert!(odd.into_iter().eq((1..COUNT).step_by(2)), "exactly those that were not acknowledged");
    });
}

#[test]
fn bug_pulsar_14982_a_partly_acknowledged_batch_comes_back_in_part() {
    on_shard(async {
        let mut world = World::with(|settings| settings.subscriptions.batch_index_acks = true).await;
        let topic = world.open().await;
        let a = world.producer(&topic, "a").await;
        world.send(&a, &Outgoing { batch: Some(10), ..Outgoing::new(0) });
        settle().await;
        let one = world.consumer(&topic, Kind::Shared, 1, 100).await;
        let batch = world.clients.messages().remove(0);
        ack_batch(&one, batch.position, &[1 << 9], 10);
        topic.close().await.unwrap();
        for crash in [false, true] {
            if crash {
                world.crash(0).await;
            }
            let topic = world.open().await;
            world.consumer(&topic, Kind::Shared, 1, 100).await;
            assert_eq!(world.clients.messages()[0].ack_set, [1 << 9]);
            if !crash {
                topic.close().await.unwrap();
            }
        }
    });
}

#[test]
fn closing_saves_what_was_acknowledged_up_to_then() {
    on_shard(async {
        let world = World::new().await;
        let topic = filled(&world, 3).await;
        let one = world.consumer(&topic, Kind::Shared, 1, 10).await;
        let messages = world.clients.messages();
        ack_with_request(&one, [messages[0].position], 100);
        ack(&one, [messages[2].position]);
        topic.close().await.unwrap();
        settle().await;
        assert_eq!(responses(&world.clients), [(100, None)]);
        let topic = world.open().await;
        world.consumer(&topic, Kind::Shared, 1, 10).await;
        assert_eq!(world.clients.bodies(), ["1"]);
    });
}

#[test]
fn a_seek_is_durable_when_it_returns() {
    on_shard(async {
        let mut world = World::new().await;
        let topic = filled(&world, 5).await;
        world.consumer(&topic, Kind::Exclusive, 1, 10).await;
        let messages = world.clients.messages();
        let target = plerion_topic::Target::Entry(messages[3].position);
        topic.subscription("s").unwrap().seek(target).await.unwrap();
        world.crash(0).await;
        let topic = world.open().await;
        world.consumer(&topic, Kind::Exclusive, 1, 10).await;
        assert_eq!(world.clients.bodies(), ["3", "4"]);
    });
}

//! GET_TOPICS_OF_NAMESPACE and WATCH_TOPIC_LIST.

use plerion_test_client::Type;
use plerion_wire::proto::command_get_topics_of_namespace::Mode;
use plerion_wire::proto::{
    CommandGetTopicsOfNamespace, CommandGetTopicsOfNamespaceResponse, CommandWatchTopicList,
    CommandWatchTopicListClose, CommandWatchTopicListSuccess, CommandWatchTopicUpdate,
};
use plerion_wire::{ServerError, checksum};

use crate::support::{Session, everywhere, everywhere_with, name, producer};

const NAMESPACE: &str = "public/default";

fn persistent(topic: &str) -> String {
    format!("persistent://{NAMESPACE}/{topic}")
}

/// What clients compute: CRC32C over the sorted names joined by commas, in hex, least significant byte first.
fn hash(topics: &[String]) -> String {
    let bytes = checksum::crc32c(topics.join(",").as_bytes()).to_le_bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn question(mode: Mode) -> CommandGetTopicsOfNamespace {
    CommandGetTopicsOfNamespace { namespace: NAMESPACE.into(), mode: Some(mode.into()), ..Default::default() }
}

async fn list(client: &mut Session, question: CommandGetTopicsOfNamespace) -> CommandGetTopicsOfNamespaceResponse {
    let answer = client.ask(|request_id| CommandGetTopicsOfNamespace { request_id, ..question }).await;
    *answer.get_topics_of_namespace_response.unwrap()
}

async fn open(client: &mut Session, topics: &[&str]) {
    for topic in topics {
        let id = client.next_request();
        client.open_producer(producer(topic, id)).await;
    }
}

#[test]
fn topics_are_listed_by_kind() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let empty = list(&mut client, question(Mode::All)).await;
        assert!(empty.topics.is_empty());
        assert_eq!(empty.topics_hash.as_deref(), Some("00000000"));
        let passing = format!("non-persistent://{NAMESPACE}/n");
        open(&mut client, &[&persistent("b"), &persistent("a"), &passing]).await;
        let kept = vec![persistent("a"), persistent("b")];
        let default = CommandGetTopicsOfNamespace { mode: None, ..question(Mode::All) };
        for question in [default, question(Mode::Persistent)] {
            let found = list(&mut client, question).await;
            assert_eq!(found.topics, kept);
            assert_eq!((found.filtered(), found.changed()), (false, true));
            assert_eq!(found.topics_hash, Some(hash(&kept)));
        }
        assert_eq!(list(&mut client, question(Mode::NonPersistent)).await.topics, std::slice::from_ref(&passing));
        let mut all = list(&mut client, question(Mode::All)).await.topics;
        all.sort();
        assert_eq!(all, [passing, persistent("a"), persistent("b")]);
    });
}

#[test]
fn partitions_are_listed_before_they_are_used() {
    everywhere(async |world| {
        world.partition(&persistent("p"), 3).await;
        let mut client = world.session().await;
        let expected: Vec<_> = (0..3).map(|index| persistent(&format!("p-partition-{index}"))).collect();
        assert_eq!(list(&mut client, question(Mode::Persistent)).await.topics, expected);
        open(&mut client, &[&expected[1]]).await;
        assert_eq!(list(&mut client, question(Mode::Persistent)).await.topics, expected);
    });
}

#[test]
fn patterns_match_whole_names_without_scheme_and_partition() {
    everywhere(async |world| {
        let mut client = world.session().await;
        open(&mut client, &[&persistent("abc"), &persistent("abd"), &persistent("xabc")]).await;
        for (pattern, expected) in [
            ("public/default/ab.*", vec!["abc", "abd"]),
            ("persistent://public/default/ab[c]", vec!["abc"]),
            ("public/default/abc|public/default/xabc", vec!["abc", "xabc"]),
            ("ab", vec![]),
        ] {
            let topics_pattern = Some(pattern.into());
            let found = list(&mut client, CommandGetTopicsOfNamespace { topics_pattern, ..question(Mode::All) }).await;
            let expected: Vec<_> = expected.into_iter().map(persistent).collect();
            assert_eq!(found.topics, expected, "{pattern}");
            assert!(found.filtered());
            assert_eq!(found.topics_hash, Some(hash(&expected)));
        }
        // Too long a pattern is left to the client.
        let topics_pattern = Some(format!("public/default/ab.*{}", "x?".repeat(50)));
        let found = list(&mut client, CommandGetTopicsOfNamespace { topics_pattern, ..question(Mode::All) }).await;
        assert_eq!((found.topics.len(), found.filtered()), (3, false));
    });
}

#[test]
fn an_unchanged_list_is_not_sent_again() {
    everywhere(async |world| {
        let mut client = world.session().await;
        open(&mut client, &[&persistent("a")]).await;
        let topics_hash = list(&mut client, question(Mode::All)).await.topics_hash;
        let known = CommandGetTopicsOfNamespace { topics_hash: topics_hash.clone(), ..question(Mode::All) };
        let again = list(&mut client, known.clone()).await;
        assert_eq!((again.changed(), again.topics.len(), &again.topics_hash), (false, 0, &topics_hash));
        open(&mut client, &[&persistent("b")]).await;
        let changed = list(&mut client, known).await;
        assert_eq!((changed.changed(), changed.topics.len()), (true, 2));
    });
}

#[test]
fn a_namespace_that_is_not_there_has_no_topics() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for namespace in ["public/missing", "missing/default"] {
            let found =
                list(&mut client, CommandGetTopicsOfNamespace { namespace: namespace.into(), ..question(Mode::All) })
                    .await;
            assert!(found.topics.is_empty());
        }
        let invalid = |request_id| CommandGetTopicsOfNamespace {
            request_id,
            namespace: "a/b/c/d/e".into(),
            ..question(Mode::All)
        };
        client.refusal(invalid).await;
    });
}

fn watch(watcher_id: u64, pattern: &str) -> CommandWatchTopicList {
    CommandWatchTopicList {
        watcher_id,
        namespace: NAMESPACE.into(),
        topics_pattern: pattern.into(),
        ..Default::default()
    }
}

async fn watching(client: &mut Session, watch: CommandWatchTopicList) -> CommandWatchTopicListSuccess {
    let answer = client.ask(|request_id| CommandWatchTopicList { request_id, ..watch }).await;
    *answer.watch_topic_list_success.unwrap()
}

async fn update(client: &mut Session) -> CommandWatchTopicUpdate {
    *client.await_kind(Type::WatchTopicUpdate).await.unwrap().command.watch_topic_update.unwrap()
}

#[test]
fn watchers_learn_of_topics_that_come_and_go() {
    everywhere(async |world| {
        let mut client = world.session().await;
        open(&mut client, &[&persistent("a1"), &persistent("b1")]).await;
        let mut watcher = world.session().await;
        let found = watching(&mut watcher, watch(7, "public/default/a.*")).await;
        assert_eq!((found.watcher_id, found.topic), (7, vec![persistent("a1")]));
        assert_eq!(found.topics_hash, hash(&[persistent("a1")]));
        let passing = format!("non-persistent://{NAMESPACE}/a2");
        open(&mut client, &[&persistent("b2"), &passing, &persistent("a3")]).await;
        let told = update(&mut watcher).await;
        assert_eq!((told.watcher_id, told.new_topics, told.deleted_topics), (7, vec![persistent("a3")], vec![]));
        world.handle().delete_topic(&name(&persistent("a1")), true).await.unwrap();
        let told = update(&mut watcher).await;
        assert_eq!((told.new_topics, told.deleted_topics), (vec![], vec![persistent("a1")]));
        // A topic that is opened again is not new.
        world.unload(&persistent("a3")).await;
        open(&mut world.session().await, &[&persistent("a3"), &persistent("a4")]).await;
        assert_eq!(update(&mut watcher).await.new_topics, [persistent("a4")]);
        watcher.ask(|request_id| CommandWatchTopicListClose { request_id, watcher_id: 7 }).await;
        open(&mut world.session().await, &[&persistent("a5")]).await;
        watcher.settle_broker().await;
        assert!(watcher.arrived().await.is_empty());
    });
}

/// A client that reconnects says what it knows by the last hash it was told.
#[test]
fn the_hash_of_an_update_is_that_of_the_list() {
    everywhere(async |world| {
        let mut client = world.session().await;
        open(&mut client, &[&persistent("a1")]).await;
        let mut watcher = world.session().await;
        watching(&mut watcher, watch(1, "public/default/a.*")).await;
        open(&mut world.session().await, &[&persistent("a2")]).await;
        let told = update(&mut watcher).await.topics_hash;
        assert_eq!(told, hash(&[persistent("a1"), persistent("a2")]));
        let again =
            watching(&mut watcher, CommandWatchTopicList { topics_hash: Some(told), ..watch(2, "public/default/a.*") });
        assert!(again.await.topic.is_empty(), "nothing has changed");
        world.handle().delete_topic(&name(&persistent("a1")), true).await.unwrap();
        assert_eq!(update(&mut watcher).await.topics_hash, hash(&[persistent("a2")]));
    });
}

#[test]
fn nobody_watches_where_patterns_are_off() {
    everywhere_with(&[("enableBrokerSideSubscriptionPatternEvaluation", "false")], async |world| {
        let mut client = world.session().await;
        let (code, _) = client.refusal(|request_id| CommandWatchTopicList { request_id, ..watch(1, ".*") }).await;
        assert_eq!(code, ServerError::NotAllowedError);
    });
}

#[test]
fn a_watcher_ends_with_its_connection() {
    everywhere(async |world| {
        let mut watcher = world.session().await;
        watching(&mut watcher, watch(1, "public/default/.*")).await;
        drop(watcher);
        world.until("it is gone", async |world| world.open_connections() == 0).await;
        open(&mut world.session().await, &[&persistent("a")]).await;
    });
}

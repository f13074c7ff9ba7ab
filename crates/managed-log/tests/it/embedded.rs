//! The same contract over the stores on disk.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use plerion_clock::SystemClock;
use plerion_ledger::Epoch;
use plerion_ledger::disk::Directory;
use plerion_managed_log::{Config, Context, OpenMode, Retention, StateLog};
use plerion_metadata::EmbeddedOptions;
use plerion_subscription::Position;

use crate::topic::Topic;
use crate::world::{BUNDLE, on_shard};

fn ledgers(directory: &Path) -> Arc<plerion_ledger::embedded::EmbeddedStore> {
    let config = plerion_ledger::embedded::Config {
        segment_bytes: 4 << 20,
        first_segment_bytes: 1 << 20,
        prepare_rate: 0,
        ..Default::default()
    };
    let disk = Arc::new(Directory::open(directory.join("ledgers")).unwrap());
    plerion_ledger::embedded::EmbeddedStore::open(config, disk, SystemClock::shared()).unwrap()
}

fn metadata(directory: &Path) -> plerion_metadata::EmbeddedStore {
    let file = directory.join("metadata");
    loop {
        match plerion_metadata::EmbeddedStore::open(&file, &EmbeddedOptions::default()) {
            Ok(store) => return store,
            // The thread of the store before is about to let go of the file.
            Err(plerion_metadata::OpenError::InUse { .. }) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Opens the stores of `directory`, works on a bundle in them as its owner of term `epoch`, and lets all of them go.
fn live(directory: &Path, epoch: u64, work: impl AsyncFnOnce(StateLog)) {
    let (ledgers, metadata) = (ledgers(directory), Arc::new(metadata(directory)));
    on_shard(async {
        let context = Context {
            store: ledgers.shard(),
            metadata,
            clock: SystemClock::shared(),
            config: Rc::new(Config {
                max_entries_per_ledger: 300,
                min_rollover: std::time::Duration::ZERO,
                state_log_bytes: 20_000,
                ..Config::default()
            }),
            journal_key: 0,
        };
        let bundle = StateLog::open(context, BUNDLE, Epoch(epoch)).await.unwrap();
        work(bundle).await;
    });
}

#[test]
fn lives_of_a_bundle_follow_each_other_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let expected: Vec<_> = (0..1_000).map(|n| format!("message {n}")).collect();
    let mut positions: Vec<Position> = Vec::new();
    live(directory.path(), 1, async |bundle| {
        let topic = Topic::open(&bundle, "/topics/t").await;
        topic.subscribe("s", Position::EARLIEST).await;
        for portion in expected.chunks(100) {
            positions.extend(topic.publish(portion).await);
        }
        for (n, &position) in positions.iter().enumerate() {
            if n % 3 != 0 {
                topic.ack("s", position);
            }
            if n % 10 == 0 {
                topic.log.flush().await.unwrap();
            }
        }
        topic.log.flush().await.unwrap();
        // Neither the topic nor the bundle is closed.
    });
    live(directory.path(), 2, async |bundle| {
        let topic = Topic::try_open(&bundle, "/topics/t", OpenMode::MustExist).await.unwrap();
        assert_eq!(topic.texts().await, expected);
        for (n, &position) in positions.iter().enumerate() {
            assert_eq!(topic.is_acked("s", position), n % 3 != 0, "{n}");
        }
        for &position in positions.iter().step_by(3) {
            topic.ack("s", position);
        }
        let trimmed = topic.log.trim(Some(topic.mark_delete("s")), Retention::NONE).await.unwrap();
        assert_eq!(trimmed.entries, 1_000);
        assert!(topic.publish(["last"]).await[0] > positions[999]);
        topic.log.close().await.unwrap();
        bundle.close().await.unwrap();
    });
    live(directory.path(), 3, async |bundle| {
        let topic = Topic::open(&bundle, "/topics/t").await;
        assert_eq!(topic.texts().await, ["last"]);
        assert_eq!(topic.mark_delete("s"), positions[999]);
    });
}

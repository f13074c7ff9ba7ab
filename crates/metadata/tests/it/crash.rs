//! A process killed under load loses nothing it was told is durable.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use bytes::Bytes;
use futures::future::join_all;
use plerion_metadata::{EmbeddedOptions, EmbeddedStore, Expect, MetadataStore, PutOptions};

const FILE: &str = "PLERION_METADATA_CRASH_FILE";

/// The process that is killed: without the variable it has nothing to do. Prints each row once its write has
/// returned.
#[tokio::test]
async fn crash_child() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let store = EmbeddedStore::open(file.as_ref(), &EmbeddedOptions::default()).unwrap();
    let first = store.children("/rows").await.unwrap().len();
    let store = &store;
    join_all((0..8).map(|writer| async move {
        for number in first.. {
            let name = format!("{number:06}-{writer}");
            let eventual = PutOptions::PERSISTENT.eventual();
            store.put(&format!("/before/{name}"), Bytes::new(), Expect::Any, eventual).await.unwrap();
            let value = Bytes::from(vec![7; 500]);
            store.put(&format!("/rows/{name}"), value, Expect::Absent, PutOptions::PERSISTENT).await.unwrap();
            println!("\nacknowledged {name}");
        }
    }))
    .await;
}

#[tokio::test]
async fn a_killed_process_loses_no_acknowledged_write() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("metadata");
    let mut acknowledged = Vec::new();
    for kills in 1..=3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::crash_child", "--nocapture"])
            .env(FILE, &file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        for line in &mut lines {
            acknowledged.extend(line.strip_prefix("acknowledged ").map(str::to_owned));
            if acknowledged.len() > 150 * kills {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What was still in the pipe had been acknowledged too; a last line may be cut off.
        acknowledged.extend(
            lines.filter_map(|line| {
                line.strip_prefix("acknowledged ").filter(|name| name.len() == 8).map(str::to_owned)
            }),
        );

        let store = EmbeddedStore::open(&file, &EmbeddedOptions::default()).unwrap();
        for name in &acknowledged {
            let row = store.get(&format!("/rows/{name}")).await.unwrap();
            assert!(row.is_some_and(|row| row.value.len() == 500), "{name} is lost");
            assert!(store.exists(&format!("/before/{name}")).await.unwrap(), "what came before {name} is lost");
        }
        store.close().await;
    }
    assert!(acknowledged.len() > 450);
}

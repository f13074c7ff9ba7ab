//! Real bookies and ZooKeeper. Ignored by default: `tests/engines/run` runs them.

mod cluster;

use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use plerion_bookkeeper::BookKeeperStore;
use plerion_bookkeeper::digest::DigestType;
use plerion_bookkeeper::ledger_metadata::State;
use plerion_ledger::{AppendError, Body, Class, Closed, CreateOptions, Epoch, LedgerId, LedgerStore, LedgerWriter};

use crate::store::{Recorder, append, expected, read_all, run_for};
use cluster::{Cluster, cluster};

const LONG: Duration = Duration::from_secs(120);

async fn create(shard: &Rc<dyn LedgerStore>) -> (Box<dyn LedgerWriter>, Rc<Recorder>) {
    let sink = Rc::new(Recorder::default());
    let options = CreateOptions { journal_key: 0, class: Class::Messages };
    loop {
        // The list of bookies of a new shard may be on its way.
        if let Ok(writer) = shard.create(Epoch(1), options, Rc::clone(&sink) as _).await {
            return (writer, sink);
        }
    }
}

/// Recovers a ledger; bookies that just came back are left alone for a while.
async fn recover(shard: &Rc<dyn LedgerStore>, ledger: LedgerId) -> Closed {
    loop {
        match shard.recover(ledger, Epoch(2)).await {
            Ok(closed) => return closed,
            Err(error) if error.is_retryable() => tokio::time::sleep(Duration::from_millis(100)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

async fn ensemble(store: &BookKeeperStore, ledger: LedgerId) -> Vec<usize> {
    let found = store.directory().get(ledger).await.unwrap().unwrap().metadata;
    found.last_segment().ensemble.iter().map(Cluster::number).collect()
}

/// C1, C2: what is written here, the original's own tools list and read.
#[test]
#[ignore = "needs real bookies: tests/engines/run"]
fn c1_the_original_reads_what_is_written_here() {
    let cluster = cluster();
    run_for(LONG, async {
        let store = cluster.store((3, 3, 2)).await;
        let shard = store.shard();
        let (mut writer, _) = create(&shard).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..1_000);
        assert_eq!(writer.close().await.unwrap(), Closed { last: Some(999), length: 8_000 });
        assert_eq!(read_all(&shard, ledger, 999).await, expected(1_000));
        let id = ledger.to_string();
        let metadata = cluster.shell(&["ledgermetadata", "-ledgerid", &id]);
        assert!(metadata.contains("CLOSED") && metadata.contains("lastEntryId=999"), "{metadata}");
        let listed = cluster.shell(&["listledgers"]);
        assert!(listed.lines().any(|line| line.trim_end().ends_with(&id)), "{listed}");
        let read = cluster.shell(&["readledger", "-ledgerid", &id, "-firstentryid", "990", "-lastentryid", "999"]);
        assert!((990..1_000).all(|entry| read.contains(&format!("Lid={id}, Eid={entry},"))), "{read}");
    });
}

/// C2: every digest and password, both ways.
#[test]
#[ignore = "needs real bookies: tests/engines/run"]
fn c2_every_digest_both_ways() {
    let cluster = cluster();
    for (digest, password) in
        [(DigestType::Crc32c, ""), (DigestType::Crc32, "secret"), (DigestType::Hmac, "secret"), (DigestType::Dummy, "")]
    {
        run_for(LONG, async {
            let name = if digest == DigestType::Hmac { "MAC" } else { digest.name() };
            let store = cluster
                .store_with((3, 3, 2), |config| {
                    config.digest = digest;
                    config.password = password.as_bytes().into();
                })
                .await;
            let shard = store.shard();
            let written = cluster.peer("write", name, password, 50);
            let line = written.lines().find_map(|line| line.strip_prefix("wrote ")).unwrap();
            let ledger = LedgerId(line.parse().unwrap());
            let closed = shard.recover(ledger, Epoch(1)).await.unwrap();
            assert_eq!(closed, Closed { last: Some(49), length: 400 });
            assert_eq!(read_all(&shard, ledger, 49).await, expected(50));
            // An open ledger: the original recovers it.
            let (mut writer, sink) = create(&shard).await;
            append(&mut *writer, 0..50);
            sink.advanced_to(49).await;
            let read = cluster.peer("read", name, password, writer.ledger().0);
            assert!(read.contains("entry 49 0000000000000031") && read.contains("closed 49 400"), "{name}: {read}");
            append(&mut *writer, 50..51);
            assert!(matches!(sink.error().await, AppendError::Fenced { .. }));
        });
    }
}

/// C8, C10, C50: bookies are killed while entries are appended, and come back.
#[test]
#[ignore = "needs real bookies: tests/engines/run"]
fn c8_c10_c50_killed_bookies_are_replaced() {
    let mut cluster = cluster();
    run_for(LONG, async {
        let store = cluster.store((3, 3, 2)).await;
        let shard = store.shard();
        let (mut writer, sink) = create(&shard).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..500);
        sink.advanced_to(250).await;
        let first = ensemble(&store, ledger).await[0];
        cluster.kill(first);
        append(&mut *writer, 500..600);
        sink.advanced_to(599).await;
        append(&mut *writer, 600..700);
        sink.advanced_to(699).await;
        cluster.restart(first);
        // Two of three at once: what was acknowledged is on the third, and on whoever replaces them.
        let killed = ensemble(&store, ledger).await;
        cluster.kill(killed[1]);
        cluster.kill(killed[2]);
        append(&mut *writer, 700..800);
        sink.advanced_to(799).await;
        assert_eq!(writer.close().await.unwrap().last, Some(799));
        assert_eq!(read_all(&shard, ledger, 799).await, expected(800));
        assert!(store.directory().get(ledger).await.unwrap().unwrap().metadata.segments.len() >= 3);
        cluster.restart(killed[1]);
        cluster.restart(killed[2]);
    });
}

/// C9: a bookie is stopped, then goes on.
#[test]
#[ignore = "needs real bookies: tests/engines/run"]
fn c9_a_stopped_bookie_stalls_nothing() {
    let cluster = cluster();
    run_for(LONG, async {
        let store = cluster.store((3, 3, 2)).await;
        let shard = store.shard();
        let (mut writer, sink) = create(&shard).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..100);
        sink.advanced_to(99).await;
        let stopped = ensemble(&store, ledger).await[1];
        cluster.stop(stopped);
        let began = Instant::now();
        append(&mut *writer, 100..200);
        sink.advanced_to(199).await;
        let took = began.elapsed();
        println!("100 appends beside a stopped bookie: {took:?}");
        assert!(took < Duration::from_secs(2), "waited for the stopped bookie: {took:?}");
        cluster.go_on(stopped);
        assert_eq!(writer.close().await.unwrap().last, Some(199));
        assert_eq!(read_all(&shard, ledger, 199).await, expected(200));
    });
}

/// C22, C28: a long tail is recovered, first with all bookies, then with one of them stopped.
#[test]
#[ignore = "needs real bookies: tests/engines/run"]
fn c22_c28_recovery_of_a_long_tail() {
    let cluster = cluster();
    for stops in [false, true] {
        run_for(LONG, async {
            let store = cluster.store((3, 3, 2)).await;
            let shard = store.shard();
            let (mut writer, sink) = create(&shard).await;
            let ledger = writer.ledger();
            append(&mut *writer, 0..10_000);
            sink.advanced_to(9_000).await;
            drop(writer);
            let stopped = ensemble(&store, ledger).await[2];
            if stops {
                cluster.stop(stopped);
            }
            let began = Instant::now();
            let closed = store.shard().recover(ledger, Epoch(2)).await.unwrap();
            println!("recovered up to {:?} in {:?}, a bookie stopped: {stops}", closed.last, began.elapsed());
            cluster.go_on(stopped);
            let last = closed.last.unwrap();
            assert!(last >= 9_000 && closed.length == (last + 1) * 8);
            assert_eq!(read_all(&shard, ledger, last).await, expected(last + 1));
        });
    }
}

/// C31: with two of three bookies dead recovery fails, and succeeds when they are back.
#[test]
#[ignore = "needs real bookies: tests/engines/run"]
fn c31_recovery_waits_for_a_quorum() {
    let mut cluster = cluster();
    run_for(LONG, async {
        let store = cluster.store((3, 3, 2)).await;
        let shard = store.shard();
        let (mut writer, sink) = create(&shard).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..10);
        sink.advanced_to(9).await;
        drop(writer);
        let members = ensemble(&store, ledger).await;
        cluster.kill(members[0]);
        cluster.kill(members[1]);
        let error = shard.recover(ledger, Epoch(2)).await.unwrap_err();
        assert!(error.is_retryable() && error.to_string().contains("fenced"), "{error}");
        let state = store.directory().get(ledger).await.unwrap().unwrap().metadata.state;
        assert_eq!(state, State::InRecovery);
        cluster.restart(members[0]);
        cluster.restart(members[1]);
        assert_eq!(recover(&shard, ledger).await.last, Some(9));
    });
}

/// C32: eight recoverers at once.
#[test]
#[ignore = "needs real bookies: tests/engines/run"]
fn c32_eight_recoverers_report_one_end() {
    let cluster = cluster();
    run_for(LONG, async {
        let store = cluster.store((3, 3, 2)).await;
        let shard = store.shard();
        let (mut writer, sink) = create(&shard).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..500);
        sink.advanced_to(100).await;
        let shards: Vec<_> = (0..8).map(|_| store.shard()).collect();
        let ends = futures::future::join_all(shards.iter().map(|shard| shard.recover(ledger, Epoch(2)))).await;
        let ends: Vec<Closed> = ends.into_iter().map(Result::unwrap).collect();
        assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
    });
}

/// C19, C41: an idle writer's ledger is recovered, all its bookies are killed and forget the fence, and it appends.
#[test]
#[ignore = "needs real bookies: tests/engines/run"]
fn c41_a_zombie_is_not_acknowledged_after_its_bookies_restarted() {
    let mut cluster = cluster();
    run_for(LONG, async {
        let store = cluster.store((3, 3, 2)).await;
        let shard = store.shard();
        let (mut writer, sink) = create(&shard).await;
        let ledger = writer.ledger();
        assert_eq!(store.shard().recover(ledger, Epoch(2)).await.unwrap().last, None);
        for bookie in ensemble(&store, ledger).await {
            cluster.kill(bookie);
            cluster.restart(bookie);
        }
        append(&mut *writer, 0..3);
        assert!(matches!(sink.error().await, AppendError::Fenced { by: Epoch(2), .. }));
        assert_eq!(sink.last(), None);
    });
}

/// C42: ZooKeeper is stopped; appends that need no change go on.
#[test]
#[ignore = "needs real bookies: tests/engines/run"]
fn c42_appends_go_on_without_zookeeper() {
    let cluster = cluster();
    run_for(LONG, async {
        let store = cluster.store((3, 3, 2)).await;
        let shard = store.shard();
        let (mut writer, sink) = create(&shard).await;
        append(&mut *writer, 0..100);
        sink.advanced_to(99).await;
        // Until every bookie is known to hold an entry, the metadata is read before an acknowledgement.
        tokio::time::sleep(Duration::from_millis(500)).await;
        cluster.stop_zookeeper();
        append(&mut *writer, 100..200);
        sink.advanced_to(199).await;
        cluster.resume_zookeeper();
        assert_eq!(writer.close().await.unwrap().last, Some(199));
    });
}

/// C52: everything acknowledged survives the death of all bookies.
#[test]
#[ignore = "needs real bookies: tests/engines/run"]
fn c52_all_bookies_are_killed() {
    let mut cluster = cluster();
    run_for(LONG, async {
        let store = cluster.store((3, 3, 2)).await;
        let shard = store.shard();
        let (mut writer, sink) = create(&shard).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..10_000);
        sink.advanced_to(9_999).await;
        (0..cluster::BOOKIES).for_each(|bookie| cluster.kill(bookie));
        (0..cluster::BOOKIES).for_each(|bookie| cluster.restart(bookie));
        drop(writer);
        let closed = recover(&shard, ledger).await;
        assert_eq!(closed, Closed { last: Some(9_999), length: 80_000 });
        assert_eq!(read_all(&store.shard(), ledger, 9_999).await, expected(10_000));
    });
}

/// C4, U3: an entry as long as a frame allows is taken, a longer one is refused without a change of the metadata.
#[test]
#[ignore = "needs real bookies: tests/engines/run"]
fn c4_the_longest_entry() {
    let cluster = cluster();
    run_for(LONG, async {
        let store = cluster.store((3, 3, 2)).await;
        let shard = store.shard();
        let (mut writer, sink) = create(&shard).await;
        let ledger = writer.ledger();
        let longest = vec![5; 5_242_816 - 128];
        writer.append(Body::from(&longest[..])).unwrap();
        sink.advanced_to(0).await;
        assert!(writer.append(Body::from(&[&longest[..], b"x"].concat()[..])).is_err());
        drop(writer);
        let closed = shard.recover(ledger, Epoch(2)).await.unwrap();
        assert_eq!(closed.length, longest.len() as u64);
        assert_eq!(store.directory().get(ledger).await.unwrap().unwrap().metadata.segments.len(), 1);
    });
}

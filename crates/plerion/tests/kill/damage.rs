//! Bytes that change on the disk cost the entry they are in, and nothing else.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use plerion_test_client::proto::command_ack::AckType;
use plerion_test_client::proto::command_subscribe::SubType;
use plerion_test_client::{Client, Consumer, Outgoing, Position};
use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};

use crate::node::{PowerCut, Process};
use crate::run;

const TOPIC: &str = "persistent://public/default/damaged";
/// Messages of a megabyte: enough to fill the first segment.
const MESSAGES: u64 = 24;
const DAMAGED: u64 = 5;

#[test]
fn a_damaged_entry_is_passed_over_logged_and_counted() {
    run::on_one_thread(async {
        let mut node = Process::new();
        let (port, _) = node.boot(&[]).await;
        let mut client = Client::open(port).await.expect("connected");
        client.subscribe(&Consumer::new(TOPIC, "sub", SubType::Exclusive, 1)).await.expect("a subscription");
        client.produce(TOPIC, 1, "producer").await.expect("a producer");
        let mut places = Vec::new();
        for number in 0..MESSAGES {
            let payload = Outgoing::new("producer", number, body(number)).payload();
            places.push(client.publish_and_wait(1, number, &payload).await.expect("a receipt"));
        }
        node.end();
        let file = damage(&node.data().join("ledgers"), &body(DAMAGED)[500_000..500_064]);

        let (port, web_port) = node.boot(&[]).await;
        let mut client = Client::open(port).await.expect("connected");
        client.subscribe(&Consumer::new(TOPIC, "sub", SubType::Exclusive, 1)).await.expect("the subscription");
        client.flow(1, 1000).await.expect("permits");
        for number in (0..MESSAGES).filter(|number| *number != DAMAGED) {
            let frame = client.receive_within(client.patience).await.expect("a message");
            let message = frame.message().expect("a sound message").expect("a message");
            assert_eq!(message.position, places[number as usize], "message {number}");
            assert!(message.body == body(number), "message {number}");
        }
        let Position { ledger, entry } = places[DAMAGED as usize];
        let parts = [format!("entry {entry} "), format!("ledger {ledger} "), file, "\"ERROR\"".into()];
        let told = node.logs(|line| parts.iter().all(|part| line.contains(part.as_str()))).await;
        assert!(told, "no line of the log has all of {parts:?}");
        for name in ["plerion_unreadable_entries_total", "plerion_ledger_corrupt_records_total"] {
            assert!(metric(web_port, name) >= 1.0, "{name} does not count it");
        }
    });
}

/// What cursors were told is damaged: the topic says so instead of delivering again, until it is told to go on.
#[test]
fn damaged_acknowledgements_are_an_error_that_a_setting_passes_over() {
    run::on_one_thread(async {
        let mut rng = SmallRng::seed_from_u64(3);
        let mut node = PowerCut::default();
        let port = node.boot(1).await.expect("it serves");
        let mut client = Client::open(port).await.expect("connected");
        let consumer = Consumer::new(TOPIC, "sub", SubType::Exclusive, 1);
        client.subscribe(&consumer).await.expect("a subscription");
        client.produce(TOPIC, 1, "producer").await.expect("a producer");
        let payload = Outgoing::new("producer", 0, "message").payload();
        let place = client.publish_and_wait(1, 0, &payload).await.expect("a receipt");
        client.ack_and_wait(1, AckType::Individual, &[place.into()]).await.expect("acknowledged");
        node.cut(&mut rng).await;
        let path = b"public/default/persistent/damaged";
        for name in node.machine.names() {
            node.machine.tamper(&name, |bytes| {
                let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(path)).collect();
                places.into_iter().for_each(|at| bytes[at] ^= 1);
            });
        }

        let port = node.boot(1).await.expect("it serves");
        let refusal = Client::open(port).await.expect("connected").subscribe(&consumer).await.expect_err("damage");
        let way = "autoSkipNonRecoverableData=true";
        assert!(refusal.to_string().contains("corrupt") && refusal.to_string().contains(way), "refused with {refusal}");
        node.cut(&mut rng).await;
        node.setting = Some(way);
        let port = node.boot(1).await.expect("it serves");
        let mut client = Client::open(port).await.expect("connected");
        client.subscribe(&consumer).await.expect("the subscription");
        client.flow(1, 10).await.expect("permits");
        let again = client.receive_within(client.patience).await.expect("a message").message().expect("a message");
        assert_eq!(again.map(|message| message.position), Some(place));
    });
}

fn body(number: u64) -> Vec<u8> {
    let mut body = vec![0; 1 << 20];
    SmallRng::seed_from_u64(number).fill_bytes(&mut body);
    body
}

/// Changes one byte of where these are, and gives the name of the file.
fn damage(directory: &Path, bytes: &[u8]) -> String {
    let segments = fs::read_dir(directory).expect("the ledgers").map(|entry| entry.expect("readable").path());
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "segment");
    for path in segments.filter(is_segment) {
        let content = fs::read(&path).expect("readable");
        if let Some(at) = content.windows(bytes.len()).position(|window| window == bytes) {
            let file = fs::OpenOptions::new().write(true).open(&path).expect("writable");
            file.write_all_at(&[content[at] ^ 1], at as u64).expect("written");
            return path.file_name().expect("a file").to_string_lossy().into_owned();
        }
    }
    panic!("the message is in no segment");
}

/// The value of a metric, summed over its labels.
fn metric(port: u16, name: &str) -> f64 {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("the REST interface");
    socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("sent");
    let mut text = String::new();
    socket.read_to_string(&mut text).expect("an answer");
    let lines = text.lines().filter(|line| line.starts_with(name));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

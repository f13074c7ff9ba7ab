//! A receipt is worth a sync.

use std::time::Duration;

use plerion_ledger::embedded::Config;
use plerion_test_client::{Client, Outgoing};

use crate::node::PowerCut;
use crate::run;

const TOPIC: &str = "persistent://public/default/flushed";
const MESSAGES: u64 = 100;

#[test]
fn with_one_message_outstanding_each_receipt_has_a_sync_of_its_own() {
    run::on_one_thread(async {
        // Nothing else syncs: no preparation, no upkeep.
        let hour = Duration::from_secs(3600);
        let config = Config { prepare_rate: 0, rewrite_rate: 0, upkeep_interval: hour, ..Config::default() };
        let mut node = PowerCut::with_ledgers(config);
        let port = node.boot(1).await.expect("it serves");
        let mut client = Client::open(port).await.expect("connected");
        client.produce(TOPIC, 1, "one").await.expect("a producer");
        let body = |number| Outgoing::new("one", number, format!("{number}")).payload();
        client.publish_and_wait(1, 0, &body(0)).await.expect("a receipt");

        let counted = || node.alive().ledgers.metrics().sync_latency.count();
        let before = counted();
        for number in 1..=MESSAGES {
            let syncs = node.machine.segment_syncs();
            client.publish_and_wait(1, number, &body(number)).await.expect("a receipt");
            assert!(node.machine.segment_syncs() > syncs, "receipt {number} came without a sync");
        }
        let counted = counted() - before;
        // The last may be counted after its receipt has come.
        assert!(counted + 1 >= MESSAGES, "the journal counted {counted} syncs for {MESSAGES} receipts");
    });
}

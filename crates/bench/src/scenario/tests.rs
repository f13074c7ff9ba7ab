use clap::Parser;
use plerion_clock::SystemClock;
use serde_json::Value;

use super::*;

mod broker;

use broker::{Flaw, start};

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    args: Args,
}

/// Runs a scenario as a command line asks for it and returns its figures.
fn bench(line: &str, address: &str) -> Result<Value, Error> {
    let line = ["bench"].into_iter().chain(line.split(' ')).chain([address]);
    let report = run(&Line::parse_from(line).args, &SystemClock::shared())?;
    Ok(serde_json::from_str(&report.json()).expect("valid JSON"))
}

fn figure(report: &Value, name: &str) -> f64 {
    report["figures"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {report}"))
}

#[test]
fn everything_published_is_consumed() {
    let address = start(Flaw::None);
    let options = "--topics 3 --seconds 1 --warmup 0 --rate 3000 --size 100";
    let published = bench(&format!("publish {options} --connections 2 --keep drain"), &address).expect("published");
    let total = figure(&published, "messages_total");
    assert!((2900.0..3100.0).contains(&total), "{published}");
    let consumed = bench("consume --topics 3 --connections 2 --subscription drain", &address).expect("consumed");
    assert_eq!(figure(&consumed, "messages"), total);
    assert!(figure(&consumed, "messages_per_second") > 0.0, "{consumed}");
}

#[test]
fn batches_count_as_many_messages() {
    let address = start(Flaw::None);
    let published = bench("publish --seconds 1 --warmup 0 --batch 20 --rate 2000 --keep drain", &address);
    let total = figure(&published.expect("published"), "messages_total");
    assert!((1900.0..2100.0).contains(&total) && total % 20.0 == 0.0, "{total}");
    let consumed = bench(&format!("consume --messages {total} --subscription drain"), &address).expect("consumed");
    assert_eq!(figure(&consumed, "messages"), total);
}

#[test]
fn e2e_measures_every_message_after_the_warmup() {
    let report = bench("e2e --topics 2 --rate 1000 --seconds 1 --warmup 1", &start(Flaw::None)).expect("ran");
    let total = figure(&report, "received_total");
    assert!((1990.0..2010.0).contains(&total), "{report}");
    assert_eq!(total, figure(&report, "published_total"));
    for distribution in ["publish", "end_to_end", "generator_lateness"] {
        assert!(report["latency_ms"][distribution]["p50"].is_number(), "no {distribution} in {report}");
    }
}

#[test]
fn fanout_waits_for_every_copy() {
    let line = "fanout --subscriptions 5 --connections 2 --rate 500 --seconds 1 --warmup 0";
    let report = bench(line, &start(Flaw::None)).expect("ran");
    assert_eq!(figure(&report, "received_total"), 5.0 * figure(&report, "published_total"));
}

#[test]
fn keyshared_finds_each_key_at_one_consumer() {
    let line = "keyshared --consumers 3 --keys 50 --rate 1000 --seconds 1 --warmup 0";
    let report = bench(line, &start(Flaw::None)).expect("ran");
    assert_eq!(figure(&report, "received_total"), figure(&report, "published_total"));
    assert_eq!(figure(&report, "keys_that_moved"), 0.0);
    assert!(figure(&report, "smallest_share_percent") > 0.0);
}

#[test]
fn keyshared_notices_a_repeated_message() {
    let line = "keyshared --consumers 1 --keys 5 --rate 500 --seconds 1 --warmup 0";
    assert!(matches!(bench(line, &start(Flaw::Repeats)), Err(Error::Order { .. })));
}

#[test]
fn catchup_reads_from_the_first_message_to_the_last() {
    let report = bench("catchup --rate 500 --lead 1 --limit 10", &start(Flaw::None)).expect("caught up");
    assert!(figure(&report, "read") >= 450.0, "{report}");
}

#[test]
fn topics_opens_each_topic() {
    for hold in ["", " --hold"] {
        let line = format!("topics --topics 50 --connections 4{hold}");
        assert!(figure(&bench(&line, &start(Flaw::None)).expect("opened"), "topics_per_second") > 0.0);
    }
}

#[test]
fn a_refused_send_ends_the_run_with_the_brokers_words() {
    let error = bench("publish --seconds 5 --warmup 0", &start(Flaw::RefusesASend)).expect_err("refused");
    assert!(error.to_string().contains("TopicTerminatedError: terminated"), "{error}");
}

#[test]
fn a_closed_producer_ends_the_run() {
    let error = bench("publish --seconds 5 --warmup 0", &start(Flaw::ClosesAProducer)).expect_err("closed");
    assert!(matches!(error, Error::Closed("producer", _)), "{error}");
    assert!(error.is_retriable());
}

#[test]
fn a_message_over_the_limit_is_never_sent() {
    let error = bench("publish --size 600000 --batch 2", &start(Flaw::None)).expect_err("too large");
    assert!(matches!(error, Error::TooLarge { limit: 1_048_576, .. }), "{error}");
}

#[test]
fn nobody_listening_is_told_as_such() {
    let error = bench("publish", "127.0.0.1:1").expect_err("nobody listens");
    assert!(matches!(error, Error::Connect { .. }), "{error}");
}

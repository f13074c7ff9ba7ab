//! `plerion standalone`: start, refusals, end.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Broker, finish, plerion};

#[test]
fn it_serves_until_a_signal_and_ends_with_success() {
    let dir = TempDir::new().expect("a directory");
    for signal in ["TERM", "INT"] {
        let (broker, log) = Broker::start(dir.path(), &["-nfw", "-nss"]);
        for line in &log {
            let event: Value = serde_json::from_str(line).expect("JSON");
            assert!(event["level"].is_string() && event["message"].is_string(), "{line}");
        }
        assert_eq!(broker.end(signal), Some(0), "SIG{signal}");
    }
}

#[test]
fn a_data_directory_has_one_user() {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().to_str().expect("UTF-8");
    let (broker, _) = Broker::start(dir.path(), &[]);
    let (code, _, error) = finish(plerion(&["standalone", "--data", path, "--set", "webServicePort=0"]));
    assert_eq!(code, 3);
    assert!(error.contains("in use by another process"), "{error}");
    drop(broker);
    let (broker, _) = Broker::start(dir.path(), &["--wipe-data"]);
    assert_eq!(broker.end("TERM"), Some(0));
}

#[test]
fn wrong_configuration_is_refused_before_anything_is_made() {
    let dir = TempDir::new().expect("a directory");
    let data = dir.path().join("data");
    let data = data.to_str().expect("UTF-8");
    let file = dir.path().join("broker.conf");
    fs::write(&file, "bindAddress=0.0.0.0\nmaxMessageSize=12MB\n").expect("written");
    let file = file.to_str().expect("UTF-8");
    for (arguments, part) in [
        (&["--set", "nothing"][..], "write KEY=VALUE"),
        (&["--set", "brokerServicePrt=1"], "did you mean brokerServicePort"),
        (&["--set", "bindAddress=0.0.0.0"], "listenOffLoopback=true"),
        (&["--set", "authenticationEnabled=true"], "authentication is not supported"),
        (&["-c", file], "broker.conf, line 2: maxMessageSize = `12MB` is not valid: it takes a whole number of bytes"),
        (&["-c", "/no/such/file"], "cannot read the configuration file /no/such/file"),
    ] {
        let (code, _, error) = finish(plerion(&[&["standalone", "--data", data], arguments].concat()));
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(part), "{part}\nnot in\n{error}");
    }
    assert!(!fs::exists(data).expect("readable"));
}

#[test]
fn environment_and_log_filter_are_heeded() {
    let mut command = plerion(&["standalone"]);
    command.env("PLERION_defaultNumPartitions", "none");
    let (code, _, error) = finish(command);
    assert_eq!(code, 2);
    assert!(
        error.contains("environment variable PLERION_defaultNumPartitions: defaultNumPartitions = `none`"),
        "{error}"
    );

    let mut command = plerion(&["standalone"]);
    command.env("PLERION_LOG", "plerion=loud");
    let (code, _, error) = finish(command);
    assert_eq!(code, 2);
    assert!(error.contains("PLERION_LOG = `plerion=loud` is not valid"), "{error}");
}

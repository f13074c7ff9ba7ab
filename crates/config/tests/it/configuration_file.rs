//! `conf/standalone.conf` is made from the keys.

use std::path::Path;

use plerion_config::{Settings, Sources, find, keys, properties, reference};

/// Set to write the file instead of comparing it.
const WRITE: &str = "PLERION_WRITE_CONF";

#[test]
fn the_configuration_file_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conf/standalone.conf");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, reference::file()).expect("conf/standalone.conf can be written");
    }
    let text = std::fs::read_to_string(&path).expect("conf/standalone.conf is there");
    assert!(text == reference::file(), "conf/standalone.conf is not up to date: run this test with {WRITE}=1");
}

#[test]
fn every_key_is_there_once_with_its_default() {
    let uncommented: String = reference::file()
        .lines()
        .filter_map(|line| line.strip_prefix('#'))
        .filter(|line| !line.starts_with(' '))
        .fold(String::new(), |text, line| text + line + "\n");
    let written = properties::parse(&uncommented).expect("well formed");
    let written: Vec<_> =
        written.iter().filter(|p| !p.key.is_empty()).map(|p| (p.key.as_str(), p.value.as_str())).collect();
    assert_eq!(written, keys().map(|key| (key.name, key.default)).collect::<Vec<_>>());
}

#[test]
fn the_file_as_it_is_sets_nothing() {
    let (settings, warnings) =
        Sources::new().file("standalone.conf", &reference::file()).expect("well formed").resolve().expect("valid");
    assert_eq!(settings, Settings::default());
    assert_eq!(warnings, []);
}

#[test]
fn every_key_says_what_it_does_and_what_it_takes() {
    let mut names = std::collections::BTreeSet::new();
    for key in keys() {
        assert!(names.insert(key.name), "{} is declared twice", key.name);
        assert!(key.doc.trim().ends_with('.'), "{}: {:?}", key.name, key.doc);
        assert!(!key.accepts().is_empty());
        assert!(reference::entry(key).contains(&key.accepts()[..20.min(key.accepts().len())]));
    }
    assert_eq!(find("keepAliveIntervalSeconds").expect("a key").unit, Some("seconds"));
    assert!(find("zookeeperServers").is_none());
}

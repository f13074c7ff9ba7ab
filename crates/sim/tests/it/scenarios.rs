//! Scenario files: the shipped ones, and what is said of wrong ones.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use plerion_clock::ManualClock;
use plerion_placement::Registry;
use plerion_sim::scenario::{Scenario, ScenarioError};
use plerion_sim::{Surroundings, run};

const VALID: &str = "duration = \"10m\"\n[[hosts]]\ncount = 3\n[bundles]\ncount = 60\n";

/// The line and the message of the error that `text` is answered with.
fn refused(text: &str) -> (usize, String) {
    match Scenario::parse(text).unwrap_err() {
        ScenarioError::Invalid { line, message, .. } => (line, message),
        other => panic!("{other}"),
    }
}

#[test]
fn a_wrong_value_is_named_with_its_line_and_what_is_accepted() {
    let cases: [(&str, usize, &[&str]); 13] = [
        ("duration = 600", 1, &["\"30s\"", "\"1h30m\""]),
        ("duration = \"soon\"", 1, &["soon", "\"30s\""]),
        ("duration = \"10m\"\npase = \"1s\"", 2, &["pase", "pace", "reports-lost", "hosts"]),
        (&format!("{VALID}sizes = \"zip\""), 6, &["zip", "zipf", "log-normal", "equal"]),
        (&format!("{VALID}skew = 2"), 6, &["a number from 0 to 1"]),
        (&format!("{VALID}skew = \"much\""), 6, &["a number from 0 to 1"]),
        (&format!("{VALID}topics = 0"), 6, &["a whole number from 1"]),
        (&format!("{VALID}usage = [0.1, 0.2]"), 6, &["2 numbers for 3 hosts"]),
        (
            &format!("{VALID}[[events]]\nat = \"1m\"\naction = \"crsh\""),
            8,
            &["crsh", "crash", "restart", "leave", "join"],
        ),
        (&format!("{VALID}[[events]]\nat = \"1m\"\naction = \"crash\"\nhosts = [3]"), 9, &["from 0 to 2"]),
        (&format!("{VALID}[[events]]\nat = \"1m\"\naction = \"crash\""), 8, &["hosts = [0]"]),
        (&format!("{VALID}[[events]]\nat = \"1m\"\naction = \"join\""), 8, &["join = { count = 1 }"]),
        (&format!("{VALID}[load.noise]\nsd = 0.1"), 6, &["correlation"]),
    ];
    for (text, expected, accepted) in cases {
        let (line, message) = refused(text);
        assert_eq!(line, expected, "{message}\n{text}");
        for part in accepted {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
    }
}

#[test]
fn what_is_missing_is_named() {
    assert!(refused("duration = \"10m\"\n[[hosts]]\ncount = 1\n").1.contains("bundles"));
    assert!(refused("[[hosts]]\ncount = 1\n[bundles]\ncount = 1\n").1.contains("duration"));
    assert!(refused("duration = \"1m\"\nhosts = []\n[bundles]\ncount = 1\n").1.contains("[[hosts]]"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Scenario::read(Path::new("/nowhere/at-all.toml")).unwrap_err();
    assert!(error.to_string().contains("/nowhere/at-all.toml"), "{error}");
}

#[test]
fn every_shipped_scenario_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let scenario = Scenario::read(&path).unwrap();
            assert!(!scenario.about.is_empty(), "{} says nothing of itself", path.display());
            names.push(scenario.name);
        }
    }
    let promised = [
        "zipf",
        "zipf-giant",
        "noise-step",
        "hetero-foreign",
        "crash-return",
        "rolling-restart",
        "scale-out-in",
        "diurnal",
        "pip-364",
        "pip-220",
        "million",
    ];
    for name in promised {
        assert!(names.iter().any(|known| known == name), "{name}");
    }
}

/// A folder of its own for each test, with a trace and a scenario that follows it.
fn traced(name: &str, trace: &str) -> (PathBuf, Result<plerion_sim::Run, ScenarioError>) {
    let folder = std::env::temp_dir().join(format!("plerion-sim-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("load.csv"), trace).unwrap();
    let text = "duration = \"2m\"\n[[hosts]]\ncount = 2\n[bundles]\ncount = 1\ncpu = 0.1\nmemory = 0\nsplit = false\n\
                [load.trace]\nfile = \"load.csv\"\n";
    std::fs::write(folder.join("traced.toml"), text).unwrap();
    let scenario = Scenario::read(&folder.join("traced.toml")).unwrap();
    let profile = Registry::default().profile("overload").unwrap();
    let (clock, stop) = (ManualClock::starting_at(0), AtomicBool::new(false));
    let mut surroundings = Surroundings {
        clock: clock.as_ref(),
        stop: &stop,
        progress: &mut |_| {},
        watch: &mut |_, _| {},
        allocated: None,
    };
    let outcome = run(&scenario, &profile, 1, &mut surroundings);
    std::fs::remove_dir_all(&folder).unwrap();
    (folder, outcome)
}

#[test]
fn a_recorded_load_is_followed() {
    let trace = "seconds,bundle,broker,rate_in,rate_out,bytes_in,bytes_out\n\
                 0,t/n/0x00000000_0x80000000,0,100,200,125000000,250000000\n\
                 0,t/n/0x80000000_0xffffffff,1,100,200,125000000,250000000\n\
                 60,t/n/0x80000000_0xffffffff,1,200,400,250000000,750000000\n";
    let (_, run) = traced("followed", trace);
    let run = run.unwrap();
    let peak = |at: f64| run.series.samples.iter().find(|sample| sample.at >= at).unwrap().peak;
    // 250 and 750 of 1250 MB/s.
    assert!((peak(30.0) - 0.2).abs() < 1e-6, "{}", peak(30.0));
    assert!((peak(90.0) - 0.6).abs() < 1e-6, "{}", peak(90.0));
}

#[test]
fn a_wrong_line_of_a_trace_is_named() {
    let header = "seconds,bundle,broker,rate_in,rate_out,bytes_in,bytes_out\n";
    let good = "5,t/n/0x00000000_0xffffffff,0,1,1,1,1\n";
    let cases = [
        ("columns", "time,bundle\n".to_owned(), 1, "seconds,bundle,broker"),
        ("number", format!("{header}{good}6,t/n/0x00000000_0xffffffff,0,x,1,1,1\n"), 3, "rate_in"),
        ("order", format!("{header}{good}4,t/n/0x00000000_0xffffffff,0,1,1,1,1\n"), 3, "sorted"),
        ("short", format!("{header}{good}6,t/n\n"), 3, "7"),
        ("empty", header.to_owned(), 2, "at least one line"),
    ];
    for (name, trace, expected, part) in cases {
        match traced(name, &trace).1.unwrap_err() {
            ScenarioError::Trace { line, message, path } => {
                assert_eq!(line, expected, "{message}");
                assert!(message.contains(part) && path.ends_with("load.csv"), "{message}");
            }
            other => panic!("{name}: {other}"),
        }
    }
}

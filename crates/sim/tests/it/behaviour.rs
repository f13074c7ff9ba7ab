//! What the laboratory shows of policies, in short runs.

use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use plerion_clock::ManualClock;
use plerion_placement::Registry;
use plerion_placement::balancer::ModularProfile;
use plerion_placement::explain::Plan;
use plerion_placement::modular::place::LeastLongTermMessageRate;
use plerion_placement::modular::shed::ThresholdShedder;
use plerion_sim::output::Format;
use plerion_sim::scenario::{Scenario, random};
use plerion_sim::{HostsAt, SimulateArgs, Surroundings, Tools, run, simulate};

use crate::support::{simulated, watched};

const UNEVEN: &str = "
duration = \"15m\"
[[hosts]]
count = 4
[bundles]
count = 200
namespaces = 4
sizes = \"equal\"
start = \"skewed\"
skew = 0.8
";

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: SimulateArgs,
}

fn printed(registry: &Registry, arguments: &[&str], stop: &AtomicBool) -> String {
    let line = Line::parse_from(["simulate", "--quiet"].iter().chain(arguments));
    let clock = ManualClock::starting_at(0);
    simulate(&line.args, &Tools { registry, clock: clock.as_ref(), stop, allocated: None }).unwrap()
}

/// A scenario file that is there until the end of the test.
struct File(std::path::PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("plerion-sim-{name}-{}.toml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn the_same_seed_prints_the_same_bytes_and_another_one_does_not() {
    let noise = "[load.noise]\ncorrelation = \"1m\"\nsd = 0.2\nclip = 0.4\ntenant-sd = 0.1\nspikes = 0.01\n\
                 [[load.step]]\nfrom = \"1m\"\nto = \"4m\"\nfactor = 2\n\
                 [[events]]\nat = \"3m\"\naction = \"crash\"\nhosts = [1]\ndown = \"1m\"\n";
    let text = UNEVEN.replace("15m", "5m").replace("sizes = \"equal\"", "topics = 5") + noise;
    let file = File::new("same", &text);
    let print = |seed: &str| {
        let arguments =
            [file.path(), "--seed", seed, "--policy", "plerion,threshold,avg@fast", "--no-timing", "--format", "json"];
        printed(&Registry::default(), &arguments, &AtomicBool::new(false))
    };
    let first = print("3");
    assert_eq!(first, print("3"));
    let figures = |text: &str| {
        let mut outcomes: serde_json::Value = serde_json::from_str(text).unwrap();
        outcomes.as_array_mut().unwrap().iter_mut().for_each(|outcome| outcome["seed"] = 0.into());
        outcomes
    };
    assert_ne!(figures(&first), figures(&print("4")));
    let outcomes: serde_json::Value = serde_json::from_str(&first).unwrap();
    for outcome in outcomes.as_array().unwrap() {
        assert_eq!(outcome["seed"], 3);
        assert!(outcome.get("timing").is_none());
    }
}

#[test]
fn the_own_policy_evens_the_cluster_out_in_one_round() {
    let outcome = simulated(UNEVEN, "plerion", 1).outcome;
    assert!(outcome.gap <= 1.02 && outcome.rounds <= 2, "{outcome:?}");
    assert!(outcome.first_move_s.unwrap() <= 10.0 && outcome.converged_s.is_some(), "{outcome:?}");
    assert!(f64::from(outcome.moves) <= 1.1 * f64::from(outcome.greedy_moves) + 1.0, "{outcome:?}");
    assert!(outcome.moved_load_ratio.unwrap() <= 1.15 && outcome.bundles_moved_twice == 0, "{outcome:?}");
    assert!(outcome.j < simulated(UNEVEN, "threshold", 1).outcome.j);
}

#[test]
fn json_has_every_promised_key() {
    let run = simulated(UNEVEN, "threshold", 1);
    let outcome = serde_json::to_value(&run.outcome).unwrap();
    let keys = [
        "policy",
        "seed",
        "scenario",
        "brokers",
        "bundles",
        "gap",
        "max_over_mean",
        "moves",
        "moved_load_ratio",
        "greedy_moves",
        "rounds",
        "first_move_s",
        "bundles_moved_twice",
        "j",
        "bytes_per_bundle",
    ];
    for key in keys {
        assert!(outcome.get(key).is_some(), "{key}");
    }
    for key in ["decide_ms_p50", "decide_ms_max"] {
        assert!(outcome["timing"].get(key).is_some(), "{key}");
    }
}

#[test]
fn threshold_shedder_relieves_the_busy_broker_and_stops_within_its_margin() {
    let outcome = simulated(UNEVEN, "threshold", 1).outcome;
    assert!(outcome.moves > 0 && outcome.first_move_s == Some(60.0), "{outcome:?}");
    assert!(outcome.gap > 1.02 && outcome.gap < 1.4, "within ten points of the mean: {}", outcome.gap);
    let ratio = outcome.moved_load_ratio.unwrap();
    assert!((0.8..2.0).contains(&ratio), "what moved is about what had to: {ratio}");
}

#[test]
fn a_policy_that_never_acts_has_the_whole_excess_as_j() {
    let quiet = UNEVEN.replace("skew = 0.8", "skew = 0.4");
    let outcome = simulated(&quiet, "overload", 1).outcome;
    assert_eq!((outcome.moves, outcome.rounds, outcome.first_move_s), (0, 0, None));
    // The first host has 1.4 times the mean of 0.5.
    assert!((outcome.j - 0.2).abs() < 0.02 && (outcome.gap - 1.4).abs() < 0.03, "{outcome:?}");
}

#[test]
fn a_crash_leaves_no_bundle_without_a_broker() {
    let text = format!("{UNEVEN}\n[[events]]\nat = \"2m\"\naction = \"crash\"\nhosts = [0]\ndown = \"5m\"\n");
    let run = simulated(&text, "threshold", 1);
    assert!(run.outcome.placements >= 50, "the bundles of the dead broker: {}", run.outcome.placements);
    assert_eq!(run.outcome.brokers, 4);
    let is_gone = |at: f64| {
        let place = run.series.samples.iter().position(|sample| sample.at >= at).unwrap();
        matches!(&run.series.hosts[place], HostsAt::Each(hosts) if hosts[0].is_nan())
    };
    assert!(is_gone(180.0) && !is_gone(600.0));
    let (before, after) = (run.series.samples[0], run.series.samples[run.series.samples.len() - 1]);
    assert!((before.mean - after.mean).abs() < 1e-6, "no load got lost: {} {}", before.mean, after.mean);
}

#[test]
fn load_is_conserved_through_moves_and_splits() {
    let text = UNEVEN.replace("sizes = \"equal\"", "exponent = 1.2\ntopics = 60\nout = 0.6");
    for policy in ["uniform@fast", "threshold@fast", "transfer-shedder@fast"] {
        let run = simulated(&text, policy, 2);
        assert!(run.outcome.splits > 0, "{policy}");
        let mean = |place: usize| run.series.samples[place].mean;
        assert!((mean(0) - mean(run.series.samples.len() - 1)).abs() < 0.02, "{policy}");
    }
}

#[test]
fn isolated_bundles_stay_on_the_hosts_set_apart() {
    let text = UNEVEN.replace("sizes = \"equal\"", "sizes = \"equal\"\nisolated = 0.25");
    let mut moves = 0;
    watched(&text, "threshold@fast", 1, &mut |_, plan: &Plan| {
        for order in &plan.moves {
            moves += 1;
            let to = order.to.as_ref().unwrap();
            assert_eq!(order.bundle.contains("/apart-"), to.starts_with("apart-"), "{order:?}");
        }
    });
    assert!(moves > 0);
}

#[test]
fn an_end_before_the_end_leaves_what_was_computed() {
    let scenario = Scenario::parse(UNEVEN).unwrap();
    let profile = Registry::default().profile("threshold").unwrap();
    let (clock, stop) = (ManualClock::starting_at(0), AtomicBool::new(false));
    let mut progress = |second: f64| stop.store(second >= 300.0, Ordering::Relaxed);
    let mut surroundings = Surroundings {
        clock: clock.as_ref(),
        stop: &stop,
        progress: &mut progress,
        watch: &mut |_, _| {},
        allocated: None,
    };
    let run = run(&scenario, &profile, 1, &mut surroundings).unwrap();
    assert!(!run.outcome.complete && (run.outcome.simulated_s - 300.0).abs() < 1e-9);
    assert!(run.outcome.moves > 0);
}

#[test]
fn a_policy_of_ones_own_runs_by_its_name() {
    let mut registry = Registry::default();
    let manager = || ModularProfile::new(|| Box::new(LeastLongTermMessageRate), || Box::<ThresholdShedder>::default());
    registry.add_manager("own", manager());
    let file = File::new("own", UNEVEN);
    let arguments = [file.path(), "--policy", "own,threshold", "--no-timing", "--format", "csv"];
    let text = printed(&registry, &arguments, &AtomicBool::new(false));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(lines[1].replacen("own", "threshold", 1), lines[2], "the same policies do the same");
}

#[test]
fn tables_name_losses_and_pages_need_nothing_else() {
    let file = File::new("page", UNEVEN);
    let page = file.path().replace(".toml", ".html");
    let arguments = [file.path(), "--policy", "overload,threshold", "--html", &page, "--no-timing"];
    let table = printed(&Registry::default(), &arguments, &AtomicBool::new(false));
    let html = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_file(&page).unwrap();
    assert!(table.contains("overload has the lowest J on 0 of 1 scenarios"), "{table}");
    assert!(html.matches("<svg").count() == 4 && html.contains("prefers-color-scheme"));
    assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("http"));
    assert!(html.len() < 300_000, "{}", html.len());
}

#[test]
fn random_scenarios_differ_and_can_be_built() {
    let short = |seed: u64| {
        let mut scenario = random(seed);
        scenario.duration = plerion_sim::scenario::Seconds(5.0);
        scenario.events.clear();
        let profile = Registry::default().profile("overload").unwrap();
        let (clock, stop) = (ManualClock::starting_at(0), AtomicBool::new(false));
        let mut surroundings = Surroundings {
            clock: clock.as_ref(),
            stop: &stop,
            progress: &mut |_| {},
            watch: &mut |_, _| {},
            allocated: None,
        };
        run(&scenario, &profile, seed, &mut surroundings).unwrap().outcome
    };
    let outcomes: Vec<_> = (0..30).map(short).collect();
    let mut sizes: Vec<(usize, usize)> = outcomes.iter().map(|outcome| (outcome.brokers, outcome.bundles)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    assert!(sizes.len() > 20, "{sizes:?}");
    assert!(outcomes.iter().all(|outcome| outcome.lower_bound > 0.05 && outcome.gap >= 0.999), "{outcomes:?}");
}

#[test]
fn formats_are_named_as_they_are_asked_for() {
    let named = |name: &str| Line::parse_from(["simulate", "x.toml", "--format", name]).args.format;
    assert_eq!([named("table"), named("json"), named("csv")], [Format::Table, Format::Json, Format::Csv]);
}

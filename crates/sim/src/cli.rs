//! `plerion simulate`: reads the arguments, runs everything, writes the results.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use plerion_clock::Clock;
use plerion_placement::balancer::Profile;
use plerion_placement::{Registry, UnknownPolicy};

use crate::output::{self, Format};
use crate::run::{Run, Surroundings, run};
use crate::scenario::{Scenario, ScenarioError, random};

const POLICIES: &str = "plerion,transfer-shedder,threshold,overload,uniform,avg,simple";

const HELP: &str = "\
A policy is a whole load manager by its name; NAME@fast runs it at Plerion's clocks instead of Pulsar's.
docs/balancing.md explains every figure. Ctrl-C ends the run and prints what there is so far.";

/// Run balancing policies on a simulated cluster and print what they do.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct SimulateArgs {
    /// Scenario files.
    #[arg(value_name = "SCENARIO", required_unless_present = "random")]
    pub scenarios: Vec<PathBuf>,

    /// Policies, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = POLICIES)]
    pub policy: Vec<String>,

    /// Seed of everything that is left to chance.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Run N scenarios made up from the seeds from --seed on, besides the files.
    #[arg(long, value_name = "N")]
    pub random: Option<u64>,

    /// How results are printed.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,

    /// Write a page with charts, too.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Leave out times, so that the same seed prints the same bytes.
    #[arg(long)]
    pub no_timing: bool,

    /// Report no progress on the standard error output.
    #[arg(long)]
    pub quiet: bool,
}

/// Why nothing could be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// A scenario cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// There is no policy of this name.
    #[error(transparent)]
    Policy(#[from] UnknownPolicy),
    /// The page cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Page {
        /// Its path.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
}

/// What `simulate` works with.
pub struct Tools<'a> {
    /// The policies there are; one's own are added before.
    pub registry: &'a Registry,
    /// What decisions are timed with.
    pub clock: &'a dyn Clock,
    /// Ends the simulation early, as soon as it is set.
    pub stop: &'a AtomicBool,
    /// How many bytes this process has allocated, where somebody counts.
    pub allocated: Option<fn() -> u64>,
}

/// Runs what the arguments ask for. Returns what is to be printed.
///
/// # Errors
/// [`SimulateError`]; the arguments or the scenario have to be corrected.
pub fn simulate(args: &SimulateArgs, tools: &Tools<'_>) -> Result<String, SimulateError> {
    let profiles = args.policy.iter().map(|name| tools.registry.profile(name)).collect::<Result<Vec<_>, _>>()?;
    let mut scenarios = args.scenarios.iter().map(|path| Ok((Scenario::read(path)?, args.seed)));
    let scenarios = scenarios.by_ref().collect::<Result<Vec<_>, ScenarioError>>()?;
    let made_up = (0..args.random.unwrap_or(0)).map(|number| args.seed.wrapping_add(number));
    let scenarios = scenarios.into_iter().chain(made_up.map(|seed| (random(seed), seed)));
    let mut runs = Vec::new();
    for (scenario, seed) in scenarios {
        for profile in &profiles {
            if tools.stop.load(Ordering::Relaxed) {
                break;
            }
            runs.push(run_one(args, tools, &scenario, profile, seed)?);
        }
    }
    if let Some(path) = &args.html {
        std::fs::write(path, output::page(&runs)).map_err(|cause| SimulateError::Page { path: path.clone(), cause })?;
    }
    let outcomes: Vec<_> = runs.into_iter().map(|run| run.outcome).collect();
    let mut text = output::render(&outcomes, args.format);
    if args.format == Format::Table && profiles.len() > 1 {
        // Scenarios that were made up are too many to be listed one by one.
        if args.random.is_none() {
            text += &output::matrix(&outcomes);
        }
        text += &output::losses(&outcomes);
    }
    Ok(text)
}

fn run_one(
    args: &SimulateArgs,
    tools: &Tools<'_>,
    scenario: &Scenario,
    profile: &Profile,
    seed: u64,
) -> Result<Run, ScenarioError> {
    let mut said = tools.clock.monotonic();
    let mut progress = |second: f64| {
        let now = tools.clock.monotonic();
        if !args.quiet && now.saturating_sub(said).as_secs() >= 2 {
            said = now;
            let done = 100.0 * second / scenario.duration.0;
            let _ = writeln!(
                std::io::stderr(),
                "{} seed {seed}, {}: {done:.0} % of {}",
                scenario.name,
                profile.name,
                scenario.duration
            );
        }
    };
    let mut surroundings = Surroundings {
        clock: tools.clock,
        stop: tools.stop,
        progress: &mut progress,
        watch: &mut |_, _| {},
        allocated: tools.allocated,
    };
    let mut run = run(scenario, profile, seed, &mut surroundings)?;
    if args.no_timing {
        run.outcome.timing = None;
    }
    if args.html.is_none() {
        // The cluster over time is only for the page.
        run.series = crate::Series::default();
    }
    Ok(run)
}

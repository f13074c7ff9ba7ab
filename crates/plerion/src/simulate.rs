//! `plerion simulate`: the laboratory of balancing policies.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plerion_clock::SystemClock;
use plerion_placement::Registry;
use plerion_sim::{SimulateArgs, Tools};

use crate::failure::Failure;

/// Runs what the arguments ask for and returns what is to be printed. SIGINT ends it early, with what there is by then.
pub(crate) fn run(args: &SimulateArgs) -> Result<String, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_interrupt(stop.clone())?;
    let (registry, clock) = (Registry::default(), SystemClock::shared());
    let tools = Tools { registry: &registry, clock: clock.as_ref(), stop: &stop, allocated: None };
    Ok(plerion_sim::simulate(args, &tools)?)
}

/// Sets `stop` at the first SIGINT. The thread that waits for it ends with the process.
fn stop_on_interrupt(stop: Arc<AtomicBool>) -> Result<(), Failure> {
    let failed = |cause| Failure::System { what: "wait for signals", cause };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
    let wait = move || {
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            stop.store(true, Ordering::Relaxed);
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(())
}

//! Power is lost; only what was synced is sure to be there.

use crate::node::PowerCut;
use crate::run::{self, Run};

#[test]
fn a_machine_that_loses_power_keeps_its_promises() {
    let (seed, kills) = (run::seed(), run::kills(12));
    println!("seed {seed}");
    let figures = run::on_one_thread(Run::new(PowerCut::default(), seed).go(kills));
    println!("{figures}");
}

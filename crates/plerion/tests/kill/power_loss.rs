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

/// The checks are worth something: they find a disk that does not sync.
#[test]
fn a_disk_that_lies_is_found_out() {
    let run = || run::on_one_thread(Run::new(PowerCut::lying(), 1).go(12));
    let found = std::panic::catch_unwind(run).err().expect("a broken promise");
    let what = found.downcast_ref::<String>().expect("a message");
    assert!(what.starts_with("seed 1, life "), "not a broken promise: {what}");
}

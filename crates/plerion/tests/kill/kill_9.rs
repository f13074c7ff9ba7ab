//! The process is killed; what it wrote stays, synced or not.

use crate::node::Process;
use crate::run::{self, Run};

#[test]
fn a_killed_process_keeps_its_promises() {
    let (seed, kills) = (run::seed(), run::kills(5));
    println!("seed {seed}");
    let figures = run::on_one_thread(Run::new(Process::new(), seed).go(kills));
    println!("{figures}");
}

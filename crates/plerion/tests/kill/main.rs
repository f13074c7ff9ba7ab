//! Brokers die at random moments, under load, again and again. What they promised must hold in the next life.
//!
//! | What is promised | What is checked |
//! |---|---|
//! | a receipt | the message reaches every durable subscription, under the position of the receipt, as it was sent |
//! | order | first deliveries keep the order of each producer, or of each key |
//! | positions | they increase over all lives, and none is given twice |
//! | deduplication | no message is stored twice |
//! | ACK_RESPONSE | the entry never comes again |
//! | an acknowledgement without answer | the entry does not come again if the broker took it 100 ms before the end, by its clock |
//!
//! `PLERION_KILLS` is how often a broker is killed, `PLERION_SEED` what the random choices start from, and
//! `PLERION_BINARY` the binary that is killed, if not that of this build.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a run tells its seed and its figures")]

mod damage;
mod failing_disk;
mod flushes;
mod history;
mod kill_9;
mod message;
mod metronome;
mod node;
mod plan;
mod power_loss;
mod run;
mod workload;

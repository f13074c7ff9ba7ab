//! Random work, faults and crashes against a model. `PLERION_SEEDS=first..end` runs other seeds than the default.

mod model;
mod run;

use crate::world::on_shard;

#[test]
fn nothing_confirmed_is_lost_by_crashes() {
    let seeds = std::env::var("PLERION_SEEDS").ok();
    let range = seeds.as_deref().and_then(|seeds| seeds.split_once("..")).map_or(0..24, |(first, end)| {
        first.parse::<u64>().expect("a first seed")..end.parse().expect("an end of seeds")
    });
    for seed in range {
        let outcome = std::panic::catch_unwind(|| on_shard(run::run(seed)));
        if let Err(panic) = outcome {
            eprintln!("seed {seed} failed");
            std::panic::resume_unwind(panic);
        }
    }
}

//! A topic at random: several producers and subscriptions, whose clients come, go, acknowledge, ask again and seek,
//! over stores that are slow, fail and crash. What clients know for certain must hold.

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use crate::world::on_shard;

mod model;
mod run;

const SEEDS: u64 = 40;
const STEPS: usize = 150;

/// Names the seed of a run that fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the seed was {}", self.0);
        }
    }
}

#[test]
fn what_clients_know_for_certain_holds() {
    let (mut messages, mut redelivered) = (0, 0);
    for seed in 0..SEEDS {
        let _named = Seed(seed);
        on_shard(async {
            let mut rng = StdRng::seed_from_u64(seed);
            let mut run = run::Run::new().await;
            for _ in 0..STEPS {
                let step = choose(&mut rng);
                run.step(step, &mut rng).await;
            }
            run.finish().await;
            messages += run.stored();
            redelivered += run.redelivered;
        });
    }
    // Runs in which little happens prove little.
    assert!(messages > 3_000 && redelivered > 100, "{messages} messages, {redelivered} asked for again");
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Publish,
    Consume,
    Leave,
    Acknowledge,
    AskAgain,
    Pass,
    Hold,
    Release,
    Seek,
    Trim,
    Reopen,
    Crash,
    FailStore,
    FillStore,
    LoseProducer,
}

fn choose(rng: &mut StdRng) -> Step {
    use Step::*;
    let steps = [
        (Publish, 30),
        (Consume, 14),
        (Leave, 5),
        (Acknowledge, 25),
        (AskAgain, 8),
        (Pass, 8),
        (Hold, 4),
        (Release, 6),
        (Seek, 2),
        (Trim, 2),
        (Reopen, 1),
        (Crash, 1),
        (FailStore, 1),
        (FillStore, 1),
        (LoseProducer, 2),
    ];
    steps.choose_weighted(rng, |(_, weight)| *weight).unwrap().0
}

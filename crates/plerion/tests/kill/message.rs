//! Messages whose content follows from who sends them and which number they have.

use plerion_test_client::Outgoing;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::plan::ProducerPlan;

/// Some messages of one producer that make one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The producer's place in the plan of its topic.
    pub(crate) producer: usize,
    /// The number of its first message.
    pub(crate) first: u64,
    pub(crate) count: u64,
}

impl Entry {
    /// The payload part to publish it with. The same entry has the same bytes whenever it is sent.
    pub(crate) fn payload(self, plan: &ProducerPlan) -> Vec<u8> {
        let outgoing = if plan.batch > 1 {
            let bodies: Vec<Vec<u8>> = (self.first..self.first + self.count).map(|number| body(plan, number)).collect();
            Outgoing::batch(plan.name, self.first, bodies.iter().map(Vec::as_slice))
        } else {
            let outgoing = Outgoing::new(plan.name, self.first, body(plan, self.first));
            match key(plan, self.first) {
                Some(key) => outgoing.key(&key),
                None => outgoing,
            }
        };
        outgoing.payload().to_vec()
    }

    /// The sequence id of its last message.
    pub(crate) fn highest(self) -> u64 {
        self.first + self.count - 1
    }
}

/// The body of a message: mostly short, now and then long.
pub(crate) fn body(plan: &ProducerPlan, number: u64) -> Vec<u8> {
    let mut rng = random(plan, number);
    let length = match rng.random_range(0..1000) {
        0 => rng.random_range(50_000..300_000),
        1..40 => rng.random_range(1_000..20_000),
        _ => rng.random_range(0..200),
    };
    let mut body = format!("{}:{number}:", plan.name).into_bytes();
    let filler = rng.random();
    body.resize(body.len() + length, filler);
    body
}

/// The key of a message.
pub(crate) fn key(plan: &ProducerPlan, number: u64) -> Option<String> {
    (plan.keys > 0).then(|| format!("{}-{}", plan.name, random(plan, number ^ (1 << 40)).random_range(0..plan.keys)))
}

fn random(plan: &ProducerPlan, number: u64) -> SmallRng {
    let name = plan.name.bytes().fold(0u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    SmallRng::seed_from_u64(name ^ number.rotate_left(20))
}

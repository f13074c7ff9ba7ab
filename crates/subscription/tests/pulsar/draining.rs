//! Draining hashes (PIP-379).

use plerion_subscription::selector::{AlreadyDraining, Draining, DrainingHash};
use serde_json::{Value, json};

use super::{cases, int, load, rows, text};

/// The tracker, plus what Pulsar's one adds: who is called when, which differs inside of a batch.
#[derive(Default)]
struct Tracker {
    draining: Draining,
    batches: u32,
    unblocked_in_batch: bool,
}

impl Tracker {
    /// Runs one step and returns what of it was recorded besides the entries.
    fn run(&mut self, step: &Value) -> Value {
        let owner = step.get("consumer").map(|consumer| int(consumer) as u32);
        let hash = step.get("hash").map(|hash| int(hash) as u16);
        match (text(&step["op"]), owner, hash) {
            ("startBatch", ..) => self.batches += 1,
            ("endBatch", ..) => {
                self.batches = self.batches.saturating_sub(1);
                if self.batches == 0 && std::mem::take(&mut self.unblocked_in_batch) {
                    return json!({ "unblocked": [-1] });
                }
            }
            ("block", Some(owner), Some(hash)) => {
                let would_block = self.draining.would_block(owner, hash);
                let blocks = self.draining.blocks(owner, hash);
                assert_eq!(blocks, would_block);
                return json!({ "result": blocks });
            }
            ("add", Some(_), Some(0)) => return json!({ "message": "Sticky hash cannot be 0" }),
            ("add", Some(owner), Some(hash)) => {
                if let Err(AlreadyDraining { hash, holder, newcomer }) = self.draining.add(owner, hash) {
                    return json!({ "message": format!(
                        "Consumer consumer c{holder} is already draining hash {hash} in dispatcher disp. Same hash \
                         being used for consumer consumer c{newcomer}."
                    ) });
                }
            }
            // What another consumer drains it cannot release; Pulsar throws.
            ("reduce", Some(owner), Some(hash)) if self.draining.would_block(owner, hash) => {
                assert_eq!(self.draining.release(owner, hash), None);
                return json!({ "message": step["message"] });
            }
            ("reduce", Some(owner), Some(hash)) => {
                let closing = step["closing"].as_bool().expect("a bool");
                let freed = self.draining.release(owner, hash).is_some_and(|hash| hash.blocked > 0) && !closing;
                if freed && self.batches == 0 {
                    return json!({ "unblocked": [hash] });
                }
                self.unblocked_in_batch |= freed;
            }
            (op, ..) => panic!("unknown step {op}"),
        }
        json!({})
    }

    fn entries(&self) -> Vec<Vec<i64>> {
        let row = |DrainingHash { hash, owner, held, blocked }| {
            vec![i64::from(hash), i64::from(owner), i64::from(held), i64::from(blocked)]
        };
        let mut entries: Vec<_> = self.draining.iter().map(row).collect();
        entries.sort_unstable();
        entries
    }
}

#[test]
fn draining_hashes() {
    let file = load("draining-hashes.json");
    let cases = cases(&file, "draining_hashes");
    let mut steps = 0;
    for (number, case) in cases.iter().enumerate() {
        let mut tracker = Tracker::default();
        for step in case["ops"].as_array().expect("steps") {
            let outcome = tracker.run(step);
            for recorded in ["result", "unblocked", "message"] {
                assert_eq!(outcome.get(recorded), step.get(recorded), "{recorded} of case {number}: {step}");
            }
            assert_eq!(tracker.entries(), rows(&step["entries"]), "entries of case {number} after {step}");
            steps += 1;
        }
    }
    assert_eq!((cases.len(), steps), (30, 750));
}

//! Ranking and smoothing of the Simple manager, recorded in `channel-and-misc.json`.

use std::cmp::Ordering;

use plerion_placement::load::{HostUsage, ResourceQuota, ResourceUsage};
use plerion_placement::simple::{Bounds, Ranking, smooth};
use serde_json::Value;

use crate::fixture::{Tally, close, list, number, text};

/// Replays the sections and returns how many results were compared.
pub(crate) fn replay(file: &Value, tally: &mut Tally) -> usize {
    let mut run = 0;
    let mut rankings = Vec::new();
    for case in list(file, "simple_ranking") {
        rankings.push(ranking(case));
        tally.equal();
        run += 1;
    }
    for (i, row) in list(file, "simple_compare").iter().enumerate() {
        for (j, sign) in row.as_str().unwrap().bytes().enumerate() {
            let expect = match sign {
                b'<' => Ordering::Less,
                b'=' => Ordering::Equal,
                _ => Ordering::Greater,
            };
            assert_eq!(rankings[i].cmp_load(&rankings[j]), expect, "{i} {j}: {} / {}", rankings[i], rankings[j]);
            tally.equal();
            run += 1;
        }
    }
    for case in list(file, "time_smooth") {
        let bounds = Bounds { min: number(&case[2]), max: number(&case[3]) };
        let new = smooth(number(&case[0]), number(&case[1]), bounds, case[4].as_i64().unwrap());
        assert!(close(new, number(&case[5])), "{new} {case}");
        tally.equal();
        run += 1;
    }
    run
}

fn quota(value: &Value) -> ResourceQuota {
    ResourceQuota {
        msg_rate_in: number(&value[0]),
        msg_rate_out: number(&value[1]),
        bandwidth_in: number(&value[2]),
        bandwidth_out: number(&value[3]),
        memory: number(&value[4]),
        dynamic: true,
    }
}

fn ranking(case: &Value) -> Ranking {
    let resource = |i: usize| ResourceUsage::new(number(&case["usage"][i][0]), number(&case["usage"][i][1]));
    let usage = HostUsage {
        cpu: resource(0),
        memory: resource(1),
        direct_memory: resource(2),
        bandwidth_in: resource(3),
        bandwidth_out: resource(4),
    };
    let ranking =
        Ranking::new(usage, number(&case["cpuFactor"]), &quota(&case["allocated"]), &quota(&case["preallocated"]));
    assert!(close(ranking.load(), number(&case["loadPct"])), "{case}");
    assert!(close(ranking.message_rate(), number(&case["messageRate"])), "{case}");
    assert_eq!(ranking.capacity(&quota(&case["defaultQuota"])), case["capacity"], "{case}");
    let fields = ["cpuPct", "memoryPct", "directPct", "inPct", "outPct"];
    for (percent, field) in ranking.percents().into_iter().zip(fields) {
        assert!(close(percent, number(&case[field])), "{field} {percent} {case}");
    }
    assert_eq!(ranking.to_string(), text(case, "text"));
    ranking
}

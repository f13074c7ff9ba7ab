//! Averages, percentages, orders and report rules against `load-maths.json`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use plerion_placement::load::{
    BrokerLoadData, BundleData, BundleStats, HostUsage, LoadSummary, LocalBrokerData, MessageAverages, ResourceUsage,
    Sample, TimeAverageBrokerData, TopBundles, TopBundlesFilter, Weights, report_due,
};
use plerion_placement::{BundleName, Settings};
use serde_json::Value;

use crate::fixture::{Tally, close, list, load, number, text};

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn sample(value: &Value) -> Sample {
    let v = numbers(value);
    Sample { throughput_in: v[0], throughput_out: v[1], rate_in: v[2], rate_out: v[3] }
}

fn window(max_samples: u32, value: &Value) -> MessageAverages {
    MessageAverages::new(max_samples, sample(value))
}

/// Statistics from eight numbers, the first of them at `values[0]`.
fn stats(values: &[Value]) -> BundleStats {
    let count = |value: &Value| value.as_u64().unwrap();
    BundleStats {
        msg_throughput_in: number(&values[0]),
        msg_throughput_out: number(&values[1]),
        msg_rate_in: number(&values[2]),
        msg_rate_out: number(&values[3]),
        consumer_count: count(&values[4]),
        producer_count: count(&values[5]),
        topics: count(&values[6]),
        cache_size: count(&values[7]),
    }
}

fn usage(value: &Value) -> HostUsage {
    let resource = |i: usize| ResourceUsage::new(number(&value[i][0]), number(&value[i][1]));
    HostUsage {
        cpu: resource(0),
        memory: resource(1),
        direct_memory: resource(2),
        bandwidth_in: resource(3),
        bandwidth_out: resource(4),
    }
}

fn weights(value: &Value) -> Weights {
    let v = numbers(value);
    Weights { cpu: v[0], memory: v[1], direct_memory: v[2], bandwidth_in: v[3], bandwidth_out: v[4] }
}

#[test]
fn replay() {
    let file = load("load-maths");
    let mut tally = Tally::of("load-maths");
    let mut run = 0;
    let mut section = |name: &str, check: &dyn Fn(&Value)| {
        for case in list(&file, name) {
            check(case);
            tally.equal();
            run += 1;
        }
    };
    section("time_average_message", &time_average_message);
    section("time_average_broker", &time_average_broker);
    section("percent_usage", &|case| {
        let percent = ResourceUsage::new(number(&case[0]), number(&case[1])).percent();
        assert_eq!(f64::from(percent).to_bits(), number(&case[2]).to_bits(), "{case}");
    });
    section("max_usage", &max_usage);
    section("ema", &moving_average);
    section("weight_aliases", &weight_aliases);
    section("top_k", &top_k);
    section("report_needed", &report_needed);
    section("broker_totals", &broker_totals);
    run += compare(&file, &mut tally);
    assert_eq!(run, 40 + 20 + 100 + 80 + 41 + 4 + 2 * 1600 + 60 + 83 + 10);
    tally.finish(run, 0);
}

fn time_average_message(case: &Value) {
    let max_samples = u32::try_from(case["maxSamples"].as_u64().unwrap()).unwrap();
    let mut window = window(max_samples, &case["initial"]);
    let mut given = 0;
    for after in list(case, "after") {
        while given < after[0].as_u64().unwrap() {
            window.add(match case.get("samples") {
                Some(samples) => sample(&samples[usize::try_from(given).unwrap()]),
                None => ruled_sample(case, given),
            });
            given += 1;
        }
        assert_eq!(after[1], window.num_samples);
        let values = [window.msg_throughput_in, window.msg_throughput_out, window.msg_rate_in, window.msg_rate_out];
        for (ours, theirs) in values.into_iter().zip(&numbers(after)[2..]) {
            assert!(close(ours, *theirs), "{ours} for {after} in {}", text(case, "id"));
        }
    }
}

/// Sample `i` of a long run, which is recorded as a rule.
fn ruled_sample(case: &Value, i: u64) -> Sample {
    assert_eq!(case["samplesRule"], "sample i (from 0), all four values: i*37 mod 101, i < 1200");
    let value = (i * 37 % 101) as f64;
    Sample { throughput_in: value, throughput_out: value, rate_in: value, rate_out: value }
}

fn time_average_broker(case: &Value) {
    let bundles: Vec<Option<BundleData>> = list(case, "bundles")
        .iter()
        .map(|bundle| {
            (!bundle.is_null()).then(|| BundleData {
                short_term_data: window(10, &bundle[0]),
                long_term_data: window(1_000, &bundle[1]),
                topics: 0,
            })
        })
        .collect();
    let sum = TimeAverageBrokerData::sum(bundles.iter().map(Option::as_ref));
    let short = [
        sum.short_term_msg_throughput_in,
        sum.short_term_msg_throughput_out,
        sum.short_term_msg_rate_in,
        sum.short_term_msg_rate_out,
    ];
    let long = [
        sum.long_term_msg_throughput_in,
        sum.long_term_msg_throughput_out,
        sum.long_term_msg_rate_in,
        sum.long_term_msg_rate_out,
    ];
    for (ours, theirs) in [(short, &case["short"]), (long, &case["long"])] {
        assert!(ours.into_iter().zip(numbers(theirs)).all(|(a, b)| close(a, b)), "{ours:?} {theirs}");
    }
}

fn max_usage(case: &Value) {
    let usage = usage(&case["usage"]);
    let weights = weights(&case["weights"]);
    let mut local = LocalBrokerData::default();
    local.update(usage, BTreeMap::new());
    assert_eq!(local.max_resource_usage, number(&case["localMax"]), "{case}");
    assert_eq!(usage.max_weighted(&weights), number(&case["localWeighted"]), "{case}");
    let mut data = BrokerLoadData { usage, ..BrokerLoadData::default() };
    data.refresh(&weights, 0.9, 1);
    assert_eq!(data.max_resource_usage, number(&case["loadDataMax"]), "{case}");
    assert_eq!(data.weighted_max_ema, number(&case["loadDataWeightedFirst"]), "{case}");
    assert_eq!(usage.to_string(), text(case, "print"));
}

fn moving_average(case: &Value) {
    let weights = weights(&case["weights"]);
    let mut data = BrokerLoadData::default();
    for (now, step) in (1..).zip(list(case, "steps")) {
        if step["clear"] == true {
            data = BrokerLoadData::default();
            assert_eq!(data.updated_at == 0, step["updatedAtZero"]);
        } else {
            data.usage = usage(&step["usage"]);
            data.msg_throughput_in = number(&step["in"]);
            data.msg_throughput_out = number(&step["out"]);
            data.refresh(&weights, number(&case["history"]), now);
        }
        assert!(close(data.max_resource_usage, number(&step["max"])), "{step}");
        assert!(close(data.weighted_max_ema, number(&step["weightedMaxEMA"])), "{step}");
        assert!(close(data.msg_throughput_ema, number(&step["msgThroughputEMA"])), "{step}");
    }
}

fn weight_aliases(case: &Value) {
    let (right, misspelled) = (number(&case["right"]), number(&case["misspelled"]));
    let settings = Settings {
        load_balancer_bandwidth_in_resource_weight: right,
        load_balancer_bandwidth_out_resource_weight: right,
        load_balancer_bandwith_in_resource_weight: misspelled,
        load_balancer_bandwith_out_resource_weight: misspelled,
        ..Settings::default()
    };
    assert_eq!(settings.weights().bandwidth_in, number(&case["in"]), "{case}");
    assert_eq!(settings.weights().bandwidth_out, number(&case["out"]), "{case}");
}

fn compare(file: &Value, tally: &mut Tally) -> usize {
    let sign = |ordering: Ordering| match ordering {
        Ordering::Less => b'<',
        Ordering::Equal => b'=',
        Ordering::Greater => b'>',
    };
    let samples: Vec<BundleStats> =
        list(file, "compare_samples").iter().map(|s| stats(s.as_array().unwrap())).collect();
    let averages: Vec<MessageAverages> = samples.iter().map(|s| MessageAverages::new(10, s.sample())).collect();
    for (i, a) in samples.iter().enumerate() {
        let by_stats = file["compare_bundle_stats"][i].as_str().unwrap().as_bytes();
        let by_average = file["compare_time_average"][i].as_str().unwrap().as_bytes();
        for (j, b) in samples.iter().enumerate() {
            assert_eq!(sign(a.cmp_size(b)), by_stats[j], "stats {i} {j}");
            assert_eq!(sign(averages[i].cmp_size(&averages[j])), by_average[j], "averages {i} {j}");
            tally.equal();
            tally.equal();
        }
    }
    2 * samples.len() * samples.len()
}

fn top_k(case: &Value) {
    let stats: Vec<(BundleName, BundleStats)> = list(case, "stats")
        .iter()
        .map(|entry| (entry[0].as_str().unwrap().into(), stats(&entry.as_array().unwrap()[1..])))
        .collect();
    let names = |field: &str| -> BTreeSet<&str> {
        case[field].as_array().into_iter().flatten().map(|name| name.as_str().unwrap()).collect()
    };
    let policed = &names("isolated") | &names("antiAffinity");
    let enabled = case["policiesEnabled"] == true;
    let filter = TopBundlesFilter {
        excluded: &BTreeSet::new(),
        is_held: |namespace: &str| !enabled && policed.contains(namespace),
    };
    let count = usize::try_from(case["k"].as_u64().unwrap()).unwrap();
    let top = TopBundles::select(stats.iter().map(|(name, stats)| (name, stats)), count, &filter);
    let names: Vec<&BundleName> = top.top_bundles_load_data.iter().map(|bundle| &bundle.bundle_name).collect();
    assert_eq!(serde_json::json!(names), case["top"], "{case}");
}

fn report_needed(case: &Value) {
    let summary = |i: usize, usage: f64| LoadSummary {
        rate: number(&case["rate"][i]),
        throughput: number(&case["throughput"][i]),
        bundles: case["bundles"][i].as_u64().unwrap(),
        usage,
    };
    let host = |i: usize| HostUsage {
        cpu: ResourceUsage::new(number(&case["cpuOf1000"][i]), 1_000.0),
        ..HostUsage::default()
    };
    let settings = Settings {
        load_balancer_report_update_threshold_percentage: number(&case["thresholdPct"]),
        load_balancer_cpu_resource_weight: number(&case["cpuWeight"]),
        ..Settings::default()
    };
    let age = case["ageMs"].as_i64().unwrap();
    let weighted = [0, 1].map(|i| summary(i, host(i).max_weighted(&settings.weights())));
    let plain = [0, 1].map(|i| summary(i, f64::from(host(i).max_percent()) / 100.0));
    for (field, [last, now]) in [("modular", weighted), ("extensible", plain)] {
        assert_eq!(report_due(&last, &now, age, &settings).is_some(), case[field], "{field} {case}");
    }
}

fn broker_totals(case: &Value) {
    let mut data = LocalBrokerData::default();
    for step in list(case, "steps") {
        if step["cleanDeltasBefore"] == true {
            data.clear_deltas();
        }
        let stats = list(step, "stats")
            .iter()
            .map(|entry| (entry[0].as_str().unwrap().into(), stats(&entry.as_array().unwrap()[1..])))
            .collect();
        data.update(HostUsage::default(), stats);
        let totals = [
            data.msg_throughput_in,
            data.msg_throughput_out,
            data.msg_rate_in,
            data.msg_rate_out,
            data.num_topics as f64,
            data.num_bundles as f64,
            data.num_consumers as f64,
            data.num_producers as f64,
        ];
        assert!(totals.into_iter().zip(numbers(&step["totals"])).all(|(a, b)| close(a, b)), "{step}");
        assert_eq!(serde_json::json!(data.last_bundle_gains), step["gains"]);
        assert_eq!(serde_json::json!(data.last_bundle_losses), step["losses"]);
    }
}

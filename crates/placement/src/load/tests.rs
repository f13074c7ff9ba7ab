use super::{BundleData, BundleStats, HostUsage, MessageAverages, ResourceUsage, Sample};

#[test]
fn the_first_sample_replaces_the_assumed_traffic() {
    let mut data = BundleData::default();
    let stats = |rate: f64| BundleStats { msg_rate_in: rate, topics: 3, ..BundleStats::default() };
    for (rate, mean) in [(100.0, 100.0), (200.0, 150.0), (300.0, 200.0)] {
        data.add(&stats(rate));
        assert_eq!(data.short_term_data.msg_rate_in, mean);
        assert_eq!(data.topics, 3);
    }
}

#[test]
fn a_step_reaches_the_short_window_as_published() {
    let mut window = MessageAverages::new(10, Sample::default());
    let sample = |rate_in| Sample { rate_in, ..Sample::default() };
    (0..10).for_each(|_| window.add(sample(0.0)));
    let mut after = Vec::new();
    for _ in 0..20 {
        window.add(sample(1_000.0));
        after.push((window.msg_rate_in * 10.0).round() / 10.0);
    }
    assert_eq!((after[0], after[4], after[9], after[19]), (100.0, 409.5, 651.3, 878.4));
}

#[test]
fn a_window_of_no_samples_does_not_divide_by_zero() {
    let mut window = MessageAverages::new(0, Sample::default());
    window.add(Sample { rate_in: 7.0, ..Sample::default() });
    assert_eq!(window.msg_rate_in, 7.0);
}

#[test]
fn the_monitors_sample_shows_resident_memory_as_the_maximum() {
    let usage = HostUsage {
        cpu: ResourceUsage::new(5.735_324_765_543_591_5, 2_400.0),
        memory: ResourceUsage::new(48.33, 100.0),
        direct_memory: ResourceUsage::new(1.0, 16_384.0),
        ..HostUsage::default()
    };
    assert!((usage.max_of_five() - 0.4833).abs() < 1e-6);
}

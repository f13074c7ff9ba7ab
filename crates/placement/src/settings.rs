//! The balancer's settings, under the names `broker.conf` gives them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::load::Weights;

/// What an operator can set. Names, units and defaults are Pulsar's; the one key of our own is marked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Settings {
    /// Usage, in percent, above which a broker counts as overloaded.
    pub load_balancer_broker_overloaded_threshold_percentage: f64,
    /// Usage, in percent, below which a broker of the Simple manager counts as underloaded.
    pub load_balancer_broker_underloaded_threshold_percentage: f64,
    /// Usage, in percent, up to which the Simple manager lets a broker take shed bundles.
    pub load_balancer_broker_comfort_load_level_percentage: f64,
    /// Most topics a broker should serve.
    pub load_balancer_broker_max_topics: u64,
    /// Weight of the CPU in a broker's usage.
    #[serde(rename = "loadBalancerCPUResourceWeight")]
    pub load_balancer_cpu_resource_weight: f64,
    /// Weight of resident memory. Deprecated; only the Extensible manager's moving average reads it.
    pub load_balancer_memory_resource_weight: f64,
    /// Weight of direct memory.
    pub load_balancer_direct_memory_resource_weight: f64,
    /// Weight of incoming bandwidth.
    pub load_balancer_bandwidth_in_resource_weight: f64,
    /// Weight of outgoing bandwidth.
    pub load_balancer_bandwidth_out_resource_weight: f64,
    /// Old spelling of `loadBalancerBandwidthInResourceWeight`; counts while that is 1.
    pub load_balancer_bandwith_in_resource_weight: f64,
    /// Old spelling of `loadBalancerBandwidthOutResourceWeight`; counts while that is 1.
    pub load_balancer_bandwith_out_resource_weight: f64,
    /// Share of its history that a moving average of usage keeps at each step.
    pub load_balancer_history_resource_percentage: f64,
    /// By how much, in percent points, a broker must be below the average to be a preferred destination.
    pub load_balancer_average_resource_usage_difference_threshold_percentage: f64,
    /// Least change, in percent, that makes a broker report its load.
    pub load_balancer_report_update_threshold_percentage: f64,
    /// Shortest time between two reports, in milliseconds.
    pub load_balancer_report_update_min_interval_millis: i64,
    /// Longest time between two reports, in minutes.
    pub load_balancer_report_update_max_interval_minutes: u64,
    /// Keep the bundles of a namespace evenly spread (Modular manager).
    pub load_balancer_distribute_bundles_evenly_enabled: bool,
    /// Place only on brokers of the latest version.
    pub prefer_later_versions: bool,
    /// Spread anti-affinity groups over failure domains first.
    pub failure_domains_enabled: bool,
    /// How long a bundle that was shed stays where it is, in minutes.
    pub load_balancer_shedding_grace_period_minutes: i64,
    /// Namespaces that are never shed and are placed in turn.
    pub load_balancer_shedding_excluded_namespaces: BTreeSet<String>,
    /// Weight the long-term rate of a candidate by its headroom when placing (`LeastLongTermMessageRate`). Our own key;
    /// `false` is the plain sum of rates.
    pub load_balancer_headroom_weighted_placement: bool,

    /// `ThresholdShedder`: how far above the average, in percent points, a broker may be.
    pub load_balancer_broker_threshold_shedder_percentage: f64,
    /// `ThresholdShedder`: least traffic worth shedding, in MiB/s.
    pub load_balancer_bundle_unload_min_throughput_threshold: f64,
    /// `ThresholdShedder`: also relieve the busiest broker when another is far below the average.
    pub lower_boundary_shedding_enabled: bool,
    /// `UniformLoadShedder`: tolerated difference of message rates, in percent of the least; 0 turns the rule off.
    pub load_balancer_msg_rate_difference_shedder_threshold: f64,
    /// `UniformLoadShedder`: tolerated ratio of throughputs; 0 turns the rule off.
    pub load_balancer_msg_throughput_multiplier_difference_shedder_threshold: f64,
    /// `UniformLoadShedder`, `AvgShedder`: least message rate worth moving, in messages per second.
    pub min_unload_message: i64,
    /// `UniformLoadShedder`, `AvgShedder`: least throughput worth moving, in bytes per second.
    pub min_unload_message_throughput: i64,
    /// `UniformLoadShedder`, `AvgShedder`: share of the difference to move.
    pub max_unload_percentage: f64,
    /// `UniformLoadShedder`: most bundles per cycle; −1 for no limit.
    pub max_unload_bundle_num_per_shedding: i64,
    /// `AvgShedder`: difference of two brokers, in percent points, that has to last long.
    pub load_balancer_avg_shedder_low_threshold: f64,
    /// `AvgShedder`: difference of two brokers, in percent points, that has to last briefly.
    pub load_balancer_avg_shedder_high_threshold: f64,
    /// `AvgShedder`: cycles that the low threshold must be exceeded.
    pub load_balancer_avg_shedder_hit_count_low_threshold: u32,
    /// `AvgShedder`: cycles that the high threshold must be exceeded.
    pub load_balancer_avg_shedder_hit_count_high_threshold: u32,

    /// `TransferShedder`: standard deviation of load to reach, 1 being 100 %.
    pub load_balancer_broker_load_target_std: f64,
    /// `TransferShedder`: consecutive cycles the condition must hold before the next one acts.
    pub load_balancer_shedding_condition_hit_count_threshold: u32,
    /// `TransferShedder`: name a destination for each unload.
    pub load_balancer_transfer_enabled: bool,
    /// `TransferShedder`: most pairs of brokers per cycle.
    pub load_balancer_max_number_of_broker_shedding_per_cycle: usize,
    /// `TransferShedder`: rest after an unload, in seconds.
    #[serde(rename = "loadBalanceSheddingDelayInSeconds")]
    pub load_balance_shedding_delay_in_seconds: i64,
    /// `TransferShedder`: age, in seconds, from which a load report no longer counts.
    #[serde(rename = "loadBalancerBrokerLoadDataTTLInSeconds")]
    pub load_balancer_broker_load_data_ttl_in_seconds: i64,
    /// Also move bundles of namespaces with isolation or anti-affinity policies (Extensible manager).
    pub load_balancer_shedding_bundles_with_policies_enabled: bool,
    /// Most bundles in a report of the busiest.
    pub load_balancer_max_number_of_bundles_in_bundle_load_report: i64,

    /// Most topics of a bundle before it is split.
    pub load_balancer_namespace_bundle_max_topics: u64,
    /// Most producers and consumers of a bundle before it is split; −1 for no limit.
    pub load_balancer_namespace_bundle_max_sessions: i64,
    /// Most messages per second of a bundle before it is split.
    pub load_balancer_namespace_bundle_max_msg_rate: f64,
    /// Most traffic of a bundle before it is split, in MiB/s.
    pub load_balancer_namespace_bundle_max_bandwidth_mbytes: f64,
    /// Most bundles of a namespace.
    pub load_balancer_namespace_maximum_bundles: usize,
    /// Consecutive cycles a bundle must be too big before the next one splits it.
    pub load_balancer_namespace_bundle_split_condition_hit_count_threshold: u32,
    /// Most splits per cycle and broker.
    pub load_balancer_max_number_of_bundles_to_split_per_cycle: usize,
    /// Tolerance of `flow_or_qps_equally_divide`, in percent.
    pub flow_or_qps_difference_threshold_percentage: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            load_balancer_broker_overloaded_threshold_percentage: 85.0,
            load_balancer_broker_underloaded_threshold_percentage: 50.0,
            load_balancer_broker_comfort_load_level_percentage: 65.0,
            load_balancer_broker_max_topics: 50_000,
            load_balancer_cpu_resource_weight: 1.0,
            load_balancer_memory_resource_weight: 0.0,
            load_balancer_direct_memory_resource_weight: 0.0,
            load_balancer_bandwidth_in_resource_weight: 1.0,
            load_balancer_bandwidth_out_resource_weight: 1.0,
            load_balancer_bandwith_in_resource_weight: 1.0,
            load_balancer_bandwith_out_resource_weight: 1.0,
            load_balancer_history_resource_percentage: 0.9,
            load_balancer_average_resource_usage_difference_threshold_percentage: 10.0,
            load_balancer_report_update_threshold_percentage: 10.0,
            load_balancer_report_update_min_interval_millis: 5_000,
            load_balancer_report_update_max_interval_minutes: 15,
            load_balancer_distribute_bundles_evenly_enabled: true,
            prefer_later_versions: false,
            failure_domains_enabled: false,
            load_balancer_shedding_grace_period_minutes: 30,
            load_balancer_shedding_excluded_namespaces: BTreeSet::new(),
            load_balancer_headroom_weighted_placement: true,
            load_balancer_broker_threshold_shedder_percentage: 10.0,
            load_balancer_bundle_unload_min_throughput_threshold: 10.0,
            lower_boundary_shedding_enabled: false,
            load_balancer_msg_rate_difference_shedder_threshold: 50.0,
            load_balancer_msg_throughput_multiplier_difference_shedder_threshold: 4.0,
            min_unload_message: 1_000,
            min_unload_message_throughput: 1_048_576,
            max_unload_percentage: 0.2,
            max_unload_bundle_num_per_shedding: -1,
            load_balancer_avg_shedder_low_threshold: 15.0,
            load_balancer_avg_shedder_high_threshold: 40.0,
            load_balancer_avg_shedder_hit_count_low_threshold: 8,
            load_balancer_avg_shedder_hit_count_high_threshold: 2,
            load_balancer_broker_load_target_std: 0.25,
            load_balancer_shedding_condition_hit_count_threshold: 3,
            load_balancer_transfer_enabled: true,
            load_balancer_max_number_of_broker_shedding_per_cycle: 3,
            load_balance_shedding_delay_in_seconds: 180,
            load_balancer_broker_load_data_ttl_in_seconds: 1_800,
            load_balancer_shedding_bundles_with_policies_enabled: false,
            load_balancer_max_number_of_bundles_in_bundle_load_report: 10,
            load_balancer_namespace_bundle_max_topics: 1_000,
            load_balancer_namespace_bundle_max_sessions: 1_000,
            load_balancer_namespace_bundle_max_msg_rate: 30_000.0,
            load_balancer_namespace_bundle_max_bandwidth_mbytes: 100.0,
            load_balancer_namespace_maximum_bundles: 128,
            load_balancer_namespace_bundle_split_condition_hit_count_threshold: 3,
            load_balancer_max_number_of_bundles_to_split_per_cycle: 10,
            flow_or_qps_difference_threshold_percentage: 10.0,
        }
    }
}

impl Settings {
    /// The weights of the five resources, old spellings resolved.
    #[must_use]
    pub fn weights(&self) -> Weights {
        Weights {
            cpu: self.load_balancer_cpu_resource_weight,
            memory: self.load_balancer_memory_resource_weight,
            direct_memory: self.load_balancer_direct_memory_resource_weight,
            bandwidth_in: respelled(
                self.load_balancer_bandwidth_in_resource_weight,
                self.load_balancer_bandwith_in_resource_weight,
            ),
            bandwidth_out: respelled(
                self.load_balancer_bandwidth_out_resource_weight,
                self.load_balancer_bandwith_out_resource_weight,
            ),
        }
    }

    /// The usage from which a broker is overloaded, 1 being 100 %.
    #[must_use]
    pub fn overload_threshold(&self) -> f64 {
        self.load_balancer_broker_overloaded_threshold_percentage / 100.0
    }
}

#[expect(clippy::float_cmp, reason = "1 is the exact default that stands for 'not set'")]
fn respelled(right: f64, misspelled: f64) -> f64 {
    if right == 1.0 { misspelled } else { right }
}

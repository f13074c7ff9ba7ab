//! `/admin/v2/broker-stats`: figures of the broker as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::routing::get;
use axum::{Json, Router};
use plerion_broker::Handle;
use plerion_broker::stats::TopicStats;
use plerion_resources::names::TopicName;
use serde::Serialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::permitted::{Cluster, Permitted};
use crate::refusal::Refusal;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/topics", get(topics))
        .route("/load-report", get(load_report))
        .route("/mbeans", get(absent))
        .route("/allocator-stats/{name}", get(absent))
}

/// A Java process has these; this one has nothing like them.
async fn absent(_at: Permitted<Cluster>) -> Refusal {
    Refusal::unsupported("What only a Java process has")
}

/// What the topics of a bundle do together.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct BundleFigures {
    msg_rate_in: f64,
    msg_throughput_in: f64,
    msg_rate_out: f64,
    msg_throughput_out: f64,
    consumer_count: usize,
    producer_count: usize,
    topics: usize,
    cache_size: usize,
}

impl BundleFigures {
    fn add(&mut self, topic: &TopicStats) {
        self.msg_rate_in += topic.msg_rate_in;
        self.msg_throughput_in += topic.msg_throughput_in;
        self.msg_rate_out += topic.msg_rate_out;
        self.msg_throughput_out += topic.msg_throughput_out;
        self.consumer_count += topic.subscriptions.values().map(|one| one.consumers.len()).sum::<usize>();
        self.producer_count += topic.publishers.len();
        self.topics += 1;
    }
}

/// The open topics, each with its bundle.
async fn by_bundle(broker: &Handle) -> Result<Vec<(TopicName, String, TopicStats)>, Refusal> {
    let mut all = Vec::new();
    for (name, stats) in broker.all_topic_stats().await? {
        let name: TopicName = name.parse()?;
        let bundle = broker.bundle(&name).await?.range.to_string();
        all.push((name, bundle, stats));
    }
    Ok(all)
}

/// The figures of every namespace, in the form of Pulsar's: a list of what is measured, and of what.
async fn metrics(at: Permitted<Cluster>) -> Result<Json<Vec<Value>>, Refusal> {
    let mut namespaces: BTreeMap<String, BundleFigures> = BTreeMap::new();
    for (name, _, stats) in by_bundle(&at.broker).await? {
        namespaces.entry(name.namespace().to_string()).or_default().add(&stats);
    }
    let shown = namespaces.into_iter().map(|(namespace, figures)| {
        json!({
            "metrics": {
                "brk_in_rate": figures.msg_rate_in, "brk_in_tp_rate": figures.msg_throughput_in,
                "brk_out_rate": figures.msg_rate_out, "brk_out_tp_rate": figures.msg_throughput_out,
                "brk_no_of_consumers": figures.consumer_count, "brk_no_of_producers": figures.producer_count,
                "brk_no_of_topics": figures.topics,
            },
            "dimensions": { "namespace": namespace },
        })
    });
    Ok(Json(shown.collect()))
}

/// The figures of every open topic, by namespace, bundle and domain.
async fn topics(at: Permitted<Cluster>) -> Result<Json<Value>, Refusal> {
    let mut all = json!({});
    for (name, bundle, stats) in by_bundle(&at.broker).await? {
        let domain = name.domain().to_string();
        all[name.namespace().as_str()][&bundle][&domain][name.as_str()] = json!(stats);
    }
    Ok(Json(all))
}

/// The report that load managers exchange. This broker has none to share load with and does not measure its host: the
/// usage of the host's resources is 0.
async fn load_report(at: Permitted<Cluster>) -> Result<Json<Value>, Refusal> {
    let mut bundles: BTreeMap<String, BundleFigures> = BTreeMap::new();
    for (name, range, stats) in by_bundle(&at.broker).await? {
        bundles.entry(format!("{}/{range}", name.namespace())).or_default().add(&stats);
    }
    let sum = |of: fn(&BundleFigures) -> f64| bundles.values().map(of).sum::<f64>();
    let count = |of: fn(&BundleFigures) -> usize| bundles.values().map(of).sum::<usize>();
    let addresses = at.broker.addresses();
    let settings = at.broker.settings().current();
    let usage = json!({ "usage": 0.0, "limit": 0.0 });
    let mut report = json!({
        "webServiceUrl": addresses.web, "pulsarServiceUrl": addresses.broker,
        "persistentTopicsEnabled": settings.topics.persistent,
        "nonPersistentTopicsEnabled": settings.topics.non_persistent,
        "cpu": usage, "memory": usage, "directMemory": usage, "bandwidthIn": usage, "bandwidthOut": usage,
        "msgThroughputIn": sum(|it| it.msg_throughput_in), "msgThroughputOut": sum(|it| it.msg_throughput_out),
        "msgRateIn": sum(|it| it.msg_rate_in), "msgRateOut": sum(|it| it.msg_rate_out),
        "lastUpdate": at.broker.clock().wall_ms(), "lastStats": bundles,
        "numTopics": count(|it| it.topics), "numBundles": bundles.len(),
        "numConsumers": count(|it| it.consumer_count), "numProducers": count(|it| it.producer_count),
        "bundles": bundles.keys().collect::<Vec<_>>(), "lastBundleGains": [], "lastBundleLosses": [],
        "brokerVersionString": env!("CARGO_PKG_VERSION"), "protocols": {}, "advertisedListeners": {},
        "loadReportType": "LocalBrokerData",
    });
    for (key, url) in [("webServiceUrlTls", addresses.web_tls), ("pulsarServiceUrlTls", addresses.broker_tls)] {
        if let Some(url) = url {
            report[key] = json!(url);
        }
    }
    Ok(Json(report))
}

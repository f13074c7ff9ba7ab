use crate::client::Client;
use crate::world::World;

#[tokio::test]
async fn figures_have_pulsars_names() {
    let world = World::start().await;
    let mut producer = Client::connect(&world).await;
    world.put("/admin/v2/persistent/public/default/t%22/subscription/s", "").await;
    producer.produce("persistent://public/default/t\"").await;
    producer.publish(b"hello", None).await;
    let text = world.get("/metrics").await;
    assert_eq!(text.status, 200);
    assert!(text.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let labels = r#"{cluster="standalone",namespace="public/default",topic="persistent://public/default/t\""}"#;
    let of_subscription = labels.replace('}', r#",subscription="s"}"#);
    for line in [
        "pulsar_active_connections 1".to_owned(),
        "plerion_malformed_frames_total 0".to_owned(),
        "plerion_messages_in_total 1".to_owned(),
        r#"pulsar_topics_count{cluster="standalone",namespace="public/default"} 1"#.to_owned(),
        "plerion_ack_durable_seconds_count 0".to_owned(),
        format!("pulsar_producers_count{labels} 1"),
        format!("pulsar_in_messages_total{labels} 1"),
        format!("pulsar_subscription_back_log{of_subscription} 1"),
    ] {
        assert!(text.text().lines().any(|known| known == line), "{line} is not in\n{}", text.text());
    }
    let names: Vec<_> = text.text().lines().filter(|line| line.starts_with("# TYPE ")).collect();
    let mut distinct = names.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(names.len(), distinct.len());
    assert_eq!(world.get("/metrics/").await.status, 200);
}

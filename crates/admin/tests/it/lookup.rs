use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn a_topic_is_found_with_every_key_there() {
    let world = World::start().await;
    for domain in ["persistent", "non-persistent"] {
        let found =
            world.get(&format!("/lookup/v2/topic/{domain}/public/default/a%2520b?authoritative=false")).await.json();
        let broker = format!("pulsar://127.0.0.1:{}", world.pulsar().port());
        assert_eq!(
            found,
            json!({
                "brokerUrl": broker, "brokerUrlTls": "", "brokerUrlSsl": "", "nativeUrl": broker,
                "httpUrl": format!("http://127.0.0.1:{}", world.http.port()), "httpUrlTls": "",
            })
        );
    }
    let path = "/lookup/v2/topic/persistent/public/default/t";
    let bundle = world.get(&format!("{path}/bundle")).await;
    assert_eq!(bundle.status, 200);
    let bundles = world.get("/admin/v2/namespaces/public/default/bundles").await.json();
    let (lower, upper) = bundle.text().split_once('_').unwrap();
    let boundaries = bundles["boundaries"].as_array().unwrap();
    let at = boundaries.iter().position(|boundary| boundary == lower).unwrap();
    assert_eq!(boundaries[at + 1], json!(upper));

    for (path, status) in [
        ("persistent/public/none/t", 404),
        ("persistent/nobody/none/t", 404),
        ("persistent/public/none/t/bundle", 404),
        ("bogus/public/default/t", 404),
        ("persistent/public/de@fault/t", 412),
        ("persistent/public/default/t?listenerName=test", 503),
    ] {
        assert_eq!(world.get(&format!("/lookup/v2/topic/{path}")).await.status, status, "{path}");
    }
    let listener = world.get(&format!("{path}?listenerName=test")).await.reason();
    assert_eq!(listener, "the broker do not have test listener");
}

use serde_json::json;

use crate::world::World;

const S: &str = "/admin/v2/schemas/public/default/t";

#[tokio::test]
async fn schemas_are_added_read_and_deleted() {
    let world = World::start().await;
    let missing = world.get(&format!("{S}/schema")).await;
    assert_eq!((missing.status, missing.reason().as_str()), (404, "Schema not found"));
    let json_schema = |name: &str| {
        let schema = format!(r#"{{"type":"record","name":"{name}","fields":[]}}"#);
        json!({"type": "JSON", "schema": schema, "properties": {"q": "r"}}).to_string()
    };
    let post = async |body: &str| world.post(&format!("{S}/schema"), body).await;
    assert_eq!(post(&json_schema("a")).await.json(), json!({"version": {"version": 0}}));
    assert_eq!(post(&json_schema("a")).await.json(), json!({"version": {"version": 0}}));
    assert_eq!(post(&json_schema("b")).await.json(), json!({"version": {"version": 1}}));
    let other = post(r#"{"type":"STRING","schema":"","properties":{}}"#).await;
    assert_eq!(other.status, 409, "{}", other.text());
    assert_eq!(post(r#"{"type":"BOGUS","schema":""}"#).await.status, 422);
    assert_eq!(post("{nope").await.status, 400);
    assert_eq!(post("").await.status, 400);

    let latest = world.get(&format!("{S}/schema")).await.json();
    assert_eq!((&latest["version"], &latest["type"]), (&json!(1), &json!("JSON")));
    assert_eq!(latest["data"], json!(r#"{"type":"record","name":"b","fields":[]}"#));
    assert_eq!(latest["properties"], json!({"q": "r"}));
    assert!(latest["timestamp"].as_u64().unwrap() > 1_600_000_000_000);
    assert_eq!(world.get(&format!("{S}/schema/0")).await.json()["version"], json!(0));
    assert_eq!(world.get(&format!("{S}/schema/7")).await.status, 404);
    assert_eq!(world.get(&format!("{S}/schema/x")).await.status, 400);
    let all = world.get(&format!("{S}/schemas")).await.json();
    assert_eq!(all["getSchemaResponses"].as_array().unwrap().len(), 2);
    // A partition has the schemas of its topic.
    let partition = world.get("/admin/v2/schemas/public/default/t-partition-0/schema").await.json();
    assert_eq!(partition, latest);

    assert_eq!(world.post(&format!("{S}/version"), &json_schema("b")).await.json(), json!({"version": 1}));
    assert_eq!(world.post(&format!("{S}/version"), &json_schema("c")).await.json(), json!({"version": -1}));
    let compatible = world.post(&format!("{S}/compatibility"), &json_schema("c")).await.json();
    assert_eq!(compatible, json!({"compatibility": true, "schemaCompatibilityStrategy": "FULL"}));
    let other = world.post(&format!("{S}/compatibility"), r#"{"type":"STRING"}"#).await.json();
    assert_eq!(other["compatibility"], json!(false));

    assert_eq!(world.delete(&format!("{S}/schema?force=true")).await.json(), json!({"version": 2}));
    assert_eq!(world.get(&format!("{S}/schema")).await.status, 404);
    assert_eq!(world.delete(&format!("{S}/schema")).await.status, 200);
}

#[tokio::test]
async fn a_schema_of_keys_and_values_is_shown_as_json() {
    let world = World::start().await;
    let text = r#"{"key":{"type":"record","name":"k","fields":[]},"value":{"type":"record","name":"v","fields":[]}}"#;
    let body = json!({"type": "KEY_VALUE", "schema": text, "properties": {"kv.encoding.type": "INLINE"}});
    assert_eq!(world.post(&format!("{S}/schema"), &body.to_string()).await.status, 200);
    let shown = world.get(&format!("{S}/schema")).await.json();
    assert_eq!((&shown["type"], &shown["data"]), (&json!("KEY_VALUE"), &json!(text)));
    assert_eq!(world.post(&format!("{S}/schema"), r#"{"type":"KEY_VALUE","schema":"x"}"#).await.status, 400);
}

#[tokio::test]
async fn the_strategy_of_a_namespace_is_told() {
    let world = World::start().await;
    let path = "/admin/v2/namespaces/public/default/schemaCompatibilityStrategy";
    assert_eq!(world.put(path, r#""FORWARD""#).await.status, 204);
    let told = world.post(&format!("{S}/compatibility"), r#"{"type":"STRING"}"#).await.json();
    assert_eq!(told["schemaCompatibilityStrategy"], json!("FORWARD"));
    assert_eq!(world.post("/admin/v2/schemas/public/none/t/schema", r#"{"type":"STRING"}"#).await.status, 404);
}

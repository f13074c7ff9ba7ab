use serde_json::json;

use crate::client::Client;
use crate::world::World;

const P: &str = "/admin/v2/persistent/public/default";

#[tokio::test]
async fn single_messages_are_looked_at() {
    let world = World::start().await;
    world.put(&format!("{P}/t/subscription/s"), "").await;
    let mut client = Client::connect(&world).await;
    client.produce("persistent://public/default/t").await;
    client.publish(b"first", None).await;
    client.publish(b"second and third", Some(2)).await;

    let first = world.get(&format!("{P}/t/subscription/s/position/1")).await;
    assert_eq!((first.status, first.text()), (200, "first"));
    assert_eq!(first.header("x-pulsar-publish-time"), Some("1970-01-01T00:00:01.000Z"));
    assert_eq!(first.header("x-pulsar-property"), Some(r#"{"colour":"red"}"#));
    assert_eq!(first.header("x-pulsar-num-batch-message"), None);
    let id = first.header("x-pulsar-message-id").unwrap();
    let (ledger, entry) = id.split_once(':').unwrap();
    assert_eq!(entry, "0");
    let batch = world.get(&format!("{P}/t/subscription/s/position/2")).await;
    assert_eq!((batch.text(), batch.header("x-pulsar-num-batch-message")), ("second and third", Some("2")));
    let same = world.get(&format!("{P}/t/ledger/{ledger}/entry/0")).await;
    assert_eq!((same.status, same.text()), (200, "first"));

    let later = world.get(&format!("{P}/t/messageid/1001")).await.json();
    assert_eq!((&later["ledgerId"].to_string(), &later["entryId"]), (&ledger.to_owned(), &json!(1)));
    assert_eq!(world.get(&format!("{P}/t/lastMessageId")).await.json(), later);

    for (path, status) in [
        ("t/subscription/s/position/3", 404),
        ("t/subscription/s/position/0", 412),
        ("t/subscription/s/position/x", 400),
        ("t/subscription/none/position/1", 404),
        ("t/ledger/99/entry/0", 404),
        ("t/ledger/x/entry/0", 400),
        ("nope/lastMessageId", 404),
        ("nope/messageid/0", 404),
        ("t/messageid/x", 400),
    ] {
        assert_eq!(world.get(&format!("{P}/{path}")).await.status, status, "{path}");
    }
}

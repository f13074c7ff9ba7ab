"""The admin REST interface as scripts and admin clients use it."""

import json
import time

import pulsar
import pytest
import requests

from broker import HTTP, eventually, rest
from conftest import unique
from messages import numbers, receive, receive_texts, send_all

NO_CONTENT = 204


def test_broker_is_healthy(admin):
    answer = admin.request("GET", "brokers/health")
    assert (answer.status_code, answer.text) == (200, "ok")
    assert requests.get(f"{HTTP}/metrics", timeout=10).status_code == 200
    [cluster] = admin.get("clusters")
    assert len(admin.get(f"brokers/{cluster}")) == 1


def test_tenants(admin):
    tenant = unique("tenant")
    clusters = admin.get("clusters")
    body = {"adminRoles": ["boss"], "allowedClusters": clusters}
    assert admin.status("PUT", f"tenants/{tenant}", body) == NO_CONTENT
    assert admin.status("PUT", f"tenants/{tenant}", body) == 409
    assert tenant in admin.get("tenants")
    assert admin.get(f"tenants/{tenant}") == body
    assert admin.status("POST", f"tenants/{tenant}", {**body, "adminRoles": ["other"]}) == NO_CONTENT
    assert admin.get(f"tenants/{tenant}")["adminRoles"] == ["other"]
    admin.put(f"namespaces/{tenant}/ns")
    assert admin.status("DELETE", f"tenants/{tenant}") == 409, "it has a namespace"
    admin.delete(f"namespaces/{tenant}/ns")
    assert admin.status("DELETE", f"tenants/{tenant}") == NO_CONTENT
    assert admin.status("GET", f"tenants/{tenant}") == 404


def test_namespaces(admin):
    name = f"public/{unique('ns')}"
    assert admin.status("PUT", f"namespaces/{name}") == NO_CONTENT
    assert admin.status("PUT", f"namespaces/{name}") == 409
    assert name in admin.get("namespaces/public")
    assert admin.get(f"namespaces/{name}")["replication_clusters"] == admin.get("clusters")
    assert admin.status("DELETE", f"namespaces/{name}") == NO_CONTENT
    assert admin.status("GET", f"namespaces/{name}") == 404
    assert admin.status("PUT", "namespaces/nobody/ns") == 404


def test_namespace_with_topics_is_not_deleted_unless_forced(client, namespace, admin):
    client.create_producer(f"persistent://{namespace}/t").close()
    assert admin.status("DELETE", f"namespaces/{namespace}") in (409, 412)
    assert admin.status("DELETE", f"namespaces/{namespace}", force="true") in (NO_CONTENT, 405)


@pytest.mark.parametrize(
    "policy, value",
    [
        ("retention", {"retentionTimeInMinutes": 60, "retentionSizeInMB": 100}),
        ("messageTTL", 3600),
        ("maxProducersPerTopic", 5),
        ("maxConsumersPerTopic", 5),
        ("maxConsumersPerSubscription", 5),
        ("autoTopicCreation", {"allowAutoTopicCreation": True, "topicType": "non-partitioned"}),
    ],
)
def test_namespace_policies_are_set_read_and_removed(namespace, admin, policy, value):
    path = f"namespaces/{namespace}/{policy}"
    assert admin.status("POST", path, value) == NO_CONTENT
    shown = admin.get(path)
    assert shown == value or {k: shown[k] for k in value} == value
    assert admin.status("DELETE", path) == NO_CONTENT
    assert admin.get(path) != value


def test_permissions_of_a_namespace(namespace, admin):
    path = f"namespaces/{namespace}/permissions"
    assert admin.status("POST", f"{path}/role", ["produce", "consume"]) == NO_CONTENT
    assert sorted(admin.get(path)["role"]) == ["consume", "produce"]
    assert admin.status("DELETE", f"{path}/role") == NO_CONTENT
    assert "role" not in admin.get(path)


def test_bundles_of_a_namespace(admin):
    name = f"public/{unique('ns')}"
    admin.put(f"namespaces/{name}", {"bundles": {"numBundles": 4, "boundaries": []}})
    shown = admin.get(f"namespaces/{name}/bundles")
    assert shown["numBundles"] == 4
    assert shown["boundaries"] == ["0x00000000", "0x40000000", "0x80000000", "0xc0000000", "0xffffffff"]
    admin.delete(f"namespaces/{name}")


def test_topic_is_created_once(topic, admin):
    assert admin.status("PUT", rest(topic)) == NO_CONTENT
    assert admin.status("PUT", rest(topic)) == 409
    assert topic in admin.get("persistent/public/default")
    assert admin.status("DELETE", rest(topic)) == NO_CONTENT
    assert admin.status("DELETE", rest(topic)) == 404


def test_stats_of_a_topic(client, topic, admin):
    consumer = client.subscribe(topic, "s", consumer_name="c")
    producer = client.create_producer(topic, producer_name="p")
    send_all(producer, numbers(10))
    receive(consumer, 4)
    stats = eventually(lambda: (s := admin.stats(topic))["subscriptions"]["s"]["msgBacklog"] == 6 and s)
    assert stats["msgInCounter"] == 10
    [publisher] = stats["publishers"]
    assert publisher["producerName"] == "p"
    assert publisher["clientVersion"].startswith("Pulsar-CPP")
    subscription = stats["subscriptions"]["s"]
    assert (subscription["type"], subscription["isDurable"]) == ("Exclusive", True)
    assert [c["consumerName"] for c in subscription["consumers"]] == ["c"]
    consumer.close()
    producer.close()
    assert eventually(lambda: not admin.stats(topic)["publishers"])


def test_internal_stats_of_a_topic(client, topic, admin):
    client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbers(7))
    internal = admin.get(f"{rest(topic)}/internalStats")
    assert internal["numberOfEntries"] == 7
    assert internal["ledgers"] and "s" in internal["cursors"]
    ledger, entry = internal["lastConfirmedEntry"].split(":")
    assert int(ledger) >= 0 and int(entry) == 6


def test_missing_topic_is_not_found(name, admin):
    for path in ("stats", "internalStats", "subscriptions", "lastMessageId"):
        assert admin.status("GET", f"persistent/public/default/{name}/{path}") == 404, path
    assert admin.status("PUT", f"persistent/public/default/{name}/unload") == 404


def test_last_message_id_of_a_topic(client, topic, admin):
    sent = client.create_producer(topic).send(b"x")
    shown = admin.get(f"{rest(topic)}/lastMessageId")
    assert (shown["ledgerId"], shown["entryId"]) == (sent.ledger_id(), sent.entry_id())


def test_subscription_is_made_before_anyone_connects(client, topic, admin):
    client.create_producer(topic).send(b"x")
    for name, position in (("first", "earliest"), ("last", "latest")):
        assert admin.status("PUT", f"{rest(topic)}/subscription/{name}", position) == NO_CONTENT
    assert sorted(admin.get(f"{rest(topic)}/subscriptions")) == ["first", "last"]
    assert (admin.backlog(topic, "first"), admin.backlog(topic, "last")) == (1, 0)
    assert admin.status("PUT", f"{rest(topic)}/subscription/first", "earliest") == 409


def test_subscription_is_not_deleted_while_in_use(client, topic, admin):
    consumer = client.subscribe(topic, "s")
    assert admin.status("DELETE", f"{rest(topic)}/subscription/s") == 412
    consumer.close()
    assert admin.status("DELETE", f"{rest(topic)}/subscription/s") == NO_CONTENT
    assert admin.status("DELETE", f"{rest(topic)}/subscription/s") == 404


def test_backlog_is_skipped_in_part_and_in_full(client, topic, admin):
    client.subscribe(topic, "s").close()
    send_all(client.create_producer(topic), numbers(20))
    assert admin.status("POST", f"{rest(topic)}/subscription/s/skip/5") == NO_CONTENT
    assert admin.backlog(topic, "s") == 15
    consumer = client.subscribe(topic, "s")
    assert receive_texts(consumer, 15) == numbers(15, start=5)
    consumer.close()
    send_all(client.create_producer(topic), numbers(5))
    assert admin.status("POST", f"{rest(topic)}/subscription/s/skip_all") == NO_CONTENT
    assert admin.backlog(topic, "s") == 0


def test_cursor_is_reset_by_time_and_by_id(client, topic, admin):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    ids = send_all(producer, numbers(5))
    time.sleep(0.05)
    between = int(time.time() * 1000)
    time.sleep(0.05)
    send_all(producer, numbers(5, start=5))
    receive(consumer, 10)
    consumer.close()
    assert admin.status("POST", f"{rest(topic)}/subscription/s/resetcursor/{between}") == NO_CONTENT
    assert admin.backlog(topic, "s") == 5
    place = {"ledgerId": ids[2].ledger_id(), "entryId": ids[2].entry_id(), "partitionIndex": -1}
    assert admin.status("POST", f"{rest(topic)}/subscription/s/resetcursor", place) == NO_CONTENT
    assert receive_texts(client.subscribe(topic, "s"), 8) == numbers(8, start=2)


def test_old_messages_are_expired(client, topic, admin):
    client.subscribe(topic, "s").close()
    send_all(client.create_producer(topic), numbers(5))
    time.sleep(1.2)
    assert admin.status("POST", f"{rest(topic)}/subscription/s/expireMessages/1") == NO_CONTENT
    eventually(lambda: admin.backlog(topic, "s") == 0)


def test_message_is_peeked_at(client, topic, admin):
    client.subscribe(topic, "s").close()
    sent = client.create_producer(topic).send(b"look", properties={"a": "b"})
    answer = admin.request("GET", f"{rest(topic)}/subscription/s/position/1")
    assert (answer.status_code, answer.content) == (200, b"look")
    assert answer.headers["X-Pulsar-Message-ID"] == f"{sent.ledger_id()}:{sent.entry_id()}"
    assert json.loads(answer.headers["X-Pulsar-PROPERTY"]) == {"a": "b"}


def test_topic_policy_is_set_read_and_removed(client, topic, admin):
    client.create_producer(topic)
    path = f"{rest(topic)}/maxUnackedMessagesOnConsumer"
    assert admin.get(path) is None
    assert admin.status("POST", path, 7) == NO_CONTENT
    eventually(lambda: admin.get(path) == 7)
    assert admin.status("DELETE", path) == NO_CONTENT
    eventually(lambda: admin.get(path) is None)


def test_limit_of_unacknowledged_messages_holds_a_consumer_back(client, topic, admin):
    client.create_producer(topic).close()
    admin.post(f"{rest(topic)}/maxUnackedMessagesOnConsumer", 10)
    eventually(lambda: admin.get(f"{rest(topic)}/maxUnackedMessagesOnConsumer") == 10)
    consumer = client.subscribe(topic, "s", pulsar.ConsumerType.Shared, receiver_queue_size=5)
    send_all(client.create_producer(topic), numbers(100))
    first = receive(consumer, 10, ack=False)
    with pytest.raises(pulsar.Timeout):
        for _ in range(30):
            first.append(consumer.receive(400))
    assert len(first) < 40
    for message in first:
        consumer.acknowledge(message)
    assert len(receive(consumer, 100 - len(first))) == 100 - len(first)


def test_names_may_be_escaped(client, name):
    odd = f"{name}@a b"
    client.create_producer(f"persistent://public/default/{odd}")
    escaped = odd.replace("@", "%40").replace(" ", "%20")
    answer = requests.get(f"{HTTP}/admin/v2/persistent/public/default/{escaped}/stats", timeout=10)
    assert answer.status_code == 200, answer.text


def test_refusals_carry_a_reason(admin):
    answer = admin.request("GET", "tenants/nobody")
    assert answer.status_code == 404
    assert answer.json()["reason"]


@pytest.mark.parametrize("body", ["4", '"4"', '{"partitions":4,"properties":{}}'], ids=["number", "string", "object"])
def test_partition_count_comes_in_several_forms(topic, admin, body):
    kind = "application/vnd.partitioned-topic-metadata+json" if body.startswith("{") else "application/json"
    url = f"{HTTP}/admin/v2/{rest(topic)}/partitions"
    answer = requests.put(url, data=body, headers={"Content-Type": kind}, timeout=10)
    assert answer.status_code == NO_CONTENT, answer.text
    assert admin.get(f"{rest(topic)}/partitions")["partitions"] == 4

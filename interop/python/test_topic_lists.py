"""Listing the topics of a namespace, and subscribing to a pattern of them."""

import re

import pulsar

from broker import rest
from messages import receive, receive_texts, texts


def pattern(name):
    return re.compile(f"persistent://public/default/{re.escape(name)}-.*")


def test_pattern_consumer_follows_every_match(client, topic, name):
    topics = [f"{topic}-{at}" for at in range(3)]
    producers = [client.create_producer(t) for t in topics]
    client.create_producer(topic.replace("test_", "other_")).send(b"not this")
    consumer = client.subscribe(pattern(name), "s")
    for at, producer in enumerate(producers):
        producer.send(b"from %d" % at)
    received = receive(consumer, 3)
    assert sorted(texts(received)) == ["from 0", "from 1", "from 2"]
    assert sorted(m.topic_name() for m in received) == topics


def test_pattern_consumer_follows_all_partitions(client, topic, name, admin):
    admin.put(f"{rest(topic)}-parts/partitions", 3)
    consumer = client.subscribe(pattern(name), "s")
    producer = client.create_producer(f"{topic}-parts")
    for at in range(9):
        producer.send(b"%d" % at)
    received = receive(consumer, 9)
    assert {m.message_id().partition() for m in received} == {0, 1, 2}


def test_pattern_takes_the_kinds_of_topics_it_is_told_to(client, name):
    mode = pulsar.RegexSubscriptionMode
    durable, passing = (f"{kind}://public/default/{name}-x" for kind in ("persistent", "non-persistent"))
    producers = [client.create_producer(t) for t in (durable, passing)]
    anything = f"public/default/{re.escape(name)}-.*"
    wanted = {
        mode.PersistentOnly: {durable},
        mode.NonPersistentOnly: {passing},
        mode.AllTopics: {durable, passing},
    }
    for each, topics in wanted.items():
        consumer = client.subscribe(re.compile(anything), f"s-{each.name}", regex_subscription_mode=each)
        for producer in producers:
            producer.send(b"x")
        assert {m.topic_name() for m in receive(consumer, len(topics))} == topics
        consumer.close()


def test_lists_are_exact_by_mode(client, namespace, admin):
    durable, passing = f"persistent://{namespace}/d", f"non-persistent://{namespace}/n"
    parts = f"persistent://{namespace}/p"
    admin.put(f"persistent/{namespace}/p/partitions", 2)
    held = [client.create_producer(t) for t in (durable, passing, parts)]
    expected = [durable, f"{parts}-partition-0", f"{parts}-partition-1"]
    path = f"namespaces/{namespace}/topics"
    assert sorted(admin.get(path)) == expected
    assert sorted(admin.get(path, mode="PERSISTENT")) == expected
    assert sorted(admin.get(path, mode="NON_PERSISTENT")) == [passing]
    assert sorted(admin.get(path, mode="ALL")) == sorted([*expected, passing])
    assert sorted(admin.get(f"persistent/{namespace}")) == expected
    assert admin.get(f"persistent/{namespace}/partitioned") == [parts]
    assert len(held) == 3


def test_list_of_a_missing_namespace_is_not_found(admin):
    assert admin.status("GET", "namespaces/public/nowhere/topics") == 404


def test_pattern_over_a_missing_namespace_matches_nothing(client):
    client.subscribe(re.compile("persistent://public/nowhere/.*"), "s")

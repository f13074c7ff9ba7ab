"""Compaction keeps the last message of each key for those who ask for it."""

import pulsar
import pytest

from broker import eventually, rest
from messages import drain, texts

EARLIEST = pulsar.InitialPosition.Earliest


def compact(admin, topic):
    admin.put(f"{rest(topic)}/compaction")
    status = eventually(lambda: (s := admin.get(f"{rest(topic)}/compaction"))["status"] != "RUNNING" and s, within=30)
    assert status["status"] == "SUCCESS", status


def everything(client, topic, compacted):
    name = f"read-{compacted}"
    consumer = client.subscribe(topic, name, is_read_compacted=compacted, initial_position=EARLIEST)
    received = texts(drain(consumer))
    consumer.close()
    return received


@pytest.mark.skip(reason="compaction is refused with 501")
@pytest.mark.parametrize("batched", [False, True], ids=["single", "batched"])
def test_last_of_each_key_is_left(client, topic, admin, batched):
    client.subscribe(topic, "keep").close()
    producer = client.create_producer(topic, batching_enabled=batched, batching_max_publish_delay_ms=500)
    for at in range(3):
        for key in "abc":
            producer.send_async(f"{key}{at}".encode(), lambda *_: None, partition_key=key)
    producer.flush()
    compact(admin, topic)
    assert [text for text in everything(client, topic, True) if text] == ["a2", "b2", "c2"]
    assert len(everything(client, topic, False)) == 9


@pytest.mark.skip(reason="compaction is refused with 501")
def test_messages_after_the_compaction_follow(client, topic, admin):
    client.subscribe(topic, "keep").close()
    producer = client.create_producer(topic)
    for value in ("a0", "a1"):
        producer.send(value.encode(), partition_key="a")
    compact(admin, topic)
    producer.send(b"a2", partition_key="a")
    assert everything(client, topic, True) == ["a1", "a2"]


@pytest.mark.skip(reason="compaction is refused with 501")
@pytest.mark.beyond_pulsar(reason="4.0.7 keeps tombstones of messages without an uncompressed size")
def test_null_value_removes_its_key(client, topic, admin):
    client.subscribe(topic, "keep").close()
    producer = client.create_producer(topic)
    producer.send(b"a0", partition_key="a")
    producer.send(b"b0", partition_key="b")
    producer.send(b"", partition_key="a")
    compact(admin, topic)
    assert everything(client, topic, True) == ["b0"]


def test_shared_consumers_cannot_read_compacted(client, topic):
    with pytest.raises((pulsar.PulsarException, ValueError)):
        client.subscribe(topic, "s", pulsar.ConsumerType.Shared, is_read_compacted=True)

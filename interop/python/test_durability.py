"""What was acknowledged to a client is there after the broker was killed and started again.

The harness gives the command that does so in PLERION_RESTART_CMD.
"""

import os
import subprocess
import time
from datetime import timedelta

import pulsar
import pytest

from broker import eventually
from messages import drain, expect_nothing, numbers, read_texts, receive, receive_texts, send_all, texts

RESTART = os.environ.get("PLERION_RESTART_CMD")
pytestmark = pytest.mark.skipif(not RESTART, reason="PLERION_RESTART_CMD is not set")
Type = pulsar.ConsumerType
UNSAVED = 0.3
"""Seconds. Acknowledgements without a receipt are saved within 100 ms."""


def kill_and_restart():
    subprocess.run(RESTART, shell=True, check=True, timeout=60, stdout=subprocess.DEVNULL)


def test_messages_and_subscriptions_survive(client, topic):
    client.subscribe(topic, "s").close()
    producer = client.create_producer(topic)
    ids = send_all(producer, numbers(500))
    producer.close()
    kill_and_restart()
    received = receive(client.subscribe(topic, "s"), 500)
    assert texts(received) == numbers(500)
    assert [str(m.message_id()) for m in received] == [str(i) for i in ids]


def test_connected_clients_come_back(client, topic):
    consumer, producer = client.subscribe(topic, "s"), client.create_producer(topic)
    producer.send(b"before")
    kill_and_restart()
    after = producer.send(b"after")
    received = receive(consumer, 2)
    assert texts(received) == ["before", "after"]
    assert str(received[1].message_id()) == str(after)
    expect_nothing(consumer)


def test_sends_in_flight_are_stored_once_they_are_acknowledged(client, topic):
    client.subscribe(topic, "s").close()
    producer = client.create_producer(topic, max_pending_messages=20_000)
    acknowledged = []

    def done(at):
        return lambda result, _: result == pulsar.Result.Ok and acknowledged.append(at)

    for at in range(5000):
        producer.send_async(f"m{at}".encode(), done(at))
    kill_and_restart()
    producer.flush()
    stored = list(dict.fromkeys(int(t[1:]) for t in texts(drain(client.subscribe(topic, "s"), within_ms=2000))))
    assert stored == sorted(stored)
    assert set(acknowledged) <= set(stored)
    assert len(acknowledged) == 5000, "the client sends again what had no receipt"


def test_acknowledgements_survive_within_their_bound(client, topic, admin):
    consumer = client.subscribe(topic, "s", Type.Shared)
    send_all(client.create_producer(topic), numbers(300))
    for message in receive(consumer, 300, ack=False):
        if int(message.data()[1:]) % 2:
            consumer.acknowledge(message)
    eventually(lambda: admin.backlog(topic, "s") == 150)
    consumer.close()
    time.sleep(UNSAVED)
    kill_and_restart()
    eventually(lambda: admin.backlog(topic, "s") == 150)
    again = client.subscribe(topic, "s", Type.Shared)
    assert sorted(receive_texts(again, 150)) == sorted(f"m{at}" for at in range(0, 300, 2))
    expect_nothing(again)


def test_ids_keep_growing(client, topic):
    first = client.create_producer(topic).send(b"x")
    kill_and_restart()
    second = client.create_producer(topic).send(b"y")
    assert (second.ledger_id(), second.entry_id()) > (first.ledger_id(), first.entry_id())
    assert read_texts(client.create_reader(topic, pulsar.MessageId.earliest)) == ["x", "y"]


def test_policies_and_partitions_survive(client, namespace, admin):
    admin.post(f"namespaces/{namespace}/retention", {"retentionTimeInMinutes": 7, "retentionSizeInMB": 9})
    admin.put(f"persistent/{namespace}/t/partitions", 3)
    kill_and_restart()
    assert admin.get(f"namespaces/{namespace}/retention") == {"retentionTimeInMinutes": 7, "retentionSizeInMB": 9}
    assert len(client.get_topic_partitions(f"persistent://{namespace}/t")) == 3


def test_deduplication_remembers(client, namespace, admin):
    admin.post(f"namespaces/{namespace}/deduplication", True)
    topic = f"persistent://{namespace}/t"
    client.subscribe(topic, "s").close()
    producer = client.create_producer(topic, producer_name="p")
    for sequence_id in (1, 2, 3):
        producer.send(f"m{sequence_id}".encode(), sequence_id=sequence_id)
    producer.close()
    kill_and_restart()
    producer = client.create_producer(topic, producer_name="p")
    assert producer.last_sequence_id() == 3
    for sequence_id in (3, 4):
        producer.send(f"m{sequence_id}".encode(), sequence_id=sequence_id)
    consumer = client.subscribe(topic, "s")
    assert receive_texts(consumer, 4) == numbers(4, start=1)
    expect_nothing(consumer)


def test_delayed_messages_are_delivered_once(client, topic):
    consumer = client.subscribe(topic, "s", Type.Shared)
    producer = client.create_producer(topic)
    for text in numbers(5):
        producer.send(text.encode(), deliver_after=timedelta(seconds=4))
    kill_and_restart()
    assert sorted(receive_texts(consumer, 5)) == numbers(5)
    expect_nothing(consumer)

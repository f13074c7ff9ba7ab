"""Messages that are not to be delivered before their time."""

import time
from datetime import timedelta

import pulsar
import pytest

from messages import PRESENT_MS, expect_nothing, numbers, receive, receive_texts

Type = pulsar.ConsumerType
EARLY_MS = 100
"""How much before its time a message may come: one tick of the delivery timer."""


def now_ms():
    return int(time.time() * 1000)


@pytest.mark.parametrize("kind", [Type.Shared, Type.KeyShared], ids=lambda t: t.name)
def test_message_waits_for_its_time(client, topic, kind):
    consumer = client.subscribe(topic, "s", kind)
    due = now_ms() + 1500
    client.create_producer(topic).send(b"x", deliver_at=due, partition_key="k")
    message = consumer.receive(PRESENT_MS)
    assert due - EARLY_MS <= now_ms() < due + 1500
    assert message.redelivery_count() == 0
    consumer.acknowledge(message)
    expect_nothing(consumer)


def test_delay_is_counted_from_sending(client, topic):
    consumer = client.subscribe(topic, "s", Type.Shared)
    client.create_producer(topic).send(b"x", deliver_after=timedelta(seconds=1))
    expect_nothing(consumer, within_ms=600)
    assert receive_texts(consumer, 1) == ["x"]


def test_later_messages_pass_a_delayed_one(client, topic):
    consumer = client.subscribe(topic, "s", Type.Shared)
    producer = client.create_producer(topic)
    producer.send(b"delayed", deliver_after=timedelta(seconds=1))
    for text in numbers(5):
        producer.send(text.encode())
    assert receive_texts(consumer, 6) == [*numbers(5), "delayed"]


def test_delayed_messages_come_in_the_order_of_their_times(client, topic):
    consumer = client.subscribe(topic, "s", Type.Shared)
    producer = client.create_producer(topic)
    due = now_ms() + 800
    for place in (2, 0, 3, 1):
        producer.send(f"m{place}".encode(), deliver_at=due + place * 400)
    assert receive_texts(consumer, 4) == numbers(4)


def test_time_in_the_past_is_now(client, topic):
    consumer = client.subscribe(topic, "s", Type.Shared)
    client.create_producer(topic).send(b"x", deliver_at=now_ms() - 60_000)
    assert consumer.receive(1000).data() == b"x"


@pytest.mark.parametrize("kind", [Type.Exclusive, Type.Failover], ids=lambda t: t.name)
def test_ordered_subscriptions_do_not_wait(client, topic, kind):
    consumer = client.subscribe(topic, "s", kind)
    client.create_producer(topic).send(b"x", deliver_after=timedelta(seconds=60))
    assert receive_texts(consumer, 1) == ["x"]


def test_delayed_messages_wait_on_through_an_unload(client, topic, admin):
    consumer = client.subscribe(topic, "s", Type.Shared)
    due = now_ms() + 2500
    producer = client.create_producer(topic)
    for text in numbers(3):
        producer.send(text.encode(), deliver_at=due)
    admin.unload(topic)
    received = receive(consumer, 3)
    assert now_ms() >= due - EARLY_MS
    assert sorted(m.data().decode() for m in received) == numbers(3)
    expect_nothing(consumer)


def test_delayed_messages_are_counted(client, topic, admin):
    client.subscribe(topic, "s", Type.Shared)
    producer = client.create_producer(topic)
    for _ in range(4):
        producer.send(b"x", deliver_after=timedelta(seconds=60))
    assert admin.backlog(topic, "s") == 4

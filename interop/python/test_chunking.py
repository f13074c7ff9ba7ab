"""Messages above the size limit travel as several entries."""

import os

import pulsar
import pytest

from broker import eventually
from messages import PRESENT_MS, receive, receive_texts

LARGE = 5 * 1024 * 1024


def chunking(client, topic):
    return client.create_producer(topic, chunking_enabled=True)


def test_large_message_is_put_together_again(client, topic, admin):
    consumer = client.subscribe(topic, "s")
    payload = os.urandom(LARGE)
    chunking(client, topic).send(payload)
    assert consumer.receive(PRESENT_MS).data() == payload
    assert admin.stats(topic)["msgInCounter"] > 5, "sent in pieces that fit the announced limit"


def test_large_and_small_messages_keep_their_order(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = chunking(client, topic)
    large = b"L" * LARGE
    for value in (b"a", large, b"b", large, b"c"):
        producer.send_async(value, lambda *_: None)
    producer.flush()
    assert receive_texts(consumer, 5) == ["a", large.decode(), "b", large.decode(), "c"]


def test_chunks_of_two_producers_may_interleave(client, second_client, topic):
    consumer = client.subscribe(topic, "s")
    producers = [chunking(client, topic), chunking(second_client, topic)]
    for at in range(2):
        for own, producer in zip(b"AB", producers):
            producer.send_async(bytes([own]) * (LARGE + at), lambda *_: None)
    for producer in producers:
        producer.flush()
    received = [m.data() for m in receive(consumer, 4)]
    assert sorted((d[:1], len(d)) for d in received) == [(b"A", LARGE), (b"A", LARGE + 1), (b"B", LARGE), (b"B", LARGE + 1)]


def test_unacknowledged_large_message_is_redelivered_whole(client, topic):
    consumer = client.subscribe(topic, "s", pulsar.ConsumerType.Shared)
    payload = os.urandom(LARGE)
    chunking(client, topic).send(payload)
    receive(consumer, 1, ack=False)
    consumer.close()
    again = client.subscribe(topic, "s", pulsar.ConsumerType.Shared)
    assert receive(again, 1)[0].data() == payload


def test_acknowledged_large_message_leaves_no_backlog(client, topic, admin):
    consumer = client.subscribe(topic, "s")
    chunking(client, topic).send(os.urandom(LARGE))
    receive(consumer, 1)
    eventually(lambda: admin.backlog(topic, "s") == 0)


@pytest.mark.parametrize("compression", [pulsar.CompressionType.NONE, pulsar.CompressionType.LZ4], ids=["plain", "lz4"])
def test_chunks_may_be_compressed(client, topic, compression):
    consumer = client.subscribe(topic, "s")
    payload = os.urandom(LARGE)
    client.create_producer(topic, chunking_enabled=True, compression_type=compression).send(payload)
    assert receive(consumer, 1)[0].data() == payload

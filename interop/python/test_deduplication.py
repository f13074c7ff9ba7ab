"""With deduplication on, a producer's sequence id is stored once."""

import pulsar
import pytest

from broker import eventually, rest
from messages import expect_nothing, numbers, receive_texts


@pytest.fixture
def dedup_topic(namespace, admin):
    admin.post(f"namespaces/{namespace}/deduplication", True)
    return f"persistent://{namespace}/t"


def send(producer, *sequence_ids):
    """Sends `m<n>` with sequence id n for each number. (The client takes 0 for "choose one".)"""
    for number in sequence_ids:
        producer.send(f"m{number}".encode(), sequence_id=number)


def test_repeated_sequence_ids_are_dropped(client, dedup_topic):
    consumer = client.subscribe(dedup_topic, "s")
    producer = client.create_producer(dedup_topic, producer_name="p")
    send(producer, 1, 2, 3, 2, 3, 4, 1, 5)
    assert receive_texts(consumer, 5) == numbers(5, start=1)
    expect_nothing(consumer)
    assert producer.last_sequence_id() == 5


def test_gaps_are_allowed(client, dedup_topic):
    consumer = client.subscribe(dedup_topic, "s")
    send(client.create_producer(dedup_topic, producer_name="p"), 10, 20, 15, 30)
    assert receive_texts(consumer, 3) == ["m10", "m20", "m30"]
    expect_nothing(consumer)


def test_each_producer_name_counts_for_itself(client, dedup_topic):
    consumer = client.subscribe(dedup_topic, "s")
    for name in ("p", "q"):
        send(client.create_producer(dedup_topic, producer_name=name), 1, 2)
    assert receive_texts(consumer, 4) == ["m1", "m2"] * 2


def test_next_session_is_told_the_last_sequence_id(client, second_client, dedup_topic):
    consumer = client.subscribe(dedup_topic, "s")
    first = client.create_producer(dedup_topic, producer_name="p")
    send(first, 1, 2, 3)
    first.close()
    second = second_client.create_producer(dedup_topic, producer_name="p")
    assert second.last_sequence_id() == 3
    send(second, 2, 3, 4)
    assert receive_texts(consumer, 4) == numbers(4, start=1)
    expect_nothing(consumer)


def test_last_sequence_id_outlives_an_unload(client, dedup_topic, admin):
    consumer = client.subscribe(dedup_topic, "s")
    producer = client.create_producer(dedup_topic, producer_name="p")
    send(producer, 1, 2, 3)
    admin.unload(dedup_topic)
    eventually(producer.is_connected)
    send(producer, 3, 4)
    assert receive_texts(consumer, 4) == numbers(4, start=1)
    expect_nothing(consumer)


def test_batches_are_deduplicated_by_their_last_sequence_id(client, dedup_topic):
    consumer = client.subscribe(dedup_topic, "s")

    def send_batch(*sequence_ids):
        producer = client.create_producer(
            dedup_topic, producer_name="p", batching_enabled=True, batching_max_publish_delay_ms=1000
        )
        for number in sequence_ids:
            producer.send_async(f"m{number}".encode(), lambda *_: None, sequence_id=number)
        producer.flush()
        producer.close()

    send_batch(1, 2, 3)
    send_batch(1, 2, 3)
    send_batch(4, 5)
    assert receive_texts(consumer, 5) == numbers(5, start=1)
    expect_nothing(consumer)


def test_without_deduplication_repeats_are_stored_and_no_sequence_id_is_told(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, producer_name="p")
    send(producer, 1, 2, 2, 1)
    assert receive_texts(consumer, 4) == ["m1", "m2", "m2", "m1"]
    producer.close()
    assert client.create_producer(topic, producer_name="p").last_sequence_id() == -1


def test_topic_policy_turns_it_on(client, topic, admin):
    consumer = client.subscribe(topic, "s")
    admin.post(f"{rest(topic)}/deduplicationEnabled", True)
    eventually(lambda: admin.stats(topic)["deduplicationStatus"] == "Enabled")
    send(client.create_producer(topic, producer_name="p"), 1, 1, 2)
    assert receive_texts(consumer, 2) == ["m1", "m2"]
    expect_nothing(consumer)

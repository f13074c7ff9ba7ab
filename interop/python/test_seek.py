"""Seek moves a subscription; the last message id says where the topic ends."""

import time

import pulsar
import pytest

from messages import PRESENT_MS, expect_nothing, numbers, read_texts, receive, receive_texts, send_all

EARLIEST, LATEST = pulsar.MessageId.earliest, pulsar.MessageId.latest
Type = pulsar.ConsumerType


@pytest.mark.parametrize("kind", [Type.Exclusive, Type.Failover, Type.Shared], ids=lambda t: t.name)
def test_seek_to_the_beginning_brings_back_what_was_acknowledged(client, topic, kind):
    consumer = client.subscribe(topic, "s", kind)
    send_all(client.create_producer(topic), numbers(20))
    receive(consumer, 20)
    consumer.seek(EARLIEST)
    assert sorted(receive_texts(consumer, 20)) == sorted(numbers(20))
    expect_nothing(consumer)


def test_seek_to_the_end_skips_the_backlog(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    send_all(producer, numbers(20))
    consumer.seek(LATEST)
    expect_nothing(consumer)
    send_all(producer, ["new"])
    assert receive_texts(consumer, 1) == ["new"]


@pytest.mark.parametrize("inclusive, first", [(False, 13), (True, 12)], ids=["exclusive", "inclusive"])
@pytest.mark.parametrize("batched", [False, True], ids=["single", "batched"])
def test_seek_to_a_message(client, topic, inclusive, first, batched):
    producer = client.create_producer(
        topic, batching_enabled=batched, batching_max_messages=20, batching_max_publish_delay_ms=500
    )
    consumer = client.subscribe(topic, "s", start_message_id_inclusive=inclusive)
    ids = send_all(producer, numbers(20))
    receive(consumer, 20)
    consumer.seek(ids[12])
    assert receive_texts(consumer, 20 - first) == numbers(20 - first, start=first)
    expect_nothing(consumer)


def test_seek_by_time_goes_to_the_first_message_published_since(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    send_all(producer, numbers(10))
    time.sleep(0.05)
    between = int(time.time() * 1000)
    time.sleep(0.05)
    send_all(producer, numbers(10, start=10))
    receive(consumer, 20)
    consumer.seek(between)
    assert receive_texts(consumer, 10) == numbers(10, start=10)
    consumer.seek(between - 3_600_000)
    assert receive_texts(consumer, 20) == numbers(20)
    consumer.seek(between + 3_600_000)
    expect_nothing(consumer)


def test_seek_forgets_what_was_in_flight(client, topic):
    consumer = client.subscribe(topic, "s", Type.Shared)
    ids = send_all(client.create_producer(topic), numbers(20))
    receive(consumer, 20, ack=False)
    consumer.seek(ids[9])
    assert sorted(receive_texts(consumer, 10)) == sorted(numbers(10, start=10))
    expect_nothing(consumer)


def test_repeated_seeks_end_where_the_last_one_went(client, topic):
    consumer = client.subscribe(topic, "s")
    ids = send_all(client.create_producer(topic), numbers(20))
    for target in (EARLIEST, ids[3], LATEST, ids[14]):
        consumer.seek(target)
    assert receive_texts(consumer, 5) == numbers(5, start=15)


def test_seek_outlives_the_consumer(client, topic):
    consumer = client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbers(10))
    receive(consumer, 10)
    consumer.seek(EARLIEST)
    consumer.close()
    assert receive_texts(client.subscribe(topic, "s"), 10) == numbers(10)


def test_reader_seeks_by_id_and_by_time(client, topic):
    producer = client.create_producer(topic)
    ids = send_all(producer, numbers(10))
    time.sleep(0.05)
    between = int(time.time() * 1000)
    time.sleep(0.05)
    send_all(producer, numbers(10, start=10))
    reader = client.create_reader(topic, EARLIEST)
    reader.seek(ids[4])
    assert read_texts(reader) == numbers(15, start=5)
    reader.seek(between)
    assert read_texts(reader) == numbers(10, start=10)
    reader.seek(EARLIEST)
    assert read_texts(reader) == numbers(20)
    reader.seek(LATEST)
    assert not reader.has_message_available()


def test_reader_seeks_into_a_batch(client, topic):
    producer = client.create_producer(
        topic, batching_enabled=True, batching_max_messages=10, batching_max_publish_delay_ms=500
    )
    ids = send_all(producer, numbers(10))
    reader = client.create_reader(topic, EARLIEST, start_message_id_inclusive=True)
    reader.seek(ids[6])
    assert read_texts(reader) == numbers(4, start=6)


def test_partitioned_consumer_seeks_to_the_beginning_and_the_end(client, partitioned):
    consumer = client.subscribe(partitioned, "s")
    producer = client.create_producer(partitioned)
    for text in numbers(30):
        producer.send(text.encode())
    receive(consumer, 30)
    consumer.seek(EARLIEST)
    assert sorted(receive_texts(consumer, 30)) == sorted(numbers(30))
    consumer.seek(LATEST)
    expect_nothing(consumer)


def test_last_message_id_is_that_of_the_last_send(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    for _ in range(3):
        sent = producer.send(b"x")
        last = consumer.get_last_message_id()
        assert (last.ledger_id(), last.entry_id()) == (sent.ledger_id(), sent.entry_id())


def test_last_message_id_points_into_a_batch(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, batching_enabled=True, batching_max_publish_delay_ms=500)
    sent = send_all(producer, numbers(7))[-1]
    last = consumer.get_last_message_id()
    assert (last.entry_id(), last.batch_index()) == (sent.entry_id(), 6)


def test_last_message_id_of_an_empty_topic_is_none(client, topic):
    last = client.subscribe(topic, "s").get_last_message_id()
    assert (last.ledger_id(), last.entry_id()) == (-1, -1) or last.entry_id() == -1


def test_messages_after_seek_still_count_as_available(client, topic):
    ids = send_all(client.create_producer(topic), numbers(3))
    reader = client.create_reader(topic, LATEST)
    reader.seek(ids[0])
    assert reader.has_message_available()
    assert reader.read_next(PRESENT_MS).data() == b"m1"

"""Readers start where they are told, and leave nothing behind."""

import pulsar
import pytest

from broker import eventually, rest
from messages import PRESENT_MS, numbers, read_texts, send_all

EARLIEST, LATEST = pulsar.MessageId.earliest, pulsar.MessageId.latest


def test_from_the_beginning_to_the_end_and_on(client, topic):
    producer = client.create_producer(topic)
    send_all(producer, numbers(10))
    reader = client.create_reader(topic, EARLIEST)
    assert read_texts(reader) == numbers(10)
    send_all(producer, numbers(5, start=10))
    assert read_texts(reader) == numbers(5, start=10)


def test_from_the_end_sees_only_what_comes(client, topic):
    producer = client.create_producer(topic)
    send_all(producer, numbers(10))
    reader = client.create_reader(topic, LATEST)
    assert not reader.has_message_available()
    send_all(producer, ["new"])
    assert read_texts(reader) == ["new"]


def test_last_message_inclusive(client, topic):
    send_all(client.create_producer(topic), numbers(10))
    reader = client.create_reader(topic, LATEST, start_message_id_inclusive=True)
    assert read_texts(reader) == ["m9"]


@pytest.mark.parametrize("inclusive, first", [(False, 5), (True, 4)], ids=["exclusive", "inclusive"])
@pytest.mark.parametrize("batched", [False, True], ids=["single", "batched"])
def test_from_a_message(client, topic, inclusive, first, batched):
    producer = client.create_producer(
        topic, batching_enabled=batched, batching_max_messages=10, batching_max_publish_delay_ms=500
    )
    ids = send_all(producer, numbers(10))
    reader = client.create_reader(topic, ids[4], start_message_id_inclusive=inclusive)
    assert read_texts(reader) == numbers(10 - first, start=first)


def test_empty_topic_has_no_message_available(client, topic):
    assert not client.create_reader(topic, EARLIEST).has_message_available()
    assert not client.create_reader(topic, LATEST).has_message_available()


def test_reader_waits_for_a_message(client, topic):
    reader = client.create_reader(topic, EARLIEST)
    with pytest.raises(pulsar.Timeout):
        reader.read_next(300)
    client.create_producer(topic).send(b"x")
    assert reader.read_next(PRESENT_MS).data() == b"x"


def test_readers_do_not_disturb_each_other_or_a_subscription(client, topic, admin):
    client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbers(20))
    readers = [client.create_reader(topic, EARLIEST) for _ in range(2)]
    assert [read_texts(r) for r in readers] == [numbers(20)] * 2
    assert admin.backlog(topic, "s") == 20


def test_reader_leaves_no_subscription(client, topic, admin):
    reader = client.create_reader(topic, EARLIEST, reader_name="glance")
    assert len(admin.get(f"{rest(topic)}/subscriptions")) == 1
    reader.close()
    eventually(lambda: admin.get(f"{rest(topic)}/subscriptions") == [])


def test_reader_over_partitions_sees_everything(client, partitioned):
    producer = client.create_producer(
        partitioned, message_routing_mode=pulsar.PartitionsRoutingMode.RoundRobinDistribution
    )
    for text in numbers(30):
        producer.send(text.encode())
    assert sorted(read_texts(client.create_reader(partitioned, EARLIEST))) == sorted(numbers(30))


def test_listener_reads_everything(client, topic):
    got = []
    client.create_reader(topic, EARLIEST, reader_listener=lambda _, message: got.append(message.data().decode()))
    send_all(client.create_producer(topic), numbers(50))
    eventually(lambda: len(got) >= 50)
    assert got == numbers(50)


def test_reader_knows_whether_it_is_connected(client, topic):
    reader = client.create_reader(topic, EARLIEST)
    assert reader.is_connected()
    reader.close()
    assert not reader.is_connected()


def test_reader_goes_on_behind_what_it_read_after_an_unload(client, topic, admin):
    producer = client.create_producer(topic)
    send_all(producer, numbers(10))
    reader = client.create_reader(topic, EARLIEST)
    assert [reader.read_next(PRESENT_MS).data().decode() for _ in range(6)] == numbers(6)
    admin.unload(topic)
    assert [reader.read_next(PRESENT_MS).data().decode() for _ in range(4)] == numbers(4, start=6)

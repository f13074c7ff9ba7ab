"""Unloading a topic under its clients: they come back, and nothing is lost, doubled or reordered."""

import threading

import pulsar
import pytest

from broker import eventually, rest
from messages import drain, expect_nothing, numbers, receive, receive_texts, send_all, texts

Type = pulsar.ConsumerType


@pytest.mark.parametrize("batched", [False, True], ids=["single", "batched"])
def test_sends_in_flight_arrive_once_and_in_order(client, second_client, topic, admin, batched):
    consumer = second_client.subscribe(topic, "s")
    producer = client.create_producer(topic, batching_enabled=batched, max_pending_messages=10_000)
    results = []
    unloads = threading.Thread(target=lambda: [admin.unload(topic) for _ in range(3)])
    unloads.start()
    for at in range(3000):
        producer.send_async(f"m{at}".encode(), lambda result, _: results.append(result))
    unloads.join()
    eventually(lambda: len(results) == 3000, within=30)
    assert set(results) == {pulsar.Result.Ok}
    received = [int(m.data()[1:]) for m in receive(consumer, 3000)]
    received += [int(m.data()[1:]) for m in drain(consumer)]
    first_seen = list(dict.fromkeys(received))
    assert first_seen == list(range(3000)), "in order, none lost; a send resent after the unload may repeat"


def test_acknowledged_messages_do_not_come_back(client, topic, admin):
    consumer = client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbers(50))
    for message in receive(consumer, 50, ack=False)[:30]:
        consumer.acknowledge(message)
    eventually(lambda: admin.backlog(topic, "s") == 20)
    admin.unload(topic)
    assert receive_texts(consumer, 20) == numbers(20, start=30)
    expect_nothing(consumer)


@pytest.mark.parametrize("kind", [Type.Exclusive, Type.Failover, Type.Shared, Type.KeyShared], ids=lambda t: t.name)
def test_consumers_go_on_by_themselves(client, topic, admin, kind):
    consumer = client.subscribe(topic, "s", kind)
    producer = client.create_producer(topic)
    for at in range(3):
        admin.unload(topic)
        send_all(producer, numbers(10, start=at * 10))
        assert sorted(receive_texts(consumer, 10)) == sorted(numbers(10, start=at * 10))
        eventually(lambda: admin.backlog(topic, "s") == 0)
    expect_nothing(consumer)


def test_zero_queue_consumer_goes_on(client, topic, admin):
    consumer = client.subscribe(topic, "s", receiver_queue_size=0)
    producer = client.create_producer(topic)
    producer.send(b"before")
    assert consumer.receive().data() == b"before"
    admin.unload(topic)
    producer.send(b"after")
    again = [consumer.receive().data() for _ in range(2)]
    assert b"after" in again


def test_producer_keeps_its_name(client, topic, admin):
    producer = client.create_producer(topic)
    producer.send(b"x")
    before = producer.producer_name()
    admin.unload(topic)
    producer.send(b"y")
    assert producer.producer_name() == before
    assert [p["producerName"] for p in admin.stats(topic)["publishers"]] == [before]


def test_unloading_the_namespace_moves_every_topic(client, namespace, admin):
    topics = [f"persistent://{namespace}/t{at}" for at in range(10)]
    consumers = [client.subscribe(t, "s") for t in topics]
    producers = [client.create_producer(t) for t in topics]
    admin.put(f"namespaces/{namespace}/unload")
    for producer, consumer in zip(producers, consumers):
        producer.send(b"x")
        assert texts(receive(consumer, 1)) == ["x"]


def test_ids_keep_growing_over_an_unload(client, topic, admin):
    producer = client.create_producer(topic)
    places = []
    for _ in range(3):
        sent = producer.send(b"x")
        places.append((sent.ledger_id(), sent.entry_id()))
        admin.unload(topic)
    assert places == sorted(set(places))


def test_deleted_topic_starts_afresh(client, topic, admin):
    client.subscribe(topic, "s").close()
    producer = client.create_producer(topic)
    producer.send(b"x")
    assert admin.status("DELETE", rest(topic)) == 412, "a producer is connected"
    producer.close()
    admin.delete(rest(topic), force="true")
    assert admin.status("GET", f"{rest(topic)}/stats") == 404
    expect_nothing(client.subscribe(topic, "s", initial_position=pulsar.InitialPosition.Earliest))

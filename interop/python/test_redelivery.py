"""Redelivery by negative acknowledgement, timeout and request; counts; dead letters."""

import pulsar
import pytest

from messages import PRESENT_MS, expect_nothing, numbers, receive, receive_texts, send_all, texts

Type = pulsar.ConsumerType


@pytest.mark.parametrize("kind", [Type.Shared, Type.KeyShared], ids=lambda t: t.name)
def test_negative_ack_counts_up_by_one_each_time(client, topic, kind):
    consumer = client.subscribe(topic, "s", kind, negative_ack_redelivery_delay_ms=100)
    client.create_producer(topic).send(b"x", partition_key="k")
    for count in range(4):
        message = consumer.receive(PRESENT_MS)
        assert message.redelivery_count() == count
        consumer.negative_acknowledge(message)
    consumer.acknowledge(consumer.receive(PRESENT_MS))
    expect_nothing(consumer)


def test_negative_ack_brings_back_only_the_message_it_names(client, topic):
    consumer = client.subscribe(topic, "s", Type.Shared, negative_ack_redelivery_delay_ms=100)
    send_all(client.create_producer(topic), numbers(10))
    for message in receive(consumer, 10, ack=False):
        if message.data() in (b"m3", b"m7"):
            consumer.negative_acknowledge(message)
        else:
            consumer.acknowledge(message)
    assert sorted(receive_texts(consumer, 2)) == ["m3", "m7"]
    expect_nothing(consumer)


def test_negative_ack_of_a_batch_brings_the_batch_back_with_its_count(client, topic):
    consumer = client.subscribe(topic, "s", Type.Shared, negative_ack_redelivery_delay_ms=100)
    producer = client.create_producer(topic, batching_enabled=True, batching_max_publish_delay_ms=500)
    send_all(producer, numbers(5))
    for message in receive(consumer, 5, ack=False):
        consumer.negative_acknowledge(message)
    again = receive(consumer, 5)
    assert texts(again) == numbers(5)
    assert {m.redelivery_count() for m in again} == {1}


def test_negative_ack_on_exclusive_redelivers_in_order_without_counting(client, topic):
    consumer = client.subscribe(topic, "s", negative_ack_redelivery_delay_ms=100)
    send_all(client.create_producer(topic), numbers(10))
    for message in receive(consumer, 10, ack=False):
        consumer.negative_acknowledge(message)
    again = receive(consumer, 10)
    assert texts(again) == numbers(10)
    assert {m.redelivery_count() for m in again} == {0}


def test_unacknowledged_messages_come_back_after_the_timeout(client, topic):
    consumer = client.subscribe(topic, "s", Type.Shared, unacked_messages_timeout_ms=10_000)
    client.create_producer(topic).send(b"x")
    assert consumer.receive(PRESENT_MS).redelivery_count() == 0
    again = consumer.receive(30_000)
    assert again.redelivery_count() == 1
    consumer.acknowledge(again)


@pytest.mark.parametrize("kind", [Type.Exclusive, Type.Failover, Type.Shared], ids=lambda t: t.name)
def test_redeliver_all_brings_back_what_is_unacknowledged(client, topic, kind):
    consumer = client.subscribe(topic, "s", kind)
    send_all(client.create_producer(topic), numbers(20))
    for message in receive(consumer, 20, ack=False)[:5]:
        consumer.acknowledge(message)
    consumer.redeliver_unacknowledged_messages()
    again = receive_texts(consumer, 15)
    assert (sorted(again) if kind == Type.Shared else again) == (
        sorted(numbers(15, start=5)) if kind == Type.Shared else numbers(15, start=5)
    )
    expect_nothing(consumer)


def test_redelivered_message_may_go_to_another_consumer(client, second_client, topic):
    one = client.subscribe(topic, "s", Type.Shared)
    send_all(client.create_producer(topic), numbers(5))
    receive(one, 5, ack=False)
    two = second_client.subscribe(topic, "s", Type.Shared)
    one.close()
    assert sorted(receive_texts(two, 5)) == sorted(numbers(5))


def test_message_goes_to_the_dead_letter_topic_after_its_last_try(client, topic):
    dead = client.subscribe(f"{topic}-s-DLQ", "dead")
    consumer = client.subscribe(
        topic,
        "s",
        Type.Shared,
        negative_ack_redelivery_delay_ms=100,
        dead_letter_policy=pulsar.ConsumerDeadLetterPolicy(2),
    )
    producer = client.create_producer(topic)
    producer.send(b"poison", properties={"kept": "yes"})
    producer.send(b"good")
    tries = []
    while len(tries) < 3:
        message = consumer.receive(PRESENT_MS)
        if message.data() == b"good":
            consumer.acknowledge(message)
            continue
        tries.append(message.redelivery_count())
        consumer.negative_acknowledge(message)
    assert tries == [0, 1, 2]
    [buried] = receive(dead, 1)
    assert buried.data() == b"poison"
    assert buried.properties()["kept"] == "yes"
    expect_nothing(consumer)


def test_dead_letter_topic_gets_its_first_subscription(client, topic):
    consumer = client.subscribe(
        topic,
        "s",
        Type.Shared,
        negative_ack_redelivery_delay_ms=100,
        dead_letter_policy=pulsar.ConsumerDeadLetterPolicy(1, f"{topic}-graves", "keeper"),
    )
    client.create_producer(topic).send(b"poison")
    for _ in range(2):
        consumer.negative_acknowledge(consumer.receive(PRESENT_MS))
    expect_nothing(consumer, within_ms=1000)
    assert receive_texts(client.subscribe(f"{topic}-graves", "keeper"), 1) == ["poison"]

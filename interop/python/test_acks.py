"""What is acknowledged does not come back; everything else does."""

import pulsar
import pytest

from broker import eventually
from messages import drain, expect_nothing, numbers, receive, receive_texts, send_all, texts

Type = pulsar.ConsumerType


def test_cumulative_ack_covers_everything_before(client, topic, admin):
    consumer = client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbers(20))
    consumer.acknowledge_cumulative(receive(consumer, 20, ack=False)[11])
    eventually(lambda: admin.backlog(topic, "s") == 8)
    consumer.close()
    assert receive_texts(client.subscribe(topic, "s"), 8) == numbers(8, start=12)


@pytest.mark.parametrize("kind", [Type.Exclusive, Type.Shared, Type.KeyShared], ids=lambda t: t.name)
def test_holes_between_individual_acks_come_back(client, topic, admin, kind):
    consumer = client.subscribe(topic, "s", kind)
    send_all(client.create_producer(topic), numbers(100))
    for message in receive(consumer, 100, ack=False):
        if int(message.data()[1:]) % 3:
            consumer.acknowledge(message)
    eventually(lambda: admin.backlog(topic, "s") == 34)
    consumer.close()
    again = client.subscribe(topic, "s", kind)
    assert sorted(receive_texts(again, 34)) == sorted(f"m{at}" for at in range(0, 100, 3))
    expect_nothing(again)


def test_acks_in_reverse_order_complete(client, topic, admin):
    consumer = client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbers(50))
    for message in reversed(receive(consumer, 50, ack=False)):
        consumer.acknowledge(message)
    eventually(lambda: admin.backlog(topic, "s") == 0)


def test_ack_by_message_id_alone(client, topic, admin):
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic).send(b"x")
    [message] = receive(consumer, 1, ack=False)
    consumer.acknowledge(message.message_id())
    eventually(lambda: admin.backlog(topic, "s") == 0)


def test_ack_twice_is_harmless(client, topic, admin):
    consumer = client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbers(2))
    first, second = receive(consumer, 2, ack=False)
    for message in (first, first, second, second):
        consumer.acknowledge(message)
    eventually(lambda: admin.backlog(topic, "s") == 0)


@pytest.mark.parametrize("kind", [Type.Shared, Type.KeyShared], ids=lambda t: t.name)
def test_cumulative_ack_is_refused_where_messages_are_shared_out(client, topic, kind):
    consumer = client.subscribe(topic, "s", kind)
    client.create_producer(topic).send(b"x")
    [message] = receive(consumer, 1, ack=False)
    with pytest.raises(pulsar.PulsarException):
        consumer.acknowledge_cumulative(message)


def test_unacknowledged_count_is_shown_and_falls(client, topic, admin):
    consumer = client.subscribe(topic, "s", Type.Shared)
    send_all(client.create_producer(topic), numbers(10))
    messages = receive(consumer, 10, ack=False)

    def unacked():
        return admin.stats(topic)["subscriptions"]["s"]["unackedMessages"]

    eventually(lambda: unacked() == 10)
    for message in messages[:4]:
        consumer.acknowledge(message)
    eventually(lambda: unacked() == 6)


def test_shared_ack_through_another_consumer_counts(client, second_client, topic, admin):
    one, two = client.subscribe(topic, "s", Type.Shared), second_client.subscribe(topic, "s", Type.Shared)
    send_all(client.create_producer(topic), numbers(10))
    messages = [m for c in (one, two) for m in drain(c, ack=False)]
    assert len(messages) == 10
    for message in messages:
        two.acknowledge(message)
    eventually(lambda: admin.backlog(topic, "s") == 0)
    for shown in admin.stats(topic)["subscriptions"]["s"]["consumers"]:
        assert shown["unackedMessages"] == 0


def batch_of_ten(client, topic, **options):
    consumer = client.subscribe(topic, "s", batch_index_ack_enabled=True, **options)
    producer = client.create_producer(
        topic, batching_enabled=True, batching_max_messages=10, batching_max_publish_delay_ms=1000
    )
    send_all(producer, numbers(10))
    return consumer, receive(consumer, 10, ack=False)


def again_from(client, topic, consumer, **options):
    consumer.close()
    return client.subscribe(topic, "s", batch_index_ack_enabled=True, **options)


@pytest.mark.parametrize("kind", [Type.Exclusive, Type.Shared], ids=lambda t: t.name)
def test_batch_index_ack_brings_back_only_the_rest(client, topic, kind):
    consumer, messages = batch_of_ten(client, topic, consumer_type=kind)
    for message in messages[1::2]:
        consumer.acknowledge(message)
    again = again_from(client, topic, consumer, consumer_type=kind)
    assert receive_texts(again, 5) == [f"m{at}" for at in range(0, 10, 2)]
    expect_nothing(again)


def test_batch_index_cumulative_ack_brings_back_only_the_rest(client, topic):
    consumer, messages = batch_of_ten(client, topic)
    consumer.acknowledge_cumulative(messages[6])
    again = again_from(client, topic, consumer)
    assert receive_texts(again, 3) == numbers(3, start=7)
    expect_nothing(again)


def test_batch_index_acks_add_up_to_the_entry(client, topic, admin):
    consumer, messages = batch_of_ten(client, topic)
    for message in messages:
        consumer.acknowledge(message)
    eventually(lambda: admin.backlog(topic, "s") == 0)


@pytest.mark.beyond_pulsar(reason="apache/pulsar#14982: batch index acknowledgements are forgotten")
def test_batch_index_acks_survive_an_unload(client, topic, admin):
    consumer, messages = batch_of_ten(client, topic)
    for message in messages[:9]:
        consumer.acknowledge(message)
    again = again_from(client, topic, consumer)
    receive(again, 1, ack=False)
    again.close()
    admin.unload(topic)
    last = client.subscribe(topic, "s", batch_index_ack_enabled=True)
    assert texts(receive(last, 1)) == ["m9"]
    expect_nothing(last)

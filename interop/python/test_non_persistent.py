"""Non-persistent topics pass messages on to whoever is there."""

import pulsar
import pytest

from messages import expect_nothing, numbers, receive_texts, send_all

Type = pulsar.ConsumerType


@pytest.fixture
def passing(name):
    return f"non-persistent://public/default/{name}"


@pytest.mark.parametrize("kind", [Type.Exclusive, Type.Failover, Type.Shared, Type.KeyShared], ids=lambda t: t.name)
def test_connected_consumers_get_what_is_sent(client, passing, kind):
    consumer = client.subscribe(passing, "s", kind)
    client.create_producer(passing).send(b"x", partition_key="k")
    assert receive_texts(consumer, 1) == ["x"]


def test_order_is_kept(client, passing):
    consumer = client.subscribe(passing, "s", receiver_queue_size=1000)
    send_all(client.create_producer(passing), numbers(200))
    assert receive_texts(consumer, 200) == numbers(200)


def test_every_subscription_gets_its_own(client, passing):
    consumers = [client.subscribe(passing, f"s{at}") for at in range(2)]
    send_all(client.create_producer(passing), numbers(10))
    assert [receive_texts(c, 10) for c in consumers] == [numbers(10)] * 2


def test_nothing_is_kept_for_the_absent(client, passing):
    client.subscribe(passing, "s").close()
    send_all(client.create_producer(passing), numbers(10))
    expect_nothing(client.subscribe(passing, "s", initial_position=pulsar.InitialPosition.Earliest))


def test_exclusive_stays_exclusive(client, second_client, passing):
    client.subscribe(passing, "s")
    with pytest.raises(pulsar.ConsumerBusy):
        second_client.subscribe(passing, "s")


def test_sending_to_nobody_succeeds(client, passing):
    client.create_producer(passing).send(b"x")

"""Exclusive producers: refused, waiting and fencing."""

import threading

import pulsar
import pytest

from broker import eventually
from messages import receive_texts

Mode = pulsar.ProducerAccessMode


def produce(client, topic, mode, name):
    return client.create_producer(topic, producer_name=name, access_mode=mode)


def test_exclusive_keeps_others_out(client, second_client, topic):
    owner = produce(client, topic, Mode.Exclusive, "owner")
    with pytest.raises(pulsar.ProducerFenced):
        produce(second_client, topic, Mode.Exclusive, "late")
    with pytest.raises(pulsar.ProducerBusy):
        produce(second_client, topic, Mode.Shared, "shared")
    owner.close()
    produce(second_client, topic, Mode.Exclusive, "late").send(b"x")


def test_exclusive_is_refused_while_producers_share_the_topic(client, second_client, topic):
    produce(client, topic, Mode.Shared, "shared")
    with pytest.raises(pulsar.ProducerFenced):
        produce(second_client, topic, Mode.Exclusive, "exclusive")


def test_waiting_producer_gets_its_turn(client, second_client, topic):
    consumer = client.subscribe(topic, "s")
    owner = produce(client, topic, Mode.Exclusive, "owner")
    got = []
    waiter = threading.Thread(target=lambda: got.append(produce(second_client, topic, Mode.WaitForExclusive, "next")))
    waiter.start()
    owner.send(b"owner")
    waiter.join(1.0)
    assert waiter.is_alive(), "waits while there is an owner"
    owner.close()
    waiter.join(10.0)
    got[0].send(b"next")
    assert receive_texts(consumer, 2) == ["owner", "next"]


def test_fencing_takes_the_topic_over(client, second_client, topic):
    consumer = client.subscribe(topic, "s")
    old = produce(client, topic, Mode.Exclusive, "old")
    old.send(b"old")
    new = produce(second_client, topic, Mode.ExclusiveWithFencing, "new")
    new.send(b"new")
    with pytest.raises(pulsar.PulsarException):
        old.send(b"too late")
    assert receive_texts(consumer, 2) == ["old", "new"]
    assert not old.is_connected()


def test_fencing_drives_the_waiting_out_too(client, second_client, topic):
    produce(client, topic, Mode.Exclusive, "owner")
    outcome = []

    def wait():
        try:
            outcome.append(produce(client, topic, Mode.WaitForExclusive, "waiting"))
        except pulsar.PulsarException as refused:
            outcome.append(type(refused))

    waiter = threading.Thread(target=wait)
    waiter.start()
    waiter.join(0.5)
    assert waiter.is_alive()
    produce(second_client, topic, Mode.ExclusiveWithFencing, "new")
    waiter.join(10.0)
    assert outcome == [pulsar.ProducerFenced]


def test_exclusive_owner_stays_owner_through_an_unload(client, topic, admin):
    consumer = client.subscribe(topic, "s")
    owner = produce(client, topic, Mode.Exclusive, "owner")
    owner.send(b"before")
    admin.unload(topic)
    eventually(owner.is_connected)
    owner.send(b"after")
    assert receive_texts(consumer, 2) == ["before", "after"]

"""A terminated topic takes nothing more and gives out what it has."""

import pulsar
import pytest

from broker import rest
from messages import numbers, receive_texts, send_all


def terminate(admin, topic):
    answer = admin.request("POST", f"{rest(topic)}/terminate")
    assert answer.status_code == 200
    return answer.json()


def test_termination_tells_the_last_message(client, topic, admin):
    sent = client.create_producer(topic).send(b"x")
    last = terminate(admin, topic)
    assert (last["ledgerId"], last["entryId"]) == (sent.ledger_id(), sent.entry_id())
    again = terminate(admin, topic)
    assert (again["ledgerId"], again["entryId"]) == (last["ledgerId"], last["entryId"])


def test_backlog_of_a_terminated_topic_is_delivered(client, topic, admin):
    client.subscribe(topic, "s").close()
    producer = client.create_producer(topic)
    send_all(producer, numbers(10))
    producer.close()
    terminate(admin, topic)
    assert receive_texts(client.subscribe(topic, "s"), 10) == numbers(10)


def test_new_producer_is_refused(client, topic, admin):
    client.create_producer(topic).close()
    terminate(admin, topic)
    with pytest.raises(pulsar.TopicTerminated):
        client.create_producer(topic)


def test_connected_producer_cannot_send_any_more(client, topic, admin):
    producer = client.create_producer(topic, send_timeout_millis=5000)
    producer.send(b"x")
    terminate(admin, topic)
    with pytest.raises(pulsar.PulsarException):
        producer.send(b"y")


def test_topic_stays_terminated_after_an_unload(client, topic, admin):
    client.create_producer(topic).close()
    terminate(admin, topic)
    admin.unload(topic)
    with pytest.raises(pulsar.TopicTerminated):
        client.create_producer(topic)

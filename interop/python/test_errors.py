"""A refusal comes at once and says what was wrong."""

import time

import pulsar
import pytest

from conftest import connect
from messages import receive

AT_ONCE = 5.0
"""Seconds. A client that was given a retriable code keeps trying for its operation timeout of 15."""


@pytest.fixture(autouse=True)
def at_once():
    started = time.monotonic()
    yield
    assert time.monotonic() - started < AT_ONCE


@pytest.mark.parametrize("where", ["nobody/default", "public/nowhere"], ids=["tenant", "namespace"])
def test_missing_tenant_or_namespace_is_topic_not_found(client, where):
    with pytest.raises(pulsar.TopicNotFound):
        client.create_producer(f"persistent://{where}/t")
    with pytest.raises(pulsar.TopicNotFound):
        client.subscribe(f"persistent://{where}/t", "s")
    with pytest.raises(pulsar.TopicNotFound):
        client.create_reader(f"persistent://{where}/t", pulsar.MessageId.earliest)


def test_topic_is_not_made_where_that_is_forbidden(client, namespace, admin):
    admin.post(f"namespaces/{namespace}/autoTopicCreation", {"allowAutoTopicCreation": False})
    with pytest.raises(pulsar.TopicNotFound):
        client.create_producer(f"persistent://{namespace}/t")
    admin.put(f"persistent/{namespace}/t")
    client.create_producer(f"persistent://{namespace}/t").send(b"x")


def test_topic_may_be_made_partitioned_by_default(client, namespace, admin):
    policy = {"allowAutoTopicCreation": True, "topicType": "partitioned", "defaultNumPartitions": 4}
    admin.post(f"namespaces/{namespace}/autoTopicCreation", policy)
    client.create_producer(f"persistent://{namespace}/t")
    assert len(client.get_topic_partitions(f"persistent://{namespace}/t")) == 4


def test_limit_of_producers_is_producer_busy(client, namespace, admin):
    admin.post(f"namespaces/{namespace}/maxProducersPerTopic", 1)
    client.create_producer(f"persistent://{namespace}/t")
    with pytest.raises(pulsar.ProducerBusy):
        client.create_producer(f"persistent://{namespace}/t")


def test_limit_of_consumers_is_consumer_busy(client, namespace, admin):
    admin.post(f"namespaces/{namespace}/maxConsumersPerTopic", 1)
    client.subscribe(f"persistent://{namespace}/t", "one")
    with pytest.raises(pulsar.ConsumerBusy):
        client.subscribe(f"persistent://{namespace}/t", "two")


def test_unknown_listener_is_refused():
    client = connect(listener_name="nowhere", operation_timeout_seconds=2)
    with pytest.raises(pulsar.PulsarException):
        client.create_producer("t")
    client.close()


def test_refused_subscription_leaves_the_connection_usable(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    with pytest.raises(pulsar.ConsumerBusy):
        client.subscribe(topic, "s")
    producer.send(b"x")
    assert receive(consumer, 1)[0].data() == b"x"

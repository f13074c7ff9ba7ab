"""Partitioned topics: routing, growth, and the partitions as topics of their own."""

import pulsar
import pytest

from broker import eventually, rest
from conftest import connect
from messages import drain, numbers, receive, receive_texts, send_all, texts

Routing = pulsar.PartitionsRoutingMode


def by_partition(messages):
    found = {}
    for message in messages:
        found.setdefault(message.message_id().partition(), []).append(message.data().decode())
    return found


def test_partitions_are_told(client, partitioned, admin):
    assert client.get_topic_partitions(partitioned) == [f"{partitioned}-partition-{at}" for at in range(3)]
    assert admin.get(f"{rest(partitioned)}/partitions")["partitions"] == 3


def test_plain_topic_has_itself_only(client, topic, admin):
    client.create_producer(topic)
    assert client.get_topic_partitions(topic) == [topic]
    assert admin.get(f"{rest(topic)}/partitions")["partitions"] == 0


def test_round_robin_uses_every_partition(client, partitioned):
    consumer = client.subscribe(partitioned, "s")
    producer = client.create_producer(partitioned, message_routing_mode=Routing.RoundRobinDistribution)
    for text in numbers(30):
        producer.send(text.encode())
    got = by_partition(receive(consumer, 30))
    assert sorted(map(len, got.values())) == [10, 10, 10]


def test_single_partition_keeps_to_one(client, partitioned):
    consumer = client.subscribe(partitioned, "s")
    producer = client.create_producer(partitioned, message_routing_mode=Routing.UseSinglePartition)
    send_all(producer, numbers(30))
    assert list(by_partition(receive(consumer, 30)).values()) == [numbers(30)]


def test_key_decides_the_partition(client, partitioned):
    consumer = client.subscribe(partitioned, "s")
    producer = client.create_producer(partitioned)
    for at in range(10):
        for key in "abcdefgh":
            producer.send_async(f"{key}{at}".encode(), lambda *_: None, partition_key=key)
    producer.flush()
    home = {}
    for message in receive(consumer, 80):
        home.setdefault(message.partition_key(), set()).add(message.message_id().partition())
    assert all(len(partitions) == 1 for partitions in home.values())
    assert len(set.union(*home.values())) > 1


def test_custom_router_decides_the_partition(client, partitioned):
    consumer = client.subscribe(partitioned, "s")
    producer = client.create_producer(
        partitioned,
        message_routing_mode=Routing.CustomPartition,
        message_router=lambda message, count: int(message.data()) % count,
    )
    for at in range(9):
        producer.send(str(at).encode())
    assert by_partition(receive(consumer, 9)) == {p: [str(at) for at in range(p, 9, 3)] for p in range(3)}


def test_partition_is_a_topic(client, partitioned):
    part = f"{partitioned}-partition-1"
    consumer = client.subscribe(part, "s")
    client.create_producer(part).send(b"x")
    [message] = receive(consumer, 1)
    assert message.topic_name() == part
    assert message.message_id().partition() == 1


def test_message_id_of_a_plain_topic_has_no_partition(client, topic):
    assert client.create_producer(topic).send(b"x").partition() == -1


def test_partition_beyond_the_count_is_not_found(client, partitioned):
    with pytest.raises(pulsar.TopicNotFound):
        client.create_producer(f"{partitioned}-partition-7")


def test_consumers_of_a_shared_subscription_cover_all_partitions(client, second_client, partitioned):
    consumers = [c.subscribe(partitioned, "s", pulsar.ConsumerType.Shared) for c in (client, second_client)]
    send_all(client.create_producer(partitioned), numbers(200))
    got = [texts(drain(c, within_ms=1000)) for c in consumers]
    assert sorted(sum(got, [])) == sorted(numbers(200))


def test_topic_grows_and_never_shrinks(client, partitioned, admin):
    admin.post(f"{rest(partitioned)}/partitions", 5)
    assert len(client.get_topic_partitions(partitioned)) == 5
    client.create_producer(f"{partitioned}-partition-4").send(b"x")
    assert admin.status("POST", f"{rest(partitioned)}/partitions", 2) in (406, 409, 412, 422)
    assert len(client.get_topic_partitions(partitioned)) == 5


def test_growth_keeps_subscriptions(partitioned, admin):
    with_growth = connect()
    with_growth.subscribe(partitioned, "s").close()
    admin.post(f"{rest(partitioned)}/partitions", 4)
    assert admin.get(f"{rest(partitioned)}-partition-3/subscriptions") == ["s"]
    send_all(with_growth.create_producer(f"{partitioned}-partition-3"), ["first of the new partition"])
    assert receive_texts(with_growth.subscribe(partitioned, "s"), 1) == ["first of the new partition"]
    with_growth.close()


def test_creating_twice_conflicts(partitioned, admin):
    assert admin.status("PUT", f"{rest(partitioned)}/partitions", 3) == 409


def test_plain_topic_cannot_become_partitioned(client, topic, admin):
    client.create_producer(topic)
    assert admin.status("PUT", f"{rest(topic)}/partitions", 3) == 409


def test_deleting_takes_the_partitions_with_it(client, partitioned, admin):
    client.create_producer(partitioned).close()
    admin.delete(f"{rest(partitioned)}/partitions", force="true")
    listed = admin.get("persistent/public/default")
    assert not [t for t in listed if t.startswith(partitioned)]
    assert admin.status("DELETE", f"{rest(partitioned)}/partitions") == 404


def test_stats_of_the_whole_add_up(client, partitioned, admin):
    client.subscribe(partitioned, "s")
    producer = client.create_producer(partitioned, message_routing_mode=Routing.RoundRobinDistribution)
    for text in numbers(9):
        producer.send(text.encode())

    def settled():
        stats = admin.get(f"{rest(partitioned)}/partitioned-stats", perPartition="true")
        return stats if stats["subscriptions"]["s"]["msgBacklog"] == 9 else None

    stats = eventually(settled)
    assert stats["metadata"]["partitions"] == 3
    assert sorted(stats["partitions"]) == [f"{partitioned}-partition-{at}" for at in range(3)]

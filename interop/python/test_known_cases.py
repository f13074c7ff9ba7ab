"""Failures that brokers of this kind have had in public, each named after its report."""

import os
import subprocess
import threading
import time

import pulsar
import pytest

from broker import eventually, rest
from conftest import connect
from messages import PRESENT_MS, drain, numbers, receive, send_all, texts

Type = pulsar.ConsumerType
RESTART = os.environ.get("PLERION_RESTART_CMD")


def test_pulsar_13069_cold_topics_are_found_by_many_at_once(namespace):
    clients = [connect() for _ in range(20)]
    failures = []

    def produce(at):
        try:
            clients[at].create_producer(f"persistent://{namespace}/t{at % 4}").send(b"x")
        except pulsar.PulsarException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=produce, args=(at,)) for at in range(20)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    [c.close() for c in clients]
    assert not failures


def test_pulsar_6872_producers_on_one_connection_come_back_after_each_unload(client, topic, admin):
    moving, staying = f"{topic}-moving", f"{topic}-staying"
    producers = [client.create_producer(t) for t in (moving, staying)]
    for at in range(5):
        admin.unload(moving)
        for producer in producers:
            producer.send(b"%d" % at)
    for each in (moving, staying):
        stats = admin.stats(each)
        assert (len(stats["publishers"]), stats["storageSize"] > 0) == (1, True)


def test_pulsar_5988_name_of_a_producer_is_free_once_it_is_closed(client, topic, admin):
    for _ in range(5):
        producer = client.create_producer(topic, producer_name="same")
        producer.send(b"x")
        producer.close()
        admin.unload(topic)
    assert client.create_producer(topic, producer_name="same").producer_name() == "same"


def test_pulsar_8115_key_shared_consumers_may_come_and_go(client, second_client, topic):
    stayer = client.subscribe(topic, "s", Type.KeyShared)
    producer = client.create_producer(topic)
    sent = 0
    for _ in range(6):
        comer = second_client.subscribe(topic, "s", Type.KeyShared)
        for at in range(sent, sent + 50):
            producer.send_async(f"m{at}".encode(), lambda *_: None, partition_key=f"k{at % 17}")
        producer.flush()
        sent += 50
        drain(comer, within_ms=150, ack=False)
        comer.close()
    seen = {}
    for message in drain(stayer, within_ms=1000):
        seen.setdefault(message.partition_key(), []).append(int(message.data()[1:]))
    assert sorted(sum(seen.values(), [])) == list(range(sent))
    assert all(places == sorted(places) for places in seen.values())


def test_pulsar_21199_poison_key_stalls_only_itself(client, topic):
    def subscribe():
        return client.subscribe(topic, "s", Type.KeyShared, negative_ack_redelivery_delay_ms=100)

    consumers = [subscribe(), subscribe()]
    producer = client.create_producer(topic)
    good = set()
    for round_ in range(4):
        producer.send(b"poison", partition_key="poison")
        for at in range(20):
            producer.send(f"good {round_}.{at}".encode(), partition_key=f"k{at}")
        for consumer in consumers:
            for message in drain(consumer, within_ms=150, ack=False):
                if message.data() == b"poison":
                    consumer.negative_acknowledge(message)
                else:
                    consumer.acknowledge(message)
                    good.add(message.data().decode())
        consumers[round_ % 2].close()
        consumers[round_ % 2] = subscribe()
    for consumer in consumers:
        good |= {text for text in texts(drain(consumer)) if text != "poison"}
    assert good == {f"good {round_}.{at}" for round_ in range(4) for at in range(20)}


def test_pulsar_10813_shared_subscription_over_many_partitions_reaches_the_end(client, topic, admin):
    admin.put(f"{rest(topic)}/partitions", 20)
    consumers = [client.subscribe(topic, "s", Type.Shared, receiver_queue_size=50) for _ in range(3)]
    producer = client.create_producer(topic, batching_enabled=True, block_if_queue_full=True)
    send_all(producer, numbers(6000))
    got = []

    def work(consumer):
        got.extend(texts(drain(consumer, within_ms=1500)))

    workers = [threading.Thread(target=work, args=(c,)) for c in consumers]
    [w.start() for w in workers]
    [w.join() for w in workers]
    assert sorted(got) == sorted(numbers(6000))


def test_pulsar_20099_acknowledged_delayed_messages_stay_so_over_an_unload(client, topic, admin):
    consumer = client.subscribe(topic, "s", Type.Shared)
    producer = client.create_producer(topic)
    now = int(time.time() * 1000)
    for at in range(40):
        producer.send(f"m{at}".encode(), deliver_at=now + 1000 + at * 25)
    first = texts(receive(consumer, 10))
    eventually(lambda: admin.backlog(topic, "s") == 30)
    admin.unload(topic)
    # What the client had not handed out yet may come twice.
    later = texts(drain(consumer, within_ms=1500))
    assert not set(first) & set(later)
    assert set(first) | set(later) == set(numbers(40))


def test_pulsar_client_cpp_235_every_consumer_comes_back_after_an_unload(client, partitioned, admin):
    consumers = [client.subscribe(f"{partitioned}-partition-{at}", "s") for at in range(3)]
    for _ in range(3):
        for at in range(3):
            admin.unload(f"{partitioned}-partition-{at}")
    producer = client.create_producer(partitioned, message_router=lambda message, _: int(message.data()))
    for at, consumer in enumerate(consumers):
        producer.send(b"%d" % at)
        assert consumer.receive(PRESENT_MS).data() == b"%d" % at


@pytest.mark.skipif(not RESTART, reason="PLERION_RESTART_CMD is not set")
@pytest.mark.beyond_pulsar(reason="apache/pulsar#25540: more than 10 000 acknowledgement holes are forgotten")
def test_pulsar_25540_every_acknowledgement_hole_survives_a_restart(client, topic, admin):
    consumer = client.subscribe(topic, "s", Type.Shared, receiver_queue_size=5000)
    send_all(client.create_producer(topic, block_if_queue_full=True), numbers(25_000))
    for _ in range(25_000):
        message = consumer.receive(PRESENT_MS)
        if int(message.data()[1:]) % 2:
            consumer.acknowledge(message)
    eventually(lambda: admin.backlog(topic, "s") == 12_500)
    consumer.close()
    subprocess.run(RESTART, shell=True, check=True, timeout=60, stdout=subprocess.DEVNULL)
    assert admin.backlog(topic, "s") == 12_500
    again = drain(client.subscribe(topic, "s", Type.Shared, receiver_queue_size=5000))
    assert sorted(int(m.data()[1:]) for m in again) == list(range(0, 25_000, 2))

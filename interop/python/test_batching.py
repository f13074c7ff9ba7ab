"""Batches are one entry each, and their messages keep their own places in it."""

import pulsar

from messages import numbers, receive, receive_texts, send_all


def batching(client, topic, size=10, **options):
    options.setdefault("batching_max_publish_delay_ms", 1000)
    return client.create_producer(topic, batching_enabled=True, batching_max_messages=size, **options)


def test_messages_of_a_batch_share_an_entry_and_count_their_index(client, topic):
    consumer = client.subscribe(topic, "s")
    send_all(batching(client, topic), numbers(30))
    received = receive(consumer, 30)
    assert [m.data().decode() for m in received] == numbers(30)
    assert [m.message_id().batch_index() for m in received] == list(range(10)) * 3
    assert len({m.message_id().entry_id() for m in received}) == 3


def test_backlog_counts_entries(client, topic, admin):
    client.subscribe(topic, "s")
    send_all(batching(client, topic), numbers(30))
    assert admin.backlog(topic, "s") == 3


def test_messages_of_a_batch_keep_keys_and_properties(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = batching(client, topic)
    for at in range(10):
        producer.send_async(b"", lambda *_: None, partition_key=f"k{at}", properties={"at": str(at)})
    producer.flush()
    received = receive(consumer, 10)
    assert [(m.partition_key(), m.properties()["at"]) for m in received] == [(f"k{at}", str(at)) for at in range(10)]


def test_flush_sends_an_unfinished_batch(client, topic):
    consumer = client.subscribe(topic, "s")
    send_all(batching(client, topic, batching_max_publish_delay_ms=60_000), numbers(3))
    assert receive_texts(consumer, 3) == numbers(3)


def test_compressed_batch_passes_through(client, topic):
    consumer = client.subscribe(topic, "s")
    send_all(batching(client, topic, compression_type=pulsar.CompressionType.LZ4), numbers(20))
    assert receive_texts(consumer, 20) == numbers(20)


def test_batch_larger_than_the_permits_is_delivered(client, topic):
    consumer = client.subscribe(topic, "s", receiver_queue_size=5)
    send_all(batching(client, topic, size=100), numbers(500))
    assert receive_texts(consumer, 500) == numbers(500)


def test_partly_acknowledged_batch_comes_back_whole(client, topic):
    consumer = client.subscribe(topic, "s")
    send_all(batching(client, topic), numbers(10))
    for message in receive(consumer, 10, ack=False)[:9]:
        consumer.acknowledge(message)
    consumer.close()
    assert receive_texts(client.subscribe(topic, "s"), 10) == numbers(10)


def test_fully_acknowledged_batch_does_not_come_back(client, topic, admin):
    consumer = client.subscribe(topic, "s")
    producer = batching(client, topic)
    send_all(producer, numbers(10))
    receive(consumer, 10)
    consumer.close()
    send_all(producer, ["next"])
    assert receive_texts(client.subscribe(topic, "s"), 1) == ["next"]


def test_key_based_batches_hold_one_key_each(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = batching(client, topic, size=100, batching_type=pulsar.BatchingType.KeyBased)
    for at in range(40):
        producer.send_async(str(at).encode(), lambda *_: None, partition_key=f"k{at % 4}")
    producer.flush()
    by_entry = {}
    for message in receive(consumer, 40):
        by_entry.setdefault(message.message_id().entry_id(), []).append(message)
    assert len(by_entry) == 4
    for batch in by_entry.values():
        assert len({m.partition_key() for m in batch}) == 1
        places = [int(m.data()) for m in batch]
        assert places == sorted(places) and len(places) == 10

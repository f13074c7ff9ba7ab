"""Key_Shared: one key, one consumer, in order."""

import pulsar
import pytest

from messages import drain, expect_nothing, receive, send_all, texts

Type, Mode = pulsar.ConsumerType.KeyShared, pulsar.KeySharedMode


def subscribe(client, topic, **options):
    return client.subscribe(topic, "s", Type, **options)


def sticky(client, topic, *ranges):
    policy = pulsar.ConsumerKeySharedPolicy(Mode.Sticky, False, list(ranges))
    return subscribe(client, topic, key_shared_policy=policy)


def send_keyed(producer, keys, count, start=0):
    """`count` rounds over the keys, each message being `key:round`."""
    for at in range(start, start + count):
        for key in keys:
            producer.send_async(f"{key}:{at}".encode(), lambda *_: None, partition_key=key)
    producer.flush()


def rounds(messages):
    """The rounds of each key, in the order received."""
    seen = {}
    for text in texts(messages):
        key, at = text.split(":")
        seen.setdefault(key, []).append(int(at))
    return seen


KEYS = [f"key-{at}" for at in range(40)]


def test_each_key_goes_to_one_consumer_in_order(client, topic):
    consumers = [subscribe(client, topic) for _ in range(3)]
    send_keyed(client.create_producer(topic), KEYS, 10)
    got = [rounds(drain(c)) for c in consumers]
    assert all(got), "40 keys reach each of three consumers"
    assert sum(len(g) for g in got) == len(KEYS), "no key at two consumers"
    for each in got:
        assert all(seen == list(range(10)) for seen in each.values())


def test_ordering_key_goes_before_partition_key(client, topic):
    consumers = [subscribe(client, topic) for _ in range(3)]
    producer = client.create_producer(topic)
    for at in range(60):
        producer.send(str(at).encode(), partition_key=f"k{at}", ordering_key="one")
    assert sorted(len(drain(c)) for c in consumers) == [0, 0, 60]


def test_messages_without_a_key_are_delivered(client, topic):
    consumers = [subscribe(client, topic) for _ in range(2)]
    send_all(client.create_producer(topic), range(100))
    assert sum(len(drain(c)) for c in consumers) == 100


def test_newcomer_takes_keys_over_only_when_the_old_owner_is_done_with_them(client, second_client, topic):
    first = subscribe(client, topic)
    producer = client.create_producer(topic)
    send_keyed(producer, KEYS, 1)
    held = receive(first, len(KEYS), ack=False)
    second = subscribe(second_client, topic)
    send_keyed(producer, KEYS, 1, start=1)
    early = drain(second, ack=False)
    assert not early, "every key is still held, unacknowledged, by the first consumer"
    for message in held:
        first.acknowledge(message)
    now_first, now_second = rounds(drain(first)), rounds(drain(second))
    assert now_second, "some keys moved to the newcomer"
    assert {**now_first, **now_second} == {key: [1] for key in KEYS}
    assert not set(now_first) & set(now_second)


def test_keys_of_a_leaver_go_on_in_order(client, second_client, topic):
    stayer, leaver = subscribe(client, topic), subscribe(second_client, topic)
    producer = client.create_producer(topic)
    send_keyed(producer, KEYS, 5)
    taken = drain(leaver, ack=False)
    assert taken
    kept = rounds(drain(stayer))
    leaver.close()
    send_keyed(producer, KEYS, 5, start=5)
    after = rounds(drain(stayer))
    for key in KEYS:
        assert kept.get(key, []) + after[key] == list(range(10)), key


def test_held_key_does_not_hold_up_the_others(client, topic):
    consumer = subscribe(client, topic)
    producer = client.create_producer(topic)
    send_keyed(producer, ["held"], 1)
    [held] = receive(consumer, 1, ack=False)
    others = [subscribe(client, topic) for _ in range(2)]
    send_keyed(producer, KEYS, 5)
    got = {}
    for each in (consumer, *others):
        got.update(rounds(drain(each)))
    assert got == {key: list(range(5)) for key in KEYS}
    consumer.acknowledge(held)


def test_redelivered_key_stays_in_order(client, topic):
    consumer = subscribe(client, topic, negative_ack_redelivery_delay_ms=100)
    send_keyed(client.create_producer(topic), ["a"], 5)
    for message in receive(consumer, 5, ack=False):
        consumer.negative_acknowledge(message)
    again = receive(consumer, 5)
    assert rounds(again) == {"a": [0, 1, 2, 3, 4]}
    assert {m.redelivery_count() for m in again} == {1}


def test_sticky_ranges_share_the_keys(client, topic):
    low, high = sticky(client, topic, (0, 32767)), sticky(client, topic, (32768, 65535))
    send_keyed(client.create_producer(topic), KEYS, 3)
    got = [rounds(drain(c)) for c in (low, high)]
    assert all(got) and not set(got[0]) & set(got[1])
    assert {**got[0], **got[1]} == {key: [0, 1, 2] for key in KEYS}


def test_sticky_keys_without_an_owner_wait_for_one(client, topic):
    low = sticky(client, topic, (0, 32767))
    send_keyed(client.create_producer(topic), KEYS, 1)
    first = rounds(drain(low))
    assert 0 < len(first) < len(KEYS)
    high = sticky(client, topic, (32768, 65535))
    assert set(rounds(drain(high))) == set(KEYS) - set(first)
    expect_nothing(low)


def test_sticky_ranges_that_overlap_are_refused(client, second_client, topic):
    sticky(client, topic, (0, 1000))
    with pytest.raises(pulsar.ConsumerAssignError):
        sticky(second_client, topic, (1000, 2000))


def test_sticky_range_is_free_after_its_consumer_left(client, second_client, topic):
    sticky(client, topic, (0, 1000)).close()
    sticky(second_client, topic, (0, 1000))


def test_modes_do_not_mix(client, second_client, topic):
    subscribe(client, topic)
    with pytest.raises(pulsar.ConsumerBusy):
        sticky(second_client, topic, (0, 65535))


def test_key_based_batches_keep_to_one_consumer(client, topic):
    consumers = [subscribe(client, topic) for _ in range(2)]
    producer = client.create_producer(
        topic, batching_enabled=True, batching_type=pulsar.BatchingType.KeyBased, batching_max_messages=50
    )
    send_keyed(producer, KEYS[:10], 20)
    got = [rounds(drain(c)) for c in consumers]
    assert all(got) and not set(got[0]) & set(got[1])
    assert {**got[0], **got[1]} == {key: list(range(20)) for key in KEYS[:10]}

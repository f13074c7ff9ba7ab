"""Who may join a subscription, and who of it gets a message."""

import threading

import pulsar
import pytest

from broker import eventually, rest
from messages import drain, expect_nothing, numbers, receive, receive_texts, send_all, texts

Type, Initial = pulsar.ConsumerType, pulsar.InitialPosition


def test_exclusive_refuses_a_second_consumer_at_once(client, second_client, topic):
    client.subscribe(topic, "s")
    with pytest.raises(pulsar.ConsumerBusy):
        second_client.subscribe(topic, "s")


def test_exclusive_is_free_after_the_consumer_left(client, second_client, topic):
    first = client.subscribe(topic, "s")
    send_all(client.create_producer(topic), numbers(10))
    receive(first, 4)
    first.close()
    assert receive_texts(second_client.subscribe(topic, "s"), 6) == numbers(6, start=4)


def test_another_type_is_refused_while_a_consumer_is_connected(client, topic):
    consumer = client.subscribe(topic, "s", Type.Shared)
    for other in (Type.Exclusive, Type.Failover, Type.KeyShared):
        with pytest.raises(pulsar.ConsumerBusy):
            client.subscribe(topic, "s", other)
    consumer.close()
    client.subscribe(topic, "s", Type.KeyShared)


def test_initial_position_applies_to_a_new_subscription_only(client, topic):
    producer = client.create_producer(topic)
    send_all(producer, numbers(5))
    early = client.subscribe(topic, "early", initial_position=Initial.Earliest)
    late = client.subscribe(topic, "late", initial_position=Initial.Latest)
    send_all(producer, numbers(5, start=5))
    assert receive_texts(early, 10) == numbers(10)
    assert receive_texts(late, 5) == numbers(5, start=5)
    early.close()
    expect_nothing(client.subscribe(topic, "early", initial_position=Initial.Earliest))


def test_subscription_collects_while_nobody_is_connected(client, topic, admin):
    client.subscribe(topic, "s").close()
    send_all(client.create_producer(topic), numbers(20))
    assert admin.backlog(topic, "s") == 20
    assert receive_texts(client.subscribe(topic, "s"), 20) == numbers(20)
    eventually(lambda: admin.backlog(topic, "s") == 0)


def test_unsubscribe_forgets_the_subscription(client, topic, admin):
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic).send(b"x")
    consumer.unsubscribe()
    assert admin.get(f"{rest(topic)}/subscriptions") == []
    expect_nothing(client.subscribe(topic, "s"))


def test_unsubscribe_is_refused_while_others_are_connected(client, topic, admin):
    one, _two = client.subscribe(topic, "s", Type.Shared), client.subscribe(topic, "s", Type.Shared)
    with pytest.raises(pulsar.PulsarException):
        one.unsubscribe()
    assert admin.get(f"{rest(topic)}/subscriptions") == ["s"]


def active_of(consumers):
    """The consumer that gets the messages, and what it got, unacknowledged."""

    def poll():
        for consumer in consumers:
            messages = drain(consumer, ack=False)
            if messages:
                return consumer, messages
        return None

    return eventually(poll)


def test_failover_has_one_active_consumer(client, topic):
    consumers = [client.subscribe(topic, "s", Type.Failover, consumer_name=f"c{at}") for at in range(3)]
    send_all(client.create_producer(topic), numbers(30))
    active, messages = active_of(consumers)
    assert texts(messages) == numbers(30)
    assert not any(drain(c) for c in consumers if c is not active)


def test_failover_hands_the_unacknowledged_on_in_order(client, topic):
    consumers = [client.subscribe(topic, "s", Type.Failover, consumer_name=f"c{at}") for at in range(2)]
    send_all(client.create_producer(topic), numbers(30))
    active, messages = active_of(consumers)
    assert texts(messages) == numbers(30)
    for message in messages[:10]:
        active.acknowledge(message)
    active.close()
    [other] = [c for c in consumers if c is not active]
    assert receive_texts(other, 20) == numbers(20, start=10)
    expect_nothing(other)


def test_failover_active_consumer_is_shown_in_stats(client, topic, admin):
    client.subscribe(topic, "s", Type.Failover, consumer_name="only")
    assert admin.stats(topic)["subscriptions"]["s"]["activeConsumerName"] == "only"


def test_shared_spreads_messages_and_loses_none(client, topic):
    consumers = [client.subscribe(topic, "s", Type.Shared, receiver_queue_size=10) for _ in range(3)]
    send_all(client.create_producer(topic), numbers(300))
    got = [[] for _ in consumers]

    def work(at):
        got[at] = texts(drain(consumers[at], within_ms=1000))

    workers = [threading.Thread(target=work, args=(at,)) for at in range(3)]
    [w.start() for w in workers]
    [w.join() for w in workers]
    assert sorted(sum(got, [])) == sorted(numbers(300))
    assert all(got), "every consumer had permits, so each got some"


def test_shared_gives_the_messages_of_a_leaver_to_the_others(client, second_client, topic):
    leaver = second_client.subscribe(topic, "s", Type.Shared)
    send_all(client.create_producer(topic), numbers(20))
    receive(leaver, 20, ack=False)
    stayer = client.subscribe(topic, "s", Type.Shared)
    expect_nothing(stayer)
    leaver.close()
    received = receive(stayer, 20)
    assert sorted(texts(received)) == sorted(numbers(20))
    assert {m.redelivery_count() for m in received} == {0}, "leaving is not asking for redelivery"


def test_shared_consumer_without_permits_gets_nothing_more(client, topic):
    slow = client.subscribe(topic, "s", Type.Shared, receiver_queue_size=5)
    fast = client.subscribe(topic, "s", Type.Shared, receiver_queue_size=1000)
    send_all(client.create_producer(topic), numbers(200))
    fast_got = drain(fast)
    assert len(fast_got) >= 190
    assert sorted(texts(fast_got) + texts(drain(slow))) == sorted(numbers(200))


def test_consumer_properties_are_shown_in_stats(client, topic, admin):
    client.subscribe(topic, "s", properties={"owner": "me"})
    subscription = admin.stats(topic)["subscriptions"]["s"]
    assert subscription["type"] == "Exclusive"
    assert subscription["consumers"][0]["metadata"] == {"owner": "me"}


def test_one_consumer_may_follow_several_topics(client, topic):
    topics = [f"{topic}-{at}" for at in range(3)]
    consumer = client.subscribe(topics, "s")
    for each in topics:
        send_all(client.create_producer(each), [f"{each} {at}" for at in range(10)])
    received = receive(consumer, 30)
    for each in topics:
        assert texts(m for m in received if m.topic_name() == each) == [f"{each} {at}" for at in range(10)]

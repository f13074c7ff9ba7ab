"""Messages go through unchanged and in order."""

import subprocess

import pulsar
import pytest

from broker import eventually
from messages import PRESENT_MS, expect_nothing, numbers, receive, receive_texts, send_all


def test_message_arrives_with_everything_it_was_sent_with(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, producer_name=f"{topic}-p")
    sent = producer.send(
        b"payload",
        properties={"a": "1", "b": "zwei"},
        partition_key="key",
        ordering_key="order",
        event_timestamp=1234,
        sequence_id=7,
    )
    [message] = receive(consumer, 1)
    assert message.data() == b"payload"
    assert message.properties() == {"a": "1", "b": "zwei"}
    assert message.partition_key() == "key"
    assert message.ordering_key() == "order"
    assert message.event_timestamp() == 1234
    assert message.topic_name() == topic
    assert message.producer_name() == f"{topic}-p"
    assert message.redelivery_count() == 0
    assert str(message.message_id()) == str(sent)
    assert producer.last_sequence_id() == 7


def test_async_sends_keep_their_order_and_their_ids_grow(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, block_if_queue_full=True)
    ids = send_all(producer, numbers(2000))
    assert receive_texts(consumer, 2000) == numbers(2000)
    places = [(i.ledger_id(), i.entry_id()) for i in ids]
    assert places == sorted(set(places))
    expect_nothing(consumer)


def test_message_id_survives_serialisation(client, topic):
    sent = client.create_producer(topic).send(b"x")
    again = pulsar.MessageId.deserialize(pulsar.MessageId.wrap(sent).serialize(), topic)
    assert str(again) == str(sent)


@pytest.mark.parametrize("value", [b"", b"\0" * 10, bytes(range(256))], ids=["empty", "zeros", "all bytes"])
def test_any_bytes_are_a_payload(client, topic, value):
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic).send(value)
    assert receive(consumer, 1)[0].data() == value


def test_null_value_is_not_an_empty_value(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    producer.send(None, partition_key="k", properties={"gone": "yes"})
    producer.send(b"", partition_key="k")
    null, empty = receive(consumer, 2)
    assert null.has_null_value() and null.properties() == {"gone": "yes"}
    assert not empty.has_null_value() and empty.data() == b""


@pytest.mark.parametrize("kind", ["LZ4", "ZLib", "ZSTD", "SNAPPY"])
def test_compressed_payload_passes_through(client, topic, kind):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, compression_type=getattr(pulsar.CompressionType, kind))
    producer.send(b"again and " * 1000)
    assert receive(consumer, 1)[0].data() == b"again and " * 1000


def test_encrypted_payload_passes_through(client, topic, tmp_path):
    private, public = str(tmp_path / "private.pem"), str(tmp_path / "public.pem")
    subprocess.run(["openssl", "genrsa", "-out", private, "2048"], check=True, capture_output=True)
    subprocess.run(["openssl", "rsa", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    keys = pulsar.CryptoKeyReader(public, private)
    consumer = client.subscribe(topic, "s", crypto_key_reader=keys)
    client.create_producer(topic, encryption_key="k", crypto_key_reader=keys).send(b"secret")
    assert receive(consumer, 1)[0].data() == b"secret"


def test_receiver_queue_of_zero_takes_one_message_at_a_time(client, topic):
    consumer = client.subscribe(topic, "s", receiver_queue_size=0)
    send_all(client.create_producer(topic), numbers(20))
    received = [consumer.receive() for _ in range(20)]
    assert [m.data().decode() for m in received] == numbers(20)


def test_small_receiver_queue_never_stalls(client, topic):
    consumer = client.subscribe(topic, "s", receiver_queue_size=3)
    send_all(client.create_producer(topic), numbers(100))
    assert receive_texts(consumer, 100) == numbers(100)


def test_listener_gets_every_message_in_order(client, topic):
    got = []

    def on_message(consumer, message):
        got.append(message.data().decode())
        consumer.acknowledge(message)

    client.subscribe(topic, "s", message_listener=on_message)
    send_all(client.create_producer(topic), numbers(200))
    eventually(lambda: len(got) >= 200)
    assert got == numbers(200)


def test_batch_receive_returns_up_to_its_limit(client, topic):
    policy = pulsar.ConsumerBatchReceivePolicy(10, -1, 2000)
    consumer = client.subscribe(topic, "s", batch_receive_policy=policy)
    send_all(client.create_producer(topic), numbers(30))
    received = [m for _ in range(3) for m in consumer.batch_receive()]
    assert [m.data().decode() for m in received] == numbers(30)


def test_every_subscription_gets_every_message(client, topic):
    consumers = [client.subscribe(topic, f"s{at}") for at in range(3)]
    send_all(client.create_producer(topic), numbers(50))
    for consumer in consumers:
        assert receive_texts(consumer, 50) == numbers(50)


def test_two_producers_each_keep_their_order(client, second_client, topic):
    consumer = client.subscribe(topic, "s")
    a, b = client.create_producer(topic), second_client.create_producer(topic)
    assert a.producer_name() != b.producer_name()
    for at in range(100):
        a.send_async(b"a%d" % at, lambda *_: None)
        b.send_async(b"b%d" % at, lambda *_: None)
    a.flush()
    b.flush()
    received = receive_texts(consumer, 200)
    for own in "ab":
        assert [t for t in received if t[0] == own] == [f"{own}{at}" for at in range(100)]


def test_producer_name_is_free_after_close(client, topic):
    client.create_producer(topic, producer_name="mine").close()
    producer = client.create_producer(topic, producer_name="mine")
    assert producer.producer_name() == "mine"
    producer.send(b"x")


def test_producer_name_in_use_is_refused_at_once(client, second_client, topic):
    client.create_producer(topic, producer_name="mine")
    with pytest.raises(pulsar.ProducerBusy):
        second_client.create_producer(topic, producer_name="mine")


@pytest.mark.parametrize("form", ["{name}", "public/default/{name}", "persistent://public/default/{name}"])
def test_short_and_full_topic_names_are_one_topic(client, name, form):
    consumer = client.subscribe(form.format(name=name), "s")
    client.create_producer(f"persistent://public/default/{name}").send(b"x")
    assert receive(consumer, 1)[0].topic_name() == f"persistent://public/default/{name}"


def test_topic_name_may_hold_odd_characters(client, topic):
    odd = topic + "@%*)(&!%$#@#$><?"
    consumer = client.subscribe(odd, "s")
    client.create_producer(odd).send(b"x")
    assert receive(consumer, 1)[0].topic_name() == odd


def test_message_of_the_announced_limit_passes_and_a_larger_one_is_refused(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    limit, metadata = 1024 * 1024, 256
    producer.send(b"x" * (limit - metadata))
    assert len(consumer.receive(PRESENT_MS).data()) == limit - metadata
    with pytest.raises(pulsar.MessageTooBig):
        producer.send(b"x" * (limit + 1))


def test_handles_know_whether_they_are_connected(client, topic):
    consumer, producer = client.subscribe(topic, "s"), client.create_producer(topic)
    assert consumer.is_connected() and producer.is_connected()
    consumer.close()
    producer.close()
    assert not consumer.is_connected() and not producer.is_connected()


def test_consumer_name_is_kept(client, topic, admin):
    consumer = client.subscribe(topic, "s", consumer_name="worker-1")
    assert consumer.consumer_name() == "worker-1"
    [shown] = admin.stats(topic)["subscriptions"]["s"]["consumers"]
    assert shown["consumerName"] == "worker-1"

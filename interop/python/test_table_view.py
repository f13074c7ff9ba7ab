"""A table view is the latest value of each key."""

from pulsar.schema import StringSchema

from broker import eventually


def put(producer, **values):
    for key, value in values.items():
        producer.send(value.encode(), partition_key=key)


def test_holds_the_latest_of_what_was_there(client, topic):
    producer = client.create_producer(topic)
    put(producer, a="1", b="2")
    put(producer, a="3")
    view = client.create_table_view(topic)
    assert (len(view), view.get("a"), view.get("b"), view.get("c")) == (2, b"3", b"2", None)


def test_follows_what_comes(client, topic):
    view = client.create_table_view(topic)
    assert len(view) == 0
    producer = client.create_producer(topic)
    put(producer, a="1")
    eventually(lambda: view.get("a") == b"1")
    put(producer, a="2", b="3")
    eventually(lambda: view.get("b") == b"3")
    assert view.get("a") == b"2"


def test_listener_is_told_the_old_and_the_new(client, topic):
    producer = client.create_producer(topic)
    put(producer, a="1")
    view, seen = client.create_table_view(topic), {}
    view.for_each_and_listen(seen.__setitem__)
    assert seen == {"a": b"1"}
    put(producer, b="2")
    eventually(lambda: seen == {"a": b"1", "b": b"2"})


def test_null_value_removes_its_key(client, topic):
    producer = client.create_producer(topic)
    put(producer, a="1", b="2")
    view = client.create_table_view(topic)
    producer.send(None, partition_key="a")
    eventually(lambda: len(view) == 1)
    assert view.get("a") is None and view.get("b") == b"2"


def test_values_are_decoded_by_their_schema(client, topic):
    client.create_producer(topic, schema=StringSchema()).send("one", partition_key="a")
    assert client.create_table_view(topic, schema=StringSchema()).get("a") == "one"


def test_covers_all_partitions(client, partitioned):
    producer = client.create_producer(partitioned)
    keys = [f"k{at}" for at in range(20)]
    for key in keys:
        producer.send(key.encode(), partition_key=key)
    view = client.create_table_view(partitioned)
    eventually(lambda: len(view) == len(keys))
    assert {key: view.get(key) for key in keys} == {key: key.encode() for key in keys}


def test_goes_on_after_an_unload(client, topic, admin):
    producer = client.create_producer(topic)
    put(producer, a="1")
    view = client.create_table_view(topic)
    admin.unload(topic)
    put(producer, a="2")
    eventually(lambda: view.get("a") == b"2")

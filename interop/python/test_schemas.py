"""The schema registry: versions, compatibility, and what a client is told."""

import json
from enum import Enum

import pulsar
import pytest
from pulsar.schema import Array, AvroSchema, CustomEnum, Float, Integer, JsonSchema, Map, Record, String, StringSchema

from broker import rest
from messages import PRESENT_MS, receive

Type = pulsar.ConsumerType
unchecked = pytest.mark.skip(reason="schema compatibility is not checked")


class User(Record):
    name = String(required=True)
    age = Integer(required_default=True)


class UserWithMail(Record):
    """Adds an optional field: readable both ways."""

    name = String(required=True)
    age = Integer(required_default=True)
    mail = String(required_default=True)


class UserWithDuty(Record):
    """Adds a field that older data lacks."""

    name = String(required=True)
    age = Integer(required_default=True)
    duty = String(required=True)


class Unrelated(Record):
    weight = Float(required=True)


for record in (UserWithMail, UserWithDuty, Unrelated):
    record.__name__ = "User"


def version(number):
    """A schema version as the client shows it: eight big-endian bytes, one per character."""
    return number.to_bytes(8, "big").decode("latin-1")


def path(topic):
    return f"schemas/{rest(topic).split('/', 1)[1]}/schema"


@pytest.mark.parametrize("kind", [JsonSchema, AvroSchema], ids=["json", "avro"])
def test_records_arrive_as_records(client, topic, kind):
    consumer = client.subscribe(topic, "s", schema=kind(User))
    client.create_producer(topic, schema=kind(User)).send(User(name="ada", age=36))
    message = consumer.receive(PRESENT_MS)
    assert (message.value().name, message.value().age) == ("ada", 36)


class Colour(Enum):
    RED = 1
    BLUE = 2


class Everything(Record):
    colour = CustomEnum(Colour, required=True)
    words = Array(String(), required=True)
    counts = Map(Integer(), required=True)
    owner = User()
    note = String(default="none")


@pytest.mark.parametrize("kind", [JsonSchema, AvroSchema], ids=["json", "avro"])
def test_nested_records_arrive_as_such(client, topic, kind):
    consumer = client.subscribe(topic, "s", schema=kind(Everything))
    sent = Everything(colour=Colour.BLUE, words=["a", "b"], counts={"x": 1}, owner=User(name="ada", age=36))
    client.create_producer(topic, schema=kind(Everything)).send(sent)
    assert consumer.receive(PRESENT_MS).value() == sent


def test_strings_arrive_as_strings(client, topic):
    consumer = client.subscribe(topic, "s", schema=StringSchema())
    client.create_producer(topic, schema=StringSchema()).send("žluť")
    assert consumer.receive(PRESENT_MS).value() == "žluť"


@pytest.mark.parametrize("kind", [JsonSchema, AvroSchema], ids=["json", "avro"])
def test_messages_carry_the_version_of_their_schema(client, topic, kind):
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic, schema=kind(User)).send(User(name="a", age=1))
    client.create_producer(topic, schema=kind(UserWithMail)).send(UserWithMail(name="b", age=2, mail="m"))
    client.create_producer(topic, schema=kind(User)).send(User(name="c", age=3))
    versions = [m.schema_version() for m in receive(consumer, 3)]
    assert versions == [version(0), version(1), version(0)]


def test_messages_without_a_schema_carry_no_version(client, topic):
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic).send(b"x")
    assert receive(consumer, 1)[0].schema_version() == ""


def test_avro_reader_understands_older_and_newer_data(client, topic):
    consumer = client.subscribe(topic, "s", schema=AvroSchema(UserWithMail))
    client.create_producer(topic, schema=AvroSchema(User)).send(User(name="old", age=1))
    client.create_producer(topic, schema=AvroSchema(UserWithMail)).send(UserWithMail(name="new", age=2, mail="m"))
    old, new = (consumer.receive(PRESENT_MS).value() for _ in range(2))
    assert (old.name, old.mail) == ("old", None)
    assert (new.name, new.mail) == ("new", "m")


@unchecked
@pytest.mark.parametrize("other", [UserWithDuty, Unrelated], ids=["new required field", "unrelated"])
def test_incompatible_producer_is_refused(client, topic, other):
    client.create_producer(topic, schema=AvroSchema(User))
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic, schema=AvroSchema(other))


@unchecked
def test_incompatible_consumer_is_refused_and_not_left_subscribed(client, topic):
    client.create_producer(topic, schema=AvroSchema(User))
    with pytest.raises(pulsar.IncompatibleSchema):
        client.subscribe(topic, "s", schema=AvroSchema(Unrelated))
    client.subscribe(topic, "s", schema=AvroSchema(User))


def test_another_kind_of_schema_is_refused(client, topic):
    client.create_producer(topic, schema=JsonSchema(User))
    for other in (AvroSchema(User), StringSchema()):
        with pytest.raises(pulsar.IncompatibleSchema):
            client.create_producer(topic, schema=other)


@pytest.mark.parametrize(
    "strategy, record, allowed",
    [
        pytest.param("BACKWARD", UserWithDuty, False, marks=unchecked),
        ("FORWARD", UserWithDuty, True),
        pytest.param("FULL", UserWithDuty, False, marks=unchecked),
        ("ALWAYS_COMPATIBLE", Unrelated, True),
        pytest.param("ALWAYS_INCOMPATIBLE", UserWithMail, False, marks=unchecked),
    ],
)
def test_namespace_chooses_what_is_compatible(client, namespace, admin, strategy, record, allowed):
    answer = admin.request("PUT", f"namespaces/{namespace}/schemaCompatibilityStrategy", strategy)
    assert answer.status_code == 204
    assert admin.get(f"namespaces/{namespace}/schemaCompatibilityStrategy") == strategy
    topic = f"persistent://{namespace}/t"
    client.create_producer(topic, schema=AvroSchema(User)).close()
    if allowed:
        client.create_producer(topic, schema=AvroSchema(record))
    else:
        with pytest.raises(pulsar.IncompatibleSchema):
            client.create_producer(topic, schema=AvroSchema(record))


def test_validation_may_demand_a_schema_of_producers(client, namespace, admin):
    admin.post(f"namespaces/{namespace}/schemaValidationEnforced", True)
    topic = f"persistent://{namespace}/t"
    client.create_producer(topic, schema=JsonSchema(User))
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic)
    client.subscribe(topic, "s")


def test_registry_shows_the_latest_and_each_version(client, topic, admin):
    client.create_producer(topic, schema=JsonSchema(User)).close()
    client.create_producer(topic, schema=JsonSchema(UserWithMail)).close()
    latest, first = admin.get(path(topic)), admin.get(f"{path(topic)}/0")
    assert (latest["version"], first["version"]) == (1, 0)
    assert latest["type"] == first["type"] == "JSON"
    assert [len(json.loads(each["data"])["fields"]) for each in (first, latest)] == [2, 3]
    assert admin.status("GET", f"{path(topic)}/9") == 404


def test_topic_without_a_schema_has_none_to_show(client, topic, admin):
    client.create_producer(topic)
    assert admin.status("GET", path(topic)) == 404


def test_schema_may_be_registered_and_deleted_by_rest(client, topic, admin):
    definition = {"type": "STRING", "schema": "", "properties": {"owner": "me"}}
    admin.post(path(topic), definition)
    shown = admin.get(path(topic))
    assert (shown["type"], shown["properties"]) == ("STRING", {"owner": "me"})
    client.create_producer(topic, schema=StringSchema()).close()
    admin.delete(path(topic))
    assert admin.status("GET", path(topic)) == 404


def test_partitions_share_one_schema(client, partitioned, admin):
    client.create_producer(partitioned, schema=JsonSchema(User)).close()
    assert admin.get(path(partitioned))["version"] == 0
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(f"{partitioned}-partition-1", schema=StringSchema())

"""The client's asyncio interface, which drives the broker with many requests at a time."""

import asyncio

import pulsar
import pytest
from pulsar.asyncio import Client, PulsarException

from broker import URL
from messages import numbers


def run(scenario):
    """Runs a coroutine function with a client that is closed afterwards."""

    async def main():
        client = Client(URL, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error), operation_timeout_seconds=15)
        try:
            return await asyncio.wait_for(scenario(client), 60)
        finally:
            await client.close()

    return asyncio.run(main())


def test_many_topics_at_once(topic):
    async def scenario(client):
        async def round_trip(at):
            consumer = await client.subscribe(f"{topic}-{at}", "s")
            producer = await client.create_producer(f"{topic}-{at}")
            await producer.send(b"%d" % at)
            message = await consumer.receive()
            await consumer.acknowledge(message)
            return int(message.data())

        return await asyncio.gather(*(round_trip(at) for at in range(50)))

    assert run(scenario) == list(range(50))


def test_concurrent_sends_keep_their_order(topic):
    async def scenario(client):
        consumer = await client.subscribe(topic, "s")
        producer = await client.create_producer(topic)
        await asyncio.gather(*(producer.send(text.encode()) for text in numbers(500)))
        return [(await consumer.receive()).data().decode() for _ in range(500)]

    assert run(scenario) == numbers(500)


def test_cumulative_ack_and_unsubscribe(topic):
    async def scenario(client):
        consumer = await client.subscribe(topic, "s")
        producer = await client.create_producer(topic)
        for text in numbers(10):
            await producer.send(text.encode())
        messages = [await consumer.receive() for _ in range(10)]
        await consumer.acknowledge_cumulative(messages[7])
        await consumer.close()
        consumer = await client.subscribe(topic, "s")
        rest = [(await consumer.receive()).data().decode() for _ in range(2)]
        await consumer.unsubscribe()
        return rest

    assert run(scenario) == numbers(2, start=8)


def test_seek_and_last_message_id(topic):
    async def scenario(client):
        consumer = await client.subscribe(topic, "s")
        producer = await client.create_producer(topic)
        for text in numbers(5):
            sent = await producer.send(text.encode())
        last = await consumer.get_last_message_id()
        assert last.entry_id() == sent.entry_id()
        for _ in range(5):
            await consumer.acknowledge(await consumer.receive())
        await consumer.seek(pulsar.MessageId(-1, -1, -1, -1))
        return [(await consumer.receive()).data().decode() for _ in range(5)]

    assert run(scenario) == numbers(5)


def test_missing_tenant_is_topic_not_found():
    async def scenario(client):
        await client.create_producer("nobody/default/t")

    with pytest.raises(PulsarException) as refused:
        run(scenario)
    assert refused.value.error() == pulsar.Result.TopicNotFound

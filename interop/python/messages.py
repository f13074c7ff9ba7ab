"""Sending and receiving by the handful."""

import pulsar

PRESENT_MS = 10_000
"""How long a message that must come may take."""

ABSENT_MS = 400
"""How long a message that must not come is waited for."""


def send_all(producer, values):
    """Sends each value without waiting in between; returns the ids once all are acknowledged."""
    values = list(values)
    ids, failures = {}, []

    def sent(at):
        def done(result, message_id):
            if result == pulsar.Result.Ok:
                ids[at] = message_id
            else:
                failures.append((at, result))

        return done

    for at, value in enumerate(values):
        producer.send_async(data(value), sent(at))
    producer.flush()
    assert not failures, f"sends failed: {failures[:5]}"
    return [ids[at] for at in range(len(values))]


def data(value):
    """The payload of a test value."""
    return value if isinstance(value, bytes) else str(value).encode()


def receive(consumer, count, ack=True):
    """The next `count` messages, acknowledged one by one unless told otherwise."""
    messages = []
    for at in range(count):
        try:
            message = consumer.receive(PRESENT_MS)
        except pulsar.Timeout:
            raise AssertionError(f"got {at} of {count} messages: {texts(messages)[-5:]}") from None
        if ack:
            consumer.acknowledge(message)
        messages.append(message)
    return messages


def receive_texts(consumer, count, ack=True):
    return texts(receive(consumer, count, ack))


def texts(messages):
    return [message.data().decode() for message in messages]


def expect_nothing(consumer, within_ms=ABSENT_MS):
    """Fails if a message comes."""
    try:
        message = consumer.receive(within_ms)
    except pulsar.Timeout:
        return
    raise AssertionError(f"unexpected message {message.data()[:80]!r} at {message.message_id()}")


def drain(consumer, within_ms=ABSENT_MS, ack=True):
    """Every message until none comes for `within_ms`."""
    messages = []
    while True:
        try:
            message = consumer.receive(within_ms)
        except pulsar.Timeout:
            return messages
        if ack:
            consumer.acknowledge(message)
        messages.append(message)


def read_texts(reader):
    """Everything a reader has up to the end of the topic."""
    found = []
    while reader.has_message_available():
        found.append(reader.read_next(PRESENT_MS).data().decode())
    return found


def numbers(count, start=0):
    """Distinct texts in order."""
    return [f"m{at}" for at in range(start, start + count)]

"""Finding a topic's broker, over the binary protocol and over HTTP."""

import re
import socket
from urllib.parse import urlsplit

import requests

from broker import HTTP, URL
from messages import receive, receive_texts, send_all, numbers, texts


def test_http_client_produces_and_consumes(http_client, topic):
    consumer = http_client.subscribe(topic, "s")
    send_all(http_client.create_producer(topic), numbers(10))
    assert receive_texts(consumer, 10) == numbers(10)


def test_http_client_sees_partitions(http_client, partitioned):
    assert len(http_client.get_topic_partitions(partitioned)) == 3


def test_http_client_follows_a_pattern(http_client, topic, name):
    for at in range(2):
        http_client.create_producer(f"{topic}-{at}")
    consumer = http_client.subscribe(re.compile(f"persistent://public/default/{re.escape(name)}-.*"), "s")
    for at in range(2):
        http_client.create_producer(f"{topic}-{at}").send(b"%d" % at)
    assert sorted(texts(receive(consumer, 2))) == ["0", "1"]


def test_answer_names_every_address(name):
    answer = requests.get(f"{HTTP}/lookup/v2/topic/persistent/public/default/{name}", timeout=10)
    assert answer.status_code == 200
    found = answer.json()
    assert found["brokerUrl"] == found["nativeUrl"]
    for told, known in ((found["brokerUrl"], URL), (found["httpUrl"], HTTP)):
        told, known = urlsplit(told), urlsplit(known)
        assert (told.scheme, told.port) == (known.scheme, known.port)
        assert socket.gethostbyname(told.hostname) == socket.gethostbyname(known.hostname)


def test_bundle_of_a_topic_is_a_range(name):
    answer = requests.get(f"{HTTP}/lookup/v2/topic/persistent/public/default/{name}/bundle", timeout=10)
    assert answer.status_code == 200
    low, high = re.fullmatch(r"0x([0-9a-f]{8})_0x([0-9a-f]{8})", answer.text).groups()
    assert int(low, 16) < int(high, 16)

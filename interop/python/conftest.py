import itertools
import os
import re

import pulsar
import pytest

from broker import HTTP, URL, Admin, rest

NEXT = itertools.count()
RUN = os.getpid()


def connect(url=URL, **options):
    """A client that reports only errors and gives up early."""
    options.setdefault("operation_timeout_seconds", 15)
    return pulsar.Client(url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error), **options)


@pytest.fixture
def client():
    client = connect()
    yield client
    client.close()


@pytest.fixture
def second_client():
    """A client with a connection of its own."""
    client = connect()
    yield client
    client.close()


@pytest.fixture
def http_client():
    """A client that looks topics up over HTTP."""
    client = connect(HTTP)
    yield client
    client.close()


@pytest.fixture
def admin():
    return Admin()


def pytest_collection_modifyitems(items):
    """Skips what Apache Pulsar itself does not keep, when it is what the suite runs against."""
    if not os.environ.get("PLERION_PEER_IS_PULSAR"):
        return
    for item in items:
        for mark in item.iter_markers("beyond_pulsar"):
            item.add_marker(pytest.mark.skip(reason=mark.kwargs["reason"]))


def unique(label):
    label = re.sub(r"\W+", "-", label).strip("-")
    return f"{label}-{RUN}-{next(NEXT)}"


@pytest.fixture
def name(request):
    """A local name that no other test uses."""
    return unique(request.node.name)


@pytest.fixture
def topic(name):
    """A topic that no other test uses; made by its first producer or consumer."""
    return f"persistent://public/default/{name}"


@pytest.fixture
def namespace(admin):
    """A namespace of the test's own, removed afterwards."""
    path = f"public/{unique('ns')}"
    admin.put(f"namespaces/{path}", {"replication_clusters": admin.get("clusters")[:1]})
    yield path
    admin.status("DELETE", f"namespaces/{path}", force="true")


@pytest.fixture
def partitioned(admin, topic):
    """A topic of three partitions."""
    admin.put(f"{rest(topic)}/partitions", 3)
    return topic

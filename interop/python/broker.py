"""The broker under test: where it listens, and its admin REST interface."""

import os
import time

import requests

URL = os.environ.get("PLERION_URL", "pulsar://127.0.0.1:6650")
HTTP = os.environ.get("PLERION_HTTP", "http://127.0.0.1:8080")


class Refused(AssertionError):
    """An admin call that was answered with another status than the caller needs."""

    def __init__(self, response):
        super().__init__(f"{response.request.method} {response.url}: {response.status_code} {response.text[:300]}")
        self.status = response.status_code


class Admin:
    """Admin calls by path below /admin/v2. Each raises `Refused` unless the status is a success."""

    def request(self, method, path, body=None, **query):
        url = f"{HTTP}/admin/v2/{path}"
        return requests.request(method, url, json=body, params=query, timeout=30)

    def call(self, method, path, body=None, **query):
        response = self.request(method, path, body, **query)
        if not 200 <= response.status_code < 300:
            raise Refused(response)
        return response.json() if response.text else None

    def get(self, path, **query):
        return self.call("GET", path, **query)

    def put(self, path, body=None, **query):
        return self.call("PUT", path, body, **query)

    def post(self, path, body=None, **query):
        return self.call("POST", path, body, **query)

    def delete(self, path, **query):
        return self.call("DELETE", path, **query)

    def status(self, method, path, body=None, **query):
        return self.request(method, path, body, **query).status_code

    def stats(self, topic):
        return self.get(f"{rest(topic)}/stats")

    def backlog(self, topic, subscription):
        return self.stats(topic)["subscriptions"][subscription]["msgBacklog"]

    def unload(self, topic):
        self.put(f"{rest(topic)}/unload")


def rest(topic):
    """The REST path of a full topic name: `persistent://t/n/x` is `persistent/t/n/x`."""
    return topic.replace("://", "/", 1)


def eventually(condition, within=10.0, every=0.05):
    """Waits until `condition()` is true; its last value and the limit are in the failure."""
    deadline = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"still {value!r} after {within} s"
        time.sleep(every)

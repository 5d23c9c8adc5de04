"""Pysher: a client."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pysher

from channels_server import backend, private
from world import APP, TOLD, Inbox, ask, check, same

LIBRARY = "Pysher"
TEXT = {"text": "Zoë's ☃"}


class Client:
    """A connected client that is subscribed to a channel, and what it receives there."""

    def __init__(self, channel, *events, also=(), **options):
        self.pusher = pysher.Pusher(
            APP["key"], custom_host="127.0.0.1", port=TOLD["port"], secure=False, **options
        )
        self.received = Inbox()
        succeeded = Inbox()

        # On the thread of the connection, as the README of Pysher does it: elsewhere, an answer can come before
        # the callback is bound.
        def subscribe(_):
            subscribed = self.pusher.subscribe(channel)
            subscribed.bind("pusher_internal:subscription_succeeded", succeeded.put)
            for event in events:
                subscribed.bind(event, lambda data, event=event: self.received.put((event, data)))
            for other in also:
                self.pusher.subscribe(other)

        self.pusher.connection.bind("pusher:connection_established", subscribe)
        self.pusher.connect()
        self.roster = succeeded.next()

    @property
    def socket_id(self):
        return self.pusher.connection.socket_id

    def next(self):
        return self.received.next()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Without a timeout, Pysher 1.0.8 can wait here until its ping timeout of 100 s.
        self.pusher.disconnect(0)


class Backend(BaseHTTPRequestHandler):
    """The endpoint that authorises: by the library for servers."""

    def do_POST(self):
        form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        signed = backend.authenticate(form["channel_name"][0], form["socket_id"][0])
        body = json.dumps(signed).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing."""


def receives_events():
    with Client("pysher-public", "paid") as client:
        backend.trigger("pysher-public", "paid", TEXT)
        same(json.loads(client.next()[1]), TEXT)


def subscribes_with_its_secret():
    with Client("private-pysher-own", "paid", secret=APP["secret"]) as client:
        backend.trigger("private-pysher-own", "paid", TEXT)
        same(json.loads(client.next()[1]), TEXT)


def subscribes_by_an_endpoint():
    channel = "private-pysher-endpoint"
    with ThreadingHTTPServer(("127.0.0.1", 0), Backend) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{http.server_port}/"
        with Client(channel, "paid", auth_endpoint=endpoint) as client:
            backend.trigger(channel, "paid", TEXT)
            same(json.loads(client.next()[1]), TEXT)
        http.shutdown()


def sees_members():
    joined, left = "pusher_internal:member_added", "pusher_internal:member_removed"
    ann, bob = ({"user_id": name, "user_info": {"name": name.title()}} for name in ("ann", "bob"))
    room = "presence-pysher"
    with Client(room, joined, left, secret=APP["secret"], user_data=ann) as first:
        roster = json.loads(first.roster)["presence"]
        same([roster["ids"], roster["hash"]], [["ann"], {"ann": {"name": "Ann"}}])
        with Client(room, secret=APP["secret"], user_data=bob):
            event, data = first.next()
            same([event, json.loads(data)], [joined, bob])
        event, data = first.next()
        same([event, json.loads(data)], [left, {"user_id": "bob"}])


def sends_client_events():
    channel = "private-pysher-talk"
    bob = private(channel)
    with Client(channel, "client-said", secret=APP["secret"]) as ann:
        ann.pusher.channel(channel).trigger("client-said", TEXT)
        same(ask("event", socketId=bob, channel=channel), {"event": "client-said", "data": TEXT})
        ask("clientEvent", socketId=bob, channel=channel, event="client-said", data='{"a": 1}')
        same(json.loads(ann.next()[1]), {"a": 1})


def leaves_a_channel():
    with Client("pysher-stays", "note", also=["pysher-left"]) as client:
        # The server takes one message after the other, and answers the last one.
        client.pusher.unsubscribe("pysher-left")
        pong = Inbox()
        client.pusher.connection.bind("pusher:pong", pong.put)
        client.pusher.connection.send_ping()
        pong.next()
        same(backend.channel_info("pysher-left")["occupied"], False)
        same(backend.channel_info("pysher-stays")["occupied"], True)


def stays_while_it_is_quiet():
    with Client("pysher-quiet", "note") as client:
        socket_id = client.socket_id
        same(ask("silence")["code"], 4201)
        backend.trigger("pysher-quiet", "note", 1)
        client.next()
        same(client.socket_id, socket_id)


def run():
    for name, action in (
        ("events of a public channel", receives_events),
        ("a private channel, signed with the secret", subscribes_with_its_secret),
        ("a private channel, signed by an endpoint", subscribes_by_an_endpoint),
        ("the members of a presence channel, who come and go", sees_members),
        ("client events, sent and received", sends_client_events),
        ("unsubscribe", leaves_a_channel),
        ("a quiet client stays connected where one that answers no ping is closed", stays_while_it_is_quiet),
    ):
        check(LIBRARY, name, action)

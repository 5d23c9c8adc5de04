"""pusher: triggers, queries, signatures, users and webhooks."""

import json

import pusher
import pusher.errors

from world import APP, TOLD, ask, check, fails, same

LIBRARY = "pusher"
TEXT = {"text": "Zoë's <b>☃</b> 1+1=2 & more"}


def client(**options):
    given = {
        "app_id": APP["id"],
        "key": APP["key"],
        "secret": APP["secret"],
        "host": "127.0.0.1",
        "port": TOLD["port"],
        "ssl": False,
        "encryption_master_key_base64": TOLD["encryptionMasterKeyBase64"],
        **options,
    }
    return pusher.Pusher(**given)


backend = client()


def as_text(signed):
    """What a backend answers: the library leaves some of it as bytes."""
    return json.dumps(signed, default=lambda value: value.decode())


def subscribe(channel, socket_id=None, signed=None):
    """A client that is subscribed to a channel: its socket id."""
    socket_id = socket_id or ask("connect")["socketId"]
    given = {} if signed is None else {"auth": as_text(signed(socket_id))}
    ask("subscribe", socketId=socket_id, channel=channel, **given)
    return socket_id


def event(socket_id, channel):
    return ask("event", socketId=socket_id, channel=channel)


def triggers_to_one_channel():
    ann = subscribe("py-one")
    same(backend.trigger("py-one", "paid", TEXT), {})
    same(event(ann, "py-one"), {"event": "paid", "data": TEXT})


def triggers_to_many_channels_without_the_sender():
    ann, bob = subscribe("py-many"), subscribe("py-many")
    backend.trigger(["py-many", "py-others"], "first", "text", ann)
    backend.trigger(["py-many", "py-others"], "second", [1, 2])
    same(event(bob, "py-many"), {"event": "first", "data": "text"})
    same(event(ann, "py-many"), {"event": "second", "data": [1, 2]})


def triggers_a_batch():
    ann = subscribe("py-batch")
    batch = [{"channel": "py-batch", "name": name, "data": TEXT} for name in ("one", "two")]
    same(backend.trigger_batch(batch), {})
    same([event(ann, "py-batch")["event"] for _ in range(2)], ["one", "two"])


def encrypts():
    channel = "private-encrypted-py"
    ann = subscribe(channel, signed=lambda id: backend.authenticate(channel, id))
    backend.trigger(channel, "secret", TEXT)
    backend.trigger_batch([{"channel": channel, "name": "batched", "data": TEXT}])
    same(event(ann, channel), {"event": "secret", "data": TEXT})
    same(event(ann, channel), {"event": "batched", "data": TEXT})


def private(channel):
    return subscribe(channel, signed=lambda id: backend.authenticate(channel, id))


def presence(channel, user):
    data = {"user_id": user, "user_info": {"name": TEXT["text"]}}
    socket_id = ask("connect")["socketId"]
    signed = as_text(backend.authenticate(channel, socket_id, data))
    return ask("subscribe", socketId=socket_id, channel=channel, auth=signed)["data"]


def signs_private_channels():
    ann = private("private-py")
    backend.trigger("private-py", "note", 1)
    same(event(ann, "private-py"), {"event": "note", "data": 1})


def signs_presence_channels():
    data = presence("presence-py-signed", "zoë 7")
    same([data["myID"], data["me"]["info"]], ["zoë 7", {"name": TEXT["text"]}])


def lists_channels():
    subscribe("py-listed-1")
    presence("presence-py-listed-2", "ann")
    same(backend.channels_info("py-listed-"), {"channels": {"py-listed-1": {}}})
    same(
        backend.channels_info("presence-py-listed-", ["user_count"]),
        {"channels": {"presence-py-listed-2": {"user_count": 1}}},
    )


def describes_a_channel():
    presence("presence-py-described", "ann")
    same(
        backend.channel_info("presence-py-described", ["user_count"]),
        {"occupied": True, "user_count": 1},
    )
    same(backend.channel_info("py-empty")["occupied"], False)


def lists_users():
    presence("presence-py-users", "zoë 7")
    same(backend.users_info("presence-py-users"), {"users": [{"id": "zoë 7"}]})


def sign_in(user):
    socket_id = ask("connect")["socketId"]
    ask("signIn", socketId=socket_id, auth=as_text(backend.authenticate_user(socket_id, {"id": user})))
    return socket_id


def signs_users_in_and_sends_to_them():
    ann = sign_in("py-ann")
    backend.send_to_user("py-ann", "note", TEXT)
    same(ask("userEvent", socketId=ann), {"event": "note", "data": TEXT})


def terminates_users():
    ann = sign_in("py-bob")
    same(backend.terminate_user_connections("py-bob"), {})
    same(ask("ended", socketId=ann)["code"], 4009)


def verifies_webhooks():
    subscribe("py-webhook")
    request = ask("webhook", event="channel_occupied", channel="py-webhook")
    headers, body = request["headers"], request["body"]
    key, signature = headers["x-pusher-key"], headers["x-pusher-signature"]
    events = backend.validate_webhook(key, signature, body)["events"]
    same({"name": "channel_occupied", "channel": "py-webhook"} in events, True)
    same(backend.validate_webhook(key, "0" * 64, body), None)
    same(backend.validate_webhook(key, signature, body.replace("py-", "go-")), None)
    same(backend.validate_webhook("another", signature, body), None)


def reports_refusals():
    wrong = client(secret="wrong")
    same("signature" in fails(pusher.errors.PusherBadAuth, lambda: wrong.trigger("a", "b", 1)), True)
    fails(pusher.errors.PusherBadRequest, lambda: backend.users_info("py-no-presence"))


def run():
    for name, action in (
        ("trigger to one channel", triggers_to_one_channel),
        ("trigger to several channels, without the sender", triggers_to_many_channels_without_the_sender),
        ("trigger_batch", triggers_a_batch),
        ("trigger and trigger_batch to an encrypted channel, authenticate for it", encrypts),
        ("authenticate for a private channel", signs_private_channels),
        ("authenticate for a presence channel", signs_presence_channels),
        ("channels_info", lists_channels),
        ("channel_info", describes_a_channel),
        ("users_info", lists_users),
        ("authenticate_user and send_to_user", signs_users_in_and_sends_to_them),
        ("terminate_user_connections", terminates_users),
        ("validate_webhook", verifies_webhooks),
        ("errors for what the server refuses", reports_refusals),
    ):
        check(LIBRARY, name, action)

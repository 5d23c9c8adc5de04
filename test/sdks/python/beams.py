"""pusher_push_notifications: publishes, tokens and users."""

import json

from pusher_push_notifications import (
    PusherAuthError,
    PusherMissingInstanceError,
    PusherValidationError,
    PushNotifications,
)

from world import TOLD, ask, check, fails, same

LIBRARY = "pusher_push_notifications"
INSTANCE = TOLD["instance"]
TITLE = "Zoë's <b>☃</b>"
USERS = ("ann lee", "ann+lee", "zoë/7 ü%~@")


def client(**options):
    given = {
        "instance_id": INSTANCE["id"],
        "secret_key": INSTANCE["secretKey"],
        "endpoint": f"localhost:{TOLD['pushPort']}",
        **options,
    }
    beams = PushNotifications(**given)
    beams.session.verify = TOLD["caFile"]
    return beams


beams = client()


def body(title=TITLE):
    return {"fcm": {"notification": {"title": title}}}


def title_at(device):
    return ask("notification", token=device["token"])["message"]["notification"]["title"]


def device_of(user):
    """A device whose user the library has signed in."""
    device = ask("device")
    token = beams.generate_token(user)["token"]
    same(ask("setUser", id=device["id"], beamsToken=token)["userId"], user)
    return device


def publishes_to_interests():
    device = ask("device", interests=json.dumps(["py-news", "_-=@,.;"]))
    for interest in ("py-news", "_-=@,.;"):
        accepted = beams.publish_to_interests([interest, "py-others"], body())
        same(accepted["publishId"].startswith("pubid-"), True)
        same(title_at(device), TITLE)


def publishes_to_users():
    devices = [device_of(user) for user in USERS]
    for user in USERS:
        beams.publish_to_users([user], body(user))
    same([title_at(device) for device in devices], list(USERS))


def deletes_users():
    devices = [device_of(user) for user in USERS]
    for at, user in enumerate(USERS):
        beams.delete_user(user)
        left = [ask("registered", id=device["id"])["registered"] for device in devices]
        same(left, [other > at for other in range(len(USERS))])


def reports_refusals():
    refused = client(secret_key="wrong")
    same(
        fails(PusherAuthError, lambda: refused.publish_to_interests(["a"], body())),
        "Unauthorized: Incorrect Secret Key",
    )
    missing = client(instance_id="00000000-0000-4000-8000-000000000000")
    fails(PusherMissingInstanceError, lambda: missing.publish_to_interests(["a"], body()))
    fails(PusherValidationError, lambda: beams.publish_to_interests(["a"], {"fcm": 7}))


def run():
    for name, action in (
        ("publish_to_interests: the notification arrives", publishes_to_interests),
        ("generate_token signs users in, and publish_to_users reaches each", publishes_to_users),
        ("delete_user deletes this user and no similar one", deletes_users),
        ("errors for what the server refuses", reports_refusals),
    ):
        check(LIBRARY, name, action)

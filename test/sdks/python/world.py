"""What the checks share: what the runner has told, its answers, and the printing of results."""

import json
import queue
import sys
import traceback
import urllib.request

TOLD = json.loads(sys.argv[1])
APP = TOLD["app"]
WAIT_SECONDS = 30


def ask(question, **given):
    """Asks the runner for what a library cannot do or see."""
    body = json.dumps({"ask": question, **given}).encode()
    try:
        with urllib.request.urlopen(TOLD["asksUrl"], body) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise RuntimeError(error.read().decode()) from None


def same(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} instead of {expected!r}")


def fails(kind, action):
    """The text of the error that an action must raise."""
    try:
        action()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def check(library, name, action):
    error = ""
    try:
        action()
    except Exception:
        error = traceback.format_exc()
    print(json.dumps({"library": library, "check": name, "error": error}), flush=True)


class Inbox:
    """Waits for what a callback gets."""

    def __init__(self):
        self._items = queue.Queue()

    def put(self, item):
        self._items.put(item)

    def next(self):
        return self._items.get(timeout=WAIT_SECONDS)

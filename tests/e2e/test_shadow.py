"""Shadow policies change no byte of any answer, nothing that the app sees, and no enforced reading.

Random sets of enforced policies run twice over the same requests, once alone and once among random shadow
policies. Each caller sends its requests in order on a connection of its own, all callers at once; enforced policies are
keyed by the caller, so what a caller sees does not depend on how callers interleave. Shadow policies are keyed by anything."""

import json
import os
import random
import threading
import unittest

from http_client import Client
from origin import Origin, answer
from weir_process import Weir

CALLERS, REQUESTS, SETS = 8, 40, 6
EVENTS = """
events:
  login: {match: POST /api/login, fields: {user: body.username, amount: int(body.amount)}}
  failed: {is: login, when: 'status in [401, 403]'}
  right: {is: login, when: 'status == 200'}
"""
PASSING = ("do: flag", "do: flag, score: 7", "do: graylist, for: 10m")
REFUSING = ("do: challenge, for: 10m", "do: deny", "do: deny, for: 10m, tell: retry", "do: deny, tell: full")


def policy(draw, name, keys, shadow):
    """One policy as a line of YAML."""
    watch = draw.choice(("request", "login", "failed"))
    metric = draw.choice(("count", "distinct(user)", "sum(amount)")) if watch != "request" else "count"
    window = draw.choice(("1h", "{last: 1h, exact: true}", "{last: 2h, buckets: 10}"))
    limits = sorted(draw.sample(range(1, 25), draw.randint(1, 3)))
    # Only the highest rung may refuse: one above a refusing rung would be out of reach.
    # A policy without a key has no key to put on a list.
    key = draw.choice(keys)
    passing = PASSING if key else PASSING[:2]
    limits = limits[:len(passing)]
    chosen = sorted(draw.sample(passing, len(limits)), key=passing.index)
    if draw.random() < 0.6:
        chosen[-1] = draw.choice([a for a in REFUSING if key or "for:" not in a])
    rungs = ", ".join(f"{{over: {limit}, {action}}}" for limit, action in zip(limits, chosen))
    extra = ", reset: right" if watch == "failed" and metric == "count" and draw.random() < 0.5 else ""
    extra += ", charge: always" if draw.random() < 0.5 else ""
    extra += ", mode: shadow" if shadow else ""
    return (f"  - {{name: {name}, watch: {watch}{f', key: {key}' if key else ''}, metric: '{metric}', window: {window}"
            f"{extra}, then: [{rungs}]}}\n")


def requests_of(seed, caller):
    """What one caller sends: (method, path, headers, body)."""
    draw = random.Random(f"{seed}/{caller}")
    headers = {"X-Forwarded-For": f"192.0.2.{caller + 1}", "X-Device": f"d{draw.randint(1, 3)}"}
    result = []
    for _ in range(REQUESTS):
        if draw.random() < 0.3:
            result.append(("GET", f"/page/{draw.randint(1, 5)}", headers, b""))
        else:
            body = {"username": f"u{draw.randint(1, 12)}", "amount": draw.randint(0, 9), "ok": draw.random() < 0.2}
            result.append(("POST", "/api/login", headers | {"Content-Type": "application/json"},
                           json.dumps(body).encode()))
    return result


def app(request):
    if request.method == "GET":
        return answer(200, b"page")
    return answer(200 if json.loads(request.body)["ok"] else 401, b"login")


def steady(name, value):
    """Two runs are not at one instant: what counts down in seconds may differ; ids and ports always do."""
    if name in ("x-request-id", "date", "host"):
        return (name, "its own")
    if name in ("retry-after", "ratelimit"):
        return (name, "counts down")
    return (name, value)


def story(policies, seed):
    """{caller: [(answer's status, headers, body)]} and {caller: [what the app saw]}."""
    answers, seen = {}, {}
    with Origin(app) as origin, Weir(EVENTS + "policies:\n" + policies, origin.port) as weir:
        def call(caller):
            answers[caller] = []
            client = Client(weir.port)
            try:
                for request in requests_of(seed, caller):
                    got = client.request(*request)
                    answers[caller].append((got.status, [steady(*h) for h in got.headers], got.body))
                    if got.header("connection") == "close":
                        client.close()
                        client = Client(weir.port)
            finally:
                client.close()

        threads = [threading.Thread(target=call, args=(caller,)) for caller in range(CALLERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for request in origin.requests:
            caller = int(request.header("x-forwarded-for").split(",")[0].rpartition(".")[2]) - 1
            seen.setdefault(caller, []).append((request.method, request.path, request.body,
                                                [steady(*h) for h in request.headers]))
    return answers, seen


class Shadow(unittest.TestCase):
    def test_shadow_policies_change_nothing(self):
        seed = int(os.environ.get("WEIR_SEED", random.randrange(2**32)))
        print(f"seed {seed}: repeat with WEIR_SEED={seed}", flush=True)
        draw = random.Random(seed)
        refused = 0
        for number in range(SETS):
            enforced = "".join(policy(draw, f"enforced-{n}", ("ip",), False) for n in range(draw.randint(1, 4)))
            keys = ("ip", "user", "[ip, user]", "ip/24", "")
            shadow = "".join(policy(draw, f"shadow-{n}", keys, True) for n in range(draw.randint(1, 6)))
            shadow = shadow.replace("watch: request, key: user", "watch: request, key: ip")
            shadow = shadow.replace("watch: request, key: [ip, user]", "watch: request, key: ip")
            with self.subTest(set=number, seed=seed, enforced=enforced, shadow=shadow):
                alone, both = story(enforced, f"{seed}/{number}"), story(enforced + shadow, f"{seed}/{number}")
                for caller in range(CALLERS):
                    self.assertEqual(alone[0][caller], both[0][caller], f"answers of caller {caller}")
                    self.assertEqual(alone[1].get(caller), both[1].get(caller), f"what the app saw of {caller}")
                    refused += sum(status in (403, 429) for status, _, _ in alone[0][caller])
        self.assertGreater(refused, 0, "no set of policies refused anything: the test says nothing")


if __name__ == "__main__":
    unittest.main()

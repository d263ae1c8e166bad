"""Two replicas, a Redis that stops and goes on, reloads, clients that hang up, and requests through every door, at random.

What each key has seen is a naive list of events: who sent what when, what weir said, what reached the app, what it answered.
The list says what docs/accuracy.md and docs/redis.md promise: how many may have passed, and what the counters read in the end.

WEIR_FLEET_SEED repeats the traffic; the test prints it. WEIR_FLEET_SECONDS: how long each part goes on (`scripts/soak 300 dev
fleet`).
"""

import contextlib
import json
import os
import random
import socket
import struct
import threading
import time
import unittest
import urllib.parse
from dataclasses import dataclass, field

from http_client import Client, Cut, once, render
from origin import Origin, answer
from redis_process import Redis
from weir_process import SANITIZED, Weir, eventually, free_port

SECONDS = float(os.environ.get("WEIR_FLEET_SECONDS", "9"))
REPLICAS, CLIENTS = 2, 6
LIMIT = 5
RATE = 4  # a second, beside a burst of LIMIT
ROLLING = 1.5  # seconds; the other windows outlast the test
AFTER = 3.0  # seconds until all replicas use a Redis that is back
SETTLES = 1.0 if SANITIZED else 0.2  # seconds until Redis has the outcome of an answer; nothing waits for it

FORMS = {"long": "10m", "exact": "{last: 10m, exact: true}", "fixed": "{every: 366d}",
         "rolling": f"{{last: {ROLLING * 1000:.0f}ms, exact: true}}", "buckets": f"{{last: {ROLLING * 1000:.0f}ms, buckets: 10}}",
         "rate": f"{{rate: {RATE}/s, burst: {LIMIT}}}"}


@dataclass
class Kind:
    """A policy with a route of its own, so that its keys meet nothing else."""
    name: str
    form: str
    share: str = "redis"  # redis, local, sync
    on_error: str = "deny"
    metric: str = "count"
    outcome: bool = False
    more: str = ""

    @property
    def rolls(self):
        return self.form in ("rolling", "buckets")

    @property
    def is_call(self):
        """A limit of Envoy's rate limit service, from a file of its own."""
        return self.name == "call"

    def yaml(self):
        if self.is_call:
            return ""
        share = {"redis": f", share: redis, on_error: {self.on_error}", "sync": ", share: {redis: {sync: 100ms}}", "local": ""}[self.share]
        window = f", window: {FORMS[self.form]}" if self.form else ""
        over = "" if self.form == "rate" else f"over: {LIMIT}, "
        return (f"  - {{name: {self.name}, watch: {self.name}{'_failed' if self.outcome else ''}, key: user, metric: {self.metric}"
                f"{window}{share}{self.more}, then: [{{{over}do: deny, tell: retry}}]}}\n")


LIMITS = f"domain: fleet\ndescriptors:\n  - {{key: user, rate_limit: {{unit: day, requests_per_unit: {LIMIT}}}}}\n"

KINDS = [
    Kind("exact", "exact"), Kind("long", "long"), Kind("fixed", "fixed"), Kind("rolling", "rolling"), Kind("buckets", "buckets"),
    Kind("sums", "exact", metric="sum(n)"), Kind("items", "exact", metric="distinct(item)"),
    Kind("tries", "exact", more=", charge: always"),
    Kind("outcome", "exact", outcome=True), Kind("outcome_long", "long", outcome=True), Kind("outcome_rolling", "rolling", outcome=True),
    Kind("outcome_reset", "exact", outcome=True, more=", reset: outcome_reset_ok"),
    Kind("rate", "rate"), Kind("my_rate", "rate", share="local"),
    Kind("alone", "exact", on_error="local"), Kind("alone_outcome", "exact", on_error="local", outcome=True),
    Kind("allowed", "exact", on_error="allow"),
    Kind("mine", "exact", share="local"), Kind("mine_outcome", "long", share="local", outcome=True),
    Kind("synced", "long", share="sync"),
    Kind("flying", "", metric="in_flight"),
    Kind("call", "fixed", on_error="local"),
]


def policies(draw):
    """In any order, with and without something else: a reload changes every index and no count."""
    kinds = KINDS[:]
    draw.shuffle(kinds)
    events = "".join(
        f"  {k.name}: {{match: '* /{k.name}', fields: {{user: header.x_user, n: int(header.x_n), item: header.x_item}}}}\n"
        f"  {k.name}_failed: {{is: {k.name}, when: status == 401}}\n  {k.name}_ok: {{is: {k.name}, when: status == 200}}\n" for k in kinds if not k.is_call)
    other = "  - {name: other, watch: request, when: 'path == \"/nothing\"', key: ip, window: 1h, then: [{over: 1, do: deny}]}\n"
    lists = f"lists: {{vip{draw.randrange(9)}: {{of: ip, kind: allow}}}}\n" if draw.random() < 0.5 else ""
    return "events:\n" + events + lists + "policies:\n" + "".join(k.yaml() for k in kinds) + (other if draw.random() < 0.5 else "")


@dataclass
class Request:
    number: int
    replica: int
    door: str
    answers: int  # what the app will say
    amount: int
    item: str
    hangs_up: bool
    resets: bool  # it hangs up by RST instead of FIN
    sent: float = 0.0
    done: float = 0.0
    status: int = 0  # 0: no answer came, or the client did not wait
    arrived: float = 0.0  # at the app; 0: never

    @property
    def passed(self):
        """It reached the app, or a door said that it may."""
        return self.arrived > 0 or (self.door != "proxy" and self.status == 200)

    @property
    def failed(self):
        """It counts for who counts failures."""
        return self.arrived > 0 and self.answers == 401

    @property
    def is_doubtful(self):
        """Who counts answers cannot know: the client left, perhaps before the app had it, and perhaps before it answered 200."""
        return self.hangs_up and not self.failed

    def latest(self):
        return self.arrived or self.done


@dataclass
class Episode:
    """What one key of one policy meets."""
    kind: Kind
    user: str
    requests: list = field(default_factory=list)
    began: float = 0.0
    ended: float = 0.0

    def told(self):
        rows = [f"{r.sent - self.began:.3f}..{r.done - self.began:.3f} replica {r.replica} {r.door} app {r.answers} n {r.amount} {r.item}"
                f"{' hangs up' if r.hangs_up else ''}: {r.status}{' reached the app' if r.arrived else ''}" for r in self.requests]
        return f"{self.kind}, user {self.user}\n" + "\n".join(rows)


class Fleet:
    def __init__(self, seed, patience):
        self.draw = random.Random(seed)
        self.lock = threading.Lock()
        self.numbers = iter(range(1, 10**9))
        self.by_number = {}
        self.episodes, self.wrong, self.outages = [], [], []
        self.stopping = False
        self.redis, self.origin = Redis(), Origin(self.app)
        self.apis = [free_port() for _ in range(REPLICAS)]
        self.weirs = [Weir(policies(self.draw), self.origin.port, proxy="timeouts: {answer: 3s}", extra=(
            f"redis: {{{self.redis.where}, secret: of these tests, keys: readable, {patience}}}\n"
            f"threads: 2\nreserve: {{wait: 300ms}}\n"
            f"api: {{listen: 127.0.0.1:{api}, ext_authz: {{prefix: /ext_authz}}, forward_auth: [nginx]}}\n"
            "authz: {client_ip: {trust: [127.0.0.1/32]}}\nratelimit: {files: [limits.yaml], share: redis}\n"),
            files={"limits.yaml": LIMITS}) for api in self.apis]

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for part in (self.redis, self.origin, *self.weirs):
                stack.enter_context(part)
            for weir in self.weirs:
                eventually(lambda w=weir: w.metric("weir_redis_up") == 2, 20, "weir at the store")
            self.open = stack.pop_all()
        return self

    def __exit__(self, *what):
        return self.open.__exit__(*what)

    def app(self, request):
        sent = self.by_number[int(request.header("x-number"))]
        sent.arrived = time.monotonic()
        delay = float(request.header("x-delay"))
        if delay:
            time.sleep(delay)
        return answer(sent.answers)

    # The traffic.

    def send(self, episode, request, delay):
        fields = {"X-User": episode.user, "X-Number": str(request.number), "X-N": str(request.amount), "X-Item": request.item,
                  "X-Delay": str(delay)}
        path, port = f"/{episode.kind.name}", self.weirs[request.replica].port
        if request.door != "proxy":
            port = self.apis[request.replica]
        if request.door == "ext_authz":
            path = "/ext_authz" + path
        elif request.door == "forward_auth":
            fields |= {"X-Original-URI": path, "X-Original-Method": "GET"}
            path = "/forward_auth/nginx"
        method, body = "GET", b""
        if episode.kind.is_call:
            call = {"domain": "fleet", "descriptors": [{"entries": [{"key": "user", "value": episode.user}]}]}
            method, path, body = "POST", "/json", json.dumps(call).encode()
        request.sent = time.monotonic()
        with contextlib.suppress(OSError, Cut), Client(port, 20, f"127.0.0.1:{port}") as client:
            if request.hangs_up:
                client.socket.sendall(render("GET", path, fields))
                time.sleep(delay / 2)
                if request.resets:
                    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                given = client.request(method, path, fields, body)
                request.status = given.status
                if request.door != "proxy" and episode.kind.outcome and given.status == 200:
                    self.tell_answer(client, request, given.header("x-weir-request-id"))
        request.done = time.monotonic()

    def tell_answer(self, client, request, number):
        """A door has not seen the app's answer: the app tells of it."""
        request.arrived = time.monotonic()
        told = json.dumps({"request_id": number, "status": request.answers}).encode()
        said = client.request("POST", "/v1/events", {"Content-Type": "application/json"}, told)
        if said.status != 200:
            self.wrong.append(f"POST /v1/events of {number}: {said}")

    def play(self, draw):
        """One key after the other, each with a mood of its own."""
        while not self.stopping:
            kind = draw.choice(KINDS)
            episode = Episode(kind, f"u{draw.randrange(10**12)}", began=time.monotonic())
            at_once, doors = draw.choice([1, 1, 4]), draw.random() < 0.5 and kind.form
            failing, leaving, slow = draw.random(), draw.choice([0, 0, 0.3]), draw.choice([0, 0, 0.08])
            for _ in range(draw.randrange(2, 9)):
                threads = []
                for _ in range(at_once):
                    with self.lock:
                        number = next(self.numbers)
                    door = "call" if kind.is_call else draw.choice(["proxy", "ext_authz", "forward_auth"]) if doors else "proxy"
                    request = Request(number, draw.randrange(REPLICAS), door, 401 if draw.random() < failing else 200,
                                      draw.randrange(1, 3), f"i{draw.randrange(8)}", door == "proxy" and draw.random() < leaving, draw.random() < 0.5)
                    self.by_number[number] = request
                    episode.requests.append(request)
                    threads.append(threading.Thread(target=self.send, args=(episode, request, slow * draw.random())))
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                if draw.random() < 0.2:
                    time.sleep(draw.random() * 0.4)
            time.sleep(0.25)  # until the app has answered those who left
            episode.ended = time.monotonic()
            with self.lock:
                self.episodes.append(episode)

    def reload(self, draw):
        weir = draw.choice(self.weirs)
        weir.write(policies(draw))
        status, report = weir.reload()
        if status != 200:
            self.wrong.append(f"reload: {report}")

    def stop_redis(self, draw):
        began = time.monotonic()
        self.redis.pause()
        time.sleep(draw.choice([0.05, 0.3, 0.7, 1.6]))
        self.redis.resume()
        self.outages.append((began, time.monotonic() + AFTER))

    def run_for(self, seconds, outages):
        draws = [random.Random(self.draw.random()) for _ in range(CLIENTS)]
        chaos = random.Random(self.draw.random())
        players = [threading.Thread(target=self.play, args=(draw,)) for draw in draws]
        self.stopping = False
        for player in players:
            player.start()
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                self.reload(chaos)
                if outages and chaos.random() < 0.6:
                    self.stop_redis(chaos)
                time.sleep(chaos.random() * 0.8)
        finally:
            self.stopping = True
            for player in players:
                player.join()

    # Checks against the list of events.

    def is_calm(self, episode):
        return all(episode.ended < began or end < episode.began for began, end in self.outages)

    def check(self):
        self.note_slowness()
        for episode in self.episodes:
            try:
                self.check_one(episode)
            except AssertionError as wrong:
                self.wrong.append(f"{wrong}\n{episode.told()}")

    def note_slowness(self):
        """What came too late of a Redis that works is an outage too: the machine was slow. There must be little of it."""
        late = [r for e in self.episodes if self.is_calm(e) for r in e.requests if r.status == 503]
        expect(len(late) <= 0.03 * next(self.numbers), f"{len(late)} requests were not judged beside all outages")
        self.outages += [(r.sent - AFTER, r.done + AFTER) for r in late]

    def check_one(self, episode):
        kind, calm = episode.kind, self.is_calm(episode)
        for request in episode.requests:
            expect(request.hangs_up or request.status in (200, 401, 429, 503), f"the status {request.status}")
        if kind.metric == "in_flight":
            return
        passed = [r for r in episode.requests if r.passed]
        counted = [r for r in passed if r.failed] if kind.outcome else passed
        if "reset" in kind.more:
            self.check_reset(episode, calm)
        elif kind.form == "rate":
            for i in range(REPLICAS if kind.share == "local" else 1):
                self.check_rate([r for r in counted if kind.share != "local" or r.replica == i])
        elif kind.rolls:
            self.check_windows(counted, kind)
        else:
            self.check_total(episode, counted, calm)
        if calm and kind.share != "sync":
            self.check_refusals(episode)

    @staticmethod
    def amount(kind, requests):
        if kind.metric == "sum(n)":
            return sum(r.amount for r in requests)
        return len({r.item for r in requests}) if kind.metric.startswith("distinct") else len(requests)

    def check_total(self, episode, counted, calm):
        kind = episode.kind
        by_replica = [self.amount(kind, [r for r in counted if r.replica == i]) for i in range(REPLICAS)]
        if kind.share == "local":
            expect(max(by_replica) <= LIMIT, f"replicas have passed {by_replica}")
        elif kind.share == "sync" or (kind.on_error == "allow" and not calm):
            pass  # bounded by rates, or by nothing
        elif kind.on_error == "local" and not calm:
            expect(self.amount(kind, counted) <= (REPLICAS + 1) * LIMIT, f"passed {by_replica} beside an outage")
        else:
            expect(self.amount(kind, counted) <= LIMIT, f"passed {by_replica}")

    @staticmethod
    def check_windows(counted, kind):
        """Of any LIMIT + 1 events the last cannot lie within the window of the first, wherever in their requests they happened."""
        counted = sorted(counted, key=lambda r: r.sent)
        for first in range(len(counted) - LIMIT):
            some = counted[first:first + LIMIT + 1]
            span = max(r.latest() for r in some) - min(r.sent for r in some)
            expect(span >= ROLLING - 0.005, f"{len(some)} passed within {span:.3f} s")

    @staticmethod
    def check_rate(counted):
        counted = sorted(counted, key=lambda r: r.sent)
        for first in range(len(counted)):
            for end in range(first + LIMIT + 1, len(counted) + 1):
                some = counted[first:end]
                span = max(r.latest() for r in some) - min(r.sent for r in some)
                expect(len(some) <= LIMIT + RATE * span + 0.01, f"{len(some)} passed within {span:.3f} s")

    def check_reset(self, episode, calm):
        """A right answer forgets: never more than LIMIT wrong ones since the last one that may have been forgotten."""
        run, forgets_until = [], 0.0
        for request in sorted((r for r in episode.requests if r.arrived), key=lambda r: r.arrived):
            if request.answers == 200:  # also if the client did not wait for it
                run = []
                # Counts of other replicas may reach Redis before the right answer does.
                forgets_until = max(forgets_until, request.done, request.arrived) + SETTLES
            elif request.failed and request.sent > forgets_until:
                run.append(request)
            # The order of simultaneous requests is unknown.
            alone = all(r is request or r.done < request.sent or request.done < r.sent for r in episode.requests)
            expect(len(run) <= LIMIT or not alone or not calm, f"{len(run)} wrong answers in a row")

    def check_refusals(self, episode):
        """Nobody is refused who had to pass: the events that were there, or under way, reach the limit."""
        kind = episode.kind
        for request in episode.requests:
            if request.status != 429:
                continue
            others = [r for r in episode.requests if r is not request and r.sent < request.done]
            if kind.rolls:
                slack = ROLLING / 10 if kind.form == "buckets" else 0
                others = [r for r in others if request.sent - r.latest() <= ROLLING + slack + 0.05]
            if kind.share == "local":
                others = [r for r in others if r.replica == request.replica]
            if "always" not in kind.more:
                # One that is asked at the same time may be counted and taken back.
                others = [r for r in others if r.passed or r.hangs_up or r.done > request.sent]
            if kind.form == "rate":
                # The bucket is over its burst if it is so for the events since some moment.
                others.sort(key=Request.latest, reverse=True)
                since = [max(0.0, request.sent - r.latest()) for r in others]
                full = any(n + 2 > LIMIT + RATE * (age - 0.05) for n, age in enumerate(since))
                expect(full, f"refused {request} beside {len(others)}")
                continue
            if kind.outcome:
                others = [r for r in others if r.failed or r.is_doubtful or r.done + SETTLES > request.sent]
            expect(self.amount(kind, [*others, request]) > LIMIT, f"refused {request} beside {len(others)}")

    # The readings of the counters when all is over.

    def reading(self, weir, kind, user):
        status, body = weir.admin("GET", f"/v1/counters/{kind.name}?key={urllib.parse.quote(user)}")
        expect(status == 200, f"{status} {body}")
        return body["counters"][0]

    def check_readings(self, episodes):
        for episode in episodes:
            try:
                eventually(lambda e=episode: self.reads_right(e), 12, "the right reading")
            except AssertionError as wrong:
                readings = [self.reading(weir, episode.kind, episode.user) for weir in self.weirs]
                self.wrong.append(f"{wrong}: {readings}\n{episode.told()}")

    def reads_right(self, episode):
        kind = episode.kind
        readings = [self.reading(weir, kind, episode.user) for weir in self.weirs]
        if any(r["in_flight"] for r in readings):
            return False  # everything has ended
        if kind.metric == "in_flight":
            return all(r["value"] == 0 for r in readings)
        calm = self.is_calm(episode)
        if kind.rolls or kind.form == "rate" or "reset" in kind.more or not calm:
            return True
        tries = "always" in kind.more
        counted = [r for r in episode.requests if (r.passed or (tries and r.status == 429)) and (r.failed or not kind.outcome)]
        doubtful = [r for r in episode.requests if r.is_doubtful if kind.outcome or not r.arrived]
        for i, reading in enumerate(readings):
            seen = [r for r in counted if kind.share != "local" or r.replica == i]
            least, most = self.amount(kind, seen), self.amount(kind, [*seen, *doubtful])
            if not least <= reading["value"] <= most:
                return False
        return True


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


class RandomFleet(unittest.TestCase):
    def run_all(self, outages):
        seed = int(os.environ.get("WEIR_FLEET_SEED", random.randrange(10**6)))
        print(f"seed {seed}, {SECONDS:.0f} s", flush=True)
        # Where Redis never stops, no request may be late for it, however slow the machine is.
        with Fleet(seed, "timeout: 1s, budget: 400ms" if outages else "timeout: 5s, budget: 4s") as fleet:
            fleet.run_for(SECONDS * (2 if SANITIZED else 1), outages)
            time.sleep(0.5)
            fleet.check()
            readable = [e for e in fleet.episodes if not e.kind.is_call]
            fleet.check_readings(fleet.draw.sample(readable, min(len(readable), 60)))
            requests = [r for e in fleet.episodes for r in e.requests]
            print(f"{len(fleet.episodes)} keys, {len(requests)} requests, {sum(r.passed for r in requests)} passed, "
                  f"{sum(r.status == 429 for r in requests)} refused, {sum(r.status == 503 for r in requests)} not judged, "
                  f"{len(fleet.outages)} outages", flush=True)
            self.assertEqual(len(fleet.wrong), 0, f"seed {seed}: {len(fleet.wrong)} differences, such as\n" + "\n\n".join(fleet.wrong[:4]))
            self.assertGreater(len(fleet.episodes), 10)

    def test_with_a_redis_that_works(self):
        self.run_all(outages=False)

    def test_with_a_redis_that_stops_and_goes_on(self):
        self.run_all(outages=True)


if __name__ == "__main__":
    unittest.main()

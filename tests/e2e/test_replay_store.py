"""`weir replay --store` and `scripts/check-data --store` through a real Redis, against plain lists of generated events."""

import bisect
import datetime
import fractions
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
import zoneinfo
from collections import defaultdict

from redis_process import Redis
from weir_process import ROOT

MINUTE, HOUR = 60_000, 3_600_000
BEGIN = 1_711_800_000_000  # 2024-03-30 12:00 UTC: Berlin's clocks change the next night, its month ends soon after


def generated(count, seed):
    """Bursts, gaps and events of one millisecond; times never go back."""
    dice = random.Random(seed)
    now, out = BEGIN, []
    for _ in range(count):
        now += dice.choice((0, 0, 1, 40, 300, 900, 2_500, 7_000, 19_999, 20_000, dice.randrange(MINUTE)))
        if dice.random() < 0.02:
            now += dice.randrange(6 * HOUR)
        out.append({"ts": now, "user": f"u{min(dice.randrange(9), dice.randrange(9))}", "page": f"/p{dice.randrange(12)}",
                    "gold": dice.randrange(-20, 100)})
    return out


class Naive:
    """The events of one key, each asked about as it comes. Windows are (now - W, now]."""

    def __init__(self):
        self.times, self.events = [], []

    def add(self, event):
        self.times.append(event["ts"])
        self.events.append(event)
        return self

    def since(self, begin):
        return self.events[bisect.bisect_left(self.times, begin):]

    def last(self, length):
        return self.since(self.times[-1] - length + 1)

    def every(self, length):
        return self.since(self.times[-1] // length * length)

    def from_first(self, length):
        begin = self.times[0]
        while self.times[-1] >= begin + length:
            begin = self.times[bisect.bisect_left(self.times, begin + length)]
        return self.since(begin)

    def ring(self, length, buckets):
        """The current bucket and as many before it as the window has."""
        slice_ = length // buckets
        return self.since((self.times[-1] // slice_ - buckets) * slice_)

    def calendar(self, unit, zone):
        now = datetime.datetime.fromtimestamp(self.times[-1] / 1000, zoneinfo.ZoneInfo(zone))
        begin = now.replace(hour=0, minute=0, second=0, microsecond=0)
        if unit == "month":
            begin = begin.replace(day=1)
        return self.since(int(begin.timestamp() * 1000))

    def leaky(self, capacity, drain, kept):
        """What the bucket would hold with the event, and `kept` when that is above its capacity."""
        level, before = fractions.Fraction(0), self.times[0]
        for now in self.times:
            level = max(level - fractions.Fraction(now - before, drain), 0)
            poured, before = level + 1, now
            level = poured if poured <= capacity else kept
        return poured


def golds(events):
    return [e["gold"] for e in events]


def mean(values):
    return sum(values) / len(values)


# name: (metric and window as a policy has them, what a list of the key's events comes to)
COUNTERS = {
    "fixed": ("window: {every: 1m}", lambda n: len(n.every(MINUTE))),
    "from_first": ("window: {every: 1m, from: first}", lambda n: len(n.from_first(MINUTE))),
    "ring": ("window: {last: 1m, buckets: 6}", lambda n: len(n.ring(MINUTE, 6))),
    "exact": ("window: {last: 20s, exact: true}", lambda n: len(n.last(20_000))),
    "day": ("window: {calendar: day, tz: Asia/Shanghai}", lambda n: len(n.calendar("day", "Asia/Shanghai"))),
    "month": ("window: {calendar: month, tz: Europe/Berlin}", lambda n: len(n.calendar("month", "Europe/Berlin"))),
    "leaky": ("window: {leaky: 5, drain: 20s}", lambda n: n.leaky(5, 20_000, 5)),
    "emptied": ("window: {leaky: 4, drain: 20s}", lambda n: n.leaky(4, 20_000, 0)),
    "sum_fixed": ("metric: sum(gold), window: {every: 1h}", lambda n: sum(golds(n.every(HOUR)))),
    "sum_ring": ("metric: sum(gold), window: {last: 1m, buckets: 6}", lambda n: sum(golds(n.ring(MINUTE, 6)))),
    "sum_exact": ("metric: sum(gold), window: {last: 1m, exact: true}", lambda n: sum(golds(n.last(MINUTE)))),
    "avg_fixed": ("metric: avg(gold), window: {every: 1h}", lambda n: mean(golds(n.every(HOUR)))),
    "avg_exact": ("metric: avg(gold), window: {last: 1m, exact: true}", lambda n: mean(golds(n.last(MINUTE)))),
    "avg_events": ("metric: avg(gold), window: {events: 4}", lambda n: mean(golds(n.events[-4:]))),
    "max_exact": ("metric: max(gold), window: {last: 1m, exact: true}", lambda n: max(golds(n.last(MINUTE)))),
    "min_day": ("metric: min(gold), window: {calendar: day, tz: UTC}", lambda n: min(golds(n.calendar("day", "UTC")))),
    "distinct": ("metric: distinct(page), window: {last: 1m, exact: true}",
                 lambda n: len({e["page"] for e in n.last(MINUTE)})),
    "distinct_day": ("metric: distinct(page), window: {calendar: day, tz: Asia/Shanghai}",
                     lambda n: len({e["page"] for e in n.calendar("day", "Asia/Shanghai")})),
    "exists": ("metric: exists(page), window: {last: 1m, exact: true}",
               lambda n: int(any(e["page"] == n.events[-1]["page"] for e in n.last(MINUTE)[:-1]))),
    "previous": ("metric: last(page), window: {last: 1m, exact: true}",
                 lambda n: n.last(MINUTE)[-2]["page"] if len(n.last(MINUTE)) > 1 else None),
}


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="weir-replay-")
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        self.redis = Redis().start()
        self.addCleanup(self.redis.scratch.cleanup)
        self.addCleanup(self.redis.kill)
        self.store = f"unix://{self.redis.path}"
        self.seed = random.randrange(1 << 32)

    def write(self, name, content):
        path = os.path.join(self.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(content)
        return path

    def write_lines(self, name, rows):
        return self.write(name, "".join(json.dumps(row) + "\n" for row in rows))

    def asked(self):
        """How many calls of scripts Redis has seen."""
        return sum(int(line.partition(b"calls=")[2].partition(b",")[0]) for line in
                   self.redis.command("INFO", "commandstats").splitlines() if line.startswith(b"cmdstat_evalsha"))


class Replay(Scratch):
    def replay(self, policies, events):
        """The rows of a replay through Redis, with the readings of all policies that have a name there."""
        names = [line.partition("name: ")[2].partition(",")[0] for line in policies.splitlines() if "name: " in line]
        config = self.write("weir.yaml", "weir: 1\nevents:\n  buy: {source: {json: true, time: {field: ts, as: millis}}}\n"
                            f"policies:\n{policies}redis: {{url: '{self.store}', secret: of this test}}\n")
        path = self.write_lines("events.ndjson", events)
        command = [os.environ["WEIR_BINARY"], "replay", "-o", "ndjson", "-c", config, "--event", f"buy={path}",
                   "--store", self.store]
        for name in names:
            command += ["--readings", name]
        done = subprocess.run(command, capture_output=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode()[-2000:])
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_every_form_reads_what_a_list_of_events_says(self):
        events = generated(700, self.seed)
        rungs = {"emptied": "{do: flag}", "previous": "{if: value == \"\", do: flag}"}
        rows = self.replay("".join(f"  - {{name: {name}, watch: buy, key: user, {what}, share: redis, "
                                   f"then: [{rungs.get(name, '{if: value == -9999, do: flag}')}]}}\n"
                                   for name, (what, _) in COUNTERS.items()), events)
        readings = {(row["policy"], row["line"]): row["value"] for row in rows if row["type"] == "reading"}
        self.assertEqual(len(readings), len(COUNTERS) * len(events), f"seed {self.seed}")
        keys = defaultdict(Naive)
        for line, event in enumerate(events, 1):
            of_key = keys[event["user"]].add(event)
            for name, (_, model) in COUNTERS.items():
                want, ours = model(of_key), readings[name, line]
                told = f"{name}, line {line}: {event}, seed {self.seed}"
                if isinstance(want, (float, fractions.Fraction)):
                    self.assertAlmostEqual(ours, float(want), 9, told)
                else:
                    self.assertEqual(ours, want, told)
        self.assertGreater(self.asked(), len(events), "Redis was asked")
        self.assertGreater(len(self.redis.keys()), 0)
        for key in self.redis.keys():
            self.assertGreater(self.redis.command("PTTL", key), 0, key)

    def test_what_is_refused_is_not_counted(self):
        events, limit = generated(700, self.seed), 4
        rows = self.replay(f"  - {{name: limited, watch: buy, key: user, window: {{last: 1m, exact: true}}, share: redis, "
                           f"then: [{{over: {limit}, do: deny}}]}}\n"
                           "  - {name: after, watch: buy, key: page, window: {every: 1h}, share: redis, "
                           "then: [{over: 1000000, do: deny}]}\n", events)
        readings = {(row["policy"], row["line"]): row["value"] for row in rows if row["type"] == "reading"}
        denied = {row["line"] for row in rows if row["type"] == "verdict" and row["policy"] == "limited"}
        users, pages = defaultdict(list), defaultdict(list)
        for line, event in enumerate(events, 1):
            now, told = event["ts"], f"line {line}: {event}, seed {self.seed}"
            user, page = users[event["user"]], pages[event["page"]]
            want = 1 + sum(t > now - MINUTE for t in user)
            self.assertEqual(readings["limited", line], want, told)
            self.assertEqual(line in denied, want > limit, told)
            # A request that another policy refused has been taken back.
            self.assertEqual(readings["after", line], 1 + sum(t // HOUR == now // HOUR for t in page), told)
            if want <= limit:
                user.append(now)
                page.append(now)
        self.assertGreater(len(denied), 10)


class CheckData(Scratch):
    """A small folder of data as scripts/check-data wants it, with what plain lists of the same events come to."""

    WINDOW, SLICES, DISTINCT = 30_000, 6, 120_000

    def expect(self, job, file, events, content, columns, rows):
        content |= {"input": {"file": file, "rows_parsed": len(events), "bad_line_count": 0, "bad_lines": [],
                              "largest_lag_ms": 0, "last_ts": events[-1]["ts"]},
                    "columns": ["line", *columns], "rows": rows}
        self.write(f"expected/{job}/small.json", json.dumps(content))

    def redis_counts(self, events):
        rows, devices = [], defaultdict(Naive)
        self.write_lines("devices.ndjson", ({"ts": e["ts"], "device": e["user"], "account": e["page"]} for e in events))
        for line, event in enumerate(events, 1):
            n = devices[event["user"]].add(event)
            rows.append([line, len(n.from_first(self.WINDOW)), len(n.ring(self.WINDOW, self.SLICES)),
                         len(n.last(self.WINDOW)), len({e["page"] for e in n.last(self.DISTINCT)})])
        self.expect("redis-counts", "devices.ndjson", events,
                    {"key": "device", "ttl_ms": self.WINDOW, "window_ms": self.WINDOW, "slice_ms": self.WINDOW // self.SLICES,
                     "distinct_window_ms": self.DISTINCT},
                    ["simple_halfopen", "slices", "exact_open", "distinct_open"], rows)

    def gold_gray(self, events):
        limits = {"cpa": {"ios": 150, "android": 90}, "cpc": {"ios": 300}}
        dice, rows, gray, users, lines = random.Random(self.seed), [], 0, defaultdict(Naive), []
        for line, event in enumerate(events, 1):
            ocpc, os_ = dice.choice(("cpa", "cpc", "none")), dice.choice(("ios", "android"))
            event = event | {"gold": abs(event["gold"])}
            lines.append({"ts": event["ts"], "user": event["user"], "gold": event["gold"], "ocpc": ocpc, "os": os_})
            total = sum(golds(users[event["user"]].add(event).last(2 * MINUTE)))
            rows.append([line, total])
            gray += total >= limits.get(ocpc, {}).get(os_, 1 << 60)
        self.assertGreater(gray, 0)
        self.write_lines("rewards.ndjson", lines)
        self.expect("gold-gray", "rewards.ndjson", events, {"threshold": limits, "minutes": 2, "gray_events_open": gray},
                    ["total_open"], rows)

    def check(self):
        return subprocess.run([sys.executable, "-B", os.path.join(ROOT, "scripts", "check-data"), self.directory, "--weir",
                               os.environ["WEIR_BINARY"], "--store", self.store, "--job", "redis-counts", "--job",
                               "gold-gray"], capture_output=True, text=True, timeout=120, check=False)

    def test_a_small_folder_of_our_own(self):
        events = generated(400, self.seed)
        self.redis_counts(events)
        self.gold_gray(events)
        done = self.check()
        self.assertEqual(done.returncode, 0, f"seed {self.seed}\n{done.stdout}{done.stderr}")
        self.assertIn("13 results compared, 0 wrong", done.stdout)
        self.assertGreater(self.asked(), 2 * len(events), "Redis was asked")

        # And it sees what differs.
        path = os.path.join(self.directory, "expected/redis-counts/small.json")
        with open(path, encoding="utf-8") as f:
            content = json.load(f)
        content["rows"][77][3] += 1
        self.write("expected/redis-counts/small.json", json.dumps(content))
        done = self.check()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("13 results compared, 1 wrong", done.stdout)


if __name__ == "__main__":
    unittest.main()

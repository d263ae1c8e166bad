"""scripts/check-data over a small folder of our own, and what it notices: with --mutate it changes weir's rows in every way that it knows."""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

from weir_process import ROOT

MINUTE, HOUR = 60_000, 3_600_000
BEGIN = 1_511_658_000_000


class CheckData(unittest.TestCase):
    def setUp(self):
        self.seed = int(os.environ.get("WEIR_SEED", random.randrange(1 << 32)))
        self.dice = random.Random(self.seed)
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        self.actions()
        self.receipts()

    def write(self, path, text):
        path = os.path.join(self.directory, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def input(self, file, times, bad=()):
        return {"file": file, "rows_parsed": len(times), "bad_line_count": len(bad), "bad_lines": list(bad), "largest_lag_ms": 0,
                "first_ts": times[0], "last_ts": times[-1]}

    def actions(self):
        """Page views of a few users, a bad line among them: fixed and sliding windows, views of hours."""
        now, lines, events = BEGIN, [], []
        for line in range(1, 200):
            now += self.dice.choice((0, 1000, 1000, 5000, 20_000, MINUTE))
            user, kind = f"u{self.dice.randrange(5)}", self.dice.choice(("pv", "pv", "pv", "buy"))
            lines.append(f"{user},{line},1,{kind},{now // 1000}" if line != 50 else "no such row")
            if line != 50:
                events.append((line, now, user, kind))
        self.write("UserBehavior-small.csv", "".join(line + "\n" for line in lines))
        file = self.input("UserBehavior-small.csv", [e[1] for e in events], bad=[50])
        views = [e for e in events if e[3] == "pv"]
        rows = []
        for i, (line, now, user, _) in enumerate(views):
            own = [e[1] for e in views[:i + 1] if e[2] == user]
            rows.append([line, sum(t // MINUTE == now // MINUTE for t in own), sum(t > now - MINUTE for t in own)])
        self.write("expected/fixed-vs-sliding/small.json", json.dumps(
            {"input": file, "key": "user",
             "cases": [{"window_ms": MINUTE, "buckets": 4, "limit": 3, "columns": ["line", "fixed", "sliding"], "rows": rows}]}))
        content = {"input": file}
        for name, length, zone in (("hourly", HOUR, 0), ("daily_utc", 24 * HOUR, 0), ("daily_utc+8", 24 * HOUR, 8 * HOUR)):
            begins = [((now + zone) // length * length - zone, user) for _, now, user, _ in views]
            content[name] = [{"start": start, "end": start + length, "pv": sum(b == start for b, _ in begins),
                              "uv": len({user for b, user in begins if b == start})} for start in sorted({b for b, _ in begins})]
        self.write("expected/pv-uv/small.json", json.dumps(content))

    def receipts(self):
        """Payments and their receipts: some on time, some too late for the interval, some without a partner."""
        pays, receipts, outer, interval = [], [], [], []
        for i in range(40):
            at, apart, kind = BEGIN + i * MINUTE, self.dice.choice((-3, 0, 5, 6)), self.dice.choice(("both", "both", "pay", "receipt"))
            if kind != "receipt":
                pays.append((at, f"o{i},pay,t{i},{at // 1000}"))
            if kind != "pay":
                receipts.append((at + apart * 1000, f"t{i},wechat,{at // 1000 + apart}"))
            alone = {"pay": ["pay_only"], "receipt": ["receipt_only"], "both": ["matched"]}[kind]
            outer += [[side, f"t{i}"] for side in alone]
            interval += [[side, f"t{i}"] for side in (["pay_only", "receipt_only"] if kind == "both" and apart == 6 else alone)]
        self.write("pays.csv", "".join(row + "\n" for _, row in pays))
        self.write("receipts.csv", "".join(row + "\n" for _, row in receipts))
        content = {"orders": self.input("pays.csv", [t for t, _ in pays]), "receipts": self.input("receipts.csv", [t for t, _ in receipts])}
        for name, found in (("outer", outer), ("interval", interval)):
            content[name] = {f"{side}_ids": [key for s, key in found if s == side] for side in ("matched", "pay_only", "receipt_only")}
        self.write("expected/reconcile/small.json", json.dumps(content))

    def run_checker(self, *flags):
        return subprocess.run([sys.executable, "-B", os.path.join(ROOT, "scripts", "check-data"), self.directory, "--weir",
                               os.environ["WEIR_BINARY"], *flags], capture_output=True, text=True, timeout=110, check=False)

    def test_right_rows_pass_and_each_wrong_one_is_noticed(self):
        done = self.run_checker()
        self.assertEqual(done.returncode, 0, f"seed {self.seed}\n{done.stdout}{done.stderr}")
        self.assertIn(" 0 wrong", done.stdout)
        done = self.run_checker("--mutate")
        self.assertEqual(done.returncode, 0, f"seed {self.seed}\n{done.stdout}{done.stderr}")
        tried = int(done.stdout.splitlines()[-1].split()[0])
        self.assertGreater(tried, 60, done.stdout)

    def test_a_file_that_expects_something_else_is_noticed(self):
        for change in ("bad_line_count", "rows_parsed", "last_ts"):
            path = os.path.join(self.directory, "expected/pv-uv/small.json")
            with open(path, encoding="utf-8") as f:
                content = json.load(f)
            content["input"][change] += 10 * HOUR if change == "last_ts" else 1
            self.write("expected/pv-uv/other.json", json.dumps(content))
            done = self.run_checker("--job", "pv-uv")
            self.assertEqual(done.returncode, 1, f"{change}, seed {self.seed}\n{done.stdout}")


if __name__ == "__main__":
    unittest.main()

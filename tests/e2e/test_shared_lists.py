"""Two weirs that share a list through one Redis: what one lists, the other refuses; and what becomes of it when Redis
dies, forgets, stops, and when a weir is restarted."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer

from http_client import once
from origin import Origin, answer
from weir_process import Weir, eventually

POLICIES = """
fields: {user: header.x_user}
events:
  guess: {match: POST /guess}
  solved: {match: POST /solved}
lists:
  banned: {of: user, kind: gray, effect: deny, share: redis}
  noted: {of: user, kind: gray, share: redis, release: solved}
  local: {of: user, kind: deny}
policies:
  - {name: guesses, watch: guess, key: user, window: 1h, then: [{over: 2, do: graylist, list: banned, for: 10m, notify: hook}]}
notify:
  hook: {webhook: 'http://127.0.0.1:%d/'}
"""


class Redis:
    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="weir-redis-")
        self.path = os.path.join(self.scratch.name, "redis.sock")
        self.start()

    def start(self):
        self.process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "",
                                         "--dir", self.scratch.name], stdout=subprocess.DEVNULL, start_new_session=True)
        eventually(lambda: self.ask("PING") == b"+PONG\r\n", 20, "Redis")

    def ask(self, *words):
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(5)
                s.connect(self.path)
                s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words))
                return s.recv(4096)
        except OSError:
            return None

    def kill(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.scratch.cleanup()


class Hook:
    """Takes notifications."""

    def __init__(self):
        self.got = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(handler):
                self.got.append(json.loads(handler.rfile.read(int(handler.headers["Content-Length"]))))
                handler.send_response(204)
                handler.end_headers()

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class SharedLists(unittest.TestCase):
    def setUp(self):
        self.redis = Redis()
        self.addCleanup(self.redis.close)
        self.hook = Hook()
        self.addCleanup(self.hook.close)
        self.app = Origin(lambda request: answer())
        self.app.__enter__()
        self.addCleanup(self.app.__exit__, None, None, None)

    def weir(self, state=False):
        extra = f"redis: {{url: 'unix://{self.redis.path}', secret: of all replicas}}\n"
        weir = Weir("", self.app.port)
        if state:
            extra += f"state: {{dir: {os.path.join(weir.directory, 'state')}}}\n"
        weir.head += extra
        weir.write(POLICIES % self.hook.port)
        weir.__enter__()
        self.addCleanup(weir.__exit__, None, None, None)
        return weir

    def ask(self, weir, user, method="GET", path="/page"):
        begun = time.monotonic()
        status = once(weir.port, method, path, {"X-User": user}, timeout=5).status
        self.assertLess(time.monotonic() - begun, 1.0, "no request waits for Redis")
        return status

    def ban(self, weir, user):
        for _ in range(3):
            self.ask(weir, user, "POST", "/guess")
        self.assertEqual(self.ask(weir, user), 403, "in force at once where it was set")

    def refused_within(self, weir, user, seconds=5):
        """How long it took until that weir refused the user."""
        begun = time.monotonic()
        eventually(lambda: self.ask(weir, user) == 403, seconds, f"the ban of {user}")
        return time.monotonic() - begun

    def test_listed_here_and_refused_there(self):
        first, second = self.weir(), self.weir()
        lags = []
        for i in range(6):
            self.ban(first, f"user{i}")
            lags.append(self.refused_within(second, f"user{i}"))
            time.sleep(0.3 * i)
        print("lag, s:", " ".join(f"{lag:.2f}" for lag in sorted(lags)))
        self.assertLess(sorted(lags)[len(lags) // 2], 1.0)
        entry = second.entries("banned")[0]
        self.assertEqual(entry["policy"], "guesses")
        self.assertEqual(entry["value"], 3)
        self.assertTrue(entry["key"][0].startswith("user"))
        # The captcha solved at one lifts the entry at both; so does an operator.
        self.assertEqual(first.admin("POST", "/v1/lists/noted/entries", {"key": "eve", "for": "1h"})[0], 201)
        eventually(lambda: len(second.entries("noted")) == 1, 5, "the note")
        self.ask(second, "eve", "POST", "/solved")
        eventually(lambda: not first.entries("noted"), 5, "the release")
        self.assertEqual(second.admin("DELETE", "/v1/lists/banned/entries?key=user1", {})[0], 200)
        eventually(lambda: self.ask(first, "user1") == 200, 5, "the removal")
        self.assertEqual(second.admin("POST", "/v1/lists/banned/entries", {"key": "ann", "for": "1h", "why": "asked"})[0], 201)
        self.refused_within(first, "ann")
        # A list that is not shared stays local.
        self.assertEqual(second.admin("POST", "/v1/lists/local/entries", {"key": "bob", "for": "1h"})[0], 201)
        time.sleep(1.2)
        self.assertEqual(self.ask(first, "bob"), 200)
        shared = first.admin("GET", "/v1/status")[1]["shared_lists"]
        self.assertTrue(shared["up"], shared)
        self.assertEqual(first.metric("weir_redis_list_pending"), 0)
        self.assertGreater(first.metric("weir_redis_list_entries"), 4)

    def test_one_notification_for_an_entry(self):
        weirs = [self.weir(), self.weir()]
        for weir in weirs:
            eventually(lambda: (weir.admin("GET", "/v1/status")[1]["shared_lists"] or {}).get("up"), 10, "sharing")
        for i in range(5):
            threads = [threading.Thread(target=self.ban, args=(weir, f"twice{i}")) for weir in weirs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        eventually(lambda: len(self.hook.got) >= 5, 10, "the notifications")
        time.sleep(1)
        self.assertEqual(sorted(message["key"] for message in self.hook.got), [f"twice{i}" for i in range(5)])
        for weir in weirs:
            self.assertEqual(len(weir.entries("banned")), 5)

    def test_redis_dies_forgets_and_stops(self):
        first, second = self.weir(), self.weir()
        self.ban(first, "before")
        self.refused_within(second, "before")
        self.redis.kill()
        self.ban(first, "meanwhile")
        eventually(lambda: not second.admin("GET", "/v1/status")[1]["shared_lists"]["up"], 10, "the loss")
        self.assertEqual(self.ask(second, "before"), 403)
        self.assertEqual(self.ask(second, "meanwhile"), 200)
        self.redis.start()
        self.refused_within(second, "meanwhile")
        self.redis.ask("FLUSHALL")
        late = self.weir()
        self.refused_within(late, "before")
        self.refused_within(late, "meanwhile")
        self.redis.process.send_signal(signal.SIGSTOP)
        self.ban(second, "stopped")
        self.redis.process.send_signal(signal.SIGCONT)
        self.refused_within(first, "stopped")
        self.refused_within(late, "stopped")

    def test_a_restarted_weir_brings_what_it_has(self):
        first = self.weir(state=True)
        self.ban(first, "kept")
        self.assertEqual(first.stop(), 0)
        self.redis.ask("FLUSHALL")
        first.start()
        self.assertEqual(self.ask(first, "kept"), 403, "from its own state, at once")
        second = self.weir()
        self.refused_within(second, "kept")


if __name__ == "__main__":
    unittest.main()

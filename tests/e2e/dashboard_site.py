"""A weir with traffic, for whoever looks at its dashboard: test_dashboard.py, or a person.

    WEIR_BINARY=build/dev/weir python3 -B tests/e2e/dashboard_site.py     prints a link, and runs until Ctrl-C
"""

import contextlib
import os
import random
import subprocess
import threading
import time

from http_client import Client
from origin import Origin, answer
from redis_process import Redis
from weir_process import Weir

POLICIES = """
fields: {user: header.x_user_id, item: query.item}
events:
  login: {match: POST /api/login}
  login_failed: {is: login, when: 'status == 401'}
  view_item: {match: GET /item}
  reward: {match: POST /reward, fields: {gold: int(header.x_gold), shop: header.x_shop, os: header.x_os}}
tables:
  gold_limit:
    by: [shop, os]
    values:
      baidu: {android: 3000, ios: 2500}
      "*": 1500
lists:
  office: {of: ip, kind: allow, entries: [{key: 10.0.0.0/8, why: the office}]}
  banned: {of: ip, kind: deny}
  watched_users: {of: user, kind: gray}
policies:
  - name: login-per-ip
    watch: login_failed
    key: ip
    window: 10m
    then:
      - {over: 5, do: flag}
      - {over: 20, do: graylist, for: 15m}
      - {over: 50, do: deny, for: 1h}
  - name: requests-per-ip
    watch: request
    key: ip
    window: 1m
    then: [{over: 400, do: deny}]
  - name: items-per-user
    watch: view_item
    key: user
    window: 1h
    metric: distinct(item)
    then: [{over: 30, do: challenge, for: 10m}]
    mode: shadow
  - name: gold-per-user
    watch: reward
    key: user
    window: 1h
    metric: sum(gold)
    then: [{over: gold_limit, do: deny}]
views:
  - {name: hot-items, watch: view_item, by: item, window: {last: 1m, hop: 5s}, top: 10}
  - {name: page-views, watch: request, window: {every: 5s}}
  - {name: visitors, watch: request, metric: distinct(user), window: {every: 5s}}
"""

SHARED = """
events:
  login: {match: POST /api/login}
  login_failed: {is: login, when: 'status == 401'}
lists:
  banned: {of: ip, kind: gray, effect: deny, share: redis}
policies:
  - name: login-per-ip
    watch: login_failed
    key: ip
    window: 10m
    share: redis
    then: [{over: 20, do: graylist, list: banned, for: 1h}]
"""

ATTACKER, VICTIM = "203.0.113.9", "203.0.113.50"


def guard(weir, policies, token_file, more=""):
    """Gives the admin door a token, and further settings."""
    with open(token_file, "w", encoding="utf-8") as f:
        f.write("a token of the test")
    weir.head = weir.head.replace(f"admin: {{listen: 127.0.0.1:{weir.admin_port}}}",
                                  f"admin: {{listen: 127.0.0.1:{weir.admin_port}, token_file: {token_file}{more}}}")
    weir.write(policies)


def ctl(weir, token_file, *arguments, code=0):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    environment["WEIR_ADMIN_LISTEN"] = f"127.0.0.1:{weir.admin_port}"
    if token_file:
        environment["WEIR_ADMIN_TOKEN_FILE"] = token_file
    done = subprocess.run([weir.binary, "ctl", *arguments], capture_output=True, text=True, timeout=60, env=environment, check=False)
    if done.returncode != code:
        raise AssertionError(f"ctl {arguments}: {done.returncode} {done.stdout}{done.stderr}")
    return done.stdout


def app():
    """Logins fail with a wrong password."""
    return Origin(lambda request: answer(401 if request.path == "/api/login" and b"right" not in request.body else 200, b"ok"))


class Fleet(contextlib.ExitStack):
    """Three replicas that share a list and counters through one Redis, and know each other's admin doors."""

    def __init__(self, policies=SHARED):
        super().__init__()
        origin = self.enter_context(app())
        redis = self.enter_context(Redis())
        self.weirs = [Weir(policies, origin.port, extra=f"redis: {{{redis.where}, secret: of all replicas}}\n") for _ in range(3)]
        doors = ", ".join(f"'127.0.0.1:{weir.admin_port}'" for weir in self.weirs)
        self.token_file = os.path.join(self.weirs[0].directory, "token")
        for weir in self.weirs:
            guard(weir, policies, self.token_file, f", replicas: [{doors}]")
            self.enter_context(weir)


class Site:
    """weir before an app whose logins fail with a wrong password; the admin door has a token."""

    def __init__(self, policies=POLICIES, token=True, more="", files=None):
        self.origin = app()
        self.weir = Weir(policies, self.origin.port, files=files)
        self.token_file = None
        if token:
            self.token_file = os.path.join(self.weir.directory, "token")
            guard(self.weir, policies, self.token_file, more)
        self.ended = threading.Event()
        self.threads = []

    def __enter__(self):
        self.origin.__enter__()
        self.weir.__enter__()
        return self

    def __exit__(self, *failure):
        self.ended.set()
        for thread in self.threads:
            thread.join()
        self.weir.__exit__(*failure)
        self.origin.__exit__(*failure)

    def ctl(self, *arguments, code=0):
        return ctl(self.weir, self.token_file, *arguments, code=code)

    def link(self):
        return self.ctl("dashboard").split("\n", 1)[0]

    def login(self, ip, times=1, password="wrong"):
        """Failed logins of an address, one after the other; the status of the last."""
        body = b'{"username": "alice", "password": "' + password.encode() + b'"}'
        with Client(self.weir.port) as connection:
            for _ in range(times):
                status = connection.request("POST", "/api/login", {"X-Forwarded-For": ip, "Content-Type": "application/json"}, body).status
        return status

    def traffic(self, seconds, per_second=60):
        """Visitors, some who mistype, and one who attacks: in the background, until the site ends at the latest."""
        def run():
            chance = random.Random(7)
            end = time.monotonic() + seconds
            with Client(self.weir.port) as connection:
                while not self.ended.wait(1 / per_second) and time.monotonic() < end:
                    user = chance.randrange(400)
                    head = {"X-Forwarded-For": f"198.51.{user // 200}.{user % 200 + 1}", "X-User-Id": f"user-{user}"}
                    dice = chance.random()
                    if dice < 0.15:
                        connection.request("POST", "/api/login", {**head, "X-Forwarded-For": ATTACKER}, b"{}")
                    elif dice < 0.25:
                        connection.request("POST", "/api/login", head, b"{}")
                    else:
                        item = int(chance.paretovariate(1.1)) % 90
                        connection.request("GET", f"/item?item=sku-{item}", head)
        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()


def main():
    with Site() as site:
        for i in range(200):
            site.login(f"198.51.{i // 100 + 4}.{i % 100 + 1}", 1 + int(random.paretovariate(0.9)) % 18)
        site.login("203.0.113.77", 30)
        site.ctl("list", "banned", "192.0.2.44", "--add", "--for", "4h", "--why", "scraping, ticket 4711")
        site.traffic(3600)
        print(site.link(), flush=True)
        try:
            while True:
                time.sleep(45)
                print(site.link(), flush=True)
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()

"""A Redis, an app, and a weir between them with policies that ask Redis beside some that do not."""

import contextlib

from origin import Origin
from redis_process import PortRedis
from weir_process import Load, Weir, eventually

LIMIT, REQUESTS, RATE = 40, 120, 150

# Each path counts for itself. Of those that share, each does something else while Redis is unavailable.
POLICIES = f"""
events:
  alone: {{match: 'GET /alone/{{part}}'}}
  own: {{match: 'GET /own/{{part}}'}}
  allow: {{match: 'GET /allow/{{part}}'}}
  deny: {{match: 'GET /deny/{{part}}'}}
policies:
  - {{name: alone, watch: alone, key: path, window: 10m, then: [{{over: {LIMIT}, do: deny}}]}}
""" + "".join(f"""
  - {{name: {name}, watch: {name}, key: path, window: {{last: 10m, exact: true}}, share: redis, on_error: {on_error},
     then: [{{over: {LIMIT}, do: deny}}]}}
""" for name, on_error in (("own", "local"), ("allow", "allow"), ("deny", "deny")))

ROUTES = ("free", "alone", "own", "allow", "deny")

# The defaults: 5 ms for a request, 50 ms for a connection.
SETTINGS = "secret: of these tests, keys: readable"


class Site:
    """`with Site() as site`"""

    def __init__(self, *options, more=""):
        self.redis, self.origin = PortRedis(*options), Origin()
        # One worker: all requests go through the loop that asks Redis.
        self.weir = Weir(POLICIES, self.origin.port,
                         extra=f"redis: {{{self.redis.where}, {SETTINGS}{more}}}\nthreads: 1\n")
        self.open = None

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for part in (self.redis, self.origin, self.weir):
                stack.push(part)
                part.__enter__()
            eventually(self.is_up, 20, "weir at the store")
            self.open = stack.pop_all()
        return self

    def __exit__(self, *what):
        return self.open.__exit__(*what)

    def requests(self, path, *options, port=None):
        return Load("--target", f"127.0.0.1:{port or self.weir.port}", "--conns", 4, "--rate", RATE, "--seconds", 100,
                    "--expect", "any", "--path", path, "--proxy-pid", self.weir.process.pid, *options)

    def load(self, name):
        """The same number of requests for each route at once, and for the app itself; gives what weir_load saw of each."""
        loads = {route: self.requests(f"/{route}/{name}", "--requests", REQUESTS) for route in ROUTES}
        loads["app"] = self.requests("/", "--requests", REQUESTS, port=self.origin.port)
        with contextlib.ExitStack() as stack:
            for load in loads.values():
                stack.enter_context(load)
            return {route: load.finish() for route, load in loads.items()}

    # The operators' view.

    def is_up(self):
        return self.weir.metric("weir_redis_up") == 1 and "redis ok" in self.ready() and self.status()["up"]

    def is_down(self):
        return self.weir.metric("weir_redis_up") == 0 and "redis unavailable" in self.ready() and not self.status()["up"]

    def ready(self):
        answer = self.weir.health("/readyz?verbose")
        if answer.status != 200:
            raise AssertionError(f"not ready: {answer}")
        return answer.body.decode()

    def status(self):
        return self.weir.admin("GET", "/v1/status")[1]["redis"]

    def says(self):
        return self.status().get("away", "")

    # The counts in Redis.

    def counted(self, path):
        """Of a policy that shares: the times in an exact count."""
        return sum(self.redis.command("STRLEN", key) // 6 for key in self.redis.keys() if "{" + path + "}" in key)

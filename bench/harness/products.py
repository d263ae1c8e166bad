"""The products that are compared, each started from its template in bench/http."""

import os
import re
import shutil
import subprocess

from .process import Child, Failure, free_port, pinned

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NEVER = 2_000_000_000


class Product:
    """`deny`: refuse everything (after the first few) instead of nothing."""

    def __init__(self, label, directory, app, *, deny=False):
        self.label, self.app, self.deny = label, app, deny
        self.directory = os.path.join(directory, re.sub(r"\W", "_", label) + ("_deny" if deny else ""))
        os.makedirs(self.directory, exist_ok=True)
        self.port = free_port()
        self.child = None

    def values(self):
        return {"PORT": self.port, "DIR": self.directory}

    def write_config(self, template):
        with open(os.path.join(ROOT, "bench", "http", template), encoding="utf-8") as f:
            text = f.read()
        values = self.values()
        text = re.sub(r"@([A-Z_]+)@", lambda m: str(values[m.group(1)]), text)
        path = os.path.join(self.directory, template.removesuffix(".in"))
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def start(self, wrap=(), core=0, seconds=10):
        """`wrap`: what to run it under, such as valgrind with its options."""
        self.child = Child(self.label, pinned(core, [*wrap, *self.command()]),
                           os.path.join(self.directory, "output.log"))
        try:
            self.child.wait_listening(self.port, seconds)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        if self.child:
            self.child.stop()

    @property
    def pid(self):
        return self.child.pid

    def app_unix(self):
        return self.app.removeprefix("unix:") if self.app.startswith("unix:") else None


class Weir(Product):
    binary = None  # set by scripts/bench
    template = "weir.yaml.in"

    def values(self):
        app = self.app if self.app_unix() else f"http://{self.app}"
        return super().values() | {"WEIR_APP": app, "HEALTH_PORT": free_port(),
                                   "WEIR_LIMIT": 5 if self.deny else NEVER}

    def command(self):
        path = self.write_config(self.template)
        if "include:" in open(path, encoding="utf-8").read():
            shutil.copytree(os.path.join(ROOT, "config", "recipes"), os.path.join(self.directory, "recipes"),
                            dirs_exist_ok=True)
        return [self.binary, "serve", f"--config={path}"]

    @classmethod
    def version(cls):
        return output([cls.binary, "--version"])


class WeirCard(Weir):
    template = "weir_card.yaml.in"


class WeirRecord(Weir):
    """Writes every request to a file, with what the policy reads of it."""

    def command(self):
        return super().command() + [f"--record={os.path.join(self.directory, 'recording')}"]


class WeirAccess(Weir):
    """Every request has a line in the access log; or one in a hundred."""

    SAMPLE = "100%"

    def write_config(self, template):
        path = super().write_config(template)
        with open(path, "a", encoding="utf-8") as f:
            f.write(f"access_log: {{path: {os.path.join(self.directory, 'access.log')}, sample: {self.SAMPLE}}}\n")
        return path


class WeirAccessSampled(WeirAccess):
    SAMPLE = "1%"


class WeirMany(Weir):
    """170 policies are loaded, of which one matches: it must cost (nearly) what one policy costs."""

    OTHERS = 169

    def write_config(self, template):
        path = super().write_config(template)
        with open(path, "a", encoding="utf-8") as f:  # the template ends with its list of policies
            for n in range(self.OTHERS):
                f.write(f"  - {{name: other-{n}, watch: other_{n}, key: ip, window: 10m, then: [{{over: 5, do: flag}}]}}\n")
            f.write("events:\n")
            for n in range(self.OTHERS):
                f.write(f"  other_{n}: {{match: POST /api/other/{n}}}\n")
        return path


class Haproxy(Product):
    def values(self):
        app = f"unix@{self.app_unix()}" if self.app_unix() else self.app
        return super().values() | {"HAPROXY_APP": app, "HAPROXY_LIMIT": 5 if self.deny else NEVER}

    def command(self):
        return [find("haproxy"), "-db", "-f", self.write_config("haproxy.cfg.in")]

    @staticmethod
    def version():
        return output([find("haproxy"), "-v"])


class Nginx(Product):
    def values(self):
        app = f"unix:{self.app_unix()}" if self.app_unix() else self.app
        limit = "zone=small" if self.deny else "zone=big burst=1000000 nodelay"
        return super().values() | {"NGINX_APP": app, "NGINX_LIMIT": limit}

    def command(self):
        return [find("nginx"), "-p", self.directory, "-e", os.path.join(self.directory, "nginx.log"),
                "-c", self.write_config("nginx.conf.in")]

    @staticmethod
    def version():
        return output([find("nginx"), "-v"])


class Relay(Product):
    """Reads and writes the same bytes and parses nothing: what is left is the kernel's."""

    def command(self):
        program = os.path.join(self.directory, "relay")
        subprocess.run(["c++", "-std=c++20", "-O2", "-o", program, os.path.join(ROOT, "bench", "http", "relay.cc")], check=True)
        return [program, str(self.port), self.app]

    @staticmethod
    def version():
        return "bench/http/relay.cc, -O2"


class Envoy(Product):
    """With its local rate limit, one worker. Debian has no package of it."""

    def values(self):
        host, _, port = ("127.0.0.1", "", "0") if self.app_unix() else self.app.rpartition(":")
        address = (f"pipe: {{path: {self.app_unix()}}}" if self.app_unix()
                   else f"socket_address: {{address: {host}, port_value: {port}}}")
        return super().values() | {"ENVOY_APP": address, "ENVOY_LIMIT": 5 if self.deny else NEVER}

    def command(self):
        return [envoy(), "-c", self.write_config("envoy.yaml.in"), "--concurrency", "1", "--disable-hot-restart",
                "--log-level", "error"]

    @staticmethod
    def version():
        return output([envoy(), "--version"]).split("version: ")[-1]


ALL = {"weir": Weir, "weir-card": WeirCard, "weir-record": WeirRecord, "weir-many": WeirMany,
       "weir-access": WeirAccess, "weir-access-1": WeirAccessSampled, "haproxy": Haproxy, "nginx": Nginx, "relay": Relay,
       "envoy": Envoy}


def find(name):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise Failure(f"{name} is not installed: run scripts/deps")
    return path


def envoy():
    """The newest Envoy that scripts/deps peers has installed."""
    where = os.environ.get("WEIR_PEERS") or os.path.join(ROOT, "build", "peers")
    found = {}
    for name in os.listdir(where) if os.path.isdir(where) else []:
        path = os.path.join(where, name, "envoy", "_bin", "envoy")
        if name.startswith("envoy-") and os.path.exists(path):
            found[tuple(map(int, name.removeprefix("envoy-").split(".")))] = path
    if not found:
        raise Failure("Envoy is not installed: run scripts/deps peers")
    return found[max(found)]


def output(command):
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return run.stdout.strip().splitlines()[0] if run.stdout.strip() else "unknown"

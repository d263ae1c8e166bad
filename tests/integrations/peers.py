"""Real proxies before a real app, as docs/integrations says: each runs the configuration of its page, on ports of the test's own."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

from http_client import Cut, once  # noqa: E402
from weir_process import Weir, eventually, free_port  # noqa: E402

DOCS = os.path.join(ROOT, "docs", "integrations")
INSTALLED = os.environ.get("WEIR_PEERS") or os.path.join(ROOT, "build", "peers")  # by scripts/deps peers


def block(page, language, marker=""):
    """The text of a page's first code block in that language that has the marker."""
    with open(os.path.join(DOCS, page), encoding="utf-8") as f:
        found = re.findall(rf"^```{language}\n(.*?)^```$", f.read(), re.MULTILINE | re.DOTALL)
    return next(text for text in found if marker in text)


def placed(text, **ports):
    """The text with the ports that the pages use replaced: `weir` is 8484, `grpc` 8483, `health` 8482, `app` 3000, `front` 8080, `admin` 9901."""
    numbers = {"weir": 8484, "grpc": 8483, "health": 8482, "app": 3000, "front": 8080, "admin": 9901}
    return re.sub(r"\b(" + "|".join(str(numbers[name]) for name in ports) + r")\b",
                  lambda m: str(next(ports[name] for name in ports if str(numbers[name]) == m[0])), text)


def policies_of(page):
    """The policies of the page's weir file: the part after its server settings."""
    text = block(page, "yaml")
    return text[text.index("policies:"):]


class DoorWeir(Weir):
    """A weir without a proxy: only doors."""

    def __init__(self, policies, api="", authz="", extra="", grpc=False, tls="", listen="127.0.0.1"):
        super().__init__("", 1)
        self.api_port, self.grpc_port = free_port(), free_port()
        self.head = (f"weir: 1\n"
                     f"api: {{listen: 127.0.0.1:{self.api_port}{', ' + api if api else ''}}}\n"
                     + (f"grpc: {{listen: {listen}:{self.grpc_port}{f', tls: {tls}' if tls else ''}}}\n" if grpc else "")
                     + (f"authz: {authz}\n" if authz else "") +
                     f"admin: {{listen: 127.0.0.1:{self.admin_port}}}\n"
                     f"health: {{listen: 127.0.0.1:{self.health_port}}}\n"
                     + ("" if "drain:" in extra else "drain: {delay: 0s, timeout: 5s}\n") + extra)
        self.write(policies)

    def tell(self, event):
        import json
        answer = once(self.api_port, "POST", "/v1/events", {"Content-Type": "application/json"},
                      json.dumps(event).encode(), host=f"127.0.0.1:{self.api_port}")
        return answer.status, json.loads(answer.body)


class Peer:
    """A proxy as a process. It is ready when it answers, unless it answers with a status in `not_yet`."""
    not_yet = ()

    def __init__(self, command, directory, front, environment=None):
        self.directory = directory
        self.log_path = os.path.join(directory, "peer.log")
        self.front = front
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True, env=environment)
        try:
            eventually(self.is_ready, 30, "the proxy's readiness")
        except BaseException:
            self.stop()
            raise

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the proxy ended with {self.process.returncode}:\n{self.log()}")
        with contextlib.suppress(OSError, Cut, ValueError):
            return once(self.front, "GET", "/is-it-ready", timeout=5).status not in self.not_yet
        return False

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()[-6000:]

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def nginx(directory, text, front):
    if shutil.which("nginx") is None:
        return None
    with open(os.path.join(directory, "nginx.conf"), "w", encoding="utf-8") as f:
        f.write(f"daemon off; master_process off; pid {directory}/nginx.pid; error_log stderr;\n"
                f"events {{}}\nhttp {{ access_log off;\n"
                + "".join(f"{name}_temp_path {directory}/{name};\n"
                          for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                + text + "}\n")
    return Peer(["nginx", "-p", directory, "-c", os.path.join(directory, "nginx.conf")], directory, front)


def haproxy(directory, text, front):
    if shutil.which("haproxy") is None:
        return None
    shutil.copy(os.path.join(DOCS, "weir.lua"), directory)
    with open(os.path.join(directory, "haproxy.cfg"), "w", encoding="utf-8") as f:
        f.write(text)
    return Peer(["haproxy", "-db", "-f", "haproxy.cfg"], directory, front)


def caddy(directory, text, front):
    if shutil.which("caddy") is None:
        return None
    with open(os.path.join(directory, "Caddyfile"), "w", encoding="utf-8") as f:
        f.write("{\n\tadmin off\n\tauto_https off\n}\n" + text)
    home = dict(os.environ, HOME=directory, XDG_DATA_HOME=directory, XDG_CONFIG_HOME=directory)
    return Peer(["caddy", "run", "--adapter", "caddyfile", "--config", "Caddyfile"], directory, front, home)


class Traefik(Peer):
    not_yet = (404,)  # it listens before it has read its routes


def traefik(directory, text, front):
    binary = os.path.join(INSTALLED, "traefik", "bin", "traefik")
    if not os.path.exists(binary):
        return None
    static = placed(block("traefik.md", "yaml", "entryPoints:"), front=front)
    for name, content in (("dynamic.yaml", text), ("traefik.yaml", static)):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
            f.write(content)
    return Traefik([binary, "--configFile=traefik.yaml"], directory, front, dict(os.environ, HOME=directory))


def envoys():
    """The Envoys that scripts/deps peers has installed: version -> binary."""
    found = {}
    for name in sorted(os.listdir(INSTALLED)) if os.path.isdir(INSTALLED) else []:
        for directory, _, files in os.walk(os.path.join(INSTALLED, name)):
            if os.path.basename(directory) == "_bin" and "envoy" in files:
                found[name.removeprefix("envoy-")] = os.path.join(directory, "envoy")
    return found


def version_of(binary):
    """Of an Envoy of envoys(), as a list of numbers."""
    return next([int(n) for n in name.split(".")] for name, path in envoys().items() if path == binary)


def envoy(binary, directory, text, front):
    with open(os.path.join(directory, "envoy.yaml"), "w", encoding="utf-8") as f:
        f.write(text)
    return Peer([binary, "-c", "envoy.yaml", "--use-dynamic-base-id", "--concurrency", "1", "--log-level", "warning"],
                directory, front)


def wait(seconds):
    """Time that is what the test is about."""
    time.sleep(seconds)

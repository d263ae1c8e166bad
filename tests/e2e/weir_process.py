"""A running weir with a configuration of the test's own, on free ports."""

import contextlib
import json
import os
import random
import resource
import signal
import socket
import subprocess
import tempfile
import time

from http_client import Cut, once

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SANITIZED = bool(os.environ.get("WEIR_SANITIZE"))

# A thousand connections on our side and as many on weir's: the usual soft limit of 1,024 is too low.
_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(65536, _hard) if _hard != resource.RLIM_INFINITY else 65536, _hard))


_given_ports = set()  # two doors of one weir are never given the same


def free_port():
    """Below the range from which the kernel takes ports for connections: one of ours could get it before weir does."""
    while True:
        with contextlib.suppress(OSError), socket.socket() as s:
            port = random.randrange(12_000, 32_000)
            s.bind(("127.0.0.1", port))
            if port not in _given_ports:
                _given_ports.add(port)
                return port


def eventually(condition, seconds=10, what="the condition"):
    """Polls until `condition()` is truthy and gives its value; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {seconds} s")
        time.sleep(0.01)


class Weir:
    """`policies`: the YAML after the server's sections. `upstream`: a port, or a whole URL."""

    def __init__(self, policies="", upstream=0, *, proxy="", extra="", text=None, files=None):
        self.binary = os.environ["WEIR_BINARY"]
        self.scratch = tempfile.TemporaryDirectory(prefix="weir-e2e-")
        self.directory = self.scratch.name
        self.port, self.admin_port, self.health_port = free_port(), free_port(), free_port()
        url = upstream if isinstance(upstream, str) else f"http://127.0.0.1:{upstream}"
        self.head = (f"weir: 1\n"
                     f"proxy: {{listen: 127.0.0.1:{self.port}, upstream: '{url}'{', ' + proxy if proxy else ''},\n"
                     f"        client_ip: {{trust: [127.0.0.1/32], header: x-forwarded-for}}}}\n"
                     f"admin: {{listen: 127.0.0.1:{self.admin_port}}}\n"
                     f"health: {{listen: 127.0.0.1:{self.health_port}}}\n"
                     + (extra if "drain:" in extra else "drain: {delay: 0s, timeout: 5s}\n" + extra))
        self.config = os.path.join(self.directory, "weir.yaml")
        for name, content in (files or {}).items():
            path = os.path.join(self.directory, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self.replace(path, content)
        self.write(policies if text is None else None, text)
        self.process = None
        self.environment = {}  # besides the test's own
        self.arguments = []  # behind `weir serve --config=`
        self.cwd = None  # where `config` lies, if it is a name without a directory
        self.next_page = 0.0  # when /metrics is rendered again

    @staticmethod
    def replace(path, content):
        """As editors do: a new file takes the old one's place, so nobody reads half of it."""
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(content)
        os.replace(path + ".new", path)

    def write(self, policies, text=None):
        self.replace(self.config, self.head + policies if text is None else text)

    def start(self):
        # WEIR_* are settings to weir; those of the tests are not meant for it.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        environment.update(self.environment)
        with open(os.path.join(self.directory, "stderr.log"), "ab") as log:
            self.process = subprocess.Popen([self.binary, "serve", f"--config={self.config}", *self.arguments], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True, env=environment, cwd=self.cwd)
        try:
            eventually(self.is_ready, 20, "readiness")
        except BaseException:
            self.kill()
            raise
        return self

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"weir ended with {self.process.returncode}:\n{self.log()}")
        with contextlib.suppress(OSError, Cut):
            return self.health("/readyz").status == 200
        return False

    def health(self, path):
        return once(self.health_port, "GET", path, timeout=5, host=f"127.0.0.1:{self.health_port}")

    def log(self):
        with open(os.path.join(self.directory, "stderr.log"), encoding="utf-8", errors="replace") as f:
            return f.read()[-8000:]

    def logged(self, message):
        """The lines of the log that say so, from its beginning."""
        with open(os.path.join(self.directory, "stderr.log"), encoding="utf-8", errors="replace") as f:
            lines = [json.loads(line) for line in f if line.startswith("{") and line.endswith("}\n")]
        return [line for line in lines if line.get("message", "").startswith(message)]

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, seconds=20):
        """SIGTERM; gives the exit code."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"weir did not end within {seconds} s of SIGTERM:\n{self.log()}") from None

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        try:
            ended = self.process.poll() is not None
            code = self.process.returncode if ended else self.stop()
            # A sanitizer's complaint or a crash must fail the test that caused it, and is the
            # likely cause where the test has failed already.
            if code != 0 and (kind is None or ended):
                raise AssertionError(f"weir ended with {code}:\n{self.log()}")
        finally:
            self.kill()
            self.scratch.cleanup()

    # The operators' view.

    def admin(self, method, path, body=None):
        content = b"" if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if body is not None else {}
        answer = once(self.admin_port, method, path, headers, content, host=f"127.0.0.1:{self.admin_port}")
        return answer.status, json.loads(answer.body) if answer.body else None

    def reload(self):
        status, report = self.admin("POST", "/v1/reload", {})
        return status, report

    def entries(self, name):
        """The entries of a list, as the admin API gives them."""
        status, body = self.admin("GET", f"/v1/lists/{name}")
        if status != 200:
            raise AssertionError(f"GET /v1/lists/{name}: {status} {body}")
        return body if isinstance(body, list) else body["entries"]

    def metric(self, name, labels=""):
        """The sum of a metric's samples whose labels contain `labels`, as they are now: pages are a second apart."""
        time.sleep(max(0.0, self.next_page - time.monotonic()))
        text = self.health("/metrics").body.decode()
        self.next_page = time.monotonic() + 1.01
        total = 0.0
        for line in text.splitlines():
            series, _, value = line.rpartition(" ")
            if (series == name or series.startswith(name + "{")) and labels in series:
                total += float(value)
        return total

    def rss_kib(self, of="RssAnon"):
        """Resident memory that is not of files: pages of the program itself come as they are used. of="VmRSS": all."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(of + ":"))

    def descriptors(self, but_to=None):
        """How many are open; without the connections to that port, which are kept for later."""
        kept = set()
        if but_to is not None:
            with open("/proc/net/tcp", encoding="ascii") as f:
                for row in (line.split() for line in list(f)[1:]):
                    if int(row[2].split(":")[1], 16) == but_to:
                        kept.add(f"socket:[{row[9]}]")
        directory = f"/proc/{self.process.pid}/fd"
        count = 0
        for name in os.listdir(directory):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                count += os.readlink(f"{directory}/{name}") not in kept
        return count


class Load:
    """weir_load in the background."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([os.environ["WEIR_LOAD"], "--json", *map(str, arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def finish(self, seconds=120):
        """Waits for its end and gives what it saw."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        if self.process.returncode not in (0, 1):
            raise AssertionError(f"weir_load ended with {self.process.returncode}: {err}")
        return json.loads(out)

    def stop(self):
        """Ends the sending; the last answers are waited for."""
        self.process.send_signal(signal.SIGTERM)
        return self.finish()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

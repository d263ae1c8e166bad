"""The servers beside weir in `scripts/bench doors --peers`. bench/peers/build makes them; each is here with the limit that weir has."""

import contextlib
import os
import shutil
import subprocess

from .process import Child, free_port, pinned
from .products import ROOT, Weir

LIMITS = """domain: shop
descriptors:
  - {key: remote_address, rate_limit: {unit: hour, requests_per_unit: 4000000000}}
"""
LIMITADOR = """- {namespace: shop, max_value: 4000000000, seconds: 3600, conditions: [], variables: ["descriptors[0].remote_address"]}
"""
CORE = 0  # the client has the other one


def grpcpp_version():
    done = subprocess.run(["pkg-config", "--modversion", "grpc++"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


class Beside:
    """A server beside weir; `kinds`: the calls that it knows. Its CPU time is that of all its processes."""

    kinds = ("rate limit",)
    label = ""
    revision = ""  # that bench/peers/build takes

    @classmethod
    def version(cls):
        return cls.revision

    def __init__(self, directory):
        self.directory = os.path.join(directory, type(self).__name__.lower())
        os.makedirs(self.directory, exist_ok=True)
        self.port = free_port()
        self.children = []

    @staticmethod
    def binary(*path):
        where = os.environ.get("WEIR_PEERS") or os.path.join(ROOT, "build", "peers")
        found = os.path.join(where, *path)
        return found if os.access(found, os.X_OK) else None

    def launch(self, name, command, port=None, environment=()):
        words = ["env", *environment, *command] if environment else command
        child = Child(name, pinned(CORE, words), os.path.join(self.directory, name + ".log"))
        self.children.append(child)
        if port:
            child.wait_listening(port, 20)

    def pids(self):
        return [child.pid for child in self.children]

    def stop(self):
        for child in reversed(self.children):
            with contextlib.suppress(ProcessLookupError):
                child.stop()


class BehindGrpcPlusPlus(Beside):
    """weir's own handlers and policies, carried by grpc++: what is left between the two is the gRPC server."""

    kinds = ("ext_authz", "rate limit")
    label = "grpc++, the same handler"
    path = ("weir_behind_grpcpp",)

    version = classmethod(lambda cls: grpcpp_version())

    @staticmethod
    def binary(*path):
        found = os.path.join(os.path.dirname(Weir.binary), "bench", *path)  # of the same build as weir
        return found if os.access(found, os.X_OK) else None

    def start(self):
        config = os.path.join(os.path.dirname(self.directory), "weir.yaml")
        self.launch("server", [self.binary(*self.path), str(self.port), config], self.port)


class GrpcPlusPlus(Beside):
    kinds = ("ext_authz", "rate limit")
    label = "grpc++, two counters, no policy"
    path = ("grpcpp", "door_server")

    version = classmethod(lambda cls: grpcpp_version())

    def start(self):
        self.launch("server", [self.binary(*self.path), str(self.port)], self.port)


class RateLimit(Beside):
    label = "envoyproxy/ratelimit"
    path = ("ratelimit", "service_cmd")

    @classmethod
    def version(cls):
        beside = cls.binary(*cls.path)
        try:
            with open(os.path.join(os.path.dirname(beside or ""), "version"), encoding="utf-8") as f:
                return f.read().strip()
        except OSError:
            return ""

    def start(self):
        if shutil.which("redis-server") is None:
            raise FileNotFoundError("redis-server")
        socket = os.path.join(self.directory, "redis.sock")
        config = os.path.join(self.directory, "config")
        os.makedirs(config, exist_ok=True)
        with open(os.path.join(config, "shop.yaml"), "w", encoding="utf-8") as f:
            f.write(LIMITS)
        redis_port = free_port()
        self.launch("redis", ["redis-server", "--port", str(redis_port), "--bind", "127.0.0.1", "--unixsocket", socket, "--save", "",
                              "--appendonly", "no", "--dir", self.directory], redis_port)
        http, debug = free_port(), free_port()
        self.launch("server", [self.binary(*self.path)], self.port, [
            "USE_STATSD=false", "LOG_LEVEL=error", "REDIS_SOCKET_TYPE=unix", f"REDIS_URL={socket}", f"RUNTIME_ROOT={self.directory}",
            "RUNTIME_SUBDIRECTORY=", "RUNTIME_WATCH_ROOT=false", "HOST=127.0.0.1", f"PORT={http}", "GRPC_HOST=127.0.0.1",
            f"GRPC_PORT={self.port}", "DEBUG_HOST=127.0.0.1", f"DEBUG_PORT={debug}", "GOMAXPROCS=1"])

    def pids(self):
        return [self.children[-1].pid]  # Redis' own is told beside it

    def beside(self):
        return {"Redis": self.children[0].pid}


class Limitador(Beside):
    label = "limitador, in memory"
    revision = "2981b2b"
    path = ("limitador", "limitador-server")

    def start(self):
        limits = os.path.join(self.directory, "limits.yaml")
        with open(limits, "w", encoding="utf-8") as f:
            f.write(LIMITADOR)
        self.launch("server", [self.binary(*self.path), "-b", "127.0.0.1", "-p", str(self.port), "-B", "127.0.0.1", "-P",
                               str(free_port()), limits, "memory"], self.port, ["TOKIO_WORKER_THREADS=1"])


PEERS = (BehindGrpcPlusPlus, GrpcPlusPlus, RateLimit, Limitador)


def started(directory):
    """Those that are there, started; and the labels of those that are not."""
    out, missing = [], []
    for kind in PEERS:
        if kind.binary(*kind.path) is None:
            missing.append(kind.label)
            continue
        peer = kind(directory)
        try:
            peer.start()
        except BaseException:
            peer.stop()
            for other in out:
                other.stop()
            raise
        out.append(peer)
    return out, missing

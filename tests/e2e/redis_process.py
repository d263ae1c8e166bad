"""A redis-server of the test's own, on a Unix socket in a directory of its own."""

import os
import signal
import socket
import subprocess
import tempfile
import time

from weir_process import eventually, free_port


class RedisError(Exception):
    """What the server answered with a minus."""


def render_command(*words):
    parts = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)


class Redis:
    def __init__(self, *options):
        self.scratch = tempfile.TemporaryDirectory(prefix="weir-redis-")
        self.path = os.path.join(self.scratch.name, "redis.sock")
        self.options = options
        self.password = None  # of the default user, where the test has set one
        self.process = None

    @property
    def where(self):
        """As `redis:` of a configuration says it."""
        return f"url: 'unix://{self.path}'"

    def launch(self):
        words = ["--port", "0", "--unixsocket", self.path, "--dir", self.scratch.name]
        if self.options[:1] == ("--sentinel",):  # it wants a file that it may write
            file = os.path.join(self.scratch.name, "sentinel.conf")
            with open(file, "a", encoding="ascii"):
                words = [file, "--sentinel", *words, *self.options[1:]]
        else:
            words += ["--save", "", "--appendonly", "no", *self.options]
        self.process = subprocess.Popen(["redis-server", *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)

    def start(self):
        self.launch()
        eventually(self.answers, 20, "redis-server")
        return self

    def answers(self):
        try:
            self.command("PING")
        except RedisError:
            pass  # it wants a password, which is an answer
        except OSError:
            return False
        return True

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def command(self, *words):
        """One command on a connection of its own; gives its answer as Python has it, texts as bytes."""
        with self.connect() as s, s.makefile("rb") as stream:
            if self.password:
                s.sendall(render_command("AUTH", self.password))
                self.read(stream)
            s.sendall(render_command(*words))
            return self.read(stream)

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        try:
            s.settimeout(10)
            s.connect(self.path)
        except BaseException:
            s.close()
            raise
        return s

    def read(self, stream):
        line = stream.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server ended the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RedisError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            if int(rest) < 0:
                return None
            return stream.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.read(stream) for _ in range(int(rest))]
        return rest

    def keys(self):
        """But for those of the fleet's board, which each replica writes once a second."""
        return [key for key in self.all_keys() if not key.startswith("weir:fleet:")]

    def all_keys(self):
        return sorted(key.decode() for key in self.command("KEYS", "*"))

    def used_by(self, connections, replicas=2):
        """Whether there are so many connections, and one of each replica for the fleet's board, which have nothing more to prepare."""
        def clients():
            return sorted((fields["id"], fields["cmd"]) for fields in (
                dict(field.partition("=")[::2] for field in line.split(" "))
                for line in self.command("CLIENT", "LIST").decode().splitlines()) if fields["cmd"] != "client|list")

        try:
            before = clients()
            if len(before) != connections + replicas or any(command in ("ping", "NULL") for _, command in before):
                return False
            time.sleep(0.03)  # what they said last may have been followed by more
            return [number for number, _ in clients()] == [number for number, _ in before]
        except OSError:
            return False

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()
        self.scratch.cleanup()


class PortRedis(Redis):
    """On a TCP port beside its socket. Others may take the port while it is away."""

    def __init__(self, *options):
        self.port = free_port()
        super().__init__("--port", str(self.port), "--bind", "127.0.0.1", *options)

    @property
    def where(self):
        return f"url: 'redis://127.0.0.1:{self.port}'"

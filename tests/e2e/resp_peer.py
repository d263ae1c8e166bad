"""A peer that speaks RESP by a script, in threads of the test: what no real Redis does on request."""

import contextlib
import socket
import struct
import threading
import time

PONG, OK = b"+PONG\r\n", b"+OK\r\n"
WORKS = b"*1\r\n:0\r\n"  # to a probe


class Peer:
    """Listens on `port` of 127.0.0.1. Greets as Redis does and has every script; each call of one gets what
    `answer(connection)` gives: bytes, or None where it has seen to the connection itself. `greet`: what other commands
    get, by their first words. `probe`: what calls without keys get, which ask whether it works. `tls`: a server's
    ssl.SSLContext."""

    def __init__(self, port, answer, greet=None, probe=None, tls=None):
        self.port, self.answer, self.greet, self.probe, self.tls = port, answer, greet or {}, probe, tls
        self.calls = self.connects = 0
        self.lock = threading.Lock()
        self.open = set()
        self.listener = None

    def start(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(128)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()
        return self

    def accept(self, listener):
        while True:
            try:
                s, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.connects += 1
                self.open.add(s)
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        raw = s
        with contextlib.suppress(OSError, ValueError):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                s = self.tls.wrap_socket(s, server_side=True)
            with s.makefile("rb") as stream:
                while words := self.read(stream):
                    reply = self.reply(s, words)
                    if reply:
                        s.sendall(reply)
        with self.lock:
            self.open.discard(raw)
        with contextlib.suppress(OSError):
            s.close()

    @staticmethod
    def read(stream):
        line = stream.readline()
        if not line.endswith(b"\n"):
            return None
        return [stream.read(int(stream.readline()[1:]) + 2)[:-2] for _ in range(int(line[1:]))]

    def reply(self, s, words):
        name = words[0].upper().decode()
        if name in ("EVAL", "EVALSHA", "FCALL"):
            if self.probe and words[2] == b"0":
                return self.probe
            with self.lock:
                self.calls += 1
            return self.answer(s)
        if name in self.greet:
            return self.greet[name]
        if name == "SCRIPT":
            return b"*%d\r\n" % (len(words) - 2) + b":1\r\n" * (len(words) - 2)
        return PONG if name == "PING" else OK

    def stop(self):
        listener, self.listener = self.listener, None
        if listener:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        with self.lock:
            for s in self.open:
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


def saying(text):
    return lambda _: text


def silent(_):
    return None


def resetting(s):
    """Ends the connection with RST instead of FIN."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise ConnectionResetError  # on our side, for serve() to close it


def dripping(text, seconds):
    """A byte at a time: what takes so long is the peer, not the test."""
    def drip(s):
        for byte in text:
            s.sendall(bytes([byte]))
            time.sleep(seconds)
    return drip


def late(text, seconds):
    def answer(_):
        time.sleep(seconds)
        return text
    return answer

"""The app behind weir, in threads of the test: counts what reaches it and misbehaves on request."""

import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass

from http_client import parse_head


@dataclass
class Request:
    method: str
    path: str
    headers: list
    body: bytes
    reused: bool       # not the first request of its connection
    stream: socket.socket = None  # for handlers that write their answer piece by piece and give b""

    def header(self, name):
        values = [v for n, v in self.headers if n == name.lower()]
        return values[0] if values else None


def answer(status=200, body=b"ok", headers=()):
    lines = [f"HTTP/1.1 {status} Answer", f"Content-Length: {len(body)}", *(f"{n}: {v}" for n, v in headers)]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Origin:
    """`handler(request)` gives the bytes of the answer. None: close without one. A tuple (bytes, "close"): send
    them and close."""

    def __init__(self, handler=lambda request: answer(), port=0):
        self.handler = handler
        self.requests = []                 # every request that came, in order
        self.counts = Counter()            # by (method, path)
        self.lock = threading.Lock()
        self.idle, self.open = set(), set()
        self.stopping = False
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", port))
        self.listener.listen(1024)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        buffer, number = b"", 0
        try:
            while True:
                with self.lock:
                    if self.stopping:
                        return
                    self.open.add(s)
                    # A server that has just accepted reads first: idle is who has been answered.
                    if number > 0:
                        self.idle.add(s)
                while b"\r\n\r\n" not in buffer:
                    data = s.recv(65536)
                    if not data:
                        return
                    with self.lock:
                        self.idle.discard(s)
                    buffer += data
                head, _, buffer = buffer.partition(b"\r\n\r\n")
                first, headers = parse_head(head)
                method, path, _ = first.split(" ")
                length = int(next((v for n, v in headers if n == "content-length"), "0"))
                while len(buffer) < length:
                    data = s.recv(65536)
                    if not data:
                        return
                    buffer += data
                request = Request(method, path, headers, buffer[:length], number > 0, s)
                buffer, number = buffer[length:], number + 1
                with self.lock:
                    self.requests.append(request)
                    self.counts[method, path] += 1
                reply = self.handler(request)
                if reply is None:
                    return
                if isinstance(reply, tuple):
                    s.sendall(reply[0])
                    return
                s.sendall(reply)
        except OSError:
            pass
        finally:
            with self.lock:
                self.idle.discard(s)
                self.open.discard(s)
            s.close()

    def count(self):
        with self.lock:
            return len(self.requests)

    def close_idle(self):
        """Ends the connections on which no request is running, as servers do when they restart or tidy up."""
        with self.lock:
            self.shut(self.idle)
            self.idle.clear()

    @staticmethod
    def shut(connections):
        for s in connections:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def stop(self):
        with self.lock:
            self.stopping = True
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        self.close_idle()

    def kill(self):
        """Stops as a process does that is killed: requests that are running get no answer."""
        self.stop()
        with self.lock:
            self.shut(self.open)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def after(seconds, reply):
    """A handler of a slow app: the delay is what is tested."""
    def handler(_request):
        time.sleep(seconds)
        return reply
    return handler

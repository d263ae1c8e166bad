"""A raw-socket HTTP/1.1 client: what is sent is exactly what the test says, and nothing is retried."""

import selectors
import socket
import time
from dataclasses import dataclass, field


class Cut(Exception):
    """The connection ended before the answer did."""


@dataclass
class Answer:
    status: int
    headers: list = field(default_factory=list)   # (lower-case name, value), in order
    body: bytes = b""

    def header(self, name):
        values = [v for n, v in self.headers if n == name.lower()]
        return values[0] if values else None


def render(method, path, headers=(), body=b"", host="shop.example"):
    headers = list(headers.items() if isinstance(headers, dict) else headers)
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *(f"{n}: {v}" for n, v in headers)]
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def parse_head(head):
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = [(n.strip().lower(), v.strip()) for n, _, v in (line.partition(":") for line in lines)]
    return first, headers


class Reader:
    """Feeds on bytes, gives one answer. `head`: the request was HEAD."""

    def __init__(self, head=False):
        self.buffer, self.answer, self.head = b"", None, head

    def feed(self, data):
        self.buffer += data
        return self.take()

    def take(self):
        while self.answer is None:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return None
            first, headers = parse_head(self.buffer[:end])
            self.buffer = self.buffer[end + 4:]
            status = int(first.split(" ", 2)[1])
            if status >= 200:
                self.answer = Answer(status, headers)
        answer = self.answer
        if self.head or answer.status in (204, 304):
            return answer
        if "chunked" in (answer.header("transfer-encoding") or ""):
            return answer if self.take_chunks() else None
        length = answer.header("content-length")
        if length is None:
            raise Cut("an answer without a length")  # weir never frames by the end of the connection here
        if len(self.buffer) < int(length):
            return None
        answer.body, self.buffer = self.buffer[:int(length)], self.buffer[int(length):]
        return answer

    def take_chunks(self):
        body, rest = b"", self.buffer
        while True:
            line, found, after = rest.partition(b"\r\n")
            if not found:
                return False
            size = int(line.split(b";")[0], 16)
            if len(after) < size + 2:
                return False
            if size == 0:
                self.answer.body, self.buffer = body, after[2:]
                return True
            body, rest = body + after[:size], after[size + 2:]


class Client:
    """One connection, kept alive over requests."""

    def __init__(self, port, timeout=20, host="shop.example"):
        self.host = host
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, method, path, headers=(), body=b""):
        self.socket.sendall(render(method, path, headers, body, self.host))

    def receive(self, head=False):
        reader = Reader(head)
        while True:
            data = self.socket.recv(65536)
            if not data:
                raise Cut(f"the connection ended after {reader.answer} and {len(reader.buffer)} bytes")
            answer = reader.feed(data)
            if answer:
                return answer

    def request(self, method, path, headers=(), body=b""):
        self.send(method, path, headers, body)
        return self.receive(method == "HEAD")

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def once(port, method, path, headers=(), body=b"", timeout=20, host="shop.example"):
    with Client(port, timeout, host) as client:
        return client.request(method, path, headers, body)


def parallel(ports, requests, timeout=30):
    """Sends every request (bytes) on a connection of its own, all at once, to the ports in turns; gives their answers
    in order, None where the connection ended without one."""
    ports = [ports] if isinstance(ports, int) else ports
    answers = [None] * len(requests)
    with selectors.DefaultSelector() as selector:
        for number, request in enumerate(requests):
            s = socket.create_connection(("127.0.0.1", ports[number % len(ports)]), timeout)
            s.setblocking(False)
            selector.register(s, selectors.EVENT_READ, (number, Reader()))
        # All connections are open before the first byte is sent: the requests arrive as close together as possible.
        for key in list(selector.get_map().values()):
            key.fileobj.send(requests[key.data[0]])
        deadline = time.monotonic() + timeout
        while selector.get_map():
            ready = selector.select(max(0, deadline - time.monotonic()))
            if not ready:
                break
            for key, _ in ready:
                number, reader = key.data
                try:
                    data = key.fileobj.recv(65536)
                    answers[number] = reader.feed(data) if data else None
                except (OSError, Cut):
                    data = b""
                if not data or answers[number]:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
        for key in list(selector.get_map().values()):
            key.fileobj.close()
    return answers


@dataclass
class Exchange:
    sent: float
    received: float
    answer: Answer


def press(ports, request, connections, seconds):
    """`connections`, on the ports in turns, send `request` (bytes) again as soon as it is answered, for `seconds`.
    Gives all exchanges; a connection that ends raises Cut."""
    done = []
    with selectors.DefaultSelector() as selector:
        for number in range(connections):
            s = socket.create_connection(("127.0.0.1", ports[number % len(ports)]), 20)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(s, selectors.EVENT_READ, [Reader(), 0.0])
        end = time.monotonic() + seconds
        for key in list(selector.get_map().values()):
            key.data[1] = time.monotonic()
            key.fileobj.sendall(request)
        while selector.get_map():
            if time.monotonic() > end + 20:
                raise Cut("some requests were never answered")
            for key, _ in selector.select(1):
                data = key.fileobj.recv(65536)
                if not data:
                    raise Cut("a connection ended without an answer")
                answer = key.data[0].feed(data)
                if not answer:
                    continue
                now = time.monotonic()
                done.append(Exchange(key.data[1], now, answer))
                if now < end:
                    key.data[:] = [Reader(), now]
                    key.fileobj.sendall(request)
                else:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
        for key in list(selector.get_map().values()):
            key.fileobj.close()
    return done

"""HTTP/2 frames by hand: what no client library would send, and what must be seen byte for byte."""

import contextlib
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
CALM = 11  # ENHANCE_YOUR_CALM


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def fields(pairs):
    """A list of fields, without Huffman and without the table; texts of up to 126 bytes."""
    return b"".join(b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode() for name, value in pairs)


def call_fields(path):
    return fields([(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "weir"), ("te", "trailers"),
                   ("content-type", "application/grpc")])


def message(payload):
    return b"\0" + struct.pack(">I", len(payload)) + payload


class Peer:
    """`where`: a port, or the path of a Unix socket."""

    def __init__(self, where, greet=True):
        if isinstance(where, int):
            self.socket = socket.create_connection(("127.0.0.1", where), timeout=10)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket.settimeout(10)
            self.socket.connect(where)
        self.buffer = b""
        self.next = 1
        if greet:
            self.send(PREFACE + frame(SETTINGS))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """False: the peer has closed."""
        with contextlib.suppress(ConnectionError):
            self.socket.sendall(data)
            return True
        return False

    def begin(self, path, payload):
        stream, self.next = self.next, self.next + 2
        self.send(frame(HEADERS, END_HEADERS, stream, call_fields(path)) + frame(DATA, END_STREAM, stream, message(payload)))
        return stream

    def read(self):
        """(kind, flags, stream, payload), or None at the end."""
        while True:
            if len(self.buffer) >= 9:
                size = int.from_bytes(self.buffer[:3], "big")
                if len(self.buffer) >= 9 + size:
                    kind, flags = self.buffer[3], self.buffer[4]
                    stream = int.from_bytes(self.buffer[5:9], "big")
                    payload, self.buffer = self.buffer[9:9 + size], self.buffer[9 + size:]
                    if kind == PING and not flags & ACK:
                        self.send(frame(PING, ACK, 0, payload))
                    return kind, flags, stream, payload
            try:
                more = self.socket.recv(65536)
            except ConnectionError:
                return None
            if not more:
                return None
            self.buffer += more

    def read_to(self, kind):
        while (got := self.read()) is not None:
            if got[0] == kind:
                return got
        return None

    def call(self, path, payload=b""):
        """The message that answers, without its prefix; None: there is none."""
        stream = self.begin(path, payload)
        answer = None
        while (got := self.read()) is not None:
            kind, flags, of, data = got
            if of != stream:
                continue
            if kind == DATA:
                answer = (answer or b"") + data
            if flags & END_STREAM and kind in (DATA, HEADERS):
                break
        return answer[5:] if answer else None

    def goaway(self):
        """(last stream, code) of the next GOAWAY."""
        got = self.read_to(GOAWAY)
        return struct.unpack(">II", got[3][:8]) if got else None

    def ends(self):
        while self.read() is not None:
            pass
        return True

#!/usr/bin/env python3
"""The app behind weir in the demo: a shop with a login and rewards. Standard library only.

GET  /                a page with buttons that try things
POST /api/login       {"username": .., "password": "secret"} -> 200, any other password 401
POST /api/ad/reward   {"gold": 50, "ocpc": "baidu"} -> 200
GET  /api/echo        the request's headers as JSON
GET  /slow?ms=200     answers late

Answers in JSON carry under "weir" the X-Weir-* headers that reached the shop."""

import argparse
import json
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "index.html")
BODY_MAX = 64 * 1024
SLOW_MAX_MS = 10_000


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "shop"
    timeout = 90           # idle keep-alive connections; longer than weir's own patience
    disable_nagle_algorithm = True
    wbufsize = -1          # head and body in one write

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/":
            with open(PAGE, "rb") as f:
                self.answer(200, f.read(), "text/html; charset=utf-8")
        elif url.path == "/api/echo":
            self.answer_json(200, {"headers": {k.lower(): v for k, v in self.headers.items()}})
        elif url.path == "/slow":
            text = parse_qs(url.query).get("ms", ["200"])[0]
            wait = min(int(text), SLOW_MAX_MS) if text.isdecimal() else 200
            time.sleep(wait / 1000)
            self.answer_json(200, {"waited_ms": wait})
        else:
            self.answer_json(404, {"error": "no such page"})

    do_HEAD = do_GET

    def do_POST(self):
        body = self.read_json()
        if body is None:
            return
        path = urlsplit(self.path).path
        if path == "/api/login":
            right = body.get("password") == "secret"
            self.answer_json(200 if right else 401, {"user": body.get("username"), "welcome": right})
        elif path == "/api/ad/reward":
            self.answer_json(200, {"gold": body.get("gold"), "ocpc": body.get("ocpc")})
        else:
            self.answer_json(404, {"error": "no such page"})

    def read_json(self):
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > BODY_MAX or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # the body stays unread
            return self.answer_json(413, {"error": "a body of a stated length up to 64 KiB, please"})
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError:
            body = None
        if not isinstance(body, dict):
            return self.answer_json(400, {"error": "a JSON object, please"})
        return body

    def answer_json(self, status, value):
        told = {k.lower(): v for k, v in self.headers.items() if k.lower().startswith("x-weir-")}
        self.answer(status, (json.dumps(value | {"weir": told}) + "\n").encode(), "application/json")

    def answer(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format, *args):  # weir does the talking
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=3000)
    server = Server(("127.0.0.1", parser.parse_args().port), Shop)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()

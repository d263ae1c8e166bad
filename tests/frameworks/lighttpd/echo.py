"""Answers with what a CGI script under lighttpd reads for the header X-User-Id."""
import json
import os
import sys

value = os.environ.get("HTTP_X_USER_ID") if os.environ.get("REQUEST_URI") == "/header" else None
sys.stdin.buffer.read(int(os.environ.get("CONTENT_LENGTH") or 0))
sys.stdout.write("Content-Type: application/json\r\n\r\n" + json.dumps({} if value is None else {"variable": value}))

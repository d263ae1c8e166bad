"""What clients have sent never commands a terminal: data that is exact in files and pipes is escaped there (SECURITY.md)."""

import json
import os
import pty
import subprocess
import tempfile
import unittest

from origin import Origin
from weir_process import Weir

# C0, C1 as UTF-8, a change of direction, a separator of lines, and what needs quotes in CSV.
HOSTILE = "a\x1b[31m\x9b31m\u202eb\u2028c\"d,e"


def is_hidden(character):
    return (ord(character) < 0x20 and character not in "\n\r") or 0x7f <= ord(character) <= 0x9f or character in "\u202e\u2028"


def on_terminal(command, **options):
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, **options) as child:
        os.close(theirs)
        out = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            out += piece
        os.close(ours)
        child.wait(30)
    return out.decode()


def in_pipe(command, **options):
    return subprocess.run(command, capture_output=True, check=True, timeout=60, **options).stdout.decode()


class TerminalTexts(unittest.TestCase):
    def expect_escaped(self, text):
        self.assertEqual([hex(ord(c)) for c in text if is_hidden(c)], [], text)
        self.assertIn("\\u009b", text)
        self.assertIn("\\u202e", text)

    def test_exported_lists(self):
        with Origin() as app, Weir("lists: {bad: {of: header.x_user, kind: deny}}\n", app.port) as weir:
            ctl = [weir.binary, "ctl", "--admin", f"127.0.0.1:{weir.admin_port}", "list", "bad"]
            in_pipe([*ctl, HOSTILE, "--add", "--for", "1h"])
            export = [*ctl, "--export"]
            self.expect_escaped(on_terminal(export))
            self.expect_escaped(on_terminal([*export, "-o", "json"]))
            self.expect_escaped(on_terminal(ctl))
            # A file is exact, in both forms, and comes back as it was.
            self.assertIn(HOSTILE.replace('"', '""'), in_pipe(export))
            rows = json.loads(in_pipe([*export, "-o", "json"]))["entries"]
            self.assertEqual([row["key"] for row in rows], [[HOSTILE]])

    def test_keys_of_tables(self):
        policies = ("fields: {shop: header.x_shop}\n"
                    "tables: {gold: {by: [shop], values: {'*': 5}}}\n"
                    "policies: [{name: p, watch: request, key: ip, window: 1m, then: [{over: gold, do: flag}]}]\n")
        with Origin() as app, Weir(policies, app.port) as weir:
            ctl = [weir.binary, "ctl", "--admin", f"127.0.0.1:{weir.admin_port}"]
            status, body = weir.admin("PUT", "/v1/tables/gold", {"set": {HOSTILE.replace(",", ""): 7}})
            self.assertEqual(status, 200, body)
            self.expect_escaped(on_terminal([*ctl, "table", "gold"]))
            self.expect_escaped(on_terminal([*ctl, "table", "gold", "history"]))

    def test_rows_of_a_replay(self):
        config = ("weir: 1\nproxy: {upstream: http://127.0.0.1:3000}\n"
                  "events: {a: {source: {json: true, time: {field: ts, as: seconds}}}}\n"
                  "policies: [{name: p, watch: a, key: user, window: 1m, then: [{over: 0, do: deny, for: 1h}]}]\n")
        with tempfile.TemporaryDirectory() as directory:
            for name, text in (("weir.yaml", config),
                               ("a.ndjson", "".join(json.dumps({"ts": 1714521600 + n, "user": HOSTILE}) + "\n" for n in range(3)))):
                with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
                    f.write(text)
            replay = [os.environ["WEIR_BINARY"], "replay", "--event", "a=a.ndjson"]
            for output in ("csv", "ndjson", "json"):
                self.expect_escaped(on_terminal([*replay, "-o", output], cwd=directory))
            self.assertIn(HOSTILE.replace('"', '""'), in_pipe([*replay, "-o", "csv"], cwd=directory))
            rows = [json.loads(line) for line in in_pipe([*replay, "-o", "ndjson"], cwd=directory).splitlines()]
            self.assertEqual([row["key"] for row in rows if row["type"] == "listed"], [[HOSTILE]] * 2)


if __name__ == "__main__":
    unittest.main()

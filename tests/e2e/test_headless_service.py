"""Replicas by one name that has several addresses, as a headless Service has: `weir ctl --replicas`, and `admin.replicas`.

A name server of the test's own answers, on an address of loopback. Whoever asks it runs in a mount namespace with a
/etc/resolv.conf that names it. One of the three addresses is of a replica that is away."""

import json
import os
import shlex
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import unittest

from origin import Origin
from weir_process import Weir, eventually, free_port

SERVICE = "weir-admin.shop.svc"
NAME_SERVER = "127.0.0.153"
ADDRESSES = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
POLICIES = "policies: [{name: gold, watch: request, key: ip, window: 1h, then: [{over: 1000, do: deny}]}]\n"


class NameServer:
    """Answers A queries about the service with all its addresses; of all other names it knows nothing."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((NAME_SERVER, 53))
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.addresses = list(ADDRESSES)
        self.asked = 0

    def run(self):
        while True:
            try:
                query, peer = self.socket.recvfrom(512)
            except OSError:
                return
            if query:
                self.socket.sendto(self.answer(query), peer)
            else:
                return

    def answer(self, query):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        kind = struct.unpack("!H", query[at + 1:at + 3])[0]
        known = ".".join(labels).lower() == SERVICE
        self.asked += known
        found = self.addresses if known and kind == 1 else []
        head = query[:2] + struct.pack("!HHHHH", 0x8180 | (0 if known else 3), 1, len(found), 0, 0)
        rows = [struct.pack("!HHHIH", 0xc00c, 1, 1, 1, 4) + socket.inet_aton(each) for each in found]
        return head + query[12:at + 5] + b"".join(rows)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", (NAME_SERVER, 53))
        self.thread.join()
        self.socket.close()


def why_not():
    """Why this machine cannot run the test; empty: it can."""
    if shutil.which("unshare") is None:
        return "no unshare"
    done = subprocess.run(["unshare", "-m", "mount", "--bind", "/etc/resolv.conf", "/etc/resolv.conf"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"no mount namespace of our own: {done.stderr.strip()}"
    try:
        NameServer().socket.close()
    except OSError as problem:
        return f"no name server at {NAME_SERVER}:53: {problem.strerror}"
    return ""


class HeadlessService(unittest.TestCase):
    def setUp(self):
        if reason := why_not():
            self.skipTest(reason)
        self.names = self.enterContext(NameServer())
        self.directory = self.enterContext(tempfile.TemporaryDirectory(prefix="weir-names-"))
        for name, text in (("resolv.conf", f"nameserver {NAME_SERVER}\noptions timeout:1 attempts:1\n"), ("nsswitch.conf", "hosts: files dns\n")):
            with open(os.path.join(self.directory, name), "w", encoding="utf-8") as f:
                f.write(text)
        binary = os.path.abspath(os.environ["WEIR_BINARY"])
        self.binary = os.path.join(self.directory, "weir")
        with open(self.binary, "w", encoding="utf-8") as f:
            mounts = "; ".join(f"mount --bind {self.directory}/{name} /etc/{name}" for name in ("resolv.conf", "nsswitch.conf"))
            f.write(f"#!/bin/sh\nexec unshare -m sh -ec '{mounts}; exec {shlex.quote(binary)} \"$@\"' weir \"$@\"\n")
        os.chmod(self.binary, 0o755)
        self.origin = self.enterContext(Origin())
        self.port = free_port()
        self.here, self.there = [self.replica(address) for address in ADDRESSES[:2]]

    def replica(self, address):
        """All have the same port for operators, at addresses of their own; nobody listens at the third."""
        weir = Weir("", self.origin.port)
        weir.binary = self.binary
        weir.head = weir.head.replace(f"admin: {{listen: 127.0.0.1:{weir.admin_port}}}", f"admin: {{listen: {address}:{self.port}, replicas: {SERVICE}:{self.port}}}")
        weir.write(POLICIES)
        weir.start()
        self.addCleanup(weir.__exit__, None)
        return weir

    def ctl(self, *words, replicas=None, door=None):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        environment["WEIR_ADMIN_LISTEN"] = door or f"{ADDRESSES[0]}:{self.port}"
        more = ["--replicas", replicas or f"{SERVICE}:{self.port}"] if door is None else []
        done = subprocess.run([self.binary, "ctl", *words, *more], env=environment, capture_output=True, text=True, timeout=30, check=False)
        return done.returncode, done.stdout, done.stderr

    def mode(self, address):
        return json.loads(self.ctl("-o", "json", "policy", "gold", door=f"{address}:{self.port}")[1])["mode"]

    def test_ctl_asks_every_address_and_says_who_is_away(self):
        code, text, trouble = self.ctl("status")
        self.assertEqual(code, 4, trouble)
        rows = {line.split()[0]: line for line in text.splitlines()[1:]}
        self.assertEqual(sorted(rows), [f"{each}:{self.port}" for each in ADDRESSES], text)
        away = [each for each in ADDRESSES if rows[f"{each}:{self.port}"].rstrip().endswith("does not answer")]
        self.assertEqual(away, ADDRESSES[2:], text)
        self.assertEqual(trouble, f"weir: {ADDRESSES[2]}:{self.port} does not answer: Connection refused\n")

        code, text, _ = self.ctl("-o", "json", "policy", "gold", "shadow", "--for", "10m", "--reason", "ticket 4711")
        told = {each["replica"]: each["code"] for each in json.loads(text)["replicas"]}
        self.assertEqual(told, {f"{ADDRESSES[0]}:{self.port}": 0, f"{ADDRESSES[1]}:{self.port}": 0, f"{ADDRESSES[2]}:{self.port}": 4}, text)
        self.assertEqual(code, 4)
        self.assertEqual([self.mode(each) for each in ADDRESSES[:2]], ["shadow", "shadow"])

        # Without the one that is away, all is well; equal answers are shown once.
        self.names.addresses.pop()
        code, text, trouble = self.ctl("policy", "gold", "restore")
        self.assertEqual((code, trouble), (0, ""), text)
        self.assertEqual([self.mode(each) for each in ADDRESSES[:2]], ["enforce", "enforce"])

    def test_ctl_says_of_a_name_that_it_has_no_address(self):
        code, text, trouble = self.ctl("status", replicas="nosuch.shop.svc")
        self.assertEqual((code, text), (2, ""))
        self.assertIn("can't resolve nosuch.shop.svc: ", trouble)

    def test_a_replica_finds_the_others_by_the_name(self):
        rows = self.here_rows()
        self.assertEqual([rows[each]["up"] for each in ADDRESSES], [True, True, False], rows)
        self.assertEqual([rows[each]["self"] for each in ADDRESSES], [True, False, False], rows)
        self.assertTrue(rows[ADDRESSES[2]]["why"], rows)
        code, text, _ = self.ctl("replicas", door=f"{ADDRESSES[0]}:{self.port}")
        self.assertEqual(code, 1, text)
        self.assertIn("does not answer", text)
        # A new replica is found without a reload: the name is looked up again.
        self.replica(ADDRESSES[2])
        eventually(lambda: all(row["up"] for row in self.here_rows().values()), what="the third")

    def here_rows(self):
        told = json.loads(self.ctl("-o", "json", "replicas", door=f"{ADDRESSES[0]}:{self.port}")[1])
        return {row["address"].rpartition(":")[0]: row for row in told["replicas"]}


if __name__ == "__main__":
    unittest.main()

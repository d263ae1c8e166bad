#!/usr/bin/env python3
"""dns.py ADDRESS STATE: the names of services, for a node without a DNS of its own. Answers A queries for SERVICE.NAMESPACE.svc.cluster.local
(the cluster address, or of a headless Service those of its pods) and for POD.SERVICE.NAMESPACE.svc.cluster.local, from the API server."""
import json
import socket
import ssl
import struct
import sys
import time
import urllib.request

ZONE = "svc.cluster.local"


class Names:
    """What the API server knows, at most a second old."""

    def __init__(self, state):
        self.context = ssl.create_default_context(cafile=state + "/pki/ca.crt")
        self.context.load_cert_chain(state + "/pki/admin.crt", state + "/pki/admin.key")
        self.read_at, self.names = 0.0, {}

    def get(self, path):
        with urllib.request.urlopen("https://127.0.0.1:6443" + path, context=self.context, timeout=3) as answer:
            return json.load(answer)["items"]

    def read(self):
        names = {}
        for service in self.get("/api/v1/services"):
            where = service["metadata"]["name"] + "." + service["metadata"]["namespace"]
            address = service["spec"].get("clusterIP", "None")
            names[where] = [] if address == "None" else [address]
            if address == "None":
                for part in self.get("/api/v1/namespaces/{namespace}/endpoints".format(**service["metadata"])):
                    self.add_pods(names, where, part, service)
        self.names, self.read_at = names, time.monotonic()

    @staticmethod
    def add_pods(names, where, endpoints, service):
        if endpoints["metadata"]["name"] != service["metadata"]["name"]:
            return
        for subset in endpoints.get("subsets", []):
            hidden = subset.get("notReadyAddresses", []) if service["spec"].get("publishNotReadyAddresses") else []
            for address in subset.get("addresses", []) + hidden:
                names[where].append(address["ip"])
                if "hostname" in address:
                    names[address["hostname"] + "." + where] = [address["ip"]]

    def find(self, name):
        """None: there is no such name."""
        if time.monotonic() - self.read_at > 1:
            self.read()
        return self.names.get(name.removesuffix("." + ZONE)) if name.endswith("." + ZONE) else None


def question(message):
    """The name in lower case, the type, and where the question ends."""
    labels, at = [], 12
    while message[at]:
        labels.append(message[at + 1:at + 1 + message[at]].decode("latin-1").lower())
        at += 1 + message[at]
    return ".".join(labels), struct.unpack_from(">H", message, at + 1)[0], at + 5


def answer(message, names):
    name, kind, end = question(message)
    found = names.find(name)
    records = [socket.inet_aton(address) for address in (found or [])] if kind == 1 else []
    flags = 0x8580 | (3 if found is None else 0)
    head = message[:2] + struct.pack(">HHHHH", flags, 1, len(records), 0, 0)
    return head + message[12:end] + b"".join(b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 1, 4) + record for record in records)


def main():
    names = Names(sys.argv[2])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((sys.argv[1], 53))
        while True:
            message, peer = s.recvfrom(512)
            try:
                s.sendto(answer(message, names), peer)
            except (OSError, IndexError, struct.error, KeyError, ValueError) as error:
                print(error, file=sys.stderr, flush=True)


main()

"""A CA with certificates of a server and of a client, and another CA that has nothing to do with them."""

import os
import ssl
import subprocess
import tempfile


class Certificates:
    """Of the server `redis.test`, which is also called localhost and 127.0.0.1."""

    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="weir-certificates-")
        for ca in ("ca", "other"):
            self.make_key(ca)
            self.run("req", "-x509", "-key", self[f"{ca}.key"], "-subj", f"/CN={ca}", "-days", "2",
                     "-out", self[f"{ca}.pem"])
        with open(self["san"], "w", encoding="ascii") as f:
            f.write("subjectAltName=DNS:redis.test,DNS:localhost,IP:127.0.0.1\n")
        for who in ("server", "client"):
            self.make_key(who)
            self.run("req", "-new", "-key", self[f"{who}.key"], "-subj", f"/CN={who}", "-out", self["request"])
            self.run("x509", "-req", "-in", self["request"], "-CA", self["ca.pem"], "-CAkey", self["ca.key"],
                     "-CAcreateserial", "-days", "2", "-extfile", self["san"], "-out", self[f"{who}.pem"])

    def __getitem__(self, name):
        return os.path.join(self.scratch.name, name)

    def make_key(self, who):
        self.run("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", self[f"{who}.key"])

    @staticmethod
    def run(*words):
        done = subprocess.run(["openssl", *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"openssl {' '.join(words)}: {done.stderr}")

    def of_redis(self, port):
        """Options of a redis-server that speaks TLS on this port, and wants a certificate of its clients."""
        return ("--tls-port", str(port), "--bind", "127.0.0.1", "--tls-auth-clients", "yes", "--tls-ca-cert-file",
                self["ca.pem"], "--tls-cert-file", self["server.pem"], "--tls-key-file", self["server.key"])

    def of_a_peer(self, told):
        """A server's context; `told(name)` gets the name that each client asks for, None where it says none."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self["server.pem"], self["server.key"])
        context.sni_callback = lambda _, name, __: told(name)
        return context

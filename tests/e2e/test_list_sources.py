"""Lists whose entries come from files and URLs: they act, they are noticed, and a wrong one changes nothing."""

import base64
import contextlib
import hashlib
import http.server
import json
import os
import ssl
import subprocess
import tempfile
import threading
import unittest

from certificates import Certificates
from http_client import once
from origin import Origin
from weir_process import Weir, eventually


class Site:
    """A web server whose texts the test changes; it knows ETags and counts whole answers. `odd`: what it answers instead
    for a path, (status, fields, body); status None: nothing, until the end. With a context it speaks TLS; with a
    `token` it answers 401 to who does not bring it."""

    def __init__(self, context=None):
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path in site.odd:
                    status, fields, body = site.odd[self.path]
                    if status is None:
                        site.ended.wait(60)
                        return
                    self.send_response(status)
                    for name, value in {"Content-Length": str(len(body)), **fields}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    with contextlib.suppress(OSError):
                        self.wfile.write(body)
                    return
                site.asked.append(self.path)
                site.tokens.add(self.headers.get("Authorization"))
                if site.token and self.headers.get("Authorization") != f"Bearer {site.token}":
                    self.send_error(401)
                    return
                text = site.texts.get(self.path)
                if text is None:
                    self.send_error(404)
                    return
                text = text if isinstance(text, bytes) else text.encode()
                tag = '"%s"' % hashlib.sha256(text).hexdigest()[:16]
                if self.headers.get("If-None-Match") == tag:
                    site.unchanged += 1
                    self.send_response(304)
                    self.end_headers()
                    return
                site.whole += 1
                self.send_response(200)
                self.send_header("ETag", tag)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        self.texts, self.odd, self.whole, self.unchanged = {}, {}, 0, 0
        self.asked, self.token, self.tokens = [], None, set()
        self.ended = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()


class Signer:
    """An Ed25519 key."""

    def __init__(self, directory, name):
        self.directory, self.file = directory, os.path.join(directory, f"{name}.key")
        self.openssl("genpkey", "-algorithm", "ed25519", "-out", self.file)
        der = self.openssl("pkey", "-in", self.file, "-pubout", "-outform", "DER")
        self.public = base64.b64encode(der[-32:]).decode()

    def sign(self, text):
        path = os.path.join(self.directory, "text")
        with open(path, "wb") as f:
            f.write(text.encode())
        return self.openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.file, "-in", path)

    @staticmethod
    def openssl(*words):
        return subprocess.run(["openssl", *words], capture_output=True, check=True).stdout


def status(weir, ip):
    return once(weir.port, "GET", "/", {"X-Forwarded-For": ip}).status


def source(weir):
    return weir.admin("GET", "/v1/status")[1]["sources"][0]


class Files(unittest.TestCase):
    def test_a_change_is_noticed_and_a_wrong_line_changes_nothing(self):
        lists = "lists: {bad: {of: ip, kind: deny, file: bad.txt}}\n"
        text = "# of yesterday\n203.0.113.9\n198.51.100.0/24, 2099-01-01, a partner of theirs\n192.0.2.7 1600000000\n"
        with Origin() as origin, Weir(lists, origin.port, files={"bad.txt": text}) as weir:
            path = os.path.join(weir.directory, "bad.txt")
            self.assertEqual(status(weir, "203.0.113.9"), 403)
            self.assertEqual(status(weir, "198.51.100.77"), 403)
            self.assertEqual(status(weir, "192.0.2.7"), 200, "its end was in 2020")
            self.assertEqual(source(weir)["entries"], 2)
            weir.replace(path, "203.0.113.10\n")
            eventually(lambda: status(weir, "203.0.113.10") == 403, what="the new entry")
            self.assertEqual(status(weir, "203.0.113.9"), 200)
            weir.replace(path, "203.0.113.11\n300.0.113.12\n")
            eventually(lambda: source(weir)["problem"], what="the problem")
            self.assertIn('line 2: "300.0.113.12" is neither an address', source(weir)["problem"])
            self.assertEqual(status(weir, "203.0.113.10"), 403)
            self.assertEqual(status(weir, "203.0.113.11"), 200)
            self.assertIn("list bad is not the newest", weir.health("/readyz?verbose").body.decode())
            self.assertEqual(weir.metric("weir_source_failures_total", 'kind="list",name="bad"'), 1)
            weir.replace(path, "203.0.113.11\n")
            eventually(lambda: status(weir, "203.0.113.11") == 403, what="the mended file")
            self.assertIsNone(source(weir)["problem"])
            why = weir.admin("GET", "/v1/why?key=203.0.113.11")[1]
            self.assertEqual(why["entries"][0]["why"], f"from {path}")
            self.assertEqual(why["entries"][0]["commands"], [])

    def test_a_reload_that_names_a_spoilt_file_is_refused(self):
        with Origin() as origin, Weir("", origin.port, files={"bad.txt": "no address\n"}) as weir:
            weir.write("lists: {bad: {of: ip, kind: deny, file: bad.txt}}\n")
            code, report = weir.reload()
            self.assertEqual(code, 422)
            self.assertIn("line 1", json.dumps(report))
            self.assertEqual(status(weir, "203.0.113.9"), 200)
            weir.replace(os.path.join(weir.directory, "bad.txt"), "203.0.113.9\n")
            self.assertEqual(weir.reload()[0], 200)
            self.assertEqual(status(weir, "203.0.113.9"), 403, "the entries are there before the list acts")

    def test_keys_of_other_fields(self):
        lists = ("fields: {user: header.x_user}\n"
                 "lists: {cheats: {of: [user, ip], kind: deny, file: cheats.csv}}\n")
        with Origin() as origin, Weir(lists, origin.port,
                                      files={"cheats.csv": "alice,203.0.113.9\nbob,203.0.113.9,2001-01-01\n"}) as weir:
            def ask(user):
                return once(weir.port, "GET", "/", {"X-Forwarded-For": "203.0.113.9", "X-User": user}).status
            self.assertEqual([ask("alice"), ask("bob"), ask("carol")], [403, 200, 200])


class Urls(unittest.TestCase):
    def test_asks_by_etag_and_keeps_the_last_good_one_over_a_restart(self):
        with Site() as site, Origin() as origin:
            site.texts["/bad.txt"] = "203.0.113.9\n"
            lists = f"lists: {{bad: {{of: ip, kind: deny, url: {{url: '{site.url}/bad.txt', every: 1s}}}}}}\n"
            with Weir(lists, origin.port, extra="") as weir:
                weir.stop()
                weir.head += f"state: {{dir: {weir.directory}/state}}\n"
                weir.write(lists)
                weir.start()
                self.assertEqual(status(weir, "203.0.113.9"), 403)
                eventually(lambda: site.unchanged >= 1, what="a question by ETag")
                whole = site.whole
                site.texts["/bad.txt"] = "203.0.113.10\n"
                eventually(lambda: status(weir, "203.0.113.10") == 403, what="the new text")
                self.assertEqual(site.whole, whole + 1)
                site.texts.clear()
                eventually(lambda: source(weir)["problem"], what="the problem")
                self.assertEqual(source(weir)["problem"], "status 404")
                weir.stop()
                weir.start()
                self.assertEqual(status(weir, "203.0.113.10"), 403, "kept on disk")

    def test_a_text_that_the_disk_refused_is_written_once_the_disk_takes_it(self):
        with Site() as site, Origin() as origin:
            site.texts["/bad.txt"] = "203.0.113.9\n"
            lists = f"lists: {{bad: {{of: ip, kind: deny, url: {{url: '{site.url}/bad.txt', every: 1s}}}}}}\n"
            with Weir(lists, origin.port) as weir:
                weir.stop()
                weir.head += f"state: {{dir: {weir.directory}/state}}\n"
                weir.write(lists)
                digest = hashlib.sha256(f"{site.url}/bad.txt".encode()).hexdigest()[:32]
                kept = os.path.join(weir.directory, "state", f"fetched-{digest}")
                os.makedirs(kept, mode=0o700)  # a directory in the place of the file: it can't be written
                weir.start()
                self.assertEqual(status(weir, "203.0.113.9"), 403)
                self.assertIn("can't be kept", source(weir)["problem"])
                told = weir.health("/readyz?verbose").body.decode()
                self.assertIn("list bad has a problem: it is in force, and can't be kept: ", told)
                whole = site.whole
                eventually(lambda: site.whole > whole, what="the whole text once more")
                self.assertEqual(weir.log().count("a list that was fetched can't be kept on disk"), 1)
                os.rmdir(kept)
                eventually(lambda: os.path.isfile(kept), what="the file")
                eventually(lambda: "a list that was fetched is kept on disk again" in weir.log(), what="the line")
                self.assertIsNone(source(weir)["problem"])
                unchanged = site.unchanged
                eventually(lambda: site.unchanged > unchanged, what="a question by ETag again")
                site.texts.clear()
                weir.stop()
                weir.start()
                self.assertEqual(status(weir, "203.0.113.9"), 403, "kept on disk")

    def test_a_text_must_have_its_checksum(self):
        with Site() as site, Origin() as origin:
            site.texts["/bad.txt"] = "203.0.113.9\n"
            site.texts["/bad.sha256"] = hashlib.sha256(b"203.0.113.9\n").hexdigest() + "  bad.txt\n"
            lists = (f"lists: {{bad: {{of: ip, kind: deny, url: {{url: '{site.url}/bad.txt', every: 1s, "
                     f"sha256: '{site.url}/bad.sha256'}}}}}}\n")
            with Weir(lists, origin.port) as weir:
                self.assertEqual(status(weir, "203.0.113.9"), 403)
                site.texts["/bad.txt"] = "203.0.113.10\n"
                eventually(lambda: source(weir)["problem"], what="the problem")
                self.assertIn("the checksum is wrong", source(weir)["problem"])
                self.assertEqual(status(weir, "203.0.113.9"), 403)
                site.texts["/bad.sha256"] = hashlib.sha256(b"203.0.113.10\n").hexdigest()
                eventually(lambda: status(weir, "203.0.113.10") == 403, what="the new text")

    def fails(self, site, weir, why):
        """Waits for two more questions, and then says that they have brought nothing."""
        site.asked.clear()
        eventually(lambda: len(site.asked) >= 2 and why in (source(weir)["problem"] or ""), what=why)

    def test_a_text_must_have_its_signature(self):
        with Site() as site, Origin() as origin, tempfile.TemporaryDirectory() as directory:
            ours, other = Signer(directory, "ours"), Signer(directory, "other")
            old, new = "203.0.113.9\n", "203.0.113.10\n"
            site.texts.update({"/bad.txt": old, "/bad.txt.sig": base64.b64encode(ours.sign(old))})
            lists = (f"lists: {{bad: {{of: ip, kind: deny, url: {{url: '{site.url}/bad.txt', every: 1s, "
                     f"signed_by: '{ours.public}'}}}}}}\n")
            with Weir(lists, origin.port) as weir:
                self.assertEqual(status(weir, "203.0.113.9"), 403)
                site.texts["/bad.txt"] = new
                wrong = {"of the text before": ours.sign(old), "by another key": other.sign(new), "too short": ours.sign(new)[:63],
                         "no base64": "what?" * 20, "nothing": ""}
                for what, signature in wrong.items():
                    with self.subTest(signature=what):
                        site.texts["/bad.txt.sig"] = signature
                        self.fails(site, weir, "the signature is wrong")
                        self.assertEqual([status(weir, ip) for ip in ("203.0.113.9", "203.0.113.10")], [403, 200])
                del site.texts["/bad.txt.sig"]
                self.fails(site, weir, '/bad.txt.sig": status 404')
                self.assertEqual([status(weir, ip) for ip in ("203.0.113.9", "203.0.113.10")], [403, 200])
                site.texts["/bad.txt.sig"] = ours.sign(new)
                eventually(lambda: status(weir, "203.0.113.10") == 403, what="the signed text")
                self.assertIsNone(source(weir)["problem"])

    def test_a_server_must_have_a_certificate_of_the_ca(self):
        certificates = Certificates()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates["server.pem"], certificates["server.key"])
        with Site(context) as site, Origin() as origin:
            site.texts["/bad.txt"] = "203.0.113.9\n"
            for ca, taken in (("ca.pem", True), ("other.pem", False), (None, False)):
                given = f", ca_file: '{certificates[ca]}'" if ca else ""
                lists = f"lists: {{bad: {{of: ip, kind: deny, url: {{url: '{site.url}/bad.txt', every: 1s{given}}}}}}}\n"
                with self.subTest(ca=ca), Weir(lists, origin.port) as weir:
                    if taken:
                        self.assertEqual(status(weir, "203.0.113.9"), 403)
                        self.assertIsNone(source(weir)["problem"])
                        continue
                    eventually(lambda: source(weir)["problem"], what="the problem")
                    self.assertIn("certificate", source(weir)["problem"])
                    self.assertEqual(status(weir, "203.0.113.9"), 200)

    def test_the_token_goes_to_the_server_and_nowhere_else(self):
        with Site() as site, Site() as elsewhere, Origin() as origin, tempfile.TemporaryDirectory() as directory:
            ours = Signer(directory, "ours")
            text = "203.0.113.9\n"
            site.token = "opensesame"
            site.texts.update({"/bad.txt": text, "/bad.txt.sig": ours.sign(text)})
            elsewhere.texts["/sum"] = hashlib.sha256(text.encode()).hexdigest()
            path = os.path.join(directory, "token")
            url = (f"{{url: '{site.url}/bad.txt', every: 1s, signed_by: '{ours.public}', sha256: '{elsewhere.url}/sum', "
                   f"token_file: '{path}'}}")
            with open(path, "w", encoding="ascii") as f:
                f.write("wrong\n")
            with Weir(f"lists: {{bad: {{of: ip, kind: deny, url: {url}}}}}\n", origin.port) as weir:
                self.fails(site, weir, "status 401")
                self.assertEqual(status(weir, "203.0.113.9"), 200)
                with open(path, "w", encoding="ascii") as f:
                    f.write("opensesame\n")
                eventually(lambda: status(weir, "203.0.113.9") == 403, what="the text, by the new token")
                self.assertIn("/bad.txt.sig", site.asked)
                self.assertEqual(elsewhere.tokens, {None})
                self.assertNotIn("opensesame", weir.log())


if __name__ == "__main__":
    unittest.main()

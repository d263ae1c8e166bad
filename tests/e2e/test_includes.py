"""What `include:` fetches: URLs and keys of Redis. A wrong one is refused, and the one before goes on."""

import hashlib
import os
import re
import tempfile
import unittest

from http_client import once
from origin import Origin
from redis_process import Redis
from test_list_sources import Signer, Site
from weir_process import Weir, eventually


def policy(limit):
    return f"policies: [{{name: included, watch: request, key: ip, window: 1h, then: [{{over: {limit}, do: deny}}]}}]\n"


def limit_of(weir):
    return int(re.search(r"over (\d+)", weir.admin("GET", "/v1/policies/included")[1]["rungs"][0]).group(1))


def source(weir):
    return weir.admin("GET", "/v1/status")[1]["sources"][0]


class Urls(unittest.TestCase):
    def test_a_new_text_is_taken_and_a_wrong_one_refused(self):
        with Site() as site, Origin() as origin:
            site.texts["/p.yaml"] = policy(5)
            include = f"include: [{{url: '{site.url}/p.yaml', every: 1s}}]\n"
            with Weir(include, origin.port) as weir:
                self.assertEqual(limit_of(weir), 5)
                site.texts["/p.yaml"] = policy(7)
                eventually(lambda: limit_of(weir) == 7, what="the new text")
                site.texts["/p.yaml"] = policy("many")
                eventually(lambda: source(weir)["problem"], what="the refusal")
                self.assertIn("refused: ", source(weir)["problem"])
                self.assertIn("/p.yaml:1:", source(weir)["problem"])
                self.assertEqual(limit_of(weir), 7)
                self.assertIn("is not the newest", weir.health("/readyz?verbose").body.decode())
                self.assertEqual(weir.reload()[0], 200, "the one before goes on")
                self.assertEqual(limit_of(weir), 7)
                site.texts["/p.yaml"] = policy(9)
                eventually(lambda: limit_of(weir) == 9, what="the mended text")
                self.assertIsNone(source(weir)["problem"])

    def test_a_text_must_have_its_signature(self):
        with Site() as site, Origin() as origin, tempfile.TemporaryDirectory() as directory:
            ours, other = Signer(directory, "ours"), Signer(directory, "other")
            site.texts.update({"/p.yaml": policy(5), "/p.yaml.sig": ours.sign(policy(5))})
            include = f"include: [{{url: '{site.url}/p.yaml', every: 1s, signed_by: '{ours.public}'}}]\n"
            with Weir(include, origin.port) as weir:
                self.assertEqual(limit_of(weir), 5)
                site.texts.update({"/p.yaml": policy(7), "/p.yaml.sig": other.sign(policy(7))})
                eventually(lambda: source(weir)["problem"] == "the signature is wrong", what="the refusal")
                self.assertEqual(limit_of(weir), 5)
                site.texts["/p.yaml.sig"] = ours.sign(policy(7))
                eventually(lambda: limit_of(weir) == 7, what="the signed text")

    def test_the_last_good_one_is_there_after_a_restart(self):
        with Site() as site, Origin() as origin:
            site.texts["/p.yaml"] = policy(5)
            include = f"include: [{{url: '{site.url}/p.yaml', every: 1s}}]\n"
            with Weir(include, origin.port) as weir:
                weir.stop()
                weir.head += f"state: {{dir: {weir.directory}/state}}\n"
                weir.write(include)
                weir.start()
                eventually(lambda: site.unchanged >= 1, what="a question by ETag")
                site.texts.clear()
                weir.stop()
                weir.start()
                self.assertEqual(limit_of(weir), 5)
                self.assertEqual(source(weir)["problem"], "status 404")


    def test_a_text_that_the_disk_refused_is_written_once_the_disk_takes_it(self):
        with Site() as site, Origin() as origin:
            site.texts["/p.yaml"] = policy(5)
            include = f"include: [{{url: '{site.url}/p.yaml', every: 1s}}]\n"
            with Weir(include, origin.port) as weir:
                weir.stop()
                weir.head += f"state: {{dir: {weir.directory}/state}}\n"
                weir.write(include)
                digest = hashlib.sha256(f"{site.url}/p.yaml".encode()).hexdigest()[:32]
                kept = os.path.join(weir.directory, "state", f"fetched-{digest}")
                os.makedirs(kept, mode=0o700)  # a directory in the place of the file: it can't be written
                weir.start()
                eventually(lambda: "can't be kept" in (source(weir)["problem"] or ""), what="the problem")
                unchanged = site.unchanged
                eventually(lambda: site.unchanged > unchanged + 1, what="two answers 304")
                self.assertIn("can't be kept", source(weir)["problem"])
                site.texts["/p.yaml"] = policy(6)
                eventually(lambda: limit_of(weir) == 6, what="the new text")
                os.rmdir(kept)
                eventually(lambda: "an included text is kept on disk again" in weir.log(), what="the line")
                self.assertTrue(os.path.isfile(kept))
                self.assertIsNone(source(weir)["problem"])
                self.assertEqual(weir.log().count("an included text can't be kept on disk"), 1)
                site.texts.clear()
                weir.stop()
                weir.start()
                self.assertEqual(limit_of(weir), 6)


class Troubles(unittest.TestCase):
    """What a server may answer instead of the text, told in one line each; the last good text stays in force."""

    PAGE = b"<!DOCTYPE html>\n<html><body>Please log in</body></html>\n"
    TROUBLES = (
        ((404, {}, b"none"), "status 404"),
        ((500, {}, b""), "status 500"),
        ((503, {"Retry-After": "9"}, b""), "status 503"),
        ((302, {"Location": "https://login.example/?token=abcd"}, b""),
         'status 302, to "https://login.example/?token=****"; weir follows no redirect: write that URL'),
        ((200, {"Content-Type": "text/html"}, PAGE), "the answer is a web page (HTML)"),
        ((200, {"Content-Encoding": "gzip"}, b"\x1f\x8b\x08\x00"), "the answer is encoded (gzip)"),
        ((200, {"Content-Length": "100"}, b"policies: []\n"), "the answer ends early"),
        ((304, {}, b""), None),
    )

    def test_each_is_told_in_one_line_and_changes_nothing(self):
        with Site() as site, Origin() as origin:
            site.texts["/p.yaml"], site.texts["/bad.txt"] = policy(5), "alice\n"
            config = (f"include: [{{url: '{site.url}/p.yaml', every: 1s}}]\nfields: {{user: header.x_user}}\n"
                      f"lists: {{bad: {{of: user, kind: deny, url: {{url: '{site.url}/bad.txt', every: 1s}}}}}}\n")
            with Weir(config, origin.port) as weir:
                def problems():
                    return {row["kind"]: row["problem"] for row in weir.admin("GET", "/v1/status")[1]["sources"]}
                for answer, words in self.TROUBLES:
                    with self.subTest(words):
                        site.odd = {path: answer for path in ("/p.yaml", "/bad.txt")}
                        if words is None:
                            eventually(lambda: not any(problems().values()), what="the end of the trouble")
                        else:
                            eventually(lambda: all(words in (text or "") for text in problems().values()), what=words)
                            ready = weir.health("/readyz?verbose").body.decode()
                            self.assertRegex(ready, r"(?m)^\[\+\]list bad is not the newest: .*" + re.escape(words))
                            self.assertRegex(ready, r"(?m)^\[\+\]include http.*/p.yaml is not the newest: .*" + re.escape(words))
                        self.assertEqual(limit_of(weir), 5)
                        self.assertEqual(once(weir.port, "GET", "/", {"X-User": "alice"}).status, 403)
                site.odd = {}
                for message in ("a list could not be loaded; the entries before it stay",
                                "an included text could not be used; the previous text stays in force"):
                    said = [line["reason"] for line in weir.logged(message)]
                    wanted = [words for _, words in self.TROUBLES if words]
                    self.assertEqual(len(said), len(wanted), said)
                    for line, words in zip(said, wanted):
                        self.assertIn(words, line)
                self.assertEqual(len(weir.logged("an included text is available again")), 1)
                self.assertEqual(len(weir.logged("a list can be fetched again")), 1)
                for kind in ("list", "include"):
                    self.assertGreaterEqual(weir.metric("weir_source_failures_total", f'kind="{kind}"'), len(self.TROUBLES) - 1)

    def test_a_checksum_that_is_none_and_a_text_that_is_too_large(self):
        with Site() as site, Origin() as origin:
            site.texts["/p.yaml"] = policy(5)
            site.texts["/sum"] = hashlib.sha256(policy(5).encode()).hexdigest()
            include = f"include: [{{url: '{site.url}/p.yaml', every: 1s, sha256: '{site.url}/sum'}}]\n"
            with Weir(include, origin.port) as weir:
                self.assertEqual(limit_of(weir), 5)
                site.texts["/p.yaml"] = policy(7)
                eventually(lambda: "the checksum is wrong" in (source(weir)["problem"] or ""), what="the wrong checksum")
                site.odd["/sum"] = (200, {}, self.PAGE)
                eventually(lambda: '/sum": the answer is a web page' in source(weir)["problem"], what="a page in its place")
                site.odd["/sum"] = (200, {}, b"none yet\n")
                eventually(lambda: '/sum": it does not begin with a SHA-256' in source(weir)["problem"], what="another text")
                site.odd["/p.yaml"] = (200, {}, b"#" * (9 << 20))
                eventually(lambda: source(weir)["problem"] == "the answer is larger than 8 MiB", what="the bound")
                self.assertEqual(limit_of(weir), 5)

    def test_a_server_that_is_silent(self):
        with Site() as site, Origin() as origin:
            site.texts["/p.yaml"] = policy(5)
            with Weir(f"include: [{{url: '{site.url}/p.yaml', every: 1s}}]\n", origin.port) as weir:
                site.odd["/p.yaml"] = (None, {}, b"")
                eventually(lambda: source(weir)["problem"] == "no whole answer within 10s", 20, "the deadline")
                self.assertEqual(limit_of(weir), 5)


class Keys(unittest.TestCase):
    def test_a_key_of_redis(self):
        with Redis() as redis, Origin() as origin:
            redis.command("SET", "policies", policy(3))
            include = (f"redis: {{url: 'unix://{redis.path}', secret: of all replicas}}\n"
                       "include: [{redis: policies, every: 1s}]\n")
            with Weir(include, origin.port) as weir:
                self.assertEqual(limit_of(weir), 3)
                redis.command("SET", "policies", policy(4))
                eventually(lambda: limit_of(weir) == 4, what="the new value")
                redis.command("DEL", "policies")
                eventually(lambda: source(weir)["problem"] == "there is no such key", what="the problem")
                self.assertEqual(limit_of(weir), 4)


if __name__ == "__main__":
    unittest.main()

"""weir explain --door ext_authz: a check of Envoy's, as JSON."""

import base64
import json
import os
import subprocess
import tempfile
import unittest

CONFIG = """weir: 1
api: {ext_authz: {prefix: /ext_authz}}
authz: {client_ip: {hops: 1}}
policies:
  - {name: banned, watch: request, when: 'path == "/banned" && ip == "203.0.113.5"', then: [{if: true, do: deny, status: 403}]}
  - {name: tier, watch: request, when: 'envoy.context.tier == "gold"', then: [{if: true, do: flag}]}
  - {name: sub, watch: request, when: 'envoy.metadata["jwt"].claims.sub == "alice"', then: [{if: true, do: flag}]}
  - {name: item, watch: request, when: 'body.item == "a"', then: [{if: true, do: flag}]}
"""


class ExplainCheck(unittest.TestCase):
    def explain(self, check):
        with tempfile.TemporaryDirectory() as directory:
            config, file = os.path.join(directory, "weir.yaml"), os.path.join(directory, "check.json")
            with open(config, "w", encoding="utf-8") as f:
                f.write(CONFIG)
            with open(file, "w", encoding="utf-8") as f:
                f.write(check if isinstance(check, str) else json.dumps(check))
            return subprocess.run([os.environ["WEIR_BINARY"], "explain", "-c", config, "--door", "ext_authz", file, "-o", "json"],
                                  capture_output=True, text=True, timeout=60, check=False)

    @staticmethod
    def check(path="/", **more):
        return {"attributes": {"source": {"address": {"socketAddress": {"address": "10.0.0.1", "portValue": 7}}},
                               "request": {"http": {"method": "POST", "path": path, "headers": {
                                   "x-forwarded-for": "9.9.9.9,203.0.113.5,10.0.0.1", "content-type": "application/json"},
                                   **more.pop("http", {})}}, **more}}

    def test_who_asks_and_what_for(self):
        refused = self.explain(self.check("/%62anned"))
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn('"banned"', refused.stdout)
        self.assertEqual(self.explain(self.check("/fine")).returncode, 0)

    def test_what_envoy_says_besides(self):
        for more, policy in (({"contextExtensions": {"tier": "gold"}}, "tier"), ({"context_extensions": {"tier": "gold"}}, "tier"),
                             ({"metadataContext": {"filterMetadata": {"jwt": {"claims": {"sub": "alice"}}}}}, "sub"),
                             ({"http": {"rawBody": base64.b64encode(b'{"item":"a"}').decode()}}, "item"),
                             ({"http": {"headers": {}, "headerMap": {"headers": [
                                 {"key": "x-forwarded-for", "value": "9.9.9.9,203.0.113.5,10.0.0.1"},
                                 {"key": "content-type", "rawValue": base64.b64encode(b"application/json").decode()}]},
                                 "body": '{"item":"a"}'}}, "item"),
                             ({"http": {"body": '{"item":"a"}'}}, "item")):
            told = self.explain(self.check(**more))
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertIn(f"X-Weir-Policy: {policy}", told.stdout.replace('"X-Weir-Policy":"', "X-Weir-Policy: ")
                          .replace('"X-Weir-Policy": "', "X-Weir-Policy: "), more)

    def test_what_is_wrong_is_said(self):
        for text, word in (("{", "no JSON"), ("[]", "an object"), ('{"attributes":{"request":{"http":{"path":7}}}}', "path is a text"),
                           (json.dumps(self.check("/%zz")), "escape"),
                           (json.dumps(self.check(http={"headerMap": {"headers": [{"key": "a", "rawValue": "!"}]}})), "raw_value is base64")):
            told = self.explain(text)
            self.assertEqual(told.returncode, 2, told.stdout)
            self.assertIn(word, told.stderr)


if __name__ == "__main__":
    unittest.main()

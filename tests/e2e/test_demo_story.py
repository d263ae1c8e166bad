"""The story of scripts/run: the demo's own configuration and shop, told request by request."""

import json
import os
import re
import subprocess
import sys
import unittest

from http_client import once
from weir_process import ROOT, Weir, eventually, free_port


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as f:
        return f.read()


class DemoStory(unittest.TestCase):
    def setUp(self):
        shop_port = free_port()
        recipes = {f"recipes/{n}": read("config", "recipes", n)  # all of them: as demo.yaml finds them
                   for n in os.listdir(os.path.join(ROOT, "config", "recipes"))}
        self.weir = Weir(files=recipes)
        text = read("config", "demo.yaml")
        for old, new in ((8480, self.weir.port), (8481, self.weir.admin_port), (8482, self.weir.health_port),
                         (3000, shop_port)):
            text = text.replace(f"127.0.0.1:{old}", f"127.0.0.1:{new}")
        self.weir.write(None, text)
        self.shop = subprocess.Popen([sys.executable, os.path.join(ROOT, "demo", "shop.py"), "--port", str(shop_port)])
        self.addCleanup(self.shop.wait)
        self.addCleanup(self.shop.terminate)
        eventually(lambda: self.shop_answers(shop_port), what="the shop")
        self.enterContext(self.weir)

    @staticmethod
    def shop_answers(port):
        try:
            return once(port, "GET", "/api/echo").status == 200
        except OSError:
            return False

    def post(self, path, body, ip="192.0.2.1", **headers):
        sent = {"X-Forwarded-For": ip, "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        answer = once(self.weir.port, "POST", path, sent, json.dumps(body).encode())
        answer.told = {}
        if "json" in (answer.header("content-type") or "") and "problem" not in answer.header("content-type"):
            answer.told = json.loads(answer.body).get("weir", {})
        answer.verdict = answer.told.get("x-weir-verdict")
        return answer

    def login(self, user, password="wrong", ip="192.0.2.1", **headers):
        return self.post("/api/login", {"username": user, "password": password}, ip, **headers)

    def reward(self, user, gold, ocpc, os_name, ip="192.0.2.1"):
        return self.post("/api/ad/reward", {"gold": gold, "ocpc": ocpc}, ip, X_User_Id=user, X_Os=os_name)

    def test_one_address_with_changing_names_is_flagged_then_gray_then_denied(self):
        for number in range(1, 51):
            answer = self.login(f"name{number}")
            self.assertEqual(answer.status, 401, number)
            self.assertEqual(answer.verdict, None if number <= 5 else "flag" if number <= 10 else "gray", number)
            if number == 6:
                self.assertIn("login-per-ip", answer.told["x-weir-policy"])
        for number in range(51, 61):
            answer = self.login(f"name{number}")
            self.assertEqual(answer.status, 429, number)
            # Rounded up to whole seconds; the worker that answers may be a ms behind the one that listed.
            self.assertLessEqual(int(answer.header("retry-after")), 3601)
            self.assertGreater(int(answer.header("retry-after")), 3500)
        # The ban is on the address: a right password does not lift it, another address is free.
        self.assertEqual(self.login("somebody", "secret").status, 429)
        self.assertEqual(self.login("somebody", ip="192.0.2.2").status, 401)
        entries = self.weir.entries("login-per-ip")
        self.assertTrue(any("192.0.2.1" in json.dumps(entry) for entry in entries), entries)

    def test_one_name_is_challenged_at_the_sixth_wrong_login_from_any_address(self):
        for number in range(1, 6):
            self.assertEqual(self.login("Alice", ip=f"192.0.2.{number}").status, 401)
        sixth = self.login("alice", ip="192.0.2.200")  # the case of the name does not matter
        self.assertEqual(sixth.status, 403)
        self.assertIn(b"confirm", sixth.body)
        self.assertEqual(self.login("alice", "secret", ip="192.0.2.201").status, 403)
        self.assertEqual(self.login("bob", "secret", ip="192.0.2.200").status, 200)

    def test_a_right_login_clears_its_users_count_but_not_the_addresss(self):
        # Four: a request is judged before its outcome is known, so after five wrong ones a right one would
        # be the sixth and be challenged.
        for _ in range(4):
            self.assertEqual(self.login("carol", ip="192.0.2.30").status, 401)
        self.assertEqual(self.login("carol", "secret", ip="192.0.2.31").status, 200)
        for number in range(5):
            self.assertEqual(self.login("carol", ip=f"192.0.2.{40 + number}").status, 401, number)
        self.assertEqual(self.login("carol", ip="192.0.2.50").status, 403)
        # The address of the first four has not been forgiven: its second wrong login from here is its sixth.
        self.assertEqual(self.login("dave", "secret", ip="192.0.2.30").status, 200)
        self.assertIsNone(self.login("dave", ip="192.0.2.30").verdict)
        self.assertEqual(self.login("erin", ip="192.0.2.30").verdict, "flag")

    def test_the_fourth_account_on_a_device_is_gray(self):
        for number in range(1, 4):
            for _ in range(2):  # the same account again is no new one
                answer = self.login(f"user{number}", "secret", f"192.0.2.{number}", X_Device_Id="phone-1")
                self.assertEqual((answer.status, answer.verdict), (200, None), number)
        answer = self.login("user4", "secret", "192.0.2.4", X_Device_Id="phone-1")
        self.assertEqual((answer.status, answer.verdict), (200, "gray"))
        self.assertEqual(self.login("user1", "secret", "192.0.2.9", X_Device_Id="phone-1").verdict, "gray")
        self.assertIsNone(self.login("user4", "secret", "192.0.2.4", X_Device_Id="phone-2").verdict)

    def test_gold_reaches_its_threshold_by_channel_and_system_exactly(self):
        rows = [("baidu", "android", 3000), ("baidu", "ios", 2500), ("toutiao", "android", 2000),
                ("toutiao", "ios", 1800), ("toutiao", "harmony", 1800), ("kuaishou", "android", 1500)]
        for ocpc, os_name, limit in rows:
            user = f"{ocpc}-{os_name}"
            self.assertIsNone(self.reward(user, limit - 1, ocpc, os_name).verdict, user)
            self.assertEqual(self.reward(user, 1, ocpc, os_name).verdict, "gray", user)
            # The list is the user's, not the route's.
            everywhere = once(self.weir.port, "GET", "/api/echo", {"X-User-Id": user})
            self.assertEqual(json.loads(everywhere.body)["headers"].get("x-weir-verdict"), "gray", user)
        # A dimension of the table without a row: baidu knows android and ios only, so "*" holds.
        self.assertIsNone(self.reward("b-harmony", 1499, "baidu", "harmony").verdict)
        self.assertEqual(self.reward("b-harmony", 1, "baidu", "harmony").verdict, "gray")

    def test_an_office_address_is_never_touched(self):
        for ip in ("10.20.30.40", "203.0.113.9"):
            for number in range(60):
                answer = self.login(f"name{number}", ip=ip)
                self.assertEqual((answer.status, answer.told), (401, {}), (ip, number))
        for number in range(5):
            answer = self.login(f"user{number}", "secret", "10.20.30.40", X_Device_Id="kiosk")
            self.assertEqual((answer.status, answer.told), (200, {}))

    def test_copies_of_our_headers_that_a_client_sends_do_not_reach_the_app(self):
        answer = self.login("mallory", "secret", X_Weir_Verdict="allow", X_Weir_Policy="none", X_Weir_Score="0")
        self.assertEqual(answer.told, {})

    def test_the_lines_that_scripts_run_prints(self):
        printed = read("scripts", "run").split("<<'TEXT'\n")[1].split("\nTEXT\n")[0]
        lines = [line.strip() for line in printed.splitlines() if re.match(r"  (for|curl) ", line)]
        said = []
        for line in lines:
            line = line.replace(":8480/", f":{self.weir.port}/").replace(":8481/", f":{self.weir.admin_port}/")
            done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=True)
            said.append(done.stdout)
        addresses, one_name, device, gold, entries = said
        self.assertEqual([int(code) for code in re.findall(r"(\d{3})\n", addresses)], [401] * 50 + [429] * 2)
        self.assertEqual(re.findall(r'"x-weir-verdict": ?"(\w+)"', addresses), ["flag"] * 5 + ["gray"] * 40)
        self.assertEqual([int(code) for code in re.findall(r"(\d{3})\n", one_name)], [401] * 5 + [403])
        for name, answers, count in (("device", device, 4), ("gold", gold, 3)):
            answers = [json.loads(line) for line in answers.replace("}{", "}\n{").splitlines() if line]
            verdicts = [one.get("weir", {}).get("x-weir-verdict") for one in answers]
            self.assertEqual(verdicts, [None] * (count - 1) + ["gray"], name)
        self.assertIn("198.51.100.7", entries)

    def test_the_policies_are_those_of_the_recipes(self):
        status, policies = self.weir.admin("GET", "/v1/policies")
        self.assertEqual(status, 200)
        named = set(re.findall(r"[a-z]+(?:-per-)[a-z]+", json.dumps(policies)))
        self.assertLessEqual({"login-per-ip", "login-per-user", "accounts-per-device", "gold-per-user"}, named)
        self.assertEqual(self.weir.admin("GET", "/v1/status")[0], 200)


if __name__ == "__main__":
    unittest.main()

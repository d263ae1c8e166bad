"""What `include:` fetches: URLs and keys of Redis. A wrong one is refused, and the one before goes on."""

import re
import unittest

from http_client import once
from origin import Origin
from redis_process import Redis
from test_list_sources import Site
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

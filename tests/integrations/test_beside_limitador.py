"""weir beside the real limitador: the same limits, the same calls, and the same answers to the last field."""

import json
import os
import random
import shutil
import tempfile
import unittest

import peers
from http_client import Cut, once
from redis_process import Redis
from weir_process import Weir, free_port

HOUR = 3_600


def binary():
    where = os.environ.get("WEIR_PEERS") or os.path.join(peers.ROOT, "build", "peers")
    path = os.path.join(where, "limitador", "bin", "beside-limitador")
    return path if os.path.exists(path) else None


def limit(most, *conditions, by=(), seconds=HOUR, **more):
    return {"max_value": most, "seconds": seconds, "conditions": list(conditions), "variables": list(by), **more}


class Call:
    def __init__(self, path, values, delta=1, headers=None, **more):
        self.path = path
        self.body = {"values": values, "delta": delta, **more}
        if headers is not None:
            self.body["response_headers"] = headers


def both(values=None, delta=1, **more):
    return Call("/check_and_report", values or {}, delta, **more)


def check(values=None, delta=1):
    return Call("/check", values or {}, delta)


def report(values=None, delta=1):
    return Call("/report", values or {}, delta)


DRAFT = "DraftVersion03"
GET, POST = {"method": "GET"}, {"method": "POST"}


def holds(condition, *values, more=()):
    """Whether a condition holds, by a limit of 0: who is refused fulfils it."""
    return [limit(0, condition, **dict(more))], [check(one) for one in values]


A, B, NONE = {"x": "a"}, {"x": "b"}, {}
N1, N5, N10, WORD = {"n": "1"}, {"n": "5"}, {"n": "10"}, {"n": "five"}

# name -> (limits, calls): the two answer each call alike, and list the same limits and counters at the end.
CASES = {
    # Conditions.
    "equal": holds("descriptors[0].x == 'a'", A, B, NONE, {"y": "a"}),
    "equal, double quotes": holds('descriptors[0].x == "a"', A, B, NONE),
    "equal, by index": holds("descriptors[0]['x'] == 'a'", A, B, NONE),
    "equal, the other way round": holds("'a' == descriptors[0].x", A, B, NONE),
    "equal, two entries": holds("descriptors[0].x == descriptors[0].y", {"x": "a", "y": "a"}, {"x": "a", "y": "b"}, A, NONE),
    "a key with a dot": holds("descriptors[0]['req.method'] == 'GET'", {"req.method": "GET"}, {"req": "GET"}, NONE),
    "a key with a dash": holds("descriptors[0]['a-b'] == 'c'", {"a-b": "c"}, {"a": "c"}),
    "a key with a blank": holds("descriptors[0]['a b'] == 'c'", {"a b": "c"}, {"ab": "c"}),
    "not equal": holds("descriptors[0].x != 'a'", A, B, NONE, {"x": ""}),
    "equal to nothing": holds("descriptors[0].x == null", A, NONE),
    "not equal to nothing": holds("descriptors[0].x != null", A, NONE),
    "equal numbers of two entries": holds("int(descriptors[0].n) == int(descriptors[0].m)", {"n": "5", "m": "05"}, {"n": "5", "m": "6"}),
    "not equal, or": holds("descriptors[0].x == 'a' || descriptors[0].y != 'b'", A, {"x": "b", "y": "c"}, {"x": "b", "y": "b"}, B, NONE),
    "not one of two": holds("!(descriptors[0].x == 'a' || descriptors[0].y == 'b')", A, B, {"x": "b", "y": "c"}, {"x": "b", "y": "b"}, NONE),
    "not there, or another": holds("!has(descriptors[0].x) || descriptors[0].x != 'a'", A, B, NONE),
    "not both there and equal": holds("!(has(descriptors[0].x) && descriptors[0].x == 'a')", A, B, NONE),
    "a raw text": holds("descriptors[0].n.matches(r'^\\d+$')", N5, WORD),
    "not equal, the other way round": holds("'a' != descriptors[0].x", A, B, NONE),
    "in": holds("descriptors[0].x in ['a', 'c']", A, B, NONE, {"x": "c"}, {"x": ""}),
    "in an empty list": holds("descriptors[0].x in []", A, NONE),
    "not in": holds("!(descriptors[0].x in ['a', 'c'])", A, B, NONE),
    "has": holds("has(descriptors[0].x)", A, {"x": ""}, NONE, {"y": "a"}),
    "has not": holds("!has(descriptors[0].x)", A, {"x": ""}, NONE),
    "has, and": holds("has(descriptors[0].x) && descriptors[0].x == 'a'", A, B, NONE),
    "has not, or": holds("!has(descriptors[0].x) || descriptors[0].x == 'a'", A, B, NONE),
    "a key in a descriptor": holds("'x' in descriptors[0]", A, NONE),
    "size of a text": holds("size(descriptors[0].x) > 1", A, {"x": "ab"}, {"x": ""}),
    "size of a text, as a method": holds("descriptors[0].x.size() == 2", A, {"x": "ab"}),
    "startsWith": holds("descriptors[0].x.startsWith('/ad')", {"x": "/admin"}, {"x": "/ad"}, {"x": "/a"}, {"x": ""}, NONE),
    "endsWith": holds("descriptors[0].x.endsWith('.php')", {"x": "/a.php"}, {"x": ".php"}, {"x": "/a.phpx"}, NONE),
    "contains": holds("descriptors[0].x.contains('admin')", {"x": "/admin/"}, {"x": "admin"}, {"x": "adm"}, NONE),
    "contains nothing": holds("descriptors[0].x.contains('')", A, {"x": ""}, NONE),
    "matches": holds("descriptors[0].x.matches('^/v[0-9]+/')", {"x": "/v1/"}, {"x": "/v12/users"}, {"x": "/vx/"}, {"x": "/a/v1/"}, NONE),
    "matches anywhere": holds("descriptors[0].x.matches('b+')", {"x": "abbc"}, {"x": "ac"}),
    "matches to the end": holds("descriptors[0].x.matches('^a$')", A, {"x": "ab"}, {"x": "a\n"}),
    "and": holds("descriptors[0].x == 'a' && descriptors[0].y == 'b'", A, {"x": "a", "y": "b"}, {"x": "b", "y": "b"}, {"y": "b"}, NONE),
    "or": holds("descriptors[0].x == 'a' || descriptors[0].x == 'b'", A, B, {"x": "c"}, NONE),
    "and before or": holds("descriptors[0].x == 'a' || descriptors[0].x == 'b' && descriptors[0].y == 'c'",
                           A, {"x": "b", "y": "c"}, {"x": "b", "y": "d"}),
    "parentheses": holds("(descriptors[0].x == 'a' || descriptors[0].x == 'b') && descriptors[0].y == 'c'",
                         {"x": "a", "y": "c"}, {"x": "b", "y": "c"}, {"x": "a", "y": "d"}, A, NONE),
    "not": holds("!(descriptors[0].x == 'a')", A, B, NONE),
    "not a method": holds("!descriptors[0].x.startsWith('a')", A, B, NONE),
    "one or the other": holds("descriptors[0].x == 'a' ? descriptors[0].y == '1' : descriptors[0].y == '2'",
                              {"x": "a", "y": "1"}, {"x": "a", "y": "2"}, {"x": "b", "y": "2"}, {"x": "b", "y": "1"}),
    "true": holds("true", A, NONE),
    "false": holds("false", A, NONE),
    "several conditions": ([limit(0, "descriptors[0].x == 'a'", "descriptors[0].y != 'b'")],
                           [check(A), check({"x": "a", "y": "c"}), check({"x": "a", "y": "b"}), check({"y": "c"})]),
    "the same condition twice": ([limit(0, "descriptors[0].x == 'a'", "descriptors[0].x == 'a'")], [check(A), check(B)]),
    # Numbers and texts.
    "int()": holds("int(descriptors[0].n) > 4", N1, N5, N10),
    "int() and equal": holds("int(descriptors[0].n) == 5", N1, N5),
    "int(), at least and at most": holds("int(descriptors[0].n) >= 5 && int(descriptors[0].n) <= 9", N1, N5, N10),
    "int() of a negative number": holds("int(descriptors[0].n) < 0", {"n": "-3"}, N5),
    "int() and a sum": holds("int(descriptors[0].n) + 1 == 6", N1, N5),
    "int() and a rest": holds("int(descriptors[0].n) % 2 == 0", N10, N5),
    "double()": holds("double(descriptors[0].n) > 2.5", {"n": "2.6"}, {"n": "2.5"}, N5),
    "texts are compared as texts": holds("descriptors[0].n < '5'", N1, N5, N10, NONE),
    "a text at least": holds("descriptors[0].x >= 'b'", A, B, {"x": "ba"}, {"x": "B"}),
    "text of a number": holds("string(int(descriptors[0].n)) == '5'", N5, {"n": "05"}, N1),
    "a sum of texts": holds("descriptors[0].x + descriptors[0].y == 'ab'", {"x": "a", "y": "b"}, {"x": "b", "y": "a"}, A),
    "no condition on the call": holds("1 < 2", NONE),
    # Limits' own.
    "limit.name": ([limit(0, "limit.name == 'posts'", name="posts")], [check()]),
    "limit.name of another": ([limit(0, "limit.name == 'posts'", name="gets")], [check()]),
    "limit.name of none": ([limit(0, "limit.name == null")], [check()]),
    "limit.id": ([limit(0, "limit.id == 'one'", id="one")], [check()]),
    # Texts that need care.
    "a quote within quotes": holds("descriptors[0].x == \"it's\"", {"x": "it's"}, {"x": "its"}),
    "a double quote within quotes": holds("descriptors[0].x == 'say \"a\"'", {"x": 'say "a"'}, {"x": "say a"}),
    "an escaped quote": holds("descriptors[0].x == 'it\\'s'", {"x": "it's"}, {"x": "it\\'s"}),
    "a backslash": holds("descriptors[0].x == 'a\\\\b'", {"x": "a\\b"}, {"x": "a\\\\b"}),
    "a newline": holds("descriptors[0].x == 'a\\nb'", {"x": "a\nb"}, {"x": "anb"}),
    "unicode": holds("descriptors[0].x == 'na\u00efve \u4f60\u597d'", {"x": "na\u00efve \u4f60\u597d"}, {"x": "naive"}),
    "an emoji": holds("descriptors[0].x.contains('\U0001f600')", {"x": "a\U0001f600b"}, A),
    "unicode, escaped": holds("descriptors[0].x == '\\u00e9'", {"x": "\u00e9"}, {"x": "e\u0301"}),
    "case matters": holds("descriptors[0].x == 'A'", A, {"x": "A"}),
    "blanks matter": holds("descriptors[0].x == ' a '", {"x": " a "}, A),
    "an empty value": holds("descriptors[0].x == ''", {"x": ""}, A, NONE),
    "nul": holds("descriptors[0].x == 'a'", {"x": "a\x00"}, A),
    "blanks around": holds("  descriptors [ 0 ] . x   ==  'a'  ", A, B),
    "a comment": holds("descriptors[0].x == 'a' // only these", A, B),
    # Variables.
    "a variable": ([limit(2, by=["descriptors[0].u"])],
                   [both({"u": u}) for u in ("ann", "bob", "ann", "ann", "bob", "bob", "eve")]),
    "a variable that is missing": ([limit(0, by=["descriptors[0].u"])], [both(A), both({"u": "a"}), check(NONE)]),
    "a variable that is empty": ([limit(1, by=["descriptors[0].u"])], [both({"u": ""}), both({"u": ""}), both({"u": "a"})]),
    "two variables": ([limit(1, by=["descriptors[0].u", "descriptors[0].p"])],
                      [both(one) for one in ({"u": "a", "p": "b"}, {"u": "a", "p": "c"}, {"u": "a", "p": "b"}, {"u": "a"}, {"p": "b"})]),
    "two variables whose values run together": ([limit(1, by=["descriptors[0].u", "descriptors[0].p"])],
                                                [both(one) for one in ({"u": "a", "p": "b_c"}, {"u": "a_b", "p": "c"}, {"u": "ab", "p": "_c"})]),
    "a variable twice": ([limit(1, by=["descriptors[0].u", "descriptors[0].u"])], [both({"u": "a"}), both({"u": "a"}), both({"u": "b"})]),
    "a variable by index": ([limit(1, by=["descriptors[0]['user.id']"])],
                            [both({"user.id": "a"}), both({"user.id": "a"}), both({"user.id": "b"}), both({"user": "a"})]),
    "two spellings of a variable": ([limit(1, by=["descriptors[0].u", "descriptors[0]['u']"])], [both({"u": "a"}), both({"u": "a"})]),
    "values with quotes and more": ([limit(1, by=["descriptors[0].u"])],
                                    [both({"u": u}) for u in ("it's", 'a "b"', "a\\b", "\u4f60", "{a}", "it's", "\u4f60", "a\nb", "%00")]),
    "a long value": ([limit(1, by=["descriptors[0].u"])], [both({"u": "x" * 900}), both({"u": "x" * 900}), both({"u": "x" * 899})]),
    "case of a value": ([limit(1, by=["descriptors[0].u"])], [both({"u": "Ann"}), both({"u": "ann"}), both({"u": "Ann"})]),
    "values beyond those that are asked for": ([limit(1, by=["descriptors[0].u"])],
                                               [both({"u": "a", "z": "1"}), both({"u": "a", "z": "2"})]),
    # Counting.
    "no condition and no variable": ([limit(2)], [both(), both(A), both(B), check()]),
    "max_value 0": ([limit(0)], [both(), check(), report(), both(delta=0), check(delta=0)]),
    "max_value 1": ([limit(1)], [check(), both(), check(), both()]),
    "max_value of 53 bits": ([limit(2**53 - 1)], [both(), both(delta=2**53 - 1), both(delta=2**53 - 2), both()]),
    "delta 0": ([limit(1)], [both(delta=0), both(), both(delta=0), check(delta=0), both()]),
    "delta 5": ([limit(12)], [both(delta=5), both(delta=5), both(delta=5), both(delta=2), both()]),
    "delta over the limit": ([limit(4)], [both(delta=5), both(delta=4), both()]),
    "what is refused does not count": ([limit(3)], [both(delta=2), both(delta=2), both(delta=1), both()]),
    "a check does not count": ([limit(2)], [check()] * 4 + [both(), both(), check()]),
    "a check of more than is left": ([limit(3)], [check(delta=3), check(delta=4), both(), check(delta=2), check(delta=3)]),
    "a report counts": ([limit(3)], [report(), report(), check(), report(), check()]),
    "a report refuses nothing": ([limit(1)], [report()] * 3 + [check(), both()]),
    "a report of 0": ([limit(1)], [report(delta=0), check(), both(), report(delta=0), check()]),
    "a report over the limit": ([limit(3)], [report(delta=9), check(), both(), check(delta=0)]),
    "a report over one limit of two": ([limit(3, by=["descriptors[0].u"]), limit(20)],
                                       [report({"u": "a"}, 2), report({"u": "a"}, 9), both({"u": "b"}, 3), check({}, 6), check({}, 7)]),
    "several limits": ([limit(3, by=["descriptors[0].u"]), limit(5), limit(1, "descriptors[0].m == 'POST'")],
                       [both({"u": u, "m": m}) for u, m in (("a", "GET"), ("a", "POST"), ("a", "POST"), ("b", "POST"), ("b", "GET"),
                                                            ("a", "GET"), ("a", "GET"), ("b", "GET"), ("c", "GET"))]),
    "the narrower of two windows": ([limit(2, seconds=60), limit(9, seconds=HOUR)], [both()] * 4),
    "seconds of a month": ([limit(1, seconds=30 * 86_400)], [both(), both()]),
    # One limit in two spellings.
    "the same limit twice": ([limit(1), limit(1)], [both(), both(), check()]),
    "the same limit with two maxima": ([limit(1, name="first"), limit(3, name="second")], [both()] * 4),
    "the same limit with two maxima, the larger first": ([limit(3), limit(1)], [both()] * 4),
    "the same limit with two ids": ([limit(1, id="a"), limit(3, id="b")], [both()] * 4),
    "the same limit with its conditions in another order":
        ([limit(1, "descriptors[0].x == 'a'", "descriptors[0].y == 'b'"), limit(3, "descriptors[0].y == 'b'", "descriptors[0].x == 'a'")],
         [both({"x": "a", "y": "b"})] * 4),
    "the same limit with another spelling": ([limit(1, "descriptors[0].x == 'a'"), limit(3, "descriptors[0].x=='a'")], [both(A)] * 4),
    "limits that differ by seconds": ([limit(3, seconds=600), limit(2, seconds=HOUR)], [both()] * 4),
    "limits that differ by variables": ([limit(3), limit(2, by=["descriptors[0].u"])], [both({"u": "a"})] * 4 + [both({"u": "b"})] * 2),
    # The content of /limits and of headers.
    "id and name": ([limit(1, id="one", name="The \"best\" limit; of all")], [both(headers=DRAFT), both(headers=DRAFT)]),
    "headers": ([limit(3)], [both(headers=DRAFT)] * 5),
    "headers, delta": ([limit(9)], [both(delta=4, headers=DRAFT), both(delta=4, headers=DRAFT), both(delta=4, headers=DRAFT), both(headers=DRAFT)]),
    "headers of several limits": ([limit(9, name="all"), limit(2, by=["descriptors[0].u"], seconds=60, name="each"), limit(4, "descriptors[0].m == 'POST'")],
                                  [both({"u": "a", "m": "POST"}, headers=DRAFT)] * 3 + [both({"u": "b", "m": "GET"}, headers=DRAFT), both({"u": "c"}, headers=DRAFT)]),
    "headers of no limit": ([limit(1, "descriptors[0].x == 'a'")], [both(headers=DRAFT)]),
    "headers that are unknown": ([limit(1)], [both(headers="DRAFT_VERSION_03"), both(headers="NONE"), both(headers="")]),
    "headers are of check_and_report": ([limit(1)], [Call("/check", {}, headers=DRAFT), Call("/report", {}, headers=DRAFT)]),
    "unknown members of a call": ([limit(1)], [both(more=1, id="x"), both(limit={"max_value": 9}), check()]),
}

# Intended differences of weir: name -> (limits, calls, their statuses, weir's). 0: no answer, the connection ends.
REFUSED, PASSED = 429, 200
DIFFERENT = {
    # docs/migrating.md says each.
    "a condition that fails": (*holds("int(descriptors[0].n) > 4", N5, WORD, NONE), [REFUSED, 0, 0], [REFUSED, PASSED, PASSED]),
    "a function of what is not there": (*holds("size(descriptors[0].x) > 1", NONE), [0], [PASSED]),
    "size counts characters, as in CEL": (*holds("size(descriptors[0].x) == 2", {"x": "\u00e9\u00e9"}, {"x": "\u00e9"}),
                                          [PASSED, REFUSED], [REFUSED, PASSED]),
    "not not": (*holds("!!(descriptors[0].x == 'a')", A, B), [PASSED, REFUSED], [REFUSED, PASSED]),
    "size of a descriptor": (*holds("size(descriptors[0]) == 1", A), [REFUSED], [PASSED]),
    "size of the list": (*holds("size(descriptors) == 1", A), [REFUSED], [PASSED]),
    "an empty key": (*holds("descriptors[0][''] == 'a'", {"": "a"}), [REFUSED], [PASSED]),
    "the other side decides": (*holds("descriptors[0].x == 'a' || descriptors[0].y == 'b'", {"y": "b"}), [PASSED], [REFUSED]),
    "a delta that goes round": ([limit(5)], [both(), both(delta=2**64 - 1), both()], [PASSED, PASSED, PASSED], [PASSED, REFUSED, PASSED]),
    "the dialect of limitador 1": (*holds("x == 'a'", A, B), [PASSED, PASSED], [REFUSED, PASSED]),
    "a variable of limitador 1": ([limit(0, by=["u"])], [check({"u": "a"})], [PASSED], [REFUSED]),
}

# Calls with several descriptors, as Envoy makes them: name -> (limits, calls, their statuses, weir's).
# Each descriptor is an event of its own in weir, whatever its place.
SEVERAL = {
    "one": ([limit(1, "descriptors[0].x == 'a'")], [[A], [B], [A]], [200, 200, 429], [200, 200, 429]),
    "the first one asked": ([limit(1, "descriptors[0].x == 'a'")], [[A, {"y": "b"}]] * 2, [200, 429], [200, 429]),
    "variables of the first": ([limit(1, by=["descriptors[0].u"])], [[{"u": "a"}, A], [{"u": "b"}, A], [{"u": "a"}, B]],
                               [200, 200, 429], [200, 200, 429]),
    "a condition on the second": ([limit(1, "descriptors[1].x == 'a'")], [[{"y": "b"}, A]] * 2, [200, 429], [200, 429]),
    "a condition on the second, which is not there": ([limit(0, "descriptors[1].x == 'a'")], [[B]], [0], [200]),
    "a condition on the first, which the second fulfils": ([limit(0, "descriptors[0].x == 'a'")], [[B, A]], [200], [429]),
    "both fulfil it": ([limit(3, "descriptors[0].x == 'a'")], [[A, A]] * 3, [200, 200, 200], [200, 429, 429]),
    "conditions on both": ([limit(0, "descriptors[0].x == 'a'", "descriptors[1].y == 'b'")], [[A, {"y": "b"}]], [429], [200]),
    "no condition": ([limit(2)], [[A, B]] * 3, [200, 200, 429], [200, 429, 429]),
}


class Beside(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if binary() is None:
            raise unittest.SkipTest("there is no limitador on this machine: scripts/deps peers")

    def start(self, limits):
        """Both over the same file: their ports."""
        text = limits if isinstance(limits, str) else json.dumps(limits, ensure_ascii=False)
        scratch = tempfile.TemporaryDirectory(prefix="weir-limitador-")
        self.addCleanup(scratch.cleanup)
        with open(os.path.join(scratch.name, "limits.yaml"), "w", encoding="utf-8") as f:
            f.write(text)
        self.their_port = free_port()
        theirs = peers.Peer([binary(), str(self.their_port), "limits.yaml"], scratch.name, self.their_port)
        self.addCleanup(theirs.stop)
        self.addCleanup(self.weir(text).start().kill)

    policies, extra = "policies: []\n", ""

    def weir(self, limits):
        self.our_port = free_port()
        return Weir(self.policies, 1, extra=f"api: {{listen: 127.0.0.1:{self.our_port}}}\ngrpc: {{listen: none}}\n"
                    "ratelimit: {limitador: limits.yaml, json: true}\n" + self.extra, files={"limits.yaml": limits})

    @staticmethod
    def post(port, path, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            return once(port, "POST", path, {"Content-Type": "application/json"}, data, host=f"127.0.0.1:{port}")
        except (Cut, ConnectionError):
            return None

    def told(self, port, path, body):
        """What a caller sees of an answer; of the seconds to the reset whether they are there."""
        answer = self.post(port, path, body)
        if answer is None:
            return (0,)
        text = answer.body.decode() if answer.status in (200, 429) else ""
        first, *limits = (answer.header("x-ratelimit-limit") or "").split(", ")
        # Of several limits with as little left any may be the first.
        self.assertTrue(not limits or first in [one.split(";")[0] for one in limits], answer.headers)
        reset = answer.header("x-ratelimit-reset")
        return answer.status, text, sorted(limits), answer.header("x-ratelimit-remaining"), reset is not None

    def listed(self, port, what, space):
        answer = once(port, "GET", f"/{what}/{space}", host=f"127.0.0.1:{port}")
        self.assertEqual(answer.status, 200)
        out = json.loads(answer.body)
        if what == "counters" and port == self.their_port:
            # limitador lists empty counters once a call was refused or counted as 0; and a counter over its limit
            # goes round below 0.
            out = [one for one in out if one["remaining"] != one["limit"]["max_value"]]
            for one in out:
                one["remaining"] = 0 if one["remaining"] > one["limit"]["max_value"] else one["remaining"]
        for one in out:
            of = one.get("limit", one)
            of["conditions"].sort()
            of["variables"].sort()
            if what == "counters":
                left = one.pop("expires_in_seconds")
                self.assertTrue(of["seconds"] - 60 <= left <= of["seconds"], (port, left, one))
        return sorted(out, key=lambda one: json.dumps(one, sort_keys=True))

    def test_what_weir_does_differently_on_purpose(self):
        spaces = {name: f"case-{n}" for n, name in enumerate(DIFFERENT)}
        self.start([{"namespace": spaces[name], **one} for name, (limits, *_) in DIFFERENT.items() for one in limits])
        for name, (_, calls, theirs, ours) in DIFFERENT.items():
            with self.subTest(name):
                got = [[self.told(port, call.path, {"namespace": spaces[name], **call.body})[0] for call in calls]
                       for port in (self.their_port, self.our_port)]
                self.assertEqual(got, [theirs, ours])

    def test_several_descriptors(self):
        spaces = {name: f"case-{n}" for n, name in enumerate(SEVERAL)}
        self.start([{"namespace": spaces[name], **one} for name, (limits, *_) in SEVERAL.items() for one in limits])
        for name, (_, calls, theirs, ours) in SEVERAL.items():
            with self.subTest(name):
                got = [self.told(self.their_port, "/descriptors", {"namespace": spaces[name], "descriptors": call, "delta": 1})[0] for call in calls]
                self.assertEqual(got, theirs)
                got = [self.post(self.our_port, "/json", {"domain": spaces[name], "descriptors": [
                    {"entries": [{"key": key, "value": value} for key, value in one.items()]} for one in call]}).status for call in calls]
                self.assertEqual(got, ours)

    def test_files_that_do_not_load(self):
        whole = {"namespace": "shop", **limit(1, "descriptors[0].x == 'a'")}
        for text in ("no limits\n", "- [\n", "{}\n", json.dumps([{**whole, "conditions": ["descriptors[0].x =="]}]),
                     json.dumps([{**whole, "conditions": ["(descriptors[0].x == 'a'"]}]), json.dumps([{**whole, "conditions": ["descriptors[0].x = 'a'"]}])):
            with self.subTest(text), self.assertRaisesRegex(AssertionError, "ended with 1"):
                self.start(text)  # theirs
            with self.subTest(text), self.assertRaisesRegex(AssertionError, "ended with 1"):
                with self.weir(text):
                    pass

    def test_calls_that_are_none(self):
        self.start([{"namespace": "shop", **limit(99)}])
        whole = {"namespace": "shop", "values": {}, "delta": 1}
        bodies = [b"", b"{", b"[]", b"null", b"5", b'"x"', b"\xff", b"{}", json.dumps(whole).encode() + b"x", json.dumps(whole).encode()[:-1],
                  b'{"namespace": "shop", "values": {}, "delta": 18446744073709551616}', b'{"namespace": "shop", "values": {}, "delta": 1e0}',
                  b'{"namespace": "sh\xffop", "values": {}, "delta": 1}', b"{'namespace': 'shop', 'values': {}, 'delta': 1}",
                  b'{"namespace": "shop", "values": {"a": "b", "a": "c"}, "delta": 1}',
                  *({name: value for name, value in whole.items() if name != without} for without in whole),
                  *({**whole, **more} for more in ({"delta": -1}, {"delta": 1.5}, {"delta": "1"}, {"delta": None}, {"delta": True}, {"delta": 2**53},
                                                   {"namespace": None}, {"namespace": 5}, {"namespace": ""}, {"values": None}, {"values": []},
                                                   {"values": {"a": 1}}, {"values": {"a": None}}, {"values": {"a": ["b"]}}, {"values": {"a": {}}},
                                                   {"response_headers": None}, {"response_headers": 5}, {"response_headers": []}, {"x": {"y": [1]}}))]
        for path in ("/check", "/report", "/check_and_report"):
            for body in bodies:
                with self.subTest(path, body=body):
                    got = [self.post(port, path, body) for port in (self.their_port, self.our_port)]
                    self.assertEqual(*[answer.status for answer in got])
        for method, path in [(method, path) for method in ("GET", "PUT", "DELETE") for path in ("/check", "/report", "/check_and_report")] + [
                (method, path) for method in ("POST", "PUT", "DELETE") for path in ("/limits/shop", "/counters/shop")] + [
                ("GET", path) for path in ("/", "/limits", "/limits/", "/counters", "/counters/", "/limits/shop/", "/limits/a/b", "/check/", "/else",
                                           "/limits/nowhere", "/counters/nowhere", "/limits/sh%6Fp", "/counters/sh%6fp", "/limits/shop?a=b", "/limits/a%2Fb")]:
            with self.subTest(method, path=path):
                got = [once(port, method, path, host=f"127.0.0.1:{port}").status for port in (self.their_port, self.our_port)]
                # Where another method is meant weir says which; there nothing is.
                self.assertIn(got, ([got[0]] * 2, [404, 405]))

    def test_windows_begin_with_the_first_hit(self):
        self.start([{"namespace": "shop", **limit(2, by=by, seconds=2)} for by in ((), ["descriptors[0].u"])])
        both_ports = (self.their_port, self.our_port)

        def ask(path, delta=1):
            return [self.post(port, path, {"namespace": "shop", "values": {"u": "a"}, "delta": delta, "response_headers": DRAFT})
                    for port in both_ports]
        self.assertEqual([answer.status for _ in range(3) for answer in ask("/check_and_report")], [200, 200, 200, 200, 429, 429])
        peers.wait(1.2)
        answers = ask("/check_and_report")
        self.assertEqual([answer.status for answer in answers], [429, 429])
        # The rest of the window, which limitador rounds down.
        self.assertEqual([answer.header("x-ratelimit-reset") for answer in answers], ["0", "1"])
        for port in both_ports:
            for one in json.loads(once(port, "GET", "/counters/shop", host=f"127.0.0.1:{port}").body):
                self.assertLessEqual(one["expires_in_seconds"], 1)
        peers.wait(1)
        for port in both_ports:
            self.assertEqual(self.listed(port, "counters", "shop"), [])
        self.assertEqual([answer.status for _ in range(3) for answer in ask("/check_and_report")], [200, 200, 200, 200, 429, 429])

    def test_random_calls(self):
        seed = random.randrange(1 << 30)
        dice = random.Random(seed)
        print(f"seed {seed}")
        keys, values = ("a", "b", "c", "d.e"), ("x", "y", "z", "", "1", "42", "xyz", "it's", 'say "x"', "\u00e9", "x y", "a/b", "*")

        def entry():
            return f"descriptors[0][{json.dumps(dice.choice(keys))}]"

        def atom():
            text = json.dumps(dice.choice(values), ensure_ascii=False)
            one = entry()
            return dice.choice((f"{one} == {text}", f"{text} == {one}", f"{one} != {text}", f"{one} in [{text}, 'y']", f"!({one} in [{text}, 'y'])",
                                f"has({one.replace('[0][', '[0].', 1).replace(chr(34), '').rstrip(']')})" if "." not in one[13:] else "true",
                                f"{one}.startsWith({text})", f"!{one}.contains({text})", f"{one}.endsWith('z')", f"{one}.matches('^[a-z]+$')",
                                f"{one} >= {text}", f"({one} == {text} || {one} == 'z')"))

        def one_limit():
            by = dice.sample(keys, dice.choice((0, 0, 1, 1, 2)))
            return limit(dice.choice((0, 1, 3, 7, 20)), *[" && ".join(atom() for _ in range(dice.choice((1, 1, 2)))) for _ in range(dice.choice((0, 1, 1, 2)))],
                         by=[f"descriptors[0][{json.dumps(key)}]" for key in by], seconds=dice.choice((600, HOUR)),
                         **({"name": dice.choice(("n", "m"))} if dice.random() < 0.3 else {}))
        spaces = [f"random-{n}" for n in range(60)]
        limits = [{"namespace": space, **one_limit()} for space in spaces for _ in range(dice.choice((1, 2, 3)))]
        self.start(limits)
        refused = 0
        for n in range(2_000):
            call = {"namespace": dice.choice(spaces), "values": {key: dice.choice(values) for key in keys if dice.random() < 0.7},
                    "delta": dice.choice((0, 1, 1, 1, 2, 5))}
            path = dice.choice(("/check", "/report", "/check_and_report", "/check_and_report"))
            if dice.random() < 0.3:
                call["response_headers"] = DRAFT
            got = [self.told(port, path, call) for port in (self.our_port, self.their_port)]
            self.assertEqual(*got, f"seed {seed}, call {n}: {path} {call} {[one for one in limits if one['namespace'] == call['namespace']]}")
            refused += got[0][0] == 429
        self.assertGreater(refused, 100)
        for space in spaces:
            for what in ("limits", "counters"):
                self.assertEqual(self.listed(self.our_port, what, space), self.listed(self.their_port, what, space), f"seed {seed}, {space}")

    def test_cases(self):
        self.check_cases()

    def test_cases_with_counts_in_redis(self):
        if shutil.which("redis-server") is None:
            self.skipTest("there is no redis-server on this machine")
        redis = Redis().start()
        self.addCleanup(redis.kill)
        self.policies = "defaults: {share: redis}\npolicies: []\n"
        # One connection to Redis: what is taken back there after a refusal comes before the next call.
        self.extra = f"threads: 1\nredis: {{{redis.where}, timeout: 5s, budget: 1s, secret: {'s' * 32}}}\n"
        self.check_cases()

    def check_cases(self):
        spaces = {name: f"case-{n}" for n, name in enumerate(CASES)}
        self.start([{"namespace": spaces[name], **one} for name, (limits, _) in CASES.items() for one in limits])
        for name, (_, calls) in CASES.items():
            with self.subTest(name):
                got = {port: [self.told(port, call.path, {"namespace": spaces[name], **call.body}) for call in calls]
                       for port in (self.their_port, self.our_port)}
                self.assertEqual(got[self.our_port], got[self.their_port])
            for what in ("limits", "counters"):
                with self.subTest(name, what=what):
                    self.assertEqual(self.listed(self.our_port, what, spaces[name]), self.listed(self.their_port, what, spaces[name]))


if __name__ == "__main__":
    unittest.main()

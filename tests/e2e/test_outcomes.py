"""Counting by outcome when many requests are in flight at once."""

import json
import threading
import unittest

from http_client import Client, once, parallel, render
from origin import Origin, after, answer
from weir_process import Weir, eventually

POLICIES = """
events:
  login: {match: POST /api/login, fields: {user: body.username}}
  login_failed: {is: login, when: 'status in [401, 403]'}
policies:
  - name: guesses
    watch: login_failed
    key: ip
    window: 10m
    then: [{over: 5, do: deny, for: 1h, tell: retry}]
"""
REFUSED = (429,)


def login(user="alice", ip="192.0.2.1"):
    body = json.dumps({"username": user, "password": "guess"}).encode()
    return render("POST", "/api/login", {"Content-Type": "application/json", "X-Forwarded-For": ip}, body)


class Outcomes(unittest.TestCase):
    def test_of_a_thousand_parallel_wrong_logins_five_reach_the_app(self):
        with Origin(after(0.2, answer(401, b"no"))) as origin, Weir(POLICIES, origin.port) as weir:
            answers = parallel(weir.port, [login(f"user{n}") for n in range(1000)])
            statuses = [a.status if a else None for a in answers]
            self.assertLessEqual(origin.count(), 5)
            self.assertEqual(statuses.count(401), 5)
            self.assertEqual(sum(s in REFUSED for s in statuses), 995, set(statuses))
            self.assertTrue(all(a.header("retry-after") for a in answers if a.status == 429))
            # The five have settled: the address is on the list, and stays out.
            self.assertIn(once(weir.port, "POST", "/api/login", {"X-Forwarded-For": "192.0.2.1"}, b"{}").status, REFUSED)
            self.assertLessEqual(origin.count(), 5)

    def test_of_twenty_parallel_right_logins_none_is_refused_and_nobody_listed(self):
        with Origin(after(0.1, answer(200, b"welcome"))) as origin, Weir(POLICIES, origin.port) as weir:
            for _ in range(3):
                statuses = [a.status if a else None for a in parallel(weir.port, [login()] * 20)]
                self.assertEqual(statuses, [200] * 20)
            self.assertEqual(origin.count(), 60)
            self.assertEqual(weir.entries("guesses"), [])

    def test_clients_that_hang_up_after_sending_are_counted(self):
        release = threading.Event()
        self.addCleanup(release.set)

        def hold(request):
            if request.header("x-wait"):
                release.wait(20)
            return answer(401, b"no")

        with Origin(hold) as origin, Weir(POLICIES, origin.port) as weir:
            clients = [Client(weir.port) for _ in range(5)]
            for client in clients:
                client.send("POST", "/api/login", {"X-Forwarded-For": "192.0.2.1", "X-Wait": "1"}, b'{"username":"a"}')
            eventually(lambda: origin.count() == 5, what="five requests at the app")
            for client in clients:
                client.close()
            # A closed socket looks like one whose client still reads, so the app's answer is awaited: until then
            # the five hold their places, and afterwards they are counted as what they were.
            sixth = once(weir.port, "POST", "/api/login", {"X-Forwarded-For": "192.0.2.1"}, b'{"username":"a"}')
            self.assertIn(sixth.status, REFUSED)
            release.set()
            eventually(lambda: weir.entries("guesses") or once(
                weir.port, "POST", "/api/login", {"X-Forwarded-For": "192.0.2.1"}, b'{"username":"a"}').status == 200,
                what="the sixth guess listed by five settled ones")
            self.assertEqual(len(weir.entries("guesses")), 1)
            self.assertEqual(origin.count(), 5)
            other = once(weir.port, "POST", "/api/login", {"X-Forwarded-For": "192.0.2.2"}, b'{"username":"a"}')
            self.assertEqual(other.status, 401)

    def test_hanging_up_at_once_buys_no_guess(self):
        with Origin(after(0.05, answer(401, b"no"))) as origin, Weir(POLICIES, origin.port) as weir:
            for _ in range(100):
                with Client(weir.port) as client:
                    client.socket.sendall(login())
            # The requests that were sent are worked off: a later request of the same address waits for the reservations.
            eventually(lambda: once(weir.port, "POST", "/api/login", {"X-Forwarded-For": "192.0.2.1"},
                                    b'{"username":"a"}').status in REFUSED, what="a refusal")
            self.assertLessEqual(origin.count(), 5)

    def test_an_upstream_failure_releases_its_reservation(self):
        with Origin(lambda request: None) as origin, Weir(POLICIES, origin.port) as weir:
            for _ in range(12):
                self.assertEqual(once(weir.port, "POST", "/api/login", {"X-Forwarded-For": "192.0.2.1"},
                                      b'{"username":"a"}').status, 502)
            origin.handler = lambda request: answer(401, b"no")
            statuses = [once(weir.port, "POST", "/api/login", {"X-Forwarded-For": "192.0.2.1"},
                             b'{"username":"a"}').status for _ in range(6)]
            self.assertEqual(statuses, [401] * 5 + [429])


if __name__ == "__main__":
    unittest.main()

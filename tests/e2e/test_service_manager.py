"""weir as a service of systemd (Type=notify): what it says over NOTIFY_SOCKET, and when."""

import os
import signal
import socket
import tempfile
import unittest

from origin import Origin
from weir_process import Weir, eventually

POLICY = "policies: [{name: p, watch: request, key: ip, window: 1m, then: [{over: %d, do: flag}]}]\n"


class Manager:
    """The other end of the socket."""

    def __init__(self, test, watchdog_usec=None):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        test.addCleanup(self.socket.close)
        self.socket.bind(path)
        self.socket.setblocking(False)
        self.heard = []
        variables = {"NOTIFY_SOCKET": path, **({"WATCHDOG_USEC": str(watchdog_usec)} if watchdog_usec else {})}
        for name, value in variables.items():
            os.environ[name] = value
            test.addCleanup(os.environ.pop, name)

    def listen(self):
        while True:
            try:
                self.heard.append(self.socket.recv(4096).decode())
            except BlockingIOError:
                return self.heard

    def words(self, but="WATCHDOG=1"):
        return [message.split("\n")[0] for message in self.listen() if message != but]


class ServiceManager(unittest.TestCase):
    def test_ready_reloading_stopping(self):
        manager = Manager(self)
        with Origin() as origin, Weir(POLICY % 5, origin.port, extra="drain: {delay: 0s, timeout: 5s}\n") as weir:
            eventually(lambda: manager.words() == ["READY=1"], what="READY=1")
            self.assertEqual(manager.heard[0], "READY=1\nSTATUS=serving, 1 policies")
            weir.signal(signal.SIGHUP)
            eventually(lambda: manager.words() == ["READY=1", "RELOADING=1", "READY=1"], what="a reload")
            self.assertRegex(manager.heard[1], r"^RELOADING=1\nMONOTONIC_USEC=[1-9]\d+\n")
            # A configuration that is refused: weir is ready all the same, and says what is wrong.
            weir.write("policies: [\n")
            self.assertEqual(weir.reload()[0], 422)
            eventually(lambda: "the last reload failed" in manager.listen()[-1], what="the refused reload")
            weir.signal(signal.SIGTERM)
            self.assertEqual(weir.process.wait(20), 0)
            [draining] = weir.logged("draining")
            self.assertIn("cuts open requests after 5 s, and ends after 18 s at the latest;", draining["hint"], "17.5 s, as the next line has it")
            self.assertIn("STOPPING=1\nEXTEND_TIMEOUT_USEC=17500000\nSTATUS=draining", manager.listen())
            self.assertEqual(manager.words()[-1], "STOPPING=1")

    def test_the_watchdog_is_fed_while_the_loops_turn(self):
        manager = Manager(self, watchdog_usec=900_000)
        with Weir(POLICY % 5, 9) as weir:
            eventually(lambda: manager.listen().count("WATCHDOG=1") >= 3, what="three signs of life")
            # A stopped process gives none; a running one continues.
            weir.signal(signal.SIGSTOP)
            manager.listen()
            count = manager.heard.count("WATCHDOG=1")
            with self.assertRaises(AssertionError):
                eventually(lambda: manager.listen().count("WATCHDOG=1") > count, 1)
            weir.signal(signal.SIGCONT)
            eventually(lambda: manager.listen().count("WATCHDOG=1") > count, what="signs of life again")


if __name__ == "__main__":
    unittest.main()

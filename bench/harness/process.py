"""Child processes that are ended by pid, whatever happens to us."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time


class Failure(Exception):
    """Something that makes a measurement meaningless; its text is for the user."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def exit_on_signals():
    """SIGTERM and SIGHUP unwind the stack like Ctrl-C does, so that every `finally` runs."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _frame: sys.exit(128 + n))


def pinned(core, command):
    """`command` on one core; on a machine with a single core, where there is no choice, as it is."""
    cores = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(cores[core]), *command] if core < len(cores) else list(command)


def favour(pid):
    """With autogroups, niceness means nothing between sessions; the group's own does. Needs root."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as f:
            f.write("-15")


class Child:
    """A process of ours, in a session of its own."""

    def __init__(self, name, command, log):
        self.name, self.command, self.log = name, command, log
        # WEIR_* would change weir's configuration behind the back of the measurement.
        environment = {key: value for key, value in os.environ.items() if not key.startswith("WEIR_")}
        with open(log, "wb") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                            start_new_session=True, env=environment)
        self.pid = self.process.pid
        favour(self.pid)

    def check_alive(self):
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8", errors="replace") as f:
                tail = f.read()[-2000:]
            raise Failure(f"{self.name} ended with {self.process.returncode}: {' '.join(self.command)}\n{tail}")

    def wait_listening(self, port, seconds=10):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.check_alive()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.02)
        raise Failure(f"{self.name} does not listen on port {port} after {seconds} s")

    def stop(self, seconds=10):
        """SIGTERM, then SIGKILL after `seconds`."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@contextlib.contextmanager
def scratch(below=None):
    with tempfile.TemporaryDirectory(prefix="weir-bench-", dir=below) as path:
        yield path

"""`scripts/bench start`: from exec to ready, and resident memory when idle, with 100 policies in force."""

import contextlib
import http.client
import os
import statistics
import time

from . import conditions, products
from .process import Child, Failure, favour, free_port, scratch


def add_arguments(parser):
    parser.add_argument("--policies", type=int, default=100)
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--memory", default="16MiB", help="limits.memory; that of the manifests in k8s/")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


def configuration(o, port, health, directory):
    """As a sidecar has it: doors, health, state, and policies that differ in route, key and limits."""
    lines = ["weir: 1", f"proxy: {{listen: 127.0.0.1:{port}, upstream: http://127.0.0.1:{free_port()}}}",
             f"admin: {{listen: 'unix:{directory}/admin.sock'}}", f"health: {{listen: 127.0.0.1:{health}}}",
             "api: {listen: none}", "grpc: {listen: none}", f"state: {{dir: {directory}/state}}",
             f"limits: {{memory: {o.memory}}}", "log: {level: error}", "policies:"]
    keys = ("ip", "body.user", "header.x_user_id", "[ip, header.x_device_id]")
    for n in range(o.policies):
        lines.append(f"  - {{name: policy-{n}, watch: event_{n}, key: {keys[n % 4]}, missing: skip, window: {1 + n % 50}m, "
                     f"then: [{{over: {5 + n}, do: flag}}, {{over: {10 + n}, do: deny, for: 1h}}]}}")
    lines.append("events:")
    for n in range(o.policies):
        when = ", when: 'status == 401'" if n % 3 == 0 else ""
        lines.append(f"  event_{n}: {{match: POST /api/route/{n}{when}}}")
    path = os.path.join(directory, "weir.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return path


def is_ready(port):
    with contextlib.suppress(OSError, http.client.HTTPException):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        try:
            client.request("GET", "/readyz")
            return client.getresponse().status == 200
        finally:
            client.close()
    return False


def cpu_ms(pid):
    """CPU time of all its threads."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e6


def resident(pid):
    """MiB: all, and what no file could give back."""
    values = {}
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        for line in f:
            if line.startswith(("VmRSS", "RssAnon")):
                values[line.split(":")[0]] = int(line.split()[1]) / 1024
    return values["VmRSS"], values["RssAnon"]


def one(o, directory):
    os.makedirs(directory)
    port, health = free_port(), free_port()
    command = [products.Weir.binary, "serve", "-c", configuration(o, port, health, directory)]
    begin = time.monotonic()
    child = Child("weir", command, os.path.join(directory, "output.log"))
    try:
        while not is_ready(health):
            child.check_alive()
            if time.monotonic() - begin > 10:
                raise Failure("weir is not ready after 10 s")
            time.sleep(0.0005)
        ready = (time.monotonic() - begin) * 1000
        cpu = cpu_ms(child.pid)
        time.sleep(1.2)  # a tick of the second
        return ready, cpu, *resident(child.pid)
    finally:
        child.stop()


def run(o):
    favour(os.getpid())
    with scratch() as directory:
        rows = [one(o, os.path.join(directory, str(i))) for i in range(o.runs)]
    lines = [f"weir with {o.policies} policies, limits.memory {o.memory}, {o.runs} starts, {os.cpu_count()} processors, load "
             f"{os.getloadavg()[0]:.1f}", "", f"{'':34}{'least':>9}{'median':>9}{'most':>9}"]
    for i, name in enumerate(("exec to ready, ms", "CPU time to ready, ms", "resident when idle, MiB", "of that not of files, MiB")):
        values = [row[i] for row in rows]
        lines.append(f"{name:34}{min(values):9.1f}{statistics.median(values):9.1f}{max(values):9.1f}")
    table = "\n".join(lines)
    print(table)
    if o.save:
        conditions.save(o.save, "Start and idle memory", {"weir": products.Weir.version()}, table, "\n".join(map(repr, rows)))
    return 0

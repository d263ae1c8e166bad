"""`scripts/bench start`: from exec to ready, and resident memory when idle, with 100 policies in force.

The gate: memory is the same in every run, so the most counts; of the times the least. Where others have the processors, the clock says
nothing: there the CPU time counts, which then is up to three times what it is alone."""

import contextlib
import http.client
import os
import statistics
import time

from . import conditions, products
from .process import Child, Failure, favour, free_port, scratch

READY_MS_MOST = 50
BUSY_CPU_MS_MOST = 100
RESIDENT_BYTES_MOST = 15_000_000


def add_arguments(parser):
    parser.add_argument("--policies", type=int, default=100)
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--memory", default="16MiB", help="limits.memory; that of the manifests in k8s/")
    parser.add_argument("--image", metavar="ROOT", help="the program and the libraries of an image that is unpacked there")
    parser.add_argument("--gate", action="store_true",
                        help=f"fail above {READY_MS_MOST} ms (the fastest start) and {RESIDENT_BYTES_MOST:,} bytes resident")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


def program(o):
    """The command that is weir. An image is the root of the file system, with /proc, as for a container."""
    if not o.image:
        return [products.Weir.binary]
    contain = 'mkdir -p "$0/proc" && mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", contain, o.image, "/usr/bin/weir"]


def configuration(o, port, health, directory, seen):
    """As a sidecar has it: doors, health, state, and policies that differ in route, key and limits. `seen`: the directory, as weir sees it."""
    lines = ["weir: 1", f"proxy: {{listen: 127.0.0.1:{port}, upstream: http://127.0.0.1:{free_port()}}}",
             f"admin: {{listen: 'unix:{seen}/admin.sock'}}", f"health: {{listen: 127.0.0.1:{health}}}",
             "api: {listen: none}", "grpc: {listen: none}", f"state: {{dir: {seen}/state}}",
             f"limits: {{memory: {o.memory}}}", "log: {level: error}", "policies:"]
    keys = ("ip", "body.user", "header.x_user_id", "[ip, header.x_device_id]")
    for n in range(o.policies):
        lines.append(f"  - {{name: policy-{n}, watch: event_{n}, key: {keys[n % 4]}, missing: skip, window: {1 + n % 50}m, "
                     f"then: [{{over: {5 + n}, do: flag}}, {{over: {10 + n}, do: deny, for: 1h}}]}}")
    lines.append("events:")
    for n in range(o.policies):
        when = ", when: 'status == 401'" if n % 3 == 0 else ""
        lines.append(f"  event_{n}: {{match: POST /api/route/{n}{when}}}")
    with open(os.path.join(directory, "weir.yaml"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return os.path.join(seen, "weir.yaml")


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
    seen = directory.removeprefix(o.image) if o.image else directory
    command = [*program(o), "serve", "-c", configuration(o, port, health, directory, seen)]
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
    load = os.getloadavg()[0]
    o.image = os.path.abspath(o.image) if o.image else None
    with scratch(os.path.join(o.image, "tmp") if o.image else None) as directory:
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
    return gate(rows, load) if o.gate else 0


def gate(rows, load):
    """`load`: the machine's, with nothing of ours."""
    ready, cpu, bytes_resident = min(row[0] for row in rows), min(row[1] for row in rows), max(row[2] for row in rows) * 2**20
    in_time, small = ready <= READY_MS_MOST, bytes_resident <= RESIDENT_BYTES_MOST
    print(f"gate: ready after {ready:.1f} ms, at most {READY_MS_MOST}: {'ok' if in_time else 'TOO LATE'}")
    if not in_time and load > 1:
        in_time = cpu <= BUSY_CPU_MS_MOST
        print(f"gate: on a busy machine {cpu:.1f} ms of CPU time, at most {BUSY_CPU_MS_MOST}: {'ok' if in_time else 'TOO LATE'}")
    print(f"gate: {bytes_resident:,.0f} bytes resident, at most {RESIDENT_BYTES_MOST:,}: {'ok' if small else 'TOO MANY'}")
    return 0 if in_time and small else 1

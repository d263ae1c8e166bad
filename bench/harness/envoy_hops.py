"""`scripts/bench envoy`: what asking weir adds to a request through Envoy, by gRPC and by HTTP, over TCP and over Unix sockets.

One Envoy with one thread has a listener for each way, and one without weir; it shares core 0 with the weirs, as in a pod. Load and app
are on core 1, at a fixed rate that nothing here is busy with. scripts/deps peers installs Envoy."""

import json
import os
import subprocess
from statistics import median

from . import conditions, load, products
from .process import Child, favour, free_port, pinned, scratch

ALONE = "Envoy alone"
WAYS = {  # label: (gRPC, Unix socket); None: no weir is asked
    ALONE: None,
    "gRPC, TCP": (True, False),
    "gRPC, Unix socket": (True, True),
    "HTTP, TCP": (False, False),
    "HTTP, Unix socket": (False, True),
}
TYPES = "type.googleapis.com/envoy.extensions."


def add_arguments(parser):
    parser.add_argument("--rate", type=int, default=2_000, help="requests a second")
    parser.add_argument("--conns", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each way")
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


def address(port=None, path=None):
    return {"pipe": {"path": path}} if path else {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def cluster(name, at, http2):
    out = {"name": name, "type": "STATIC", "connect_timeout": "1s", "load_assignment": {
        "cluster_name": name, "endpoints": [{"lb_endpoints": [{"endpoint": {"address": at}}]}]}}
    if http2:
        out["typed_extension_protocol_options"] = {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": TYPES + "upstreams.http.v3.HttpProtocolOptions", "explicit_http_config": {"http2_protocol_options": {}}}}
    return out


def filter_of(name, grpc):
    config = {"@type": TYPES + "filters.http.ext_authz.v3.ExtAuthz", "transport_api_version": "V3", "status_on_error": {"code": 503}}
    if grpc:
        config["grpc_service"] = {"timeout": "1s", "envoy_grpc": {"cluster_name": name}}
    else:
        headers = ("x-forwarded-for", "user-agent", "cookie", "x-device-id")
        config["allowed_headers"] = {"patterns": [{"exact": h, "ignore_case": True} for h in headers]}
        config["http_service"] = {"path_prefix": "/ext_authz", "server_uri": {"uri": "http://weir", "cluster": name, "timeout": "1s"}}
    return {"name": "envoy.filters.http.ext_authz", "typed_config": config}


def listener(port, filters):
    router = {"name": "envoy.filters.http.router", "typed_config": {"@type": TYPES + "filters.http.router.v3.Router"}}
    manager = {"@type": TYPES + "filters.network.http_connection_manager.v3.HttpConnectionManager", "stat_prefix": f"p{port}",
               "use_remote_address": True, "normalize_path": True, "http_filters": [*filters, router],
               "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
                   {"match": {"prefix": "/"}, "route": {"cluster": "app"}}]}]}}
    return {"name": f"l{port}", "address": address(port), "filter_chains": [{"filters": [
        {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}]}


class Site:
    """The two weirs (TCP, Unix sockets) and the Envoy; `ports`: of each way's listener."""

    def __init__(self, directory):
        self.app, self.children, self.ports = free_port(), [], {}
        clusters, listeners = [cluster("app", address(self.app), False)], []
        doors = {False: self.weir(directory, "tcp"), True: self.weir(directory, "unix")}
        for label, way in WAYS.items():
            self.ports[label] = free_port()
            filters = []
            if way is not None:
                grpc, unix = way
                name = "weir_" + ("grpc" if grpc else "http") + ("_unix" if unix else "_tcp")  # Envoy's :authority too
                clusters.append(cluster(name, doors[unix]["grpc" if grpc else "api"], grpc))
                filters.append(filter_of(name, grpc))
            listeners.append(listener(self.ports[label], filters))
        path = os.path.join(directory, "envoy.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"static_resources": {"listeners": listeners, "clusters": clusters}}, f)
        self.launch("envoy", [products.envoy(), "-c", path, "--use-dynamic-base-id", "--concurrency", "1", "--log-level", "error"], directory)
        for port in self.ports.values():
            self.children[-1].wait_listening(port, 30)

    def launch(self, name, command, directory):
        self.children.append(Child(name, pinned(0, command), os.path.join(directory, name + ".log")))

    def weir(self, directory, kind):
        health = free_port()
        if kind == "unix":
            places = {name: f"unix:{directory}/{name}.sock" for name in ("grpc", "api")}
            doors = {name: address(path=place.removeprefix("unix:")) for name, place in places.items()}
        else:
            ports = {"grpc": free_port(), "api": free_port()}
            places = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
            doors = {name: address(port) for name, port in ports.items()}
        path = os.path.join(directory, f"{kind}.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"""weir: 1
grpc: {{listen: '{places["grpc"]}'}}
api: {{listen: '{places["api"]}', ext_authz: {{prefix: /ext_authz}}}}
admin: {{listen: 'unix:{directory}/{kind}-admin.sock'}}
health: {{listen: 127.0.0.1:{health}}}
log: {{level: error}}
threads: 1
policies:
  - {{name: per-address, watch: request, key: ip, window: 1m, then: [{{over: 1000000000, do: deny}}]}}
  - {{name: per-agent, watch: request, key: header.user_agent, window: 1h, then: [{{over: 1000000000, do: deny}}]}}
""")
        self.launch("weir-" + kind, [products.Weir.binary, "serve", "-c", path], directory)
        self.children[-1].wait_listening(health)
        return doors

    def stop(self):
        for child in reversed(self.children):
            child.stop()


def run(o):
    favour(os.getpid())
    results, raw = {label: [] for label in WAYS}, []
    with scratch() as directory:
        site = Site(directory)
        try:
            for number in range(o.rounds):
                for label in WAYS if number % 2 == 0 else list(WAYS)[::-1]:
                    result = load.run(["--target", f"127.0.0.1:{site.ports[label]}", "--backend", f"127.0.0.1:{site.app}",
                                       "--conns", o.conns, "--rate", o.rate, "--seconds", o.seconds, "--warmup", 1, "--shape", "real"])
                    load.demand_right(result, label)
                    results[label].append(result)
                    raw.append(f"{number + 1} {label} {json.dumps(result)}")
        finally:
            site.stop()

    def of(label, name):
        return [result["latency_us"][name] for result in results[label]]
    base = {name: median(of(ALONE, name)) for name in ("p50", "p99")}
    lines = [f"{o.conns} connections, {o.rate} requests/s, {o.seconds:g} s a run, {o.rounds} runs each in alternation", "",
             f"{'microseconds':22}{'p50':>8}{'least':>8}{'most':>8}{'added':>8}{'p99':>10}{'least':>8}{'most':>8}{'added':>8}"]
    for label in WAYS:
        row = f"{label:22}"
        for name, width in (("p50", 8), ("p99", 10)):
            values = of(label, name)
            added = "" if label == ALONE else f"{median(values) - base[name]:.0f}"
            row += f"{median(values):{width}.0f}{min(values):8.0f}{max(values):8.0f}{added:>8}"
        lines.append(row)
    table = "\n".join(lines)
    print(table)
    if o.save:
        version = subprocess.run([products.envoy(), "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip().splitlines()[-1].split("version: ")[-1]
        conditions.save(o.save, "Envoy that asks weir", {"weir": products.Weir.version(), "Envoy": version}, table, "\n".join(raw))
    return 0

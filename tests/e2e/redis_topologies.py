"""Redis servers that belong together: a Cluster, and a master with its replica under Sentinels."""

import contextlib

from redis_process import Redis
from weir_process import eventually, free_port


class Group:
    """Servers that start and end together. `where`: as `redis:` of a configuration says it."""

    def __init__(self):
        self.servers = []

    def add(self, *options):
        server = Redis(*options)
        server.port = free_port()
        server.options += ("--port", server.port, "--bind", "127.0.0.1")
        server.options = tuple(map(str, server.options))
        self.servers.append(server)
        return server

    def __enter__(self):
        try:
            for server in self.servers:
                server.launch()
            for server in self.servers:
                eventually(server.answers, 20, "redis-server")
            self.join()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for server in self.servers:
            with contextlib.suppress(ProcessLookupError):
                server.resume()
            server.__exit__()


class Cluster(Group):
    """Three masters with a third of the slots each, and a replica of the last one. While a slot has no master, the others
    are served."""

    SLOTS = 16_384

    def __init__(self):
        super().__init__()
        for _ in range(4):
            bus = free_port()
            server = self.add("--cluster-enabled", "yes", "--cluster-node-timeout", 700, "--cluster-port", bus,
                              "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", 0)
            server.bus = bus
        self.masters, self.replica = self.servers[:3], self.servers[3]

    @property
    def where(self):
        return f"cluster: ['127.0.0.1:{self.servers[0].port}', '127.0.0.1:{self.servers[1].port}']"

    def join(self):
        for number, server in enumerate(self.masters):
            server.command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            first, last = (self.SLOTS * n // 3 for n in (number, number + 1))
            server.command("CLUSTER", "ADDSLOTSRANGE", first, last - 1)
        for server in self.servers:
            server.id = server.command("CLUSTER", "MYID").decode()
            self.servers[0].command("CLUSTER", "MEET", "127.0.0.1", server.port, server.bus)
        last = self.masters[-1].id.encode()
        eventually(lambda: last in self.replica.command("CLUSTER", "NODES"), 60, "a replica that knows its master")
        self.replica.command("CLUSTER", "REPLICATE", last.decode())
        eventually(lambda: all(self.is_whole(server) for server in self.servers), 60, "a whole Cluster")
        eventually(lambda: self.masters[-1].command("WAIT", 1, 100) == 1, 20, "a replica in step")

    @staticmethod
    def is_whole(server):
        info = server.command("CLUSTER", "INFO")
        return all(word in info for word in (b"cluster_state:ok", b"cluster_slots_ok:16384", b"cluster_known_nodes:4"))

    def keys_of(self, server):
        return [key.decode() for key in server.command("KEYS", "weir:*") if not key.startswith(b"weir:fleet:")]

    def move(self, slot, source, target):
        """As `redis-cli --cluster reshard` does it, in the order that never leaves a slot without an owner."""
        target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
        source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id)
        while True:
            keys = source.command("CLUSTER", "GETKEYSINSLOT", slot, 10)
            if not keys:
                break
            source.command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *(key.decode() for key in keys))
        for server in (target, source, *self.masters):
            server.command("CLUSTER", "SETSLOT", slot, "NODE", target.id)


class Sentinels(Group):
    """A master with its replica, and three Sentinels that watch them."""

    def __init__(self):
        super().__init__()
        self.master, self.replica = (self.add("--repl-diskless-sync-delay", 0, "--repl-ping-replica-period", 1)
                                     for _ in range(2))
        self.replica.options += ("--replicaof", "127.0.0.1", str(self.master.port))
        self.sentinels = [self.add("--sentinel") for _ in range(3)]

    @property
    def where(self):
        nodes = ", ".join(f"'127.0.0.1:{s.port}'" for s in self.sentinels)
        return f"sentinel: {{name: counters, nodes: [{nodes}]}}"

    def join(self):
        for sentinel in self.sentinels:
            sentinel.command("SENTINEL", "MONITOR", "counters", "127.0.0.1", self.master.port, 2)
            sentinel.command("SENTINEL", "SET", "counters", "down-after-milliseconds", 400)
            sentinel.command("SENTINEL", "SET", "counters", "failover-timeout", 2000)
        eventually(lambda: all(self.knows_all(s) for s in self.sentinels), 20, "Sentinels that know each other")
        eventually(lambda: self.master.command("WAIT", 1, 100) == 1, 20, "a replica in step")

    @staticmethod
    def knows_all(sentinel):
        words = sentinel.command("SENTINEL", "MASTER", "counters")
        facts = dict(zip(words[::2], words[1::2]))
        return facts[b"num-slaves"] == b"1" and facts[b"num-other-sentinels"] == b"2"


def is_master(server):
    try:
        return server.command("ROLE")[0] == b"master"
    except OSError:
        return False

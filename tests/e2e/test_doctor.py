"""`weir doctor`, before a real Redis, wrong clocks, small limits and other people's ports."""

import json
import os
import resource
import socket
import subprocess
import tempfile
import time
import unittest

from origin import Origin
from redis_process import Redis
from redis_topologies import Cluster, Sentinels
from resp_peer import Peer, saying
from weir_process import Weir, free_port

HEAD = "weir: 1\nproxy: {{listen: 127.0.0.1:{0}, upstream: 'http://127.0.0.1:{3}'}}\nadmin: {{listen: 127.0.0.1:{1}}}\n" \
       "health: {{listen: 127.0.0.1:{2}}}\nlimits: {{memory: 8MiB, connections: 100}}\n" \
       "policies: [{{name: p, watch: request, key: ip, window: 1m, then: [{{over: 5, do: deny}}]}}]\n"


class Doctor(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="weir-doctor-")
        self.addCleanup(self.scratch.cleanup)
        self.app = Origin()
        self.addCleanup(self.app.listener.close)
        self.ports = [free_port(), free_port(), free_port()]

    def examine(self, more="", arguments=(), head=None, limit=None):
        path = os.path.join(self.scratch.name, "weir.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write((HEAD.format(*self.ports, self.app.port) if head is None else head) + more)
        before = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))) if limit else None
        environment = {n: v for n, v in os.environ.items() if not n.startswith("WEIR_")}
        run = subprocess.run([os.environ["WEIR_BINARY"], "-o", "json", "doctor", path, *arguments], capture_output=True, text=True,
                             check=False, preexec_fn=before, env=environment)
        self.assertTrue(run.stdout, run.stderr)
        report = json.loads(run.stdout)
        return run.returncode, report

    def one(self, report, check, word=""):
        found = [f for f in report["findings"] if f["check"] == check and word in f["what"] + f["advice"]]
        self.assertEqual(len(found), 1, report["findings"])
        return found[0]

    def test_all_is_well(self):
        code, report = self.examine(f"state: {{dir: {self.scratch.name}}}\n")
        self.assertEqual((code, report["ok"], report["problems"]), (0, True, 0))
        for check in ("config", "memory", "threads", "descriptors", "reload", "state", "trust", "upstream", "redis"):
            self.assertEqual(self.one(report, check)["state"], "ok", report)
        self.assertEqual([f["state"] for f in report["findings"] if f["check"] == "ports"], ["ok"] * 3)
        # health.listen of this test is on loopback.
        self.assertEqual(self.one(report, "probes")["state"], "warning")
        self.assertEqual(self.examine(arguments=["--strict"])[0], 3)

    def test_a_configuration_with_errors(self):
        code, report = self.examine("policies: 7\n")
        self.assertEqual(code, 1)
        self.assertIn("weir check", self.one(report, "config")["advice"])

    def test_ports_that_are_taken_and_by_whom(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", self.ports[0]))
            s.listen()
            code, report = self.examine()
            taken = self.one(report, "ports", f"proxy 127.0.0.1:{self.ports[0]} is taken")
            self.assertEqual((code, taken["state"]), (1, "problem"))
            self.assertIn(f"(pid {os.getpid()})", taken["what"])

    def test_unix_sockets(self):
        path = os.path.join(self.scratch.name, "door.sock")
        head = HEAD.format(*self.ports, self.app.port).replace(f"127.0.0.1:{self.ports[0]}", f"unix:{path}", 1)
        self.assertEqual(self.one(self.examine(head=head)[1], "ports", "proxy unix:")["state"], "ok")
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)
            s.listen()
            code, report = self.examine(head=head)
            self.assertEqual(code, 1)
            self.assertIn(f"is taken by python3 (pid {os.getpid()})", self.one(report, "ports", "proxy unix:")["what"])
        # Nobody listens there any more: weir takes the name over.
        self.assertEqual(self.one(self.examine(head=head)[1], "ports", "proxy unix:")["state"], "ok")
        os.unlink(path)
        with open(path, "w", encoding="utf-8"):
            pass
        code, report = self.examine(head=head)
        self.assertEqual((code, self.one(report, "ports", "not a socket")["state"]), (1, "problem"))

    def test_a_weir_that_only_answers_questions(self):
        door = free_port()
        head = f"weir: 1\nadmin: {{listen: 127.0.0.1:{self.ports[1]}}}\nhealth: {{listen: 127.0.0.1:{self.ports[2]}}}\n" \
               f"limits: {{memory: 8MiB, connections: 100}}\ngrpc: {{listen: 0.0.0.0:{door}}}\n"
        code, report = self.examine(head=head)
        self.assertEqual(code, 0, report)
        self.assertEqual((self.one(report, "upstream")["state"], self.one(report, "trust")["state"]), ("ok", "warning"))
        self.assertEqual(len([f for f in report["findings"] if f["check"] == "ports"]), 3)
        with socket.socket() as s:
            s.bind(("127.0.0.1", door))
            s.listen()
            code, report = self.examine(head=head)
            self.assertEqual((code, self.one(report, "ports", "grpc")["state"]), (1, "problem"))

    def test_beside_a_weir_that_runs(self):
        with Weir("", self.app.port) as weir:
            self.ports = [weir.port, weir.admin_port, weir.health_port]
            code, report = self.examine()
            self.assertEqual(code, 0, report)
            self.assertIn(f"weir (pid {weir.process.pid}), which runs", self.one(report, "ports", "admin")["what"])
            self.assertEqual(self.one(report, "probes", "/livez of the running weir")["state"], "ok")
            self.assertEqual(self.one(report, "probes", "/readyz of the running weir")["state"], "ok")

    def test_beside_a_weir_of_another_configuration(self):
        with Weir("", self.app.port) as weir:
            self.ports[0] = weir.port
            code, report = self.examine()
            found = self.one(report, "ports", "proxy")
            self.assertEqual((code, found["state"]), (1, "problem"))
            self.assertIn(f"weir (pid {weir.process.pid})", found["what"])
            self.assertEqual([f["state"] for f in report["findings"] if f["check"] == "probes"], ["warning"])

    def test_few_descriptors(self):
        code, report = self.examine(limit=128)
        self.assertEqual(code, 0)
        self.assertEqual(self.one(report, "descriptors")["state"], "warning")
        self.assertIn("ulimit -n", self.one(report, "descriptors")["advice"])

    def test_an_app_that_is_away_and_a_name_that_is_none(self):
        self.app.listener.shutdown(socket.SHUT_RDWR)  # close() alone leaves it to the thread that accepts
        self.app.listener.close()
        code, report = self.examine()
        self.assertEqual((code, self.one(report, "upstream")["state"]), (0, "warning"))
        head = HEAD.format(*self.ports, self.app.port).replace(f"http://127.0.0.1:{self.app.port}", "http://app.invalid:80")
        code, report = self.examine(head=head)
        self.assertEqual((code, self.one(report, "upstream")["state"]), (1, "problem"))

    def test_a_state_that_cannot_be_written(self):
        for directory in ("/no/such/state", "/proc/state"):  # in the second, rights do not stop root
            code, report = self.examine(f"state: {{dir: {directory}}}\n")
            self.assertEqual((code, self.one(report, "state", "can't be made")["state"]), (1, "problem"))

    def test_files_that_rights_alone_would_allow(self):
        # Root passes every test of rights; what is looked at here fails for other reasons.
        directory = os.path.join(self.scratch.name, "directory")
        os.mkdir(directory)
        pipe = os.path.join(self.scratch.name, "pipe")  # nobody reads it
        os.mkfifo(pipe)
        for log in ("/proc/log", "/no/such/log", directory, pipe, f"{__file__}/log"):
            code, report = self.examine(f"access_log: {{path: '{log}'}}\naudit: {{path: '{log}'}}\n")
            states = [self.one(report, check, log)["state"] for check in ("access_log", "audit")]
            self.assertEqual((code, states), (1, ["problem"] * 2), log)
        code, report = self.examine("state: {dir: /proc/self}\n")
        self.assertEqual((code, self.one(report, "state")["state"]), (1, "problem"))
        head = HEAD.format(*self.ports, self.app.port).replace(f"127.0.0.1:{self.ports[0]}", "unix:/proc/door.sock", 1)
        code, report = self.examine(head=head)
        self.assertEqual((code, self.one(report, "ports", "proxy unix:")["state"]), (1, "problem"))

    def test_logs_that_can_be_written_are_not_touched(self):
        kept, new, link = (os.path.join(self.scratch.name, name) for name in ("kept", "new", "link"))
        with open(kept, "w", encoding="utf-8") as f:
            f.write("a line\n")
        os.symlink(os.path.join(self.scratch.name, "later"), link)
        before = os.stat(kept).st_mtime_ns
        for log in (kept, new, link, "/dev/null"):
            code, report = self.examine(f"access_log: {{path: {log}}}\naudit: {{path: {log}}}\n")
            states = [self.one(report, check, log)["state"] for check in ("access_log", "audit")]
            self.assertEqual((code, states), (0, ["ok"] * 2), log)
        self.assertEqual(os.stat(kept).st_mtime_ns, before)
        self.assertEqual(sorted(os.listdir(self.scratch.name)), ["kept", "link", "weir.yaml"])
        self.assertTrue(os.path.islink(link))

    def test_a_state_that_is_made_at_the_start_is_not_made_here(self):
        directory = os.path.join(self.scratch.name, "new")
        code, report = self.examine(f"state: {{dir: {directory}}}\n")
        self.assertEqual((code, self.one(report, "state")["state"]), (0, "ok"))
        self.assertFalse(os.path.exists(directory))

    def test_who_may_choose_the_address(self):
        head = HEAD.format(*self.ports, self.app.port).replace("upstream:", "client_ip: {trust: [0.0.0.0/0]}, upstream:")
        code, report = self.examine(head=head)
        self.assertEqual((code, self.one(report, "trust")["state"]), (1, "problem"))

    def test_a_header_that_names_the_client_behind_a_door(self):
        head = HEAD.format(*self.ports, self.app.port).replace("upstream:", "client_ip: {trust: [10.0.0.0/8]}, upstream:")
        door = f"grpc: {{listen: 127.0.0.1:{free_port()}}}\n"
        code, report = self.examine(door + "authz: {client_ip: {header: x-weir-client-ip}}\n", head=head)
        self.assertEqual((code, self.one(report, "trust", "must overwrite what a client sends")["state"]), (0, "ok"))
        code, report = self.examine(door, head=head)
        self.assertEqual([f for f in report["findings"] if "overwrite" in f["what"]], [])

    def test_a_redis_that_is_well(self):
        with Redis() as redis:
            code, report = self.examine(f"redis: {{{redis.where}, secret: s}}\n")
            self.assertEqual(code, 0, report)
            self.assertRegex(self.one(report, "redis")["what"], r"version \d+\.\d+")
            self.assertEqual((self.one(report, "clock")["state"], self.one(report, "rights")["state"]), ("ok", "ok"))
            self.assertEqual(redis.command("KEYS", "*"), [])

    def test_a_redis_that_is_away(self):
        code, report = self.examine("redis: {url: 'redis://127.0.0.1:1', secret: s}\n")
        self.assertEqual((code, self.one(report, "redis")["state"]), (1, "problem"))

    def test_users_without_rights(self):
        with Redis() as redis:
            redis.command("ACL", "SETUSER", "weir", "on", ">word", "~weir:*", "+@all", "-zadd", "-pexpire", "-hset")
            redis.command("ACL", "SETUSER", "blind", "on", ">word", "~other:*", "+@all")
            redis.command("ACL", "SETUSER", "mute", "on", ">word", "~weir:*", "+ping", "+info", "+time")

            def rights(user, password="word"):
                code, report = self.examine(f"redis: {{{redis.where}, user: {user}, password: {password}, secret: s}}\n")
                self.assertEqual(code, 1, report)
                return report
            found = self.one(rights("weir"), "rights")
            self.assertEqual(found["state"], "problem")
            for word in ("+zadd", "+pexpire", "+hset", "~weir:*"):
                self.assertIn(word, found["advice"])
            self.assertNotIn("+get ", found["advice"] + " ")
            self.assertEqual(self.one(rights("blind"), "rights")["state"], "problem")
            self.assertIn("+eval", self.one(rights("mute"), "rights")["advice"])
            self.assertIn("redis.user", self.one(rights("weir", "wrong"), "redis")["advice"])
            redis.command("CONFIG", "SET", "requirepass", "secret")
            redis.password = "secret"
            code, report = self.examine(f"redis: {{{redis.where}, secret: s}}\n")
            self.assertEqual(code, 1)
            self.assertIn("NOAUTH", self.one(report, "redis")["what"])

    def test_a_clock_that_is_wrong_and_a_version_that_is_old(self):
        def peer(offset, version="7.0.15"):
            if offset is None:
                seconds = b"1700000000 s"  # not a number
            else:
                seconds = str(int(time.time() + offset)).encode()
            told = b"*2\r\n$%d\r\n%s\r\n$1\r\n0\r\n" % (len(seconds), seconds)
            info = f"# Server\r\nredis_version:{version}\r\n".encode()
            return {"TIME": told, "INFO": b"$%d\r\n%s\r\n" % (len(info), info)}
        port = free_port()
        for offset, version, check, state in ((90, "7.0.15", "clock", "problem"), (-5, "7.0.15", "clock", "warning"),
                                              (None, "7.0.15", "clock", "warning"), (0, "6.0.16", "redis", "problem"),
                                              (0, "6.2.0", "redis", "ok"), (0, "6.2-fork", "redis", "ok")):
            with self.subTest(offset=offset, version=version), Peer(port, saying(b"*0\r\n"), peer(offset, version)):
                # A busy machine may need more than the default of 5 ms to answer.
                _, report = self.examine(f"redis: {{url: 'redis://127.0.0.1:{port}', secret: s, budget: 500ms, timeout: 1s}}\n")
                self.assertEqual(self.one(report, check)["state"], state, report)

    def test_a_redis_that_takes_no_writes(self):
        for options, word in ((("--replicaof", "127.0.0.1", "1"), "READONLY"), (("--min-replicas-to-write", "1"), "NOREPLICAS"),
                              (("--maxmemory", "100000"), "OOM")):
            with self.subTest(word), Redis(*options) as redis:
                code, report = self.examine(f"redis: {{{redis.where}, secret: s}}\n")
                self.assertEqual((code, self.one(report, "redis", word)["state"]), (1, "problem"))
                self.assertEqual([f for f in report["findings"] if f["check"] == "rights"], [])

    def test_a_redis_that_drops_keys(self):
        with Redis("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru") as redis:
            code, report = self.examine(f"redis: {{{redis.where}, secret: s}}\n")
            self.assertEqual((code, self.one(report, "eviction")["state"]), (0, "warning"))

    def test_the_node_of_a_cluster_that_has_the_key_of_the_test(self):
        with Cluster() as cluster:
            for server in cluster.masters:
                server.command("ACL", "SETUSER", "weir", "on", ">word", "~weir:*", "+@all", "-zadd")
            owner = cluster.masters[cluster.masters[0].command("CLUSTER", "KEYSLOT", "{doctor}") * 3 // cluster.SLOTS]
            seed = next(server for server in cluster.masters if server is not owner)
            user = "user: weir, password: word, secret: s, budget: 500ms, timeout: 1s"
            code, report = self.examine(f"redis: {{cluster: ['127.0.0.1:{seed.port}'], {user}}}\n")
            self.assertEqual(code, 1)
            found = self.one(report, "rights")
            self.assertIn(f"127.0.0.1:{owner.port}", found["what"])
            self.assertIn("+zadd", found["advice"])
            self.assertEqual(len([f for f in report["findings"] if f["check"] == "clock"]), 2)
            code, report = self.examine(f"redis: {{url: 'redis://127.0.0.1:{seed.port}', {user}}}\n")
            self.assertIn("redis.cluster", self.one(report, "redis", "is a node of a Cluster")["advice"])
        with Redis() as redis, socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
            s.close()
            redis.command("CONFIG", "SET", "port", port)
            _, report = self.examine(f"redis: {{cluster: ['127.0.0.1:{port}'], secret: s}}\n")
            self.assertIn("redis.url", self.one(report, "redis", "CLUSTER SLOTS")["advice"])

    def test_the_master_that_sentinels_name(self):
        with Sentinels() as group:
            group.master.command("ACL", "SETUSER", "weir", "on", ">word", "~weir:*", "+@all", "-hset")
            code, report = self.examine(f"redis: {{{group.where}, user: weir, password: word, secret: s}}\n")
            self.assertEqual(code, 1)
            found = self.one(report, "rights")
            self.assertIn(f"127.0.0.1:{group.master.port}", found["what"])
            self.assertIn("+hset", found["advice"])
            self.assertRegex(self.one(report, "redis", f"127.0.0.1:{group.master.port} answers")["what"], r"version \d+\.\d+")

    def test_a_peer_that_is_no_redis(self):
        _, report = self.examine(f"redis: {{url: 'redis://127.0.0.1:{self.app.port}', secret: s}}\n")
        self.assertEqual(self.one(report, "redis")["state"], "problem")

    def test_a_file_that_is_mounted_alone(self):
        path = os.path.join(self.scratch.name, "weir.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(HEAD.format(*self.ports, self.app.port))
        script = f"mount --bind {path} {path} && exec {os.environ['WEIR_BINARY']} -o json doctor {path}"
        run = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False)
        if not run.stdout:
            self.skipTest(f"no mount namespace here: {run.stderr.strip()}")
        found = self.one(json.loads(run.stdout), "reload")
        self.assertEqual(found["state"], "warning")
        self.assertIn("subPath", found["what"])

    def test_for_people(self):
        path = os.path.join(self.scratch.name, "weir.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(HEAD.format(*self.ports, self.app.port))
        run = subprocess.run([os.environ["WEIR_BINARY"], "doctor", path], capture_output=True, text=True, check=False)
        self.assertRegex(run.stdout, r"(?m)^ok        redis +not used: each replica counts by itself$")
        self.assertRegex(run.stdout, r"(?m)^0 problems, \d warnings?$")


if __name__ == "__main__":
    unittest.main()

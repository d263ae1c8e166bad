"""weir on a real Kubernetes (README.md here): admission, limits, reload, roll-out, eviction, the order of the stop, injection, Redis."""

import json
import os
import re
import shlex
import subprocess
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NODE = shlex.split(os.environ.get("WEIR_KUBE_NODE", ""))
WEIR = os.environ.get("WEIR_BINARY", os.path.join(ROOT, "build/release/weir"))
KUBECTL = os.environ.get("WEIR_KUBECTL", "kubectl")  # on this machine, for `kubectl kustomize`

# Requests at a fixed rate, each on a connection of its own, as clients behind a load balancer come.
LOAD = r"""
import socket, sys, threading, time
host, count, rate = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
failed = []
def one():
    try:
        with socket.create_connection((host, 80), 5) as s:
            s.settimeout(10)
            s.sendall(b"GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n")
            answer = b""
            while piece := s.recv(4096):
                answer += piece
        if not answer.startswith(b"HTTP/1.1 200"):
            failed.append(repr(answer[:60]))
    except OSError as error:
        failed.append(repr(error))
begin, threads = time.time(), []
for i in range(count):
    time.sleep(max(0, begin + i / rate - time.time()))
    threads.append(threading.Thread(target=one))
    threads[-1].start()
for thread in threads:
    thread.join()
print(count, len(failed), failed[:3])
"""


def run(*command, given=None, check=True, seconds=120):
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=seconds, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def node(*command, **options):
    return run(*NODE, *command, **options)


def kubectl(*arguments, **options):
    return node("kubectl", *arguments, **options)


def eventually(condition, seconds, what):
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {seconds} s")
        time.sleep(0.3)
    return value


@unittest.skipUnless(NODE, "WEIR_KUBE_NODE does not say where Kubernetes is (tests/kube/README.md)")
class Kube(unittest.TestCase):
    def setUp(self):
        self.space = "weir-test-" + self.id().rsplit("_", 1)[-1].lower()
        kubectl("delete", "namespace", self.space, "--ignore-not-found")
        kubectl("create", "namespace", self.space)
        self.addCleanup(kubectl, "delete", "namespace", self.space, "--wait=false")
        kubectl("label", "namespace", self.space, "pod-security.kubernetes.io/enforce=restricted",
                "pod-security.kubernetes.io/enforce-version=latest")

    def k(self, *arguments, **options):
        return kubectl("-n", self.space, *arguments, **options)

    def apply(self, text):
        """Strictly: an unknown field is an error. Pods that the restricted standard refuses never become ready."""
        documents = re.sub(r"(?m)^(\s+namespace: |  name: )demo(-\w+)?$", rf"\g<1>{self.space}", text)
        self.k("apply", "--validate=strict", "-f", "-", given=documents)

    def overlay(self, name):
        return run(KUBECTL, "kustomize", os.path.join(ROOT, "k8s/overlays", name))

    def ready(self, deployment="shop"):
        self.k("rollout", "status", f"deploy/{deployment}", "--timeout=90s")

    def pods(self, field="{.status.podIP}"):
        template = "{range .items[*]}" + field + "{\"\\n\"}{end}"
        return self.k("get", "pod", "-l", "app.kubernetes.io/name=shop", "-o", f"jsonpath={template}").split()

    def service(self, name="shop"):
        return self.k("get", "service", name, "-o", "jsonpath={.spec.clusterIP}")

    def logins(self, address, count):
        one = ["curl", "-s", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}", "-d", "user=a&password=x", f"http://{address}:8480/cgi-bin/login"]
        return [node(*one, check=False) for _ in range(count)]

    def load(self, change, requests):
        """The load while `change` goes on; it must not fail once."""
        command = [*NODE, "python3", "-c", LOAD, self.service(), str(requests), "100"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            time.sleep(2)
            change()
            self.assertEqual(process.communicate(timeout=180)[0].split(" ", 2)[:2], [str(requests), "0"])

    def order(self, pod):
        """What the pod's log says while it ends: message by message, in the order of their times."""
        with subprocess.Popen([*NODE, "kubectl", "-n", self.space, "logs", "-f", "--timestamps", "--all-containers", pod],
                              stdout=subprocess.PIPE, text=True) as follow:
            time.sleep(1)
            begin = time.monotonic()
            self.k("delete", "pod", pod)
            took = time.monotonic() - begin
            lines = sorted(follow.communicate(timeout=60)[0].splitlines())
        words = re.findall(r"draining, still accepting|app ends|\"draining\"|weir ends", "\n".join(lines))
        return [word.strip('"') for word in words], took

    def test_native(self):
        self.apply(self.overlay("demo"))
        self.ready()
        first, second = self.pods()
        self.assertEqual(self.logins(first, 6), ["401"] * 5 + ["429"])
        self.assertEqual(node("curl", "-s", "-m", "3", "-o", "/dev/null", "-w", "%{http_code}", f"http://{first}:8080/", check=False), "000")
        # The ConfigMap: the other replica, which has refused nobody, takes the lower limit.
        self.apply(self.overlay("demo").replace("{over: 5,", "{over: 3,").replace("{over: 3, do: flag}", "{over: 2, do: flag}"))
        [pod] = [p for p in self.pods("{.metadata.name}") if self.k("get", "pod", p, "-o", "jsonpath={.status.podIP}") == second]
        eventually(lambda: '"reloaded"' in self.k("logs", pod, "-c", "weir"), 120, "the reload")
        self.assertEqual(self.logins(second, 4), ["401"] * 3 + ["429"])
        words, took = self.order(pod)
        self.assertEqual(words, ["draining, still accepting", "app ends", "draining", "weir ends"])
        self.assertLess(took, 9, "the hook's drain counts: the app's sleep of 5 s, and no delay after it")

    def test_classic(self):
        self.apply(self.overlay("demo-classic"))
        self.ready()
        self.assertEqual(self.logins(self.pods()[0], 6), ["401"] * 5 + ["429"])
        words, took = self.order(self.pods("{.metadata.name}")[0])
        self.assertEqual(words, ["draining, still accepting", "app ends", "draining", "weir ends"])
        self.assertLess(took, 14)

    def test_load(self):
        self.apply(self.overlay("demo"))
        self.ready()
        def roll():
            self.k("rollout", "restart", "deploy/shop")
            self.ready()
        self.load(roll, 4000)
        def evict():
            pod = self.pods("{.metadata.name}")[0]
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": self.space}}
            kubectl("create", "--raw", f"/api/v1/namespaces/{self.space}/pods/{pod}/eviction", "-f", "-", given=json.dumps(body))
        self.load(evict, 2000)

    def config_maps(self):
        """What pods mount that `weir inject` or the admission policy has changed."""
        self.k("create", "configmap", "weir", "--from-literal=weir.yaml=weir: 1\npolicies: [{name: p, watch: request, key: ip, window: 1m, "
               "then: [{over: 2, do: deny}]}]\n")
        self.k("create", "configmap", "shop-site", "--from-literal=index.html=hello", "--from-literal=login.sh=#!/bin/sh")

    @staticmethod
    def base():
        with open(os.path.join(ROOT, "k8s/base/deployment.yaml"), encoding="utf-8") as f:
            return f.read()

    def test_inject(self):
        for flags in ((), ("--classic",)):
            with self.subTest(flags=flags):
                self.k("delete", "configmap,deploy", "--all", "--wait")
                self.config_maps()
                text = self.base().replace("replicas: 2", "replicas: 1")
                self.apply(run(WEIR, "inject", *flags, "--app-port", "8080", "-f", "-", given=text))
                self.ready()
                [address] = eventually(lambda: len(self.pods()) == 1 and self.pods(), 60, "one pod")
                codes = [node("curl", "-s", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}", f"http://{address}:8480/") for _ in range(3)]
                self.assertEqual(codes, ["200", "200", "429"])

    def test_admission(self):
        if "mutatingadmissionpolicies" not in kubectl("api-resources", "-o", "name"):
            self.skipTest("this Kubernetes has no MutatingAdmissionPolicy")
        kubectl("apply", "--validate=strict", "-f", "-", given=run(KUBECTL, "kustomize", os.path.join(ROOT, "k8s/injection")))
        self.addCleanup(kubectl, "delete", "mutatingadmissionpolicy,mutatingadmissionpolicybinding", "weir-inject")
        kubectl("label", "namespace", self.space, "weir-injection=enabled")
        self.config_maps()
        none = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        probe = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
                            "spec": {"containers": [{"name": "app", "image": "busybox:1.36", "securityContext": none}]}})
        names = "jsonpath={.spec.initContainers[*].name}"
        eventually(lambda: "weir" in self.k("create", "--dry-run=server", "-o", names, "-f", "-", given=probe, check=False), 30, "the policy in force")
        self.apply(self.base())
        self.ready()
        self.assertEqual(self.pods("{.spec.initContainers[*].name}"), ["weir", "weir"])

    def test_redis(self):
        self.k("create", "secret", "generic", "weir-redis", "--from-literal=password=s3cret", "--from-literal=secret=" + "k" * 40)
        text = self.overlay("demo-redis")
        redis, service = [d for d in text.split("---\n") if "name: weir-redis\n" in d and "shop" not in d]
        self.apply(redis + "---\n" + service)
        self.ready("weir-redis")
        # By its address: not every test cluster resolves names.
        self.apply(text.replace("redis://weir-redis:", f"redis://{self.service('weir-redis')}:"))
        self.ready()
        first, second = self.pods()
        self.assertEqual(self.logins(first, 4), ["401"] * 4)
        self.assertEqual(self.logins(second, 2), ["401", "429"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

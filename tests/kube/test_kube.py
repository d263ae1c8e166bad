"""weir on a real Kubernetes (README.md here): admission, limits, reload, roll-out, eviction, the order of the stop, injection, Redis,
the chart, the dashboard, and every manifest that names other projects' objects."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import yaml  # noqa: E402
from test_manifests import alike, injected, missing, sidecar_of  # noqa: E402
from test_page import in_background  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NODE = shlex.split(os.environ.get("WEIR_KUBE_NODE", ""))
WEIR = os.environ.get("WEIR_BINARY", os.path.join(ROOT, "build/release/weir"))
KUBECTL = os.environ.get("WEIR_KUBECTL", "kubectl")  # on this machine, for `kubectl kustomize`

CRDS = os.environ.get("WEIR_KUBE_CRDS", "")  # a folder with the CRDs of Envoy Gateway, Istio and the Prometheus operator

# Requests at a fixed rate, each on a connection of its own, as clients behind a load balancer come.
LOAD = r"""
import socket, sys, threading, time
host, count, rate = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
failed = []
def one():
    doing, since = "connect", time.time()
    try:
        with socket.create_connection((host, 80), 5) as s:
            doing = "answer of port %d" % s.getsockname()[1]
            s.settimeout(10)
            s.sendall(b"GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n")
            answer = b""
            while piece := s.recv(4096):
                answer += piece
        if not answer.startswith(b"HTTP/1.1 200"):
            failed.append(repr(answer[:60]))
    except OSError as error:
        failed.append("%r: %s, begun %.1f s after the start" % (error, doing, since - begin))
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
        documents = re.sub(r"(?m)^(\s+namespace: |  name: )demo(-[\w-]+)?$", rf"\g<1>{self.space}", text)
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
        # kube-proxy writes the rules of a Service after its pods are ready. A connection that comes before them is never sent on, and it would
        # be counted against weir.
        one = ["curl", "-s", "-m", "2", "-o", "/dev/null", "-w", "%{http_code}", f"http://{self.service()}/"]
        eventually(lambda: all(node(*one, check=False) == "200" for _ in range(20)), 60, "the Service answers")
        command = [*NODE, "python3", "-c", LOAD, self.service(), str(requests), "100"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            time.sleep(2)
            change()
            said = process.communicate(timeout=requests / 100 + 90)[0]
        self.assertEqual(said.split(" ", 2)[:2], [str(requests), "0"], said)

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

    def start(self, pod):
        """What the pod's log says of its start, in the order of the times."""
        lines = sorted(self.k("logs", "--timestamps", "--all-containers", pod).splitlines())
        return re.findall(r"weir is ready|app starts", "\n".join(lines))

    def doctor(self, pod):
        """As its help says it: without a file's name it reads what weir reads, and finds nothing wrong."""
        examined = json.loads(self.k("exec", pod, "-c", "weir", "--", "weir", "doctor", "-o", "json"))
        self.assertEqual([f for f in examined["findings"] if f["state"] == "problem"], [])
        self.assertTrue(examined["ok"], examined)
        [config] = [f["what"] for f in examined["findings"] if f["check"] == "config"]
        self.assertTrue(config.startswith("/etc/weir/config/weir.yaml: 1 policy"), config)

    def test_native(self):
        self.apply(self.overlay("demo"))
        self.ready()
        for pod in self.pods("{.metadata.name}"):
            status = json.loads(self.k("exec", pod, "-c", "weir", "--", "/usr/bin/weir", "ctl", "status", "-o", "json"))
            self.assertLess(status["resident_bytes"], 15_000_000, "an idle weir is small")
            self.assertEqual(self.start(pod), ["weir is ready", "app starts"], "a native sidecar is there before its app")
        self.doctor(pod)
        first, second = self.pods()
        self.assertEqual(self.logins(first, 6), ["401"] * 5 + ["429"])
        self.assertEqual(node("curl", "-s", "-m", "3", "-o", "/dev/null", "-w", "%{http_code}", f"http://{first}:8080/", check=False), "000")
        # The ConfigMap: the other replica, which has refused no request, takes the lower limit.
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
        self.load(lambda: (roll(), roll(), roll()), 10000)
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
                with tempfile.TemporaryDirectory() as directory:
                    # A stream that begins with JSON continues with YAML.
                    with open(os.path.join(ROOT, "k8s/base/service.yaml"), encoding="utf-8") as f, \
                            open(os.path.join(directory, "a.json"), "w", encoding="utf-8") as service:
                        json.dump(yaml.safe_load(f), service)
                    with open(os.path.join(directory, "b.yaml"), "w", encoding="utf-8") as f:
                        f.write(self.base().replace("replicas: 2", "replicas: 1"))
                    self.apply(run(WEIR, "inject", *flags, "-f", directory))
                self.ready()
                self.assertEqual(self.k("get", "service", "shop", "-o", "jsonpath={.spec.ports[0].targetPort}"), "8480")
                [address] = eventually(lambda: len(self.pods()) == 1 and self.pods(), 60, "one pod")
                codes = [node("curl", "-s", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}", f"http://{address}:8480/") for _ in range(3)]
                self.assertEqual(codes, ["200", "200", "429"])

    def end_of(self, pod):
        """What the API server makes of a pod's end: the hooks of its first container, and the grace period."""
        spec = json.loads(self.k("create", "--dry-run=server", "-o", "json", "-f", "-", given=pod))["spec"]
        return spec["containers"][0]["lifecycle"], spec["terminationGracePeriodSeconds"]

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
        spec = json.loads(self.k("get", "pod", "-o", "json"))["items"][0]["spec"]
        self.assertEqual(missing(alike(sidecar_of(injected())), alike(sidecar_of(spec))), [], "as weir inject has it")
        [run_volume] = [v for v in spec["volumes"] if v["name"] == "weir-run"]
        self.assertEqual(run_volume["emptyDir"], {"medium": "Memory", "sizeLimit": "16Mi"})
        # A pod with neither a hook nor a time of its own gets both, as from weir inject; what it has stays.
        [hookless] = injected()["containers"]
        self.assertEqual(self.end_of(probe), (hookless["lifecycle"], injected()["terminationGracePeriodSeconds"]))
        own = json.loads(probe)
        own["spec"]["terminationGracePeriodSeconds"] = 90
        own["spec"]["containers"][0]["lifecycle"] = {"preStop": {"exec": {"command": ["true"]}}}
        self.assertEqual(self.end_of(json.dumps(own)), (own["spec"]["containers"][0]["lifecycle"], 90))
        unwanted = json.loads(probe)
        unwanted["metadata"]["annotations"] = {"weir.example/inject": "false"}
        create = ("create", "--dry-run=server", "-o", names, "-f", "-")
        self.assertEqual(self.k(*create, given=json.dumps(unwanted)).strip(), "")

    @staticmethod
    def names_resolve():
        return "WEIR_KUBE_DNS" in os.environ or kubectl("-n", "kube-system", "get", "service", "kube-dns", "-o", "name", check=False) != ""

    def ban(self, address):
        codes = self.logins(address, 6)
        self.assertEqual(codes, ["401"] * 5 + ["429"])

    def restart_of_weir(self, pod):
        """The container alone, as after a crash: the kubelet starts it again beside the app that went on."""
        count = "{.status.initContainerStatuses[?(@.name=='weir')].restartCount}"
        run_id = "jsonpath={.status.initContainerStatuses[?(@.name=='weir')].containerID}"
        container = self.k("get", "pod", pod, "-o", run_id).removeprefix("containerd://")
        before = self.k("get", "pod", pod, "-o", f"jsonpath={count}")
        node("ctr", "-n", "k8s.io", "task", "kill", "--signal", "SIGTERM", container)
        eventually(lambda: self.k("get", "pod", pod, "-o", f"jsonpath={count}") != before, 60, "the restart")
        self.ready()

    def test_state(self):
        """Bans and counts outlive the container, because the volume is the pod's; a new pod begins with none (docs/kubernetes.md)."""
        if "containerd" not in kubectl("get", "node", "-o", "jsonpath={.items[0].status.nodeInfo.containerRuntimeVersion}"):
            self.skipTest("the node has no containerd")
        self.apply(self.overlay("demo").replace("replicas: 2", "replicas: 1"))
        self.ready()
        [pod], [address] = self.pods("{.metadata.name}"), self.pods()
        self.ban(address)
        self.restart_of_weir(pod)
        self.assertEqual(self.pods(), [address], "the pod is the same")
        self.assertEqual(self.logins(address, 1), ["429"], "the ban outlives the container")
        self.k("delete", "pod", pod)
        self.ready()
        [new] = eventually(lambda: len(self.pods()) == 1 and self.pods(), 60, "one pod")
        self.assertEqual(self.logins(new, 1), ["401"], "a new pod knows nothing of the one before")

    def test_dashboard(self):
        self.apply(self.overlay("demo"))
        self.ready()
        [pod, _] = self.pods("{.metadata.name}")
        forward = in_background(self, *NODE, "kubectl", "-n", self.space, "port-forward", f"pod/{pod}", ":8481")
        port = re.search(r"127\.0\.0\.1:(\d+) ->", forward.stdout.readline())[1]
        page = node("curl", "-sS", "-m", "5", f"http://127.0.0.1:{port}/")
        self.assertIn("<title>", page)
        script = re.search(r"<script[^>]+src=\"?([^\" >]+)", page)[1]
        self.assertIn("import", node("curl", "-sS", "-m", "5", f"http://127.0.0.1:{port}/{script.lstrip('./')}"))
        self.assertIn('"policies":1', node("curl", "-sS", "-m", "5", f"http://127.0.0.1:{port}/v1/status").replace(" ", ""))
        # From another pod the door is closed: it is on loopback.
        refused = node("curl", "-s", "-m", "3", "-o", "/dev/null", "-w", "%{http_code}", f"http://{self.pods()[0]}:8481/", check=False)
        self.assertEqual(refused, "000")

    def test_chart(self):
        helm = os.environ.get("WEIR_HELM", "helm")
        try:
            text = run(helm, "template", "shop", os.path.join(ROOT, "k8s/chart/weir"), "--namespace", self.space,
                       "--set", "demo.enabled=true,networkPolicy.enabled=true",
                       "--set-json", 'policies={"policies":[{"name":"p","watch":"request","key":"ip","window":"1m","then":[{"over":2,"do":"deny"}]}]}')
        except FileNotFoundError:
            self.skipTest("there is no helm")
        self.k("apply", "--validate=strict", "-f", "-", given=text)
        deployment = self.k("get", "deploy", "-o", "jsonpath={.items[0].metadata.name}")
        self.ready(deployment)
        address = self.k("get", "pod", "-o", "jsonpath={.items[0].status.podIP}")
        codes = [node("curl", "-s", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}", f"http://{address}:8480/") for _ in range(3)]
        self.assertEqual(codes, ["200", "200", "429"])

    def strictly(self, text):
        """Taken as it is, and not with a field more: so the API server does know the kinds."""
        self.k("apply", "--validate=strict", "-f", "-", given=text)
        for document in text.split("\n---\n"):
            if kind := re.search(r"(?m)^kind: (SecurityPolicy|AuthorizationPolicy|PodMonitor|PrometheusRule)$", document):
                wrong = re.sub(r"(?m)^spec:$", "spec:\n  weirdly: 1", document)
                done = node("sh", "-c", f"kubectl -n {self.space} apply --dry-run=server --validate=strict -f - 2>&1 || true", given=wrong)
                self.assertRegex(done, r'unknown field "spec\.weirdly"', kind[1])

    def test_integrations(self):
        """The manifests for Envoy Gateway, Istio and the Prometheus operator, by the CRDs of those projects; and weir's own Deployment there."""
        if not CRDS:
            self.skipTest("WEIR_KUBE_CRDS names no CRDs")
        for name in sorted(os.listdir(CRDS)):
            with open(os.path.join(CRDS, name), encoding="utf-8") as f:
                kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=f.read(), seconds=180)
        kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        def built(directory):
            return run(KUBECTL, "kustomize", os.path.join(ROOT, "k8s", directory))
        self.strictly(built("integrations/envoy-gateway"))
        self.ready("weir")
        health = self.k("get", "pod", "-l", "app.kubernetes.io/name=weir", "-o", "jsonpath={.items[0].status.podIP}")
        self.assertEqual(node("curl", "-s", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}", f"http://{health}:8482/readyz"), "200")
        istio = built("integrations/istio")
        self.addCleanup(kubectl, "delete", "namespace", "weir-system", "--wait=false", "--ignore-not-found")
        kubectl("apply", "--validate=strict", "-f", "-", given=istio)
        kubectl("-n", "weir-system", "rollout", "status", "deploy/weir", "--timeout=90s")
        for name in ("integrations/istio/authorizationpolicy", "components/monitoring/podmonitor", "components/monitoring/prometheusrule"):
            with open(os.path.join(ROOT, "k8s", name + ".yaml"), encoding="utf-8") as f:
                self.strictly(f.read())

    def test_meshconfig(self):
        reader = os.environ.get("WEIR_MESHCONFIG", "")
        if not reader:
            self.skipTest("WEIR_MESHCONFIG names no reader of Istio's configuration (node/meshconfig.go)")
        with open(os.path.join(ROOT, "k8s/integrations/istio/meshconfig.yaml"), encoding="utf-8") as f:
            config = yaml.safe_load(f)["spec"]["meshConfig"]
        run(reader, given=json.dumps(config))
        config["extensionProviders"][0]["envoyExtAuthzGrpc"]["failOpn"] = True
        with self.assertRaisesRegex(AssertionError, 'unknown field "failOpn"'):
            run(reader, given=json.dumps(config))

    def redis(self, overlay):
        self.k("create", "secret", "generic", "weir-redis", "--from-literal=password=s3cret", "--from-literal=secret=" + "k" * 40)
        return self.overlay(overlay)

    def test_redis(self):
        text = self.redis("demo-redis")
        if not self.names_resolve():
            redis, service = [d for d in text.split("---\n") if "name: weir-redis\n" in d and "shop" not in d]
            self.apply(redis + "---\n" + service)
            text = text.replace("redis://weir-redis:", f"redis://{self.service('weir-redis')}:")
        self.apply(text)
        self.ready("weir-redis")
        self.ready()
        first, second = self.pods()
        self.assertEqual(self.logins(first, 4), ["401"] * 4)
        self.assertEqual(self.logins(second, 2), ["401", "429"])
        # Counts and bans are Redis': pods that are new know them.
        self.k("rollout", "restart", "deploy/shop")
        self.ready()
        fresh = eventually(lambda: len(self.pods()) == 2 and not {first, second} & set(self.pods()) and self.pods(), 90, "new pods")
        for address in fresh:
            self.assertEqual(self.logins(address, 1), ["429"])

    def test_cluster(self):
        if not self.names_resolve():
            self.skipTest("names do not resolve in this Kubernetes")
        self.apply(self.redis("demo-redis-cluster"))
        self.k("wait", "--for=condition=complete", "job/weir-redis-form", "--timeout=120s", seconds=150)
        self.ready()
        # weir is ready before the Cluster is, and continues by on_error; it asks again by itself.
        for pod in self.pods("{.metadata.name}"):
            status = ["exec", pod, "-c", "weir", "--", "/usr/bin/weir", "ctl", "status", "-o", "json"]
            def up():
                said = json.loads(self.k(*status))
                return said["redis"]["up"] and said["shared_lists"]["up"]
            eventually(up, 60, f"the Cluster is there for {pod}")
        first, second = self.pods()
        self.assertEqual(self.logins(first, 4), ["401"] * 4)
        self.assertEqual(self.logins(second, 2), ["401", "429"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""docs/kubernetes.md, line by line: every command of the page is known here, and tried. Without a cluster `apply -k` builds its manifests,
the loop of logins meets the demo's own settings and policies in a weir on this machine, and what names an object finds it in the
manifests. With WEIR_KUBE_NODE (README.md here) the walk of the demo is done as it is."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

import yaml  # noqa: E402
from origin import Origin, answer  # noqa: E402

NODE = shlex.split(os.environ.get("WEIR_KUBE_NODE", ""))
WEIR = os.environ.get("WEIR_BINARY", os.path.join(ROOT, "build/release/weir"))
KUBECTL = os.environ.get("WEIR_KUBECTL", "kubectl")
EXPECTED = ["401"] * 5 + ["429"]
# A deployment.yaml as the page's readers have one.
APP = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers: [{name: app, image: app, ports: [{containerPort: 3000}]}]
"""
SERVICE = """---
apiVersion: v1
kind: Service
metadata: {name: app}
spec: {selector: {app: app}, ports: [{port: 80, targetPort: 3000}]}
"""


def finished(*command, given=None, check=True, shell=False, seconds=120):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    done = subprocess.run(command[0] if shell else command, input=given, capture_output=True, text=True, timeout=seconds, check=False,
                          cwd=ROOT, shell=shell, env=environment)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def run(*command, **options):
    return finished(*command, **options).stdout


def in_background(test, *command):
    """A command that runs until the test ends; then it ends with all that it started, as `kubectl` does not by itself behind nsenter."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
                               start_new_session=True)

    def end():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
        process.stdout.close()

    test.addCleanup(end)
    return process


def page():
    with open(os.path.join(ROOT, "docs/kubernetes.md"), encoding="utf-8") as f:
        return f.read()


def walk():
    """The lines of the page's blocks, in their order."""
    return [line.strip() for block in re.findall(r"```sh\n(.*?)```", page(), re.S) for line in block.strip().splitlines()]


def commands():
    """All commands of the page: the blocks' lines, and the commands in the text."""
    text = re.sub(r"```.*?```", "", page(), flags=re.S)
    inline = re.findall(r"`((?:kubectl|helm|istioctl|skopeo|kind|ctr|scripts/|weir (?:inject|ctl) )[^`]*)`", text)
    return walk() + [command.replace("\\|", "|") for command in inline]


def built(directory):
    return list(yaml.safe_load_all(run(KUBECTL, "kustomize", os.path.join(ROOT, directory))))


def named(documents, kind, name):
    found = [d for d in documents if d["kind"] == kind and d["metadata"]["name"].startswith(name)]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} objects {kind}/{name}")
    return found[0]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class DemoHere:
    """The weir of the demo's manifests, beside an app that knows no password; other ports, and its files in a folder."""

    def __enter__(self):
        documents = built("k8s/overlays/demo")
        self.directory = tempfile.mkdtemp(prefix="weir-page-")
        self.app = Origin(lambda request: answer(401)).__enter__()
        self.port, self.admin = free_port(), os.path.join(self.directory, "admin.sock")
        settings = named(documents, "ConfigMap", "weir-config")["data"]["weir.yaml"]
        for old, new in (("0.0.0.0:8480", f"127.0.0.1:{self.port}"), ("127.0.0.1:8080", f"127.0.0.1:{self.app.port}"),
                         ("0.0.0.0:8482", f"127.0.0.1:{free_port()}"), ("/run/weir/state", self.directory + "/state"),
                         ("/etc/weir/policies", self.directory + "/policies")):
            if old not in settings:
                raise AssertionError(f"the demo's weir.yaml has no {old}")
            settings = settings.replace(old, new)
        os.mkdir(self.directory + "/policies")
        self.write("policies/policies.yaml", named(documents, "ConfigMap", "weir-policies")["data"]["policies.yaml"])
        self.write("weir.yaml", settings + f"admin: {{listen: 'unix:{self.admin}'}}\napi: {{listen: none}}\ngrpc: {{listen: none}}\n")
        self.log = open(self.directory + "/log", "wb")
        self.weir = subprocess.Popen([WEIR, "serve", "-c", self.directory + "/weir.yaml"], stderr=self.log, stdin=subprocess.DEVNULL)
        for _ in range(200):
            if os.path.exists(self.admin):
                return self
            time.sleep(0.05)
        raise AssertionError("weir does not start: " + open(self.directory + "/log", encoding="utf-8").read())

    def write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as f:
            f.write(text)

    def __exit__(self, *_):
        self.weir.kill()  # a drain would take the five seconds of the demo's settings
        self.weir.wait(40)
        self.log.close()
        self.app.__exit__(None, None, None)
        shutil.rmtree(self.directory)


class Page(unittest.TestCase):
    def manifests(self, directory):
        self.assertTrue(built(directory))

    def file(self, path):
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            self.assertTrue(list(yaml.safe_load_all(f)))

    def chart(self, arguments):
        if shutil.which("helm"):
            self.assertIn("weir", run("helm", "template", *shlex.split(arguments)))

    def inject(self, flags=""):
        text = run(WEIR, "inject", *flags.split(), "-f", "-", given=APP)
        pod = next(d for d in yaml.safe_load_all(text) if d["kind"] == "Deployment")["spec"]["template"]["spec"]
        where = "containers" if "--classic" in flags else "initContainers"
        self.assertIn("weir", [container["name"] for container in pod[where]])

    def remove(self):
        """What inject has made becomes what it was, to the byte."""
        for flags in ((), ("--classic",)):
            injected = run(WEIR, "inject", *flags, "-f", "-", given=APP + SERVICE)
            self.assertIn("targetPort: 8480", injected)
            self.assertEqual(run(WEIR, "inject", "--remove", "-f", "-", given=injected), APP + SERVICE)

    def remove_from_what_the_cluster_gives(self):
        """`kubectl get` has defaults, and its keys in another order: an annotation tells what is the pod's own."""
        [deployment] = yaml.safe_load_all(run(WEIR, "inject", "-f", "-", given=APP))
        deployment["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "Always"
        template = deployment["spec"]["template"]
        done = finished(WEIR, "inject", "--remove", "-f", "-", given=yaml.safe_dump(deployment, sort_keys=True))
        pod = yaml.safe_load(done.stdout)["spec"]["template"]["spec"]
        self.assertEqual(sorted(pod), ["containers"])
        self.assertNotIn("lifecycle", pod["containers"][0])
        self.assertNotIn("stays", done.stderr)
        del template["metadata"]["annotations"]["weir.example/added"]
        done = finished(WEIR, "inject", "--remove", "-f", "-", given=yaml.safe_dump(deployment, sort_keys=True))
        pod = yaml.safe_load(done.stdout)["spec"]["template"]["spec"]
        self.assertNotIn("initContainers", pod)
        self.assertIn("preStop", pod["containers"][0]["lifecycle"])
        self.assertIn("container app keeps its preStop hook; it may be the pod's own", done.stderr)
        self.assertRegex(done.stderr, r"terminationGracePeriodSeconds stays \d+; it may be the pod's own")

    def object_of_the_demo(self, space, deployment):
        documents = built("k8s/overlays/demo")
        self.assertEqual(named(documents, "Namespace", space)["metadata"]["name"], space)
        self.assertEqual(named(documents, "Deployment", deployment)["metadata"]["namespace"], space)

    def entries(self, space, deployment, container, policy):
        self.object_of_the_demo(space, deployment)
        pod = named(built("k8s/overlays/demo"), "Deployment", deployment)["spec"]["template"]["spec"]
        self.assertIn(container, [c["name"] for c in pod["containers"] + pod["initContainers"]])
        with DemoHere() as demo:
            for line in walk():
                if line.startswith("for "):
                    run(line.replace(":8480", f":{demo.port}"), shell=True)
            self.assertIn("127.0.0.1", run(WEIR, "ctl", "--admin", "unix:" + demo.admin, "list", policy))

    def logins(self, loop):
        with DemoHere() as demo:
            self.assertEqual(run(loop.replace(":8480", f":{demo.port}"), shell=True).split(), EXPECTED)

    def label(self, namespace, label):
        """Something in the manifests goes by it."""
        key, _, value = label.partition("=")
        everything = "".join(run(KUBECTL, "kustomize", os.path.join(ROOT, "k8s", d)) for d in ("injection", "integrations/weir"))
        self.assertRegex(everything, rf"{re.escape(key)}: \"?{value}")

    def ctl(self, words):
        self.assertIn("Usage", run(WEIR, "ctl", words.split()[0], "--help"))

    def stage(self, name):
        with open(os.path.join(ROOT, "scripts/test"), encoding="utf-8") as f:
            self.assertRegex(f.read(), rf"\b{name}\b")

    def archive(self, name):
        """The file that scripts/package writes, by the version of this weir."""
        with open(os.path.join(ROOT, "scripts/package"), encoding="utf-8") as f:
            self.assertIn('docker-archive:$out/weir-$version-image.tar:$image:$version', f.read())
        version = run(WEIR, "--version").split()[1]
        self.assertEqual(name, f"build/package/weir-{version}-image.tar")
        path = os.path.join(ROOT, name)
        if os.path.exists(path) and shutil.which("skopeo"):
            run("skopeo", "inspect", "docker-archive:" + path)

    def script(self, name):
        self.assertTrue(os.access(os.path.join(ROOT, "scripts", name), os.X_OK))

    def packages(self):
        with open(os.path.join(ROOT, "tests/kube/install"), encoding="utf-8") as f:
            listed = f.read().split("packages=(")[1].split(")")[0].split()
        self.assertLessEqual({"skopeo", "umoci"}, set(listed))

    def known(self):
        word = r"(\S+)"
        return (
            (rf"kubectl(?: -n \S+)? apply -k {word}", self.manifests),
            (rf"kubectl(?: -n \S+)? apply -f (k8s/\S+)", self.file),
            (rf"istioctl install -f {word}", self.file),
            (r"helm install (.*)", self.chart),
            (r"weir inject -f deployment\.yaml \| kubectl apply -f -", self.inject),
            (r"weir inject --image", lambda: self.inject("--image ghcr.io/you/weir:0.1.0")),
            (r"weir inject( --classic)?(?: -f deployment\.yaml(?: \[--classic\])?)?", lambda flags: self.inject(flags or "")),
            (r"weir inject --remove", self.remove),
            (r"kubectl get", self.remove_from_what_the_cluster_gives),
            (r"kubectl create configmap weir --from-file=weir\.yaml", lambda: None),  # the reader's own file
            (rf"kubectl -n {word} rollout status deploy/{word}", self.object_of_the_demo),
            (rf"kubectl -n {word} port-forward deploy/{word} 8480 &", self.object_of_the_demo),
            (rf"kubectl -n {word} exec deploy/{word} -c {word} -- /usr/bin/weir ctl list {word}", self.entries),
            (r"(for i in .*)", self.logins),
            (rf"kubectl label namespace {word} {word}", self.label),
            (r"weir ctl (.+)", self.ctl),
            (r"scripts/test (kube|package)", self.stage),
            (r"scripts/(package)", self.script),
            (r"scripts/deps package", self.packages),
            (r"skopeo copy docker-archive:(\S+) docker://ghcr\.io/you/weir:[\d.]+", self.archive),
            (r"kind load image-archive (\S+)", self.archive),
            (r"ctr -n k8s\.io images import (\S+)", self.archive),
        )

    def test_the_end_of_a_pod_is_as_inject_makes_it(self):
        """kustomize and Helm add neither the hook of the app nor, in a chart, the time: the page shows what inject would make."""
        [shown] = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page(), re.S) if "preStop" in block]
        pod = shown["spec"]["template"]["spec"]
        [injected] = yaml.safe_load_all(run(WEIR, "inject", "-f", "-", given=APP))
        expected = injected["spec"]["template"]["spec"]
        self.assertEqual(pod["terminationGracePeriodSeconds"], expected["terminationGracePeriodSeconds"])
        self.assertEqual(pod["containers"][0]["lifecycle"], expected["containers"][0]["lifecycle"])

    def test_the_events_of_the_page_are_good(self):
        for block in re.findall(r"```yaml\n(.*?)```", page(), re.S):
            if block.startswith("events:"):
                name = next(iter(yaml.safe_load(block)["events"]))
                policy = f"policies: [{{name: p, watch: {name}, key: ip, window: 1m, then: [{{over: 5, do: flag}}]}}]\n"
                with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
                    f.write("weir: 1\nproxy: {upstream: 'http://127.0.0.1:1'}\n" + block + policy)
                    f.flush()
                    run(WEIR, "check", "--strict", f.name)

    def test_every_command(self):
        seen = commands()
        self.assertGreater(len(seen), 12)
        for command in dict.fromkeys(seen):
            with self.subTest(command=command):
                for pattern, tried in self.known():
                    if found := re.fullmatch(pattern, command):
                        tried(*found.groups())
                        break
                else:
                    self.fail("this test does not know the command")

    @unittest.skipUnless(NODE, "WEIR_KUBE_NODE does not say where Kubernetes is (README.md here)")
    def test_the_walk_on_a_cluster(self):
        self.addCleanup(run, *NODE, "kubectl", "delete", "namespace", "demo", "--wait=false", check=False)
        forward = None
        codes = []
        for line in walk():
            if "configmap weir" in line or line.startswith("weir inject"):
                continue  # the reader's own app: test_kube.py injects
            if applied := re.fullmatch(r"kubectl apply -k (\S+)", line):
                manifests = run(KUBECTL, "kustomize", os.path.join(ROOT, applied[1]))
                run(*NODE, "kubectl", "apply", "--validate=strict", "-f", "-", given=manifests)
            elif line.endswith("&"):
                forward = in_background(self, *NODE, *shlex.split(line.removesuffix("&")))
                self.assertIn("Forwarding", forward.stdout.readline())
            else:
                said = run(*NODE, "sh", "-c", line)
                codes += said.split() if line.startswith("for ") else []
                if "ctl list" in line:
                    self.assertRegex(said, r"\d+\.\d+\.\d+\.\d+")
        self.assertIsNotNone(forward)
        self.assertEqual(codes, EXPECTED)


if __name__ == "__main__":
    unittest.main(verbosity=2)

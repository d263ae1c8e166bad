"""weir's container is the same whoever puts it into a pod: `weir inject`, the kustomize components, the chart. Needs no cluster; test_kube.py
compares the one of the admission policy."""

import json
import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import yaml  # noqa: E402
from test_page import APP, KUBECTL, ROOT, WEIR, run  # noqa: E402

ALIKE = ("args", "restartPolicy", "ports", "startupProbe", "readinessProbe", "livenessProbe", "lifecycle", "resources", "securityContext")
KINDS = ("Deployment", "StatefulSet", "DaemonSet")


def alike(container):
    """What does not depend on where the configuration comes from."""
    # `weir doctor` and others that run beside weir read what weir reads.
    config = [one for one in container["env"] if one["name"] == "WEIR_CONFIG"]
    if [f"--config={one['value']}" for one in config] != container["args"][1:]:
        raise AssertionError(f"WEIR_CONFIG is {config}, the arguments are {container['args']}")
    return {key: container[key] for key in ALIKE if key in container} | {"env": config}


def sidecar_of(spec):
    [weir] = [c for c in spec.get("initContainers", []) + spec["containers"] if c["name"] == "weir"]
    return weir


def injected(*flags):
    [document] = yaml.safe_load_all(run(WEIR, "inject", *flags, "-f", "-", given=APP))
    return document["spec"]["template"]["spec"]


def missing(wanted, found, path=""):
    """The places where `found`, to which a server may have added, is not as `wanted`."""
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            return [path]
        return [place for key in wanted for place in missing(wanted[key], found.get(key), f"{path}.{key}")]
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            return [path]
        return [place for i, each in enumerate(wanted) for place in missing(each, found[i], f"{path}[{i}]")]
    return [] if wanted == found else [path]


class Manifests(unittest.TestCase):
    def workloads(self, components, grace=None, **labels):
        """One of each kind, as kustomize leaves them with these components. `grace`: of the app."""
        documents = []
        for kind in KINDS:
            document = yaml.safe_load(APP)
            document |= {"kind": kind, "metadata": {"name": kind.lower(), "labels": {"weir.example/inject": "true", **labels}}}
            if grace:
                document["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = grace
            documents.append(document)
        return {d["kind"]: d["spec"]["template"] for d in self.built(documents, components) if d["kind"] in KINDS}

    @staticmethod
    def built(documents, components):
        """What kustomize makes of these objects with these components."""
        with tempfile.TemporaryDirectory() as directory:
            away = os.path.relpath(os.path.join(ROOT, "k8s/components"), os.path.realpath(directory))
            with open(os.path.join(directory, "app.yaml"), "w", encoding="utf-8") as f:
                yaml.safe_dump_all(documents, f)
            with open(os.path.join(directory, "kustomization.yaml"), "w", encoding="utf-8") as f:
                json.dump({"resources": ["app.yaml"], "components": [os.path.join(away, name) for name in components]}, f)
            return list(yaml.safe_load_all(run(KUBECTL, "kustomize", directory)))

    def test_the_components_and_inject(self):
        for component, flags in (("weir-sidecar", ()), ("weir-sidecar-classic", ("--classic",))):
            expected, grace = alike(sidecar_of(injected(*flags))), injected()["terminationGracePeriodSeconds"]
            self.assertGreaterEqual(len(expected), 7)
            workloads = self.workloads([component])
            self.assertEqual(sorted(workloads), sorted(KINDS))
            for kind, template in workloads.items():
                with self.subTest(component=component, kind=kind):
                    self.assertEqual(alike(sidecar_of(template["spec"])), expected)
                    self.assertEqual(template["metadata"]["labels"]["weir.example/sidecar"], "true")
                    self.assertEqual(template["spec"]["terminationGracePeriodSeconds"], grace)

    def service_ports(self, component, ports, **labels):
        """The targetPorts of a Service that the component finds by these labels."""
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "labels": labels}, "spec": {"selector": {"app": "app"}, "ports": ports}}
        [found] = [d for d in self.built([service], [component]) if d["kind"] == "Service"]
        return [port.get("targetPort") for port in found["spec"]["ports"]]

    def test_a_port_of_a_service_leads_to_weir(self):
        http, metrics = {"name": "http", "port": 80, "targetPort": "http"}, {"name": "metrics", "port": 9090, "targetPort": 9090}
        wanted = {"weir.example/inject": "true"}
        for component in ("weir-sidecar", "weir-sidecar-classic"):
            with self.subTest(component=component):
                self.assertEqual(self.service_ports(component, [http, metrics], **wanted), [8480, 9090])
                self.assertEqual(self.service_ports(component, [{"port": 80}], **wanted), [8480], "without a targetPort of its own")
                second = {"weir.example/port": "second"}
                self.assertEqual(self.service_ports(component, [metrics, http], **wanted, **second), [9090, 8480])
                self.assertEqual(self.service_ports(component, [metrics, http]), [9090, "http"])
                with self.assertRaisesRegex(AssertionError, "spec/ports/1/targetPort"):
                    self.service_ports(component, [http], **wanted, **second)

    def test_a_component_leaves_the_hooks_to_the_app(self):
        """It says so (docs/kubernetes.md): the demo's own app has the hook."""
        for template in self.workloads(["weir-sidecar"]).values():
            [app] = template["spec"]["containers"]
            self.assertNotIn("lifecycle", app)
        [hookless] = injected()["containers"]
        with open(os.path.join(ROOT, "k8s/base/deployment.yaml"), encoding="utf-8") as f:
            [shop] = yaml.safe_load(f)["spec"]["template"]["spec"]["containers"]
        self.assertEqual(shop["lifecycle"], hookless["lifecycle"])

    def test_a_longer_grace_period_stays(self):
        for component in ("weir-sidecar", "weir-sidecar-classic"):
            for kind, template in self.workloads([component], grace=120, **{"weir.example/grace": "app"}).items():
                with self.subTest(component=component, kind=kind):
                    self.assertEqual(template["spec"]["terminationGracePeriodSeconds"], 120)
                    self.assertEqual(template["metadata"]["labels"]["weir.example/sidecar"], "true")

    def test_the_door_that_others_ask(self):
        documents = yaml.safe_load_all(run(KUBECTL, "kustomize", os.path.join(ROOT, "k8s/integrations/weir")))
        [weir] = [sidecar_of(d["spec"]["template"]["spec"]) for d in documents if d["kind"] == "Deployment"]
        expected = alike(sidecar_of(injected()))
        self.assertEqual(missing({key: expected[key] for key in ("args", "env", "readinessProbe", "livenessProbe", "lifecycle", "resources")}, weir), [])

    def test_redis_in_every_kind(self):
        for kind, template in self.workloads(["weir-sidecar", "redis"]).items():
            with self.subTest(kind=kind):
                self.assertIn("weir-redis", [m["name"] for m in sidecar_of(template["spec"])["volumeMounts"]])
                self.assertIn("weir-redis", [v["name"] for v in template["spec"]["volumes"]])
                self.assertIs(template["spec"]["enableServiceLinks"], False)

    @unittest.skipUnless(shutil.which("helm"), "there is no helm")
    def test_the_chart(self):
        documents = yaml.safe_load_all(run("helm", "template", "shop", os.path.join(ROOT, "k8s/chart/weir"), "--set", "demo.enabled=true"))
        [deployment] = [d for d in documents if d and d["kind"] == "Deployment"]
        self.assertEqual(alike(sidecar_of(deployment["spec"]["template"]["spec"])), alike(sidecar_of(injected())))

    def test_what_is_missing_is_named(self):
        self.assertEqual(missing({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2, "c": 3}], "d": 4}), [])
        self.assertEqual(missing({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}), [".a[1].b"])
        self.assertEqual(missing({"a": [1]}, {"a": [1, 2]}), [".a"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

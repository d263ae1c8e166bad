"""What of tests/kube needs no cluster: the commands of docs/kubernetes.md, and weir's container, the same whoever adds it."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "kube"))
os.environ["WEIR_KUBE_NODE"] = ""  # `scripts/test kube` is for what is tried on a cluster

# A feature that k8s/ needs of kustomize, and an old kubectl lacks: a component that patches several kinds by their labels.
PROBE = {
    "app.yaml": "{apiVersion: apps/v1, kind: Deployment, metadata: {name: app, labels: {a: b}}}",
    "kustomization.yaml": "{resources: [app.yaml], components: [component]}",
    "component/kustomization.yaml": "{apiVersion: kustomize.config.k8s.io/v1alpha1, kind: Component, patches: ["
                                    "{path: patch.yaml, target: {kind: Deployment|StatefulSet, labelSelector: 'a=b,c!=d'}}]}",
    "component/patch.yaml": "{apiVersion: apps/v1, kind: Deployment, metadata: {name: app}, spec: {replicas: 7}}",
}


def why_not():
    """What is missing for these tests; empty: nothing."""
    kubectl = os.environ.get("WEIR_KUBECTL", "kubectl")
    if not shutil.which(kubectl):
        return "there is no kubectl"
    if importlib.util.find_spec("yaml") is None:
        return "Python has no module yaml"
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(os.path.join(directory, "component"))
        for name, text in PROBE.items():
            with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
                f.write(text)
        done = subprocess.run([kubectl, "kustomize", directory], capture_output=True, text=True, timeout=60, check=False)
    return "" if "replicas: 7" in done.stdout else f"the kustomize of {kubectl} is too old: {done.stderr.strip()[:200]}"


if missing := why_not():
    class Kubernetes(unittest.TestCase):
        def test_what_they_need(self):
            self.skipTest(missing + ": neither the commands of docs/kubernetes.md nor the manifests are tested")
else:
    from test_manifests import Manifests  # noqa: F401
    from test_page import Page  # noqa: F401

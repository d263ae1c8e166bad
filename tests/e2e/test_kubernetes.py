"""What of tests/kube needs no cluster: the commands of docs/kubernetes.md, and weir's container, the same whoever adds it."""

import os
import shutil
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "kube"))

if shutil.which(os.environ.get("WEIR_KUBECTL", "kubectl")):
    from test_manifests import Manifests  # noqa: F401
    from test_page import Page  # noqa: F401
else:
    class Kubernetes(unittest.TestCase):
        def test_without_kubectl(self):
            self.skipTest("there is no kubectl: neither the commands of docs/kubernetes.md nor the manifests are tested")

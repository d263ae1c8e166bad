"""Texts that people read, held in tests/golden/: WEIR_UPDATE_GOLDEN=1 rewrites them; look at the diff."""

import difflib
import os

from weir_process import ROOT


def difference(name, text):
    """Empty if the golden file holds this text."""
    path = os.path.join(ROOT, "tests", "golden", name)
    if os.environ.get("WEIR_UPDATE_GOLDEN") == "1":
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return ""
    with open(path, encoding="utf-8") as f:
        known = f.read()
    return "".join(difflib.unified_diff(known.splitlines(True), text.splitlines(True), name, "now"))

#!/usr/bin/env python3
"""How many files of the product a change of each kind touches. docs, tests and generated golden files are not counted.

    cost.py                  counts, and compares with the goals and with the table of CONTRIBUTING.md (a test, without a compiler)
    cost.py --build DIR      makes a copy of the tree in DIR with all changes applied, builds weir there, and looks whether it
                             knows the new words everywhere: schema, reference, check, verdicts, metrics, restart, Redis

Run the second by `scripts/test cost`. It takes about as long as a build of weir.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

from changes import ACTION, CHANGES, New  # noqa: E402

PRODUCT = re.compile(r"\.(cc|h|lua|inc|yaml|proto|js|css|html|txt|cmake|py)$")


def read(root, file):
    return (root / file).read_text(encoding="utf-8")


def tree_files():
    """Of the tree, without what is built: also where there is no git."""
    for folder, inner, names in os.walk(ROOT):
        inner[:] = sorted(name for name in inner if name not in ("build", ".git", "__pycache__"))
        for name in sorted(names):
            yield (pathlib.Path(folder) / name).relative_to(ROOT).as_posix()


def shown(files):
    return ", ".join(f"`{file}`" for file in files)


class Cost(unittest.TestCase):
    """Each change can be made, and costs what CONTRIBUTING says."""

    maxDiff = None

    def test_every_edit_has_its_place(self):
        for change in CHANGES:
            for edit in change.edits + change.uses:
                with self.subTest(change.name, file=edit.file):
                    if isinstance(edit, New):
                        self.assertFalse((ROOT / edit.file).exists())
                    else:
                        self.assertEqual(read(ROOT, edit.file).count(edit.text), 1,
                                         f"{edit.text!r} is not exactly once in {edit.file}: bring changes.py up to date")
                    self.assertTrue(PRODUCT.search(edit.file), f"{edit.file} is not a file of the product")

    def test_no_change_costs_more_than_its_goal(self):
        for change in CHANGES:
            self.assertLessEqual(len(change.files()), change.goal, f"{change.name}: {shown(change.files())}")

    def test_contributing_says_what_it_costs(self):
        page = read(ROOT, "CONTRIBUTING.md")
        for change in CHANGES:
            files = shown(change.files())
            users = f"; and {shown(change.users())}, {change.uses_for}" if change.users() else ""
            self.assertIn(f"| {change.name} | {len(change.files())} | {files}{users} |", page)

    def test_contributing_knows_what_examples_touch(self):
        """Rows `| to add | like | at least | files |` that nobody builds: the files have the word."""
        rows = re.findall(r"^\| [^|]+ \| `(\w+)` \| (\d+) \| ([^|]+) \|$", read(ROOT, "CONTRIBUTING.md"), re.M)
        self.assertGreaterEqual(len(rows), 5)
        for word, number, files in rows:
            names = re.findall(r"`([^`]+)`", files)
            self.assertEqual(len(set(names)), int(number), f"the row of `{word}` in CONTRIBUTING.md")
            for name in names:
                with self.subTest(word, file=name):
                    self.assertTrue((ROOT / name).is_file())
                    self.assertRegex(read(ROOT, name), rf"(?i)(\b|_){word}", "take the file out of the row in CONTRIBUTING.md")

    def test_the_words_are_said_once(self):
        """No other file of the product lists the actions or the metrics: it would have to change with them."""
        actions = re.findall(r'ActionRow\{Action::\w+, "(\w+)"', read(ROOT, "core/words.h"))
        metrics = re.findall(r'MetricRow\{Metric::\w+, "(\w+)"', read(ROOT, "core/words.h"))
        self.assertGreaterEqual(len(actions), 6)
        self.assertGreaterEqual(len(metrics), 10)
        for file in tree_files():
            if not file.endswith((".cc", ".h")) or file == "core/words.h" or file.startswith(("tests/", "bench/")):
                continue
            text = re.sub(r"//[^\n]*", "", read(ROOT, file))
            for what, words in (("actions", actions[1:]), ("metrics", metrics)):
                said = {word for word in words if f'"{word}"' in text}
                self.assertLess(len(said), len(words) - 1, f"{file} lists the {what} again: {sorted(said)}")
                type_name = "Action" if what == "actions" else "Metric"
                cases = set(re.findall(rf"case (?:\w+::)*{type_name}::(\w+):", text))
                self.assertLess(len(cases), len(words) - 1, f"{file} has a switch over all {what}")


def apply_all(tree):
    for change in CHANGES:
        for edit in change.edits + change.uses:
            path = tree / edit.file
            if isinstance(edit, New):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(edit.content, encoding="utf-8")
            else:
                path.write_text(edit.apply(path.read_text(encoding="utf-8")), encoding="utf-8")


def copy_tree(tree):
    """What is as it was keeps its time, so that a second build is short."""
    for name in list(tree_files()):
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)


def build(directory):
    tree = pathlib.Path(directory).resolve() / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    copy_tree(tree)
    apply_all(tree)
    subprocess.run(["cmake", "--preset", "dev"], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "dev", "-j", str(os.cpu_count()), "--target", "weir", "--", "--quiet"],
                   cwd=tree, check=True)
    os.environ["WEIR_BINARY"] = str(tree / "build/dev/weir")
    sys.path.insert(0, str(ROOT / "tests/e2e"))
    import probes
    return unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromModule(probes)).wasSuccessful()


def main():
    print("| to add | files | |\n|---|---|---|")
    for change in CHANGES:
        print(f"| {change.name} | {len(change.files())} | {shown(change.files())}"
              + (f"; and {shown(change.users())}, {change.uses_for}" if change.users() else "") + " |")
    if len(sys.argv) == 3 and sys.argv[1] == "--build":
        return 0 if build(sys.argv[2]) else 1
    sys.argv[1:] = []
    return 0 if unittest.main(exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())

"""The Chinese pages follow the English ones: same headings, code, links and tables, section by section."""

import collections
import glob
import os
import re
import unittest

from weir_process import ROOT

PAIRS = {"README.md": "README.zh-CN.md"}
for path in sorted(glob.glob(os.path.join(ROOT, "docs", "zh-CN", "*.md"))):
    PAIRS["docs/" + os.path.basename(path)] = "docs/zh-CN/" + os.path.basename(path)
PROMISED = ("getting_started", "policies_in_ten_minutes", "replay", "redis", "operations", "glossary")
DRAWING = re.compile(r"[\u2500-\u257f]")
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def code_of(block):
    """The code of a block, without its comments; a drawing has words in it, so only its presence counts."""
    if DRAWING.search(block):
        return "a drawing"
    lines = [re.sub(r"(^|\s+)#\s.*$", "", line).rstrip() for line in block.splitlines()]
    return "\n".join(line for line in lines if line)


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class Page:
    """The sections of a page: each has the level of its heading, blocks of code, links, and rows of tables with their columns."""

    Section = collections.namedtuple("Section", "level heading code links rows")

    def __init__(self, name, text):
        self.name = name
        self.sections = [self.Section(0, "", [], [], [])]
        for part in re.split(r"^(```\w*\n.*?^```)", text, flags=re.M | re.S):
            if part.startswith("```"):
                first, _, rest = part.partition("\n")
                self.sections[-1].code.append((first[3:], code_of(rest.removesuffix("```"))))
                continue
            for line in part.splitlines():
                heading = re.match(r"(#+) (.*)", line)
                if heading:
                    self.sections.append(self.Section(len(heading[1]), heading[2], [], [], []))
                for link in re.finditer(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"|<(https?:[^>]+)>", line):
                    self.sections[-1].links.append(link[1] or link[2] or link[3])
                if line.startswith("|"):
                    self.sections[-1].rows.append(len(re.findall(r"(?<!\\)\|", line)) - 1)

    def place(self, anchor):
        """The number of the heading that an anchor leads to."""
        places = [i for i, section in enumerate(self.sections) if section.level and slug(section.heading) == anchor]
        return places[0] if places else f"no heading #{anchor} in {self.name}"


def target(page, link, pages):
    """Where a link leads, in words that are equal for both languages: (English page, number of the heading)."""
    if link.startswith("http"):
        return link, 0
    path, _, anchor = link.partition("#")
    name = os.path.normpath(os.path.join(os.path.dirname(page.name), path)) if path else page.name
    place = pages[name].place(anchor) if anchor and name in pages else anchor
    english = {chinese: english for english, chinese in PAIRS.items()}
    return english.get(name, name), place


def differences(english, chinese, pages):
    """What a reader of one language misses in the other, as texts."""
    levels = [section.level for section in english.sections], [section.level for section in chinese.sections]
    if levels[0] != levels[1]:
        for ours, theirs in zip(english.sections + [None], chinese.sections + [None]):
            if ours is None or theirs is None or ours.level != theirs.level:
                return [f"{chinese.name}: headings: {theirs and theirs.heading!r} is where {ours and ours.heading!r} should be"]
    found = []
    for ours, theirs in zip(english.sections, chinese.sections):
        where = f"{chinese.name}: {theirs.heading or 'before the first heading'}"
        if ours.code != theirs.code:
            for mine, other in zip(ours.code + [None], theirs.code + [None]):
                if mine != other:
                    found.append(f"{where}: code: {other} is where {mine} should be")
                    break
        if ours.rows != theirs.rows:
            found.append(f"{where}: tables: rows of {theirs.rows} columns, in English {ours.rows}")
        links = [collections.Counter(to for to in (target(page, link, pages) for link in section.links) if to != (english.name, 0) and to != (english.name, ""))
                 for page, section in ((english, ours), (chinese, theirs))]
        if links[0] != links[1]:
            found.append(f"{where}: links: missing {sorted(map(str, links[0] - links[1]))}, too many {sorted(map(str, links[1] - links[0]))}")
        for link in theirs.links:
            name = os.path.normpath(os.path.join(os.path.dirname(chinese.name), link.partition("#")[0]))
            if name in PAIRS and name != english.name:
                found.append(f"{where}: {link} leads to the English page, and {PAIRS[name]} is there")
    return found


class Translations(unittest.TestCase):
    def setUp(self):
        self.pages = {name: Page(name, read(name)) for pair in PAIRS.items() for name in pair}

    def test_the_promised_pages_are_there(self):
        for name in PROMISED:
            self.assertIn(f"docs/{name}.md", PAIRS)

    def test_each_page_follows_its_english_one(self):
        for english, chinese in PAIRS.items():
            with self.subTest(chinese):
                self.assertEqual(differences(self.pages[english], self.pages[chinese], self.pages), [])

    def test_both_pages_of_a_pair_lead_to_each_other(self):
        for pair in PAIRS.items():
            for page, other in (pair, pair[::-1]):
                links = [os.path.normpath(os.path.join(os.path.dirname(page), link)) for link in self.pages[page].sections[1].links]
                self.assertIn(other, links, f"{page}: no link to the other language below its title")

    def test_chinese_pages_are_written_in_chinese(self):
        for chinese in PAIRS.values():
            prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", read(chinese), flags=re.S)
            self.assertGreater(len(CHINESE.findall(prose)), len(re.findall(r"[A-Za-z]", prose)), chinese)


class SelfTest(unittest.TestCase):
    """The comparison notices each way in which a translation falls behind."""

    ENGLISH = """# Title
Read [the other](b.md#two) and [site](https://a.example/x).

## One

```yaml
a: 1   # a comment
b: '#2'
```

| x | y |
|---|---|
| 1 | 2 |

### Two
"""
    CHINESE = ENGLISH.replace("# Title", "# 标题").replace("## One", "## 第一").replace("# Two", "# 第二").replace("a comment", "注释").replace("#two", "#二")

    def found(self, change, to, english=ENGLISH):
        self.assertIn(change, self.CHINESE)
        other = Page("docs/b.md", "# B\n## One\n## Two\n")
        other_chinese = Page("docs/zh-CN/b.md", "# 乙\n## 一\n## 二\n")
        pages = {"docs/b.md": other, "docs/zh-CN/b.md": other_chinese}
        before = dict(PAIRS)
        PAIRS["docs/b.md"] = "docs/zh-CN/b.md"
        try:
            return differences(Page("docs/a.md", english), Page("docs/zh-CN/a.md", self.CHINESE.replace(change, to, 1)), pages)
        finally:
            PAIRS.clear()
            PAIRS.update(before)

    def test_a_faithful_page_passes(self):
        self.assertEqual(self.found("第一", "首"), [])

    def test_changes_are_found(self):
        for change, to, what in (
            ("## 第一", "### 第一", "headings"),
            ("### 第二\n", "", "headings"),
            ("### 第二\n", "### 第二\n### 第三\n", "headings"),
            ("a: 1 ", "a: 2 ", "code"),
            ("b: '#2'", "b: '#3'", "code"),
            ("```yaml", "```sh", "code"),
            ("b.md#二", "b.md#一", "links"),
            ("b.md#二", "b.md#三", "links"),
            ("(https://a.example/x)", "", "links"),
            ("(https://a.example/x)", "(https://a.example/y)", "links"),
            ("b.md#二", "../b.md#two", "English page"),
            ("| 1 | 2 |\n", "", "tables"),
            ("| 1 | 2 |", "| 1 |", "tables"),
        ):
            with self.subTest(change=change, to=to):
                found = self.found(change, to)
                self.assertTrue(any(what in text for text in found), found)

    def test_what_english_gains_is_found(self):
        for change, to in (("### Two", "## New\n### Two"), ("| 1 | 2 |", "| 1 | 2 |\n| 3 | 4 |"), ("b: '#2'", "b: '#2'\nc: 3")):
            with self.subTest(to=to):
                self.assertTrue(self.found("第一", "第一", self.ENGLISH.replace(change, to)))


if __name__ == "__main__":
    unittest.main()

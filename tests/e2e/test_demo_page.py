"""The demo shop's page fits a phone: nothing is wider than the window, with a full table. In a real browser, where there is one."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from weir_process import ROOT

BROWSER = shutil.which("chromium")
# The rows that the shop's answers write into the table, longest words included.
ROWS = """for (const [what, status, told] of [
  ['login name123456', '401', 'nothing unusual'],
  ['login name999999', '401', 'verdict: gray | policy: login-per-ip:graylist, login-per-ip;value=11;limit=10;window=600;possible | score: 10'],
  ['1000 gold', '429 (retry after 3600 s)', 'nothing: weir answered by itself']]) {
  const row = $('log').insertRow(0); for (const text of [what, status, told]) row.insertCell().textContent = text; }
"""


@unittest.skipUnless(BROWSER, "there is no chromium here: how wide the page is has not been looked at")
class DemoPage(unittest.TestCase):
    def width_in(self, page, width):
        """(what the page needs, what it has): in a frame, since a window of its own is never narrower than 500."""
        with tempfile.TemporaryDirectory() as scratch:
            with open(os.path.join(scratch, "page.html"), "w", encoding="utf-8") as f:
                f.write(page)
            with open(os.path.join(scratch, "frame.html"), "w", encoding="utf-8") as f:
                f.write(f'<iframe id=f src=page.html style="border:0;width:{width}px;height:1400px"></iframe><script>onload = () => {{'
                        'const d = f.contentDocument.documentElement; document.title = `${d.scrollWidth} ${d.clientWidth}`; }</script>')
            out = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
                                  "--allow-file-access-from-files", f"--user-data-dir={scratch}/profile", "--dump-dom",
                                  f"file://{scratch}/frame.html"], capture_output=True, text=True, timeout=100, check=False).stdout
        found = re.search(r"<title>(\d+) (\d+)</title>", out)
        self.assertTrue(found, out[-500:])
        return int(found[1]), int(found[2])

    def test_it_fits_phones_and_desks(self):
        with open(os.path.join(ROOT, "demo", "index.html"), encoding="utf-8") as f:
            page = f.read()
        full = page.replace("const actions = {", ROWS + "const actions = {")
        self.assertNotEqual(full, page)
        for width in (320, 360, 1280):
            needs, has = self.width_in(full, width)
            self.assertEqual(has, width)
            self.assertLessEqual(needs, has, f"at {width} px")


if __name__ == "__main__":
    unittest.main()

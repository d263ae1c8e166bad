"""What the compiler and the linker were asked for is visible in the binary (the list of checksec)."""

import os
import platform
import subprocess
import unittest

BINARY = os.environ["WEIR_BINARY"]


def printed_by(*command):
    return subprocess.run([*command, BINARY], check=True, capture_output=True, text=True).stdout


def readelf(option):
    return printed_by("readelf", "-W", option)


@unittest.skipIf(os.environ.get("WEIR_SANITIZE"), "sanitizers replace these protections")
class Hardening(unittest.TestCase):
    def test_the_binary_is_position_independent(self):
        self.assertRegex(readelf("-h"), r"Type:\s+DYN")

    def test_relocations_are_read_only_and_bound_at_start(self):
        self.assertIn("GNU_RELRO", readelf("-l"))
        self.assertRegex(readelf("-d"), r"BIND_NOW|Flags: NOW")

    def test_no_segment_is_writable_and_executable(self):
        segments = readelf("-l")
        self.assertNotIn("RWE", segments)
        self.assertIn("GNU_STACK", segments)

    def test_stacks_are_guarded(self):
        self.assertIn("__stack_chk_fail", readelf("--dyn-syms"))

    def test_fortified_functions_are_used(self):
        self.assertRegex(readelf("--dyn-syms"), r"__(memcpy|snprintf|read|poll)_chk")

    @unittest.skipUnless(platform.machine() == "x86_64", "an x86 feature")
    def test_indirect_jumps_land_only_on_marked_instructions(self):
        self.assertIn(".note.gnu.property", readelf("-S"))

    def test_no_library_is_searched_for_outside_the_system_folders(self):
        self.assertNotRegex(readelf("-d"), r"RPATH|RUNPATH")

    def test_prefetch_instructions_are_in_the_machine_code(self):
        # g++ 12 drops calls of functions that only prefetch (core/prefetch.h); no other test notices.
        symbol = "_ZNK4weir7limiter4Bank8prefetchENS0_9CounterIdERKNS0_10CounterKeyE"
        code = printed_by("objdump", "--no-show-raw-insn", f"--disassemble={symbol}")
        self.assertIn("weir7limiter4Bank8prefetch", code)
        # Where little is inlined, the function calls the table's.
        self.assertRegex(code, r"\tprefetch|\tprfm|limiter5Table8prefetch")


if __name__ == "__main__":
    unittest.main()

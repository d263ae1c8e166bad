"""run_suite.py MODULE: its tests, each once. Exit code 77: all of them were skipped, mostly because a program is not installed.

With WEIR_E2E_ATTEMPTS=2, as .ci/run has it, what fails is tried once more, and the output says so. These tests start a dozen
processes and hold them to seconds; a shared machine that takes its cores away for some of these is no fault of theirs. A
fault of weir's own has to get past a second attempt, and everybody's runs without the variable.
"""

import os
import sys
import unittest


def loaded(names):
    return unittest.defaultTestLoader.loadTestsFromNames(names)


def failed_of(result, module):
    """Names to load; a class or module that could not be set up counts as all of it."""
    tests = [test for test, _ in result.failures + result.errors] + result.unexpectedSuccesses
    if any(not isinstance(test, unittest.TestCase) for test in tests):
        return [module]
    # A subTest is no test that could be loaded: the one it is part of is.
    return list(dict.fromkeys(getattr(test, "test_case", test).id() for test in tests))


def outcome_of(result):
    """The exit code of a run without failures."""
    for test, why in result.skipped:
        print(f"skipped: {test.id()}: {why}", file=sys.stderr)
    return 77 if result.skipped and len(result.skipped) >= result.testsRun else 0


def main():
    module = sys.argv[1]
    names = [module]
    for attempt in range(int(os.environ.get("WEIR_E2E_ATTEMPTS", "1"))):
        if attempt:
            print(f"\n{module}: attempt {attempt + 1} of: {', '.join(names)}\n", file=sys.stderr, flush=True)
        result = unittest.TextTestRunner(verbosity=2).run(loaded(names))
        if result.wasSuccessful():
            return outcome_of(result)
        names = failed_of(result, module)
    return 1


if __name__ == "__main__":
    sys.exit(main())

"""One run of weir_load."""

import json
import subprocess

from .process import Failure, pinned

BINARY = None  # set by scripts/bench


def run(arguments, core=1, timeout=600):
    """Gives what weir_load measured. Wrong answers are in it; a run that failed to run raises."""
    command = pinned(core, [BINARY, "--json", *map(str, arguments)])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout,
                          start_new_session=True, check=False)
    if done.returncode not in (0, 1):
        raise Failure(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def demand_right(result, label, tolerated=0):
    """A figure of wrong answers is worth nothing. `tolerated`: a deny run lets the first few pass."""
    wrong = result["errors"]
    if wrong > tolerated or wrong != result["wrong_status"] and wrong:
        raise Failure(f"{label}: {wrong} wrong answers: {json.dumps(result)}")
    if result["backend_malformed"]:
        raise Failure(f"{label}: sent {result['backend_malformed']} malformed requests to the app")

"""`scripts/bench limiter`: the google-benchmark programs bench/*_bench.cc, pinned to core 0."""

import glob
import os
import subprocess

from . import conditions, products
from .process import Failure, pinned


def add_arguments(parser):
    parser.add_argument("--filter", default=".", help="a regular expression over the benchmarks' names")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--save", metavar="NAME", help="write bench/results/NAME.md")


def targets():
    sources = glob.glob(os.path.join(products.ROOT, "bench", "*_bench.cc"))
    return sorted("weir_" + os.path.basename(s).removesuffix(".cc") for s in sources)


def run(o, build_directory):
    if not targets():
        raise Failure("there is no bench/*_bench.cc")
    text = []
    for target in targets():
        found = glob.glob(os.path.join(build_directory, "**", target), recursive=True)
        if not found:
            raise Failure(f"{target} is not built in {build_directory}")
        command = pinned(0, [found[0], f"--benchmark_filter={o.filter}", f"--benchmark_repetitions={o.repeat}",
                             "--benchmark_report_aggregates_only=true"])
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout, end="")
        text.append(done.stdout)
        if done.returncode != 0:
            raise Failure(f"{target} ended with {done.returncode}")
    if o.save:
        conditions.save(o.save, "Windows, tables and decisions", {}, "\n".join(text), "\n".join(text))
    return 0

"""What a request spends in sources that the release preset compiles for size (cmake/weir_room.cmake): nearly nothing, or the list
of these sources has one that requests pass. Counted by callgrind, by the source of each function."""

import collections
import os

from .process import Failure


def listed(build):
    """The sources, as paths in the tree; none in a build that has no such list."""
    try:
        with open(os.path.join(build, "small_sources"), encoding="utf-8") as f:
            return set(f.read().split())
    except FileNotFoundError:
        return set()


def by_source(path):
    """Instructions of a callgrind file, by the source that defines the function; what a function calls is not its own."""
    names, cost, source, inclusive = {}, collections.Counter(), "", False
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            word, is_assignment, value = line.rstrip("\n").partition("=")
            if is_assignment and word in ("fl", "fi", "fe", "cfi", "cfl"):
                number, _, name = value.partition(" ")
                names.setdefault(number, name)
                source = names[number] if word == "fl" else source
            elif is_assignment and word == "calls":
                inclusive = True  # the next line is the cost of the call
            elif line[:1] in tuple("0123456789+-*"):
                cost[source] += 0 if inclusive else int(line.split()[1])
                inclusive = False
    return cost


def per_request(build, few, many, requests):
    """Of the listed sources: instructions a request, the dearest first. Files of callgrind, and how many requests `many` has more."""
    sources, spent = listed(build), collections.Counter()
    for path, sign in ((many, 1), (few, -1)):
        for name, cost in by_source(path).items():
            parts = name.split("/")
            for start in range(len(parts)):
                if "/".join(parts[start:]) in sources:
                    spent["/".join(parts[start:])] += sign * cost
                    break
    if sources and not spent:  # each start compiles policies
        raise Failure(f"{many} names none of the sources that are compiled for size")
    return [(name, cost / requests) for name, cost in spent.most_common()]

"""What scripts/check-data reads of data files by itself: nothing here comes from weir.

rows(path) gives each readable row of a file with its line, time and fields; the naive counts and the geohash below are what weir's readings are
compared with. MUTATIONS are ways in which weir could be wrong: the checker has to notice each."""

import bisect
import collections
import copy
import csv
import datetime
import gzip
import json
import re


def text_of(path):
    with open(path, "rb") as f:
        bytes_ = f.read()
    return (gzip.decompress(bytes_) if path.endswith(".gz") else bytes_).decode("utf-8", "replace")


Row = collections.namedtuple("Row", "line ts fields")


def epoch_ms(text, pattern):
    if "." in text.rsplit(":", 1)[-1]:
        text, fraction = text.rsplit(".", 1)
    else:
        fraction = "0"
    time = datetime.datetime.strptime(text + " +0000", pattern + " %z")
    return int(time.timestamp()) * 1000 + int(fraction.ljust(3, "0")[:3])


def rows(path, columns=None):
    """The rows of a file: JSON lines, access logs, csv with a header, or csv with the named columns and a time in seconds."""
    text = text_of(path)
    first = text.lstrip().split("\n", 1)[0]
    lines = text.split("\n")
    if first.startswith("{"):
        for number, line in enumerate(lines, 1):
            if line.strip():
                fields = json.loads(line)
                yield Row(number, fields["ts"], fields)
    elif re.match(r"\S+ \S+ \S+ \[", first):
        for number, line in enumerate(lines, 1):
            if found := re.match(r'(\S+) \S+ \S+ \[([^]]+)\] "(\S+)', line):
                time = datetime.datetime.strptime(found[2], "%d/%b/%Y:%H:%M:%S %z")
                yield Row(number, int(time.timestamp() * 1000), {"ip": found[1], "method": found[3]})
    else:
        parsed = csv.reader(lines)
        names = next(parsed) if columns is None else columns
        for values in parsed:
            if len(values) != len(names):
                continue  # a bad row
            fields = dict(zip(names, values))
            ts = epoch_ms(fields["DateTime"], "%Y/%m/%d %H:%M:%S") if "DateTime" in fields else int(float(fields["ts"]) * 1000)
            yield Row(parsed.line_num, ts, fields)


def trailing_counts(events, window):
    """(line, ts, key) of each event -> by line how many events of its key lie in (ts - window, ts], itself and earlier ones; events in order of time."""
    times = collections.defaultdict(list)
    counts = {}
    for line, ts, key in sorted(events, key=lambda event: (event[1], event[0])):
        times[key].append(ts)
        counts[line] = len(times[key]) - bisect.bisect_right(times[key], ts - window)
    return counts


def geohash(lat, lon, letters):
    low, high, out, bits, even = [-90.0, -180.0], [90.0, 180.0], "", 0, True
    for n in range(5 * letters):
        axis = 1 if even else 0
        middle = (low[axis] + high[axis]) / 2
        upper = (lon if even else lat) >= middle
        (low if upper else high)[axis] = middle
        bits, even = bits * 2 + upper, not even
        if n % 5 == 4:
            out, bits = out + "0123456789bcdefghjkmnpqrstuvwxyz"[bits], 0
    return out


# Ways to be wrong.

def every(kind, change):
    """Changes the last row of a kind of each policy or view; None where there is no such row."""
    def mutate(found):
        last = {}
        for i, row in enumerate(found):
            if row["type"] == kind:
                last[row.get("policy", row.get("view"))] = i
        return [(name, lambda copied, i=i: change(copied, i)) for name, i in last.items()]
    return mutate


def on_summary(member):
    def mutate(found):
        return [(member, lambda copied: copied[-1].__setitem__(member, copied[-1][member] + 1))]
    return mutate


def without_all(kind):
    def mutate(found):
        names = {row.get("policy", row.get("view")) for row in found if row["type"] == kind}
        def drop(copied, name):
            copied[:] = [r for r in copied if r["type"] != kind or r.get("policy", r.get("view")) != name]
        return [(name, lambda copied, name=name: drop(copied, name)) for name in sorted(names)]
    return mutate


def scaled(member):
    def mutate(found):
        names = {row["policy"] for row in found if row["type"] == "reading" and isinstance(row[member], (int, float))}
        def scale(copied, name):
            for row in copied:
                if row["type"] == "reading" and row["policy"] == name and row[member] is not None:
                    row[member] = row[member] * 1000 + 1
        return [(name, lambda copied, name=name: scale(copied, name)) for name in sorted(names)]
    return mutate


def set_to(member, change):
    return lambda copied, i: copied[i].__setitem__(member, change(copied[i][member]))


def other_key(key):
    return [str(part) + "x" for part in key] or ["x"]


def more(value):
    return 7 if value is None else value + 1


MUTATIONS = {
    "a policy's readings are missing": without_all("reading"),
    "a policy's readings are all too high": scaled("value"),
    "a reading is missing": every("reading", lambda rows_, i: rows_.pop(i)),
    "a reading is given twice": every("reading", lambda rows_, i: rows_.insert(i, copy.deepcopy(rows_[i]))),
    "a reading is too high": every("reading", set_to("value", lambda v: 1000 * more(v))),
    "a reading has another key": every("reading", set_to("key", other_key)),
    "a reading has another time": every("reading", set_to("ts", more)),
    "a policy's verdicts are missing": without_all("verdict"),
    "a policy's patterns are missing": without_all("pattern"),
    "a pattern has another key": every("pattern", set_to("key", other_key)),
    "a pattern is given twice": every("pattern", lambda rows_, i: rows_.insert(i, copy.deepcopy(rows_[i]))),
    "a view's windows are missing": without_all("view"),
    "a window is missing": every("view", lambda rows_, i: rows_.pop(i)),
    "a window is given twice": every("view", lambda rows_, i: rows_.insert(i, copy.deepcopy(rows_[i]))),
    "a window is complete or not": every("view", set_to("complete", lambda c: not c)),
    "a window's total is too high": every("view", set_to("total", more)),
    "rows too many": on_summary("rows"),
    "bad rows too many": on_summary("bad"),
    "late rows too many": on_summary("late"),
}

#!/usr/bin/env python3
"""zones.py RULES OUT: all time zones of the rules in tzdata's form (/usr/share/zoneinfo/tzdata.zi), from 1970 on, as the one file OUT that
core/zones/zones.h describes. The same rules give the same bytes. Needs zic."""
import gzip
import os
import struct
import subprocess
import sys
import tempfile

HEADER = 44


def shortened(zone: bytes) -> bytes:
    """Without the first half of a zone's file, which says the same in 32 bits for old readers: a new reader skips it by its lengths."""
    assert zone[:5] in (b"TZif2", b"TZif3"), zone[:5]
    universal, standard, leaps, times, types, letters = struct.unpack(">6L", zone[20:HEADER])
    old = times * 5 + types * 6 + letters + leaps * 8 + standard + universal
    return zone[:20] + struct.pack(">6L", 0, 0, 0, 0, 1, 1) + bytes(7) + zone[HEADER + old:]


def main() -> None:
    rules, out = sys.argv[1:]
    index, data, places = [], bytearray(), {}
    with tempfile.TemporaryDirectory() as folder:
        # The fat form: cctz 2.3 does not read zones whose last rule is in the file's last line only, as zic writes them by default.
        path = os.environ["PATH"] + ":/usr/sbin"
        subprocess.run(["zic", "-b", "fat", "-r", "@0", "-d", folder, rules], check=True, env={**os.environ, "PATH": path})
        names = sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, files in os.walk(folder) for name in files)
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                zone = shortened(file.read())
            if zone not in places:
                places[zone] = len(data)
                data += zone
            index.append(f"{name} {places[zone]} {len(zone)}\n")
    with open(out, "wb") as file:
        file.write(gzip.compress("".join(index).encode() + b"\n" + bytes(data), 9, mtime=0))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes the table of core/chars/case_fold.cc: `python3 tools/make_case_fold.py > core/chars/case_fold_table.inc`.

Two characters are one if lower, upper or title case, or case folding, leads from one to the other in a
single character. That is the union of what Go, .NET and Java take for equal without regard to case:
U+017F is `s`, U+212A is `k`, U+0130 and U+0131 are `i`.
"""
parent: dict[int, int] = {}


def root(code: int) -> int:
    while parent.get(code, code) != code:
        code = parent[code]
    return code


def join(a: int, b: int) -> None:
    a, b = root(a), root(b)
    if a != b:
        parent[max(a, b)] = min(a, b)


def main() -> None:
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        text = chr(code)
        for other in (text.lower(), text.upper(), text.title(), text.casefold()):
            if len(other) == 1 and other != text:
                join(code, ord(other))
    join(0x130, ord("i"))  # Java's Character.toLowerCase
    ranges: list[list[int]] = []  # first, last, step, difference
    for code in range(0x80, 0x110000):
        difference = root(code) - code
        if difference == 0:
            continue
        last = ranges[-1] if ranges else None
        step = code - last[1] if last else 0
        if last and last[3] == difference and (step == last[2] or (last[0] == last[1] and step in (1, 2))):
            last[1], last[2] = code, step
        else:
            ranges.append([code, code, 1, difference])
    print("// Written by tools/make_case_fold.py; do not edit.")
    for first, last, step, difference in ranges:
        print(f"{{{first:#x}, {last:#x}, {step}, {difference}}},")


main()

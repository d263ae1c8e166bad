#!/usr/bin/env python3
"""Turns text files into C++ string views: embed_text.py NAMESPACE OUT.h OUT.cc FILE..."""
import os
import re
import sys


def main() -> None:
    namespace, header, source, *files = sys.argv[1:]
    os.makedirs(os.path.dirname(header), exist_ok=True)
    names = [(re.sub(r"[^A-Za-z0-9]", "_", os.path.basename(f)), f) for f in files]
    with open(header, "w", encoding="utf-8") as out:
        out.write("#pragma once\n#include <string_view>\n")
        out.write(f"namespace weir::embedded::{namespace} {{\n")
        for name, _ in names:
            out.write(f"extern const std::string_view k_{name};\n")
        out.write("struct File { std::string_view name, text; };\n")
        out.write(f"inline constexpr int kFileCount = {len(names)};\n")
        out.write("extern const File kFiles[];\n}\n")
    with open(source, "w", encoding="utf-8") as out:
        out.write(f'#include "embedded/{namespace}.h"\nnamespace weir::embedded::{namespace} {{\n')
        for name, path in names:
            data = open(path, "rb").read()
            body = ",".join(str(b - 256 if b > 127 else b) for b in data)
            out.write(f"static const char data_{name}[] = {{{body}{',' if data else ''}0}};\n")
            out.write(f"const std::string_view k_{name}{{data_{name}, {len(data)}}};\n")
        out.write("const File kFiles[] = {\n")
        for name, path in names:
            out.write(f'  {{"{os.path.basename(path)}", {{data_{name}, {len(open(path, "rb").read())}}}}},\n')
        out.write("};\n}\n")


main()

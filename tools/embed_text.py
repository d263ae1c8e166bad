#!/usr/bin/env python3
"""Turns text files into C++ string views: embed_text.py NAMESPACE OUT.h OUT.cc [--packed] FILE...
--packed: the program has all of them as one compressed text, which it unpacks when it first asks for one."""
import os
import re
import sys
import zlib


def array(name: str, data: bytes) -> str:
    body = ",".join(str(b - 256 if b > 127 else b) for b in data)
    return f"static const char {name}[] = {{{body}{',' if data else ''}0}};\n"


def plain(namespace: str, names: list[tuple[str, str]], texts: list[bytes]) -> tuple[str, str]:
    header = "".join(f"extern const std::string_view k_{name};\n" for name, _ in names)
    header += "struct File { std::string_view name, text; };\n"
    header += f"inline constexpr int kFileCount = {len(names)};\nextern const File kFiles[];\n"
    source = f'#include "embedded/{namespace}.h"\nnamespace weir::embedded::{namespace} {{\n'
    for (name, _), text in zip(names, texts):
        source += array(f"data_{name}", text) + f"const std::string_view k_{name}{{data_{name}, {len(text)}}};\n"
    source += "const File kFiles[] = {\n"
    source += "".join(f'  {{"{os.path.basename(path)}", {{data_{name}, {len(text)}}}}},\n' for (name, path), text in zip(names, texts))
    return header, source + "};\n}\n"


def packed(namespace: str, names: list[tuple[str, str]], texts: list[bytes]) -> tuple[str, str]:
    header = "struct File { std::string_view name, text; };\n/// They stay.\nstd::span<const File> files();\n"
    data, at, rows = zlib.compress(b"".join(texts), 9), 0, ""
    for (_, path), text in zip(names, texts):
        rows += f'    {{"{os.path.basename(path)}", std::string_view(text).substr({at}, {len(text)})}},\n'
        at += len(text)
    return header, (f'#include "embedded/{namespace}.h"\n#include <string>\n#include "core/chars/packed.h"\nnamespace weir::embedded::{namespace} {{\n'
                    f"{array('data', data)}std::span<const File> files() {{\n  static const std::string text = unpacked({{data, {len(data)}}}, {at});\n"
                    f"  static const File all[] = {{\n{rows}  }};\n  return all;\n}}\n}}\n")


def main() -> None:
    namespace, header, source, *files = sys.argv[1:]
    write = packed if files[0] == "--packed" else plain
    files = [file for file in files if file != "--packed"]
    os.makedirs(os.path.dirname(header), exist_ok=True)
    texts = []
    for path in files:
        with open(path, "rb") as f:
            texts.append(f.read())
    declared, defined = write(namespace, [(re.sub(r"[^A-Za-z0-9]", "_", os.path.basename(f)), f) for f in files], texts)
    with open(header, "w", encoding="utf-8") as out:
        out.write(f"#pragma once\n#include <span>\n#include <string_view>\nnamespace weir::embedded::{namespace} {{\n{declared}}}\n")
    with open(source, "w", encoding="utf-8") as out:
        out.write(defined)


main()

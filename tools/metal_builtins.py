#!/usr/bin/env python3
"""Writes the table of Metal's built-in functions in docs/metal.md from the lists of
src/metal/msl/include/ingot_msl/builtins.h. With --check it only says whether the table is up to date."""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LISTS = ROOT / "src/metal/msl/include/ingot_msl/builtins.h"
DOCUMENT = ROOT / "docs/metal.md"
BEGIN, END = "<!-- built-ins -->", "<!-- end of built-ins -->"


def rows(text, name):
    """The arguments of each X(...) of the list `name`, quotes taken off."""
    lines = text.split(f"#define {name}(X)", 1)[1].splitlines()
    body = []
    for line in lines:
        body.append(line.rstrip("\\ "))
        if not line.rstrip().endswith("\\"):
            break
    return [[field.strip().strip('"') for field in row.split(",")] for row in re.findall(r"X\(([^)]*)\)", " ".join(body))]


def joined(names):
    return ", ".join(f"`{name}`" for name in sorted(names))


def table(text):
    math = rows(text, "INGOT_MATH_BUILTINS") + rows(text, "INGOT_SHARED_MATH_BUILTINS")
    by_error = {}
    for name, _, _, _, ulps in math:
        by_error.setdefault(int(ulps), []).append(name)
    integers = rows(text, "INGOT_INTEGER_BUILTINS") + rows(text, "INGOT_SHARED_INTEGER_BUILTINS")
    simd = rows(text, "INGOT_SIMD_BUILTINS")
    packs = rows(text, "INGOT_PACK_BUILTINS")
    atomics = rows(text, "INGOT_ATOMIC_BUILTINS")
    lines = ["| functions | AIR | accuracy |", "| --- | --- | --- |"]
    for ulps in sorted(by_error):
        accuracy = "correctly rounded" if ulps == 0 else f"{ulps} ulp"
        lines.append(f"| {joined(by_error[ulps])} | `air.[fast_]NAME.{{f32,f16,bf16}}` | {accuracy} |")
    lines.append(f"| {joined(row[1] for row in integers)} | `air.NAME.[s.,u.]i{{8,16,32,64}}` | exact |")
    lines.append(f"| {joined(row[3] for row in packs)} (`unpack_NAME_to_float`, `pack_float_to_NAME`; `half`) | "
                 "`air.{pack,unpack}.FORMAT.vN{f32,f16}` | rounded once; sRGB in steps of 1/4095 |")
    lines.append(f"| {joined(row[1] for row in simd)} (`simd_NAME`, `quad_NAME`) | `air.{{simd,quad}}_NAME.TYPE` | "
                 "sums and products of 16-bit types in float |")
    lines.append(f"| {joined('atomic_' + row[0] + '_explicit' for row in atomics)}, load, store, exchange, "
                 "compare_exchange_weak | `air.atomic.{global,local}.NAME.TYPE` | |")
    return "\n".join(lines)


def updated(document, text):
    before, rest = document.split(BEGIN, 1)
    return f"{before}{BEGIN}\n{table(text)}\n{END}{rest.split(END, 1)[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    document = DOCUMENT.read_text()
    wanted = updated(document, LISTS.read_text())
    if arguments.check:
        if document != wanted:
            sys.exit(f"{DOCUMENT.relative_to(ROOT)} doesn't list the built-ins of {LISTS.relative_to(ROOT)}: run {sys.argv[0]}")
        return
    DOCUMENT.write_text(wanted)


if __name__ == "__main__":
    main()

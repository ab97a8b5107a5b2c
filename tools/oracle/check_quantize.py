#!/usr/bin/env python3
"""Compares `ingot quantize` with llama.cpp's `llama-quantize --pure`, byte for byte, for every type.

    tools/oracle/check_quantize.py INGOT LLAMA_QUANTIZE MODEL... [--golden FILE]

Each MODEL (F32, F16 or BF16) is quantized to all types as it is, and again from what llama-quantize makes of it in F16
and in BF16. --golden writes the results' FNV-1a hashes, which tests/llm/gguf/quantize_file_test.cpp reads:
tests/data/quant/quantized_models.json is made of tests/data/quant/shapes.gguf and tests/data/models/qwen3-tied.gguf.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

TYPES = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
         "IQ4_NL", "MXFP4"]
LLAMA_NAMES = {"MXFP4": "MXFP4_MOE"}


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def run(command):
    """None, or the last line that a failing command printed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip().split("\n")[-1]


def first_difference(a, b):
    if len(a) != len(b):
        return f"{len(a)} and {len(b)} bytes"
    return next((f"byte {i}" for i in range(len(a)) if a[i] != b[i]), None)


def compare(args, model, folder, source, golden):
    """`source` names the type that `model` is stored in, or is "as is"."""
    failures = 0
    for name in TYPES:
        theirs, ours = folder / "theirs.gguf", folder / "ours.gguf"
        ours_failed = run([args.ingot, "quantize", model, ours, name, "-t", 2])
        if theirs_failed := run([args.llama_quantize, "--pure", model, theirs, LLAMA_NAMES.get(name, name), 2]):
            print(f"{model.name} ({source}) -> {name}: llama-quantize refuses it ({theirs_failed}); ingot: "
                  f"{ours_failed or 'written'}", flush=True)
            continue
        if ours_failed:
            raise RuntimeError(ours_failed)
        expected = theirs.read_bytes()
        difference = first_difference(expected, ours.read_bytes())
        failures += difference is not None
        print(f"{model.name} ({source}) -> {name}: {difference or 'same'} ({len(expected)} bytes)", flush=True)
        if args.golden:
            golden[f"{source} {name}"] = fnv1a(expected)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ingot", type=pathlib.Path)
    parser.add_argument("llama_quantize", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    parser.add_argument("--golden", type=pathlib.Path)
    args = parser.parse_args()
    failures, golden = 0, {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in args.models:
            hashes = golden.setdefault(model.name, {})
            failures += compare(args, model, folder, "as is", hashes)
            for source in ("F16", "BF16"):
                other = folder / f"{source}-{model.name}"
                if failed := run([args.llama_quantize, "--pure", model, other, source]):
                    raise RuntimeError(failed)
                failures += compare(args, other, folder, source, hashes)
    if args.golden:
        args.golden.write_text(json.dumps(golden, indent=1) + "\n")
    print(f"{failures} differ")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())

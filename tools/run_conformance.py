#!/usr/bin/env python3
"""Runs every conformance check in tools/conformance and adds up what they report.

A check is a script CHECK.py that takes --program INGOT --source DIR (the folder vendor/llama.cpp/models of the
source package that tools/fetch.py stores) and prints as its last line "N passed, N failed".
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import fetch

CHECKS = ("tokenizers", "templates")
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed$")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the checks' packages")
    parser.add_argument("--program", required=True, type=Path, help="the ingot program")
    arguments = parser.parse_args()

    source = fetch.cache_folder() / fetch.SOURCE_FOLDER / "vendor/llama.cpp/models"
    passed = failed = 0
    for check in CHECKS:
        script = Path(__file__).parent / "conformance" / f"{check}.py"
        print(f"conformance: {check}", flush=True)
        done = subprocess.run([arguments.python, script, "--program", arguments.program.resolve(), "--source", source],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        lines = done.stdout.rstrip("\n").splitlines()
        closing = CLOSING.match(lines[-1]) if lines else None
        print("\n".join(lines if closing is None else lines[:-1]))
        if closing is None:
            print(f"conformance: {script.name} ended with exit code {done.returncode} and no count", file=sys.stderr)
            failed += 1
            continue
        passed += int(closing[1])
        failed += int(closing[2])
        if done.returncode != 0 and int(closing[2]) == 0:
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

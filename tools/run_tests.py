#!/usr/bin/env python3
"""Runs the tests of a build folder with ctest: run_tests.py BUILD [--label L] [--exclude-label L] [--of FOLDER...]

Shows the output of failed tests only; the whole log stays in BUILD/tests.log. The closing line is ctest's
"N% tests passed, N tests failed out of N"; no test at all is a failure.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

CLOSING = re.compile(r"\d+% tests passed, (\d+) tests failed out of (\d+)")


SUITE = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+),", re.MULTILINE)


def names_of(folders: list[Path]) -> str:
    """A regular expression for the names of the tests in these folders' sources: SUITE.NAME or SET/SUITE.NAME/N."""
    suites = set()
    for folder in folders:
        found = {suite for source in folder.rglob("*.cpp") for suite in SUITE.findall(source.read_text())}
        if not found:
            sys.exit(f"test: there are no tests in {folder}")
        suites |= found
    return rf"(^|/)({'|'.join(sorted(suites))})[./]"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--label", help="only tests with this label")
    parser.add_argument("--exclude-label", help="no tests with this label")
    parser.add_argument("--of", nargs="+", type=Path, metavar="FOLDER", help="only tests whose sources lie here")
    arguments = parser.parse_args()

    command = ["ctest", "--test-dir", str(arguments.build), "-j", str(len(os.sched_getaffinity(0))),
               "--output-on-failure", "--timeout", "600"]
    for flag, value in (("-L", arguments.label), ("-LE", arguments.exclude_label)):
        if value:
            command += [flag, value]
    if arguments.of:
        command += ["-R", names_of(arguments.of)]
    print(f"test: running the tests of {arguments.build}", flush=True)
    log_path = arguments.build / "tests.log"
    with open(log_path, "w") as log:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, text=True)
    lines = log_path.read_text(errors="replace").splitlines()
    closing = next((m for line in reversed(lines) if (m := CLOSING.search(line))), None)
    if closing is None or int(closing[2]) == 0:
        print("\n".join(lines[-20:]), file=sys.stderr)
        print(f"test: ctest ran no test (exit code {done.returncode}); its log is {log_path}", file=sys.stderr)
        return 1
    if done.returncode != 0:
        passing = re.compile(r"^\s*(Start\s+\d+:|\d+/\d+ Test\s+#\d+: .* Passed )")
        print("\n".join(line for line in lines if not passing.match(line)))
        return 1
    slowest = re.search(r"Total Test time \(real\) = +([\d.]+) sec", "\n".join(lines))
    print(f"test: took {slowest[1] if slowest else '?'} s")
    print(closing[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks the virtual Metal device on kernels that others wrote. Needs what `make conformance-metal` fetches.

Each check counts kernels: those of a compiled library that lower or compile, those of ggml's sources that compile, and
tests of the program metal_conformance (build/release/bin), which runs kernels and compares them with references. --all takes everything;
without it a random sample, whose seed is printed (--seed repeats one). --only takes some of the checks. The last line is
"N passed, N failed".
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import fetch

# Kernels of a library that compile in a sampled run, and tests that run in one.
COMPILED_SAMPLE = 300
SOURCES_SAMPLE = 40
TESTS_SAMPLE = 300
# Kernels of all libraries that the vector executor may refuse, with a reason.
REFUSED_BY_VECTORS = 0.01
# Tests that run once more with simdgroups as vectors. Large kernels take seconds to compile in that form.
VECTOR_SAMPLE = 60
# Kernels of each library that both executors run with made-up arguments, in a whole run. For some no arguments are found
# that leave nothing open; at least so many are compared.
MADE_UP_KERNELS, MADE_UP_COMPARED = 200, 500
# Random programs of a small language that both executors run beside its interpreter, in a whole run.
STRUCTURED_KERNELS = 10_000
# Tests that run once more under checkers: what these find fails the test, but for defects that are known
# (tests/metal_conformance/checked.cpp).
WATCHED_SAMPLE = 60
# What a process may take for each of its tests on average, so that one that never ends is a failure.
SECONDS_A_TEST = 120
# Kernels of ggml's sources by host name, without and with the macro of the tensor interface (mul_mm.metal alone).
GGML_KERNELS = {"": 1066, "GGML_METAL_HAS_TENSOR=1": 113}
REFUSED = re.compile(r"^(\d+) kernels, e\.g\. [^:]*: (.*)$", re.MULTILINE)
CHECKED = re.compile(r"^(\d+) of (\d+) kernels (?:lowered|compiled)", re.MULTILINE)


@dataclass(frozen=True)
class Library:
    name: str
    file: str          # for `ingot metal`
    sampled: bool      # part of a sampled run
    refused: int = 0   # kernels that need what the device refuses by name
    reason: str = ""


def libraries() -> list[Library]:
    def where(name):
        return str(fetch.cache_folder() / fetch.ITEMS[name].target)

    convolution = "conv2d"
    return [Library("MLX for macOS 26", where("mlx-metal-26"), True),
            Library("MLX for macOS 14", where("mlx-metal-14"), True),
            Library("PyTorch, AIR 2.6", where("torch-metal") + ":0", False),
            Library("PyTorch, AIR 2.8", where("torch-metal") + ":1", False, 525, convolution)]


class Counts:
    def __init__(self):
        self.passed = self.failed = 0

    def add(self, passed: int, failed: int, line: str) -> None:
        self.passed += passed
        self.failed += failed
        print(f"conformance: {line}", flush=True)


def check_library(program: Path, library: Library, flags: list[str], counts: Counts) -> None:
    started = time.monotonic()
    done = subprocess.run([program, "metal", "check", library.file, *flags], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    found = CHECKED.search(done.stdout)
    if found is None:
        counts.add(0, 1, f"{library.name}: no count; {(done.stderr or done.stdout).strip()[-2000:]}")
        return
    passed, total = int(found[1]), int(found[2])
    refusals = done.stdout.splitlines()[:-1]
    named = sum(int(line.split()[0]) for line in refusals if library.reason and library.reason in line)
    failed = total - passed - named
    expected = library.refused if "--sample" not in flags else named
    if named != expected:
        failed += 1
        print(f"conformance: {named} kernels refused for {library.reason}, expected {expected}")
    for line in refusals if failed else []:
        print(f"  {line[:600]}")
    note = f", {named} refused by name ({library.reason})" if named else ""
    counts.add(passed + named, failed, f"{library.name}: {done.stdout.splitlines()[-1]}{note}; "
                                       f"{time.monotonic() - started:.0f} s")


def check_vectorised(program: Path, counts: Counts) -> None:
    """Lowers every kernel for the vector executor. What the device refuses on any executor is check_library's."""
    started = time.monotonic()
    total, reasons = 0, Counter()
    for library in libraries():
        done = subprocess.run([program, "metal", "check", library.file, "--executor", "vector"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        found = CHECKED.search(done.stdout)
        if found is None:
            counts.add(0, 1, f"{library.name}: no count; {(done.stderr or done.stdout).strip()[-2000:]}")
            return
        total += int(found[2])
        for refusal in REFUSED.finditer(done.stdout):
            if library.reason and library.reason in refusal[0]:
                total -= int(refusal[1])
            else:
                reasons[refusal[2]] += int(refusal[1])
    for reason, kernels in reasons.most_common():
        print(f"  {kernels} kernels: {reason[:600]}")
    refused = reasons.total()
    counts.add(total - refused, refused if refused > REFUSED_BY_VECTORS * total else 0,
               f"{total - refused} of {total} kernels vectorised, {refused} refused; {time.monotonic() - started:.0f} s")


def ggml_sources(program: Path, macro: str) -> list[tuple[list, str]]:
    """(command that compiles it, kernel) of each kernel of the package's sources."""
    folder = fetch.cache_folder() / fetch.SOURCE_FOLDER / "vendor/llama.cpp/ggml/src/ggml-metal"
    flags = ["-D", "GGML_METAL_HAS_BF16=1"]
    for include in (folder / "kernels", folder, folder.parent):
        flags += ["-I", include]
    if macro:
        flags += ["-D", macro, "--std", "metal4.0"]
    found = []
    for file in sorted((folder / "kernels").glob("mul_mm.metal" if macro else "*.metal")):
        if file.stem.endswith("_common"):   # included by others
            continue
        command = [program, "metal", "compile", file, *flags]
        listing = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if listing.returncode != 0:
            print(f"  {file.name}: {listing.stderr.strip()[:600]}")
        found += [(command, name) for name in listing.stdout.split() if not macro or "mul_mm_" in name]
    return found


def check_sources(program: Path, macro: str, sample: int, generator: random.Random, counts: Counts) -> None:
    started = time.monotonic()
    kernels = ggml_sources(program, macro)
    chosen = kernels if sample == 0 else generator.sample(kernels, min(sample, len(kernels)))

    def compile_one(pair):
        command, name = pair
        done = subprocess.run([*command, "--kernel", name], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return None if done.returncode == 0 else f"  {name}: {done.stderr.strip()[:600]}"

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        failures = [line for line in pool.map(compile_one, chosen) if line]
    print("\n".join(failures[:10]) + "\n" if failures else "", end="")
    missing = len(kernels) != GGML_KERNELS[macro]
    if missing:
        print(f"conformance: ggml's sources have {len(kernels)} kernels, expected {GGML_KERNELS[macro]}")
    counts.add(len(chosen) - len(failures), len(failures) + missing,
               f"ggml{' with ' + macro if macro else ''}: {len(chosen) - len(failures)} of {len(chosen)} kernels compiled "
               f"(of {len(kernels)}); {time.monotonic() - started:.0f} s")


def list_tests(tests: Path, environment: dict) -> list[str]:
    listing = subprocess.run([tests, "--gtest_list_tests"], check=True, capture_output=True, text=True,
                             env={**os.environ, **environment}).stdout
    names, suite = [], ""
    for line in listing.splitlines():
        if line.startswith("  "):
            names.append(suite + line.strip().split("  #")[0])
        elif line.endswith("."):
            suite = line
    return names


def run_tests(tests: Path, names: list[str], environment: dict, scratch: Path, index: int) -> dict:
    """The JSON report of one process; one that crashes or never ends is a failure of all its tests."""
    report = scratch / f"{index}.json"
    # A file instead of an argument: the list is long.
    filters = scratch / f"{index}.filter"
    filters.write_text("--gtest_filter=" + ":".join(names) + f"\n--gtest_output=json:{report}\n--gtest_brief=1\n")
    limit = SECONDS_A_TEST * (5 + len(names))
    try:
        done = subprocess.run([tests, f"--gtest_flagfile={filters}"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", env={**os.environ, **environment}, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"output": f"no end after {limit} s of: {' '.join(names)}", "code": None, "report": None}
    output = (done.stdout + done.stderr).strip()
    return {"output": output, "code": done.returncode,
            "report": json.loads(report.read_text()) if report.is_file() else None}


def run_shards(tests: Path, names: list[str], environment: dict):
    """(what run_tests gives, the tests it ran) of each of some processes that share the tests."""
    workers = len(os.sched_getaffinity(0))
    shards = [shard for i in range(workers * 4) if (shard := names[i::workers * 4])]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(run_tests, tests, shard, environment, Path(scratch), i) for i, shard in enumerate(shards)]
        for job, shard in zip(jobs, shards):
            yield job.result(), shard


def tests_that_ended(done: dict, shard: list[str]) -> list[dict]:
    """What a process of run_shards says of its tests, which is nothing if it crashed. Prints what went wrong."""
    if done["report"] is None:
        print(f"conformance: a process of {len(shard)} tests ended with {done['code']}:\n{done['output'][-3000:]}")
        return []
    if done["code"] != 0:
        print(done["output"][-6000:])
    return [test for suite in done["report"]["testsuites"] for test in suite["testsuite"]]


def check_tests(tests: Path, corpora: list[str], how: str, sample: int, generator: random.Random, counts: Counts) -> None:
    """`how`: on which executor, or "checked"."""
    started = time.monotonic()
    environment = {"INGOT_CHECK_RUNS": "default"} if how == "checked" else {"INGOT_EXECUTOR": how}
    every = [name for name in list_tests(tests, {}) if name.split(".")[0] in corpora]
    names = every if sample == 0 or sample >= len(every) else sorted(generator.sample(every, sample))
    passed, failed, kernels = 0, 0, {}
    for done, shard in run_shards(tests, names, environment):
        ended = tests_that_ended(done, shard)
        failed += len(shard) - len(ended)
        for test in ended:
            failed += bool(test.get("failures"))
            passed += not test.get("failures")
            kernels.setdefault(test["classname"].split(".")[0], set()).update(test.get("kernels", "").split())
    ran = ", ".join(f"{len(kernels[corpus])} of {corpus}" for corpus in sorted(kernels))
    counts.add(passed, failed, f"{how}: {passed} of {len(names)} tests passed (of {len(every)}), kernels run: {ran}; "
                               f"{time.monotonic() - started:.0f} s")


def check_made_up(tests: Path, count: int, least: int, seed: int, counts: Counts) -> None:
    """Kernels of the libraries with made-up arguments, on fibers and as vectors (tests/metal_conformance/made_up.h)."""
    started = time.monotonic()
    environment = {"INGOT_MADE_UP": str(count), "INGOT_MADE_UP_SEED": str(seed)}
    names = [name for name in list_tests(tests, environment) if name.startswith("madeup.")]
    outcomes = Counter()
    for done, shard in run_shards(tests, names, environment):
        ended = tests_that_ended(done, shard)
        outcomes["FAILED"] += len(shard) - len(ended)
        for test in ended:
            outcomes["FAILED" if test.get("failures") else test["result"]] += 1
    compared, failed = outcomes["COMPLETED"], outcomes["FAILED"]
    if compared < least:
        failed += 1
        print(f"conformance: only {compared} kernels were compared, at least {least} have to be")
    counts.add(compared, failed, f"made-up arguments: {compared} of {len(names)} kernels do the same on both executors, "
                                 f"{outcomes['SKIPPED']} left out; {time.monotonic() - started:.0f} s")


def check_structured(tests: Path, count: int, seed: int, counts: Counts) -> None:
    started = time.monotonic()
    test = "StructuredKernels.RandomOnesAreThoseOfTheInterpreter"
    workers = len(os.sched_getaffinity(0))
    share = count // (workers * 4)

    def run_share(index):
        environment = {"INGOT_STRUCTURED_KERNELS": str(share), "INGOT_STRUCTURED_SEED": str(seed % 1_000_000 + index * share)}
        return subprocess.run([tests, f"--gtest_filter={test}", "--gtest_brief=1"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, env={**os.environ, **environment})

    with ThreadPoolExecutor(workers) as pool:
        runs = list(pool.map(run_share, range(workers * 4)))
    failures = [run.stdout[-3000:] + run.stderr[-1000:] for run in runs if run.returncode != 0]
    print("\n".join(failures) + "\n" if failures else "", end="")
    counts.add(len(runs) - len(failures), len(failures),
               f"{share * len(runs)} random programs on both executors, {len(failures)} of {len(runs)} shares failed; "
               f"{time.monotonic() - started:.0f} s")


def check_libraries(program: Path, every: bool, seed: int, counts: Counts) -> None:
    for library in libraries():
        if not (every or library.sampled):
            continue
        check_library(program, library, [], counts)
        sample = [] if every else ["--sample", str(COMPILED_SAMPLE // 2), "--seed", str(seed)]
        check_library(program, library, ["--compile", *sample], counts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=Path, help="the ingot program")
    parser.add_argument("--tests", required=True, type=Path, help="the program metal_conformance")
    parser.add_argument("--all", action="store_true", help="everything, PyTorch's libraries too")
    parser.add_argument("--only", action="append", metavar="CHECK", help="only this check, may be given again (default: each)")
    parser.add_argument("--seed", type=int, help="repeats a sample (default: random, printed)")
    arguments = parser.parse_args()
    program, tests, every = arguments.program, arguments.tests, arguments.all
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 31)
    counts = Counts()
    corpora = ["mlx26", "mlx14", "mlxsource", "both", "ggml"] + (["torch0", "torch1"] if every else [])
    run = [corpus for corpus in corpora if corpus != "mlxsource"]  # the others only compile
    through_one_door = [corpus for corpus in run if corpus != "both"]

    def sampled_tests(those: list[str], how: str, sample: int) -> None:
        check_tests(tests, those, how, 0 if every else sample, random.Random(seed), counts)

    def sources() -> None:
        for macro in GGML_KERNELS:
            check_sources(program, macro, 0 if every else SOURCES_SAMPLE, random.Random(seed), counts)

    checks = {
        "libraries": lambda: check_libraries(program, every, seed, counts),
        "sources": sources,
        "fibers": lambda: sampled_tests(corpora, "fibers", TESTS_SAMPLE),
        # The engine's kernels beside ggml's: every row, always.
        "beside": lambda: sampled_tests(["beside"], "fibers", 0),
        "vector": lambda: sampled_tests(through_one_door, "vector", VECTOR_SAMPLE),
        "checked": lambda: sampled_tests(run, "checked", WATCHED_SAMPLE),
    }
    if every:
        checks |= {
            "vectorised": lambda: check_vectorised(program, counts),
            "made-up": lambda: check_made_up(tests, MADE_UP_KERNELS, MADE_UP_COMPARED, seed, counts),
            "structured": lambda: check_structured(tests.with_name("metal_tests"), STRUCTURED_KERNELS, seed, counts),
        }
    chosen = arguments.only or list(checks)
    if unknown := set(chosen) - set(checks):
        parser.error(f"no check {', '.join(sorted(unknown))}; there are {', '.join(checks)}")
    if not every:
        print(f"conformance: a sample; repeat it with --seed {seed}")
    for name in chosen:
        checks[name]()
    print(f"{counts.passed} passed, {counts.failed} failed")
    return 1 if counts.failed or not counts.passed else 0


if __name__ == "__main__":
    sys.exit(main())

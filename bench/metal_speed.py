#!/usr/bin/env python3
"""How fast the virtual Metal device is, as `ingot metal run` measures it: a Markdown table.

    make metal mlx-metal; python3 tools/fetch.py llama-cpp-python
    python3 bench/metal_speed.py [--ingot build/release/bin/ingot] [--rounds N] [--only TEXT]

Kernels of MLX as Apple's compiler built them, one of ggml from source, an empty one, on each executor: on one core (taskset),
and where it says so on two. Rounds go through all rows in turn. A launch's processor time, which busy neighbours disturb
least, is that of a process with N launches less that of one with a single launch, by N - 1, the least of all rounds; its
elapsed time is the median over rounds of a process' median, and the best of all. Then, in processor time of all processes
and elapsed, what making a pipeline takes, and what starting the program does.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import fetch  # noqa: E402

EXECUTORS = ("fibers", "vector")
EMPTY = "kernel void empty() {}\n"
SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void scale(device const float* in, device float* out, threadgroup float* shared, uint i [[thread_position_in_grid]],
                  uint t [[thread_index_in_threadgroup]]) {
    shared[t] = in[i] * NUMBER;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = simd_sum(shared[t ^ 1]);
}
"""


@dataclass
class Row:
    name: str
    file: str
    kernel: str
    grid: str                      # threadgroups
    threads: str
    flags: list = field(default_factory=list)
    gflop: float = 0               # of a launch; 0: time is what counts
    cores: int = 1
    repeat: int = 5


def words(*values):
    """Signed 32-bit words; a pair is one 64-bit number."""
    return "i32:" + ",".join(f"{value[0]},0" if isinstance(value, tuple) else str(value) for value in values)


def gemm(name, kernel, size, tile_k, cores):
    shape = f"f16[{size},{size}]"
    tiles = size // 64
    parameters = words(size, size, size, size, size, size, tiles, tiles, (0,), (0,), (0,), 0, size // tile_k, 0, 0)
    flags = ["--buffer", f"0=randn:{shape}:seed=1", "--buffer", f"1=randn:{shape}:seed=2", "--buffer", f"3=out:{shape}",
             "--bytes", f"4={parameters}"]
    for index, value in ((10, "false"), (100, "false"), (110, "false"), (200, "true"), (201, "true"), (202, "true")):
        flags += ["--constant", f"{index}=bool:{value}"]
    return Row(name, str(mlx()), kernel, f"{tiles},{tiles}", "32,2,2", flags, 2e-9 * size ** 3, cores)


def mlx():
    return fetch.cache_folder() / fetch.ITEMS["mlx-metal-26"].target


def ggml_flags():
    folder = fetch.cache_folder() / fetch.SOURCE_FOLDER / "vendor/llama.cpp/ggml/src/ggml-metal"
    flags = ["-D", "GGML_METAL_HAS_BF16=1"]
    for include in (folder / "kernels", folder, folder.parent):
        flags += ["-I", str(include)]
    return folder / "kernels/mul_mm.metal", flags


def mul_mm():
    """[576 x 1536] in q4_0 times 32 columns."""
    m, k, n = 576, 1536, 32
    file, flags = ggml_flags()
    row = k // 32 * 18
    arguments = words(k, 1, (row,), (row * m,), (row * m,), 1, 0, (4,), (4 * k,), (4 * k * n,), (4 * k * n,), m, n, 65537, 0)
    flags += ["--bytes", f"0={arguments}", "--buffer", f"1=zeros:u8[{row * m}]", "--buffer", f"2=randn:f32[{n},{k}]:seed=1",
              "--buffer", f"3=out:f32[{n},{m}]", "--threadgroup", "0=8192"]
    for index, value in ((700, "bool:false"), (701, "bool:false"), (702, "int:1"), (704, "int:1"), (705, "int:1")):
        flags += ["--constant", f"{index}={value}"]
    return Row("ggml's mul_mm q4_0, 576 x 1536, 32 columns", str(file), "kernel_mul_mm_q4_0_f32", f"1,{m // 64}", "128", flags,
               2e-9 * m * k * n, repeat=20)


def rows(folder):
    steel, nax = "steel_gemm_fused_nn_float16_float16_bm64_bn64_bk16_wm2_wn2", "steel_gemm_fused_nax_nn_float16_float16_bm64_bn64_bk256_wm2_wn2"
    norm = ["--buffer", "0=randn:f32[4096]:seed=1", "--buffer", "1=randn:f32[4096]:seed=2", "--buffer", "2=out:f32[4096]",
            "--bytes", "3=f32:1e-5", "--bytes", "4=u32:4096", "--bytes", "5=u32:1"]
    empty = folder / "empty.metal"
    empty.write_text(EMPTY)
    return [gemm("MLX's steel GEMM, half, 64x64x16, 1024^3", steel, 1024, 16, 1),
            gemm("the same on two cores", steel, 1024, 16, 2),
            gemm("MLX's NAX GEMM, half, 512^3", nax, 512, 256, 1),
            mul_mm(),
            Row("MLX's rms_norm of 4096 floats", str(mlx()), "rmsfloat32", "1", "1024", norm, repeat=3000),
            Row("an empty dispatch, 32 threads", str(empty), "empty", "1", "32", [], repeat=30000)]


def cores_of(count):
    return ",".join(map(str, sorted(os.sched_getaffinity(0))[:count]))


def measured(command):
    """(stdout, processor seconds of it and its children, elapsed seconds)"""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    elapsed, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, elapsed


def launch(ingot, row, executor):
    """Milliseconds of a launch: processor time, median, best."""
    def run(repeat):
        text, processor, _ = measured(
            ["taskset", "-c", cores_of(row.cores), ingot, "metal", "run", row.file, "--kernel", row.kernel, "--grid", row.grid,
             "--threads", row.threads, "--executor", executor, "--repeat", str(repeat), "--json", "--trust", *row.flags])
        report = json.loads(text)
        if report["executor"] != executor or report["workers"] > row.cores:
            sys.exit(f"{row.name} ran on {report['executor']} with {report['workers']} workers: {report['refusal']}")
        return report, processor

    run(1)  # compiles
    _, once = run(1)
    report, processor = run(row.repeat)
    return 1e3 * (processor - once) / (row.repeat - 1), report["median_milliseconds"], report["milliseconds"]


def print_launches(ingot, chosen, rounds):
    times = {}
    for _ in range(rounds):
        for row in chosen:
            for executor in EXECUTORS:
                times.setdefault((row.name, executor), []).append(launch(ingot, row, executor))
    columns = [f"{executor}, {what}" for executor in EXECUTORS for what in ("processor", "median", "best")]
    print(f"| | {' | '.join(columns)} |\n| --- |{' --- |' * len(columns)}")
    for row in chosen:
        cells = []
        for executor in EXECUTORS:
            processor, medians, bests = zip(*times[row.name, executor])
            for milliseconds in (min(processor), statistics.median(medians), min(bests)):
                cells.append(f"{row.gflop / milliseconds * 1e3:.1f} GFLOP/s" if row.gflop else f"{milliseconds * 1e3:.1f} us")
        print(f"| {row.name} | " + " | ".join(cells) + " |", flush=True)


def print_pipelines(ingot, folder, rounds):
    """From source: what a process takes that compiles, less what one takes that finds the kernel on disk."""
    file = folder / "scale.metal"
    file.write_text(SOURCE)

    def run(number):
        text, processor, elapsed = measured(
            [ingot, "metal", "run", file, "-D", f"NUMBER={number}", "--grid", "1", "--threads", "64", "--buffer", "0=zeros:f32[64]",
             "--buffer", "1=out:f32[64]", "--threadgroup", "0=256", "--json"])
        return json.loads(text), processor, elapsed

    run("1.0f")  # the library of Metal source is precompiled once
    processors, elapsed, cached = [], [], []
    for index in range(rounds):
        number = f"{time.time_ns() % 100000}.{index}f"
        first, second = run(number), run(number)
        if not first[0]["compiled"] or second[0]["compiled"]:
            sys.exit("a new source was found in the cache, or a known one not")
        processors.append(first[1] - second[1])
        elapsed.append(first[2] - second[2])
        cached.append(second[0]["compile_ms"])
    print(f"\na pipeline from source: {statistics.median(processors):.2f} s of processor time, {statistics.median(elapsed):.2f} s "
          f"elapsed; kept on disk: {statistics.median(cached):.2f} ms elapsed")
    text, processor, _ = measured([ingot, "metal", "check", mlx(), "--compile", "--trust", "--sample", str(20 * rounds), "--seed", "1"])
    print(f"{20 * rounds} pipelines of MLX's library: {processor / 20 / rounds * 1e3:.0f} ms of processor time each; "
          f"elapsed: {text.strip().splitlines()[-1]}")


def print_start(ingot, rounds):
    model = ROOT / "tests/data/models/qwen2.gguf"
    commands = {"`ingot run`, a model of 0.5 MB, 1 token": ["run", model, "-p", "ab", "-n", "1", "-q"],
                "`ingot metal list` of a small library": ["metal", "list", ROOT / "tests/metal/kernels/vector_add.metal"],
                "`ingot metal devices`, which loads LLVM": ["metal", "devices"]}
    for name, command in commands.items():
        _, processor, elapsed = zip(*(measured([ingot, *command]) for _ in range(3 * rounds)))
        print(f"{name}: {1e3 * min(processor):.0f} ms of processor time, {1e3 * statistics.median(elapsed):.0f} ms elapsed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ingot", default=ROOT / "build/release/bin/ingot", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="rows whose name contains this text, and nothing else")
    arguments = parser.parse_args()
    ingot = arguments.ingot.resolve()
    with tempfile.TemporaryDirectory() as name:
        chosen = [row for row in rows(Path(name)) if arguments.only in row.name]
        print_launches(ingot, chosen, arguments.rounds)
        if not arguments.only:
            print_pipelines(ingot, Path(name), arguments.rounds)
            print_start(ingot, arguments.rounds)


if __name__ == "__main__":
    main()

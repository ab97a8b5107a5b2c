#!/usr/bin/env python3
"""Compare `ingot bench` with llama-bench, and both with the limits of this machine.

    python3 bench/vs_llama.py [--models NAME,...] [--runs N] [--threads N]

NAME is a file in the model folder, a path, or SHAPE:TYPE for random weights (bench/make_model.py), which are made once
and kept. Each run measures the machine's limits (bench_limits), then both programs one after the other, so that all
three see the same state of the machine; a ratio is the median over the runs of the two rates of one run. "Limit" is the
share of what the machine can do: of its 8-bit products for prompts (the layers' matrices; the output is computed for
one token only), of its read bandwidth for generation (all matrices but an untied embedding, once a token).

A second table has what comes before the first token: loading (of llama.cpp all of a run's time that it doesn't spend on
the prompt), and loading with the prompt; and what 2 and 4 sequences together cost Ingot a step, beyond one alone.

Needs a release build with -DINGOT_BENCH=ON; random weights need the Python packages numpy and gguf.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import peer

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_MODELS = ("SmolLM2-135M-Instruct.Q4_1.gguf,gemma-3-270m-q4_k_m.gguf,"
                  + ",".join(f"qwen2.5-0.5b:{t}" for t in ("Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K", "F16")))


def run(command):
    """Its standard output, and the largest memory it had in MiB."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}")
    return text, usage.ru_maxrss / 1024


def model_path(name, ingot):
    if ":" not in name:
        in_folder = peer.folder().parent / "models" / name
        return in_folder if in_folder.exists() else Path(name)
    shape, quant = name.split(":")
    path, floats = peer.folder() / f"{shape}-{quant}.gguf", peer.folder() / f"{shape}-F16.gguf"
    peer.folder().mkdir(parents=True, exist_ok=True)
    if not floats.exists():
        print(f"making {floats}", file=sys.stderr)
        run([sys.executable, ROOT / "bench/make_model.py", shape, floats])
    if not path.exists():
        print(f"making {path}", file=sys.stderr)
        run([ingot, "quantize", floats, path, quant])
    return path


def work_of(path, ingot):
    """Products a prompt token takes, and bytes that generating one reads."""
    tensors = json.loads(run([ingot, "info", "--json", path])[0])["tensors"]
    matrices = [t for t in tensors if len(t["shape"]) == 2]
    layers = [t for t in matrices if t["name"].startswith("blk.")]
    products = sum(t["shape"][0] * t["shape"][1] for t in layers)
    untied = any(t["name"] == "output.weight" for t in matrices)
    read = sum(t["size_bytes"] for t in matrices if not (untied and t["name"] == "token_embd.weight"))
    return products, read


def limits(program, threads):
    """Of this moment: (read GB/s, 8-bit Gop/s)."""
    os.environ["INGOT_BENCH_THREADS"] = str(threads)
    found = f"^(read|int8/.*)/{threads}_threads/real_time$"
    text, _ = run([program, f"--benchmark_filter={found}", "--benchmark_format=json", "--benchmark_min_time=0.2"])
    rows = json.loads(text)["benchmarks"]
    return (max(row["GB/s"] for row in rows if "GB/s" in row), max(row["Gop/s"] for row in rows if "Gop/s" in row))


def rates(text):
    """{"pp512": tokens/s, ...} of either program's JSON."""
    return {("pp%d" % row["n_prompt"] if row["n_prompt"] else "tg%d" % row["n_gen"]): row["avg_ts"]
            for row in json.loads(text)}


def measure(path, args, programs):
    """One run: the rates of both, the shares of the limits that ours reach, and the peak memory of both in MiB."""
    ingot, llama, limit_program = programs
    read, int8 = limits(limit_program, args.threads)
    common = ["-p", args.prompt, "-n", args.generate, "-t", args.threads, "-d", args.depth, "-r", 1, "-o", "json"]
    ours, our_memory = run([ingot, "bench", path, *common])
    theirs, their_memory = run([llama, "-m", path, *common])
    products, read_bytes = work_of(path, ingot)
    shares = {f"pp{args.prompt}": 2e-9 * products / int8, f"tg{args.generate}": 1e-9 * read_bytes / read}
    return {"ours": rates(ours), "theirs": rates(theirs), "share": {test: shares[test] * rate
            for test, rate in rates(ours).items()}, "memory": (our_memory, their_memory), "limits": (read, int8)}


def measure_start(path, args, programs):
    """One run: seconds of loading and until the first token, of both; extra time a step of 2 and 4 sequences."""
    ingot, llama, _ = programs
    prompt = ["-p", args.prompt, "-n", 0, "-t", args.threads, "-r", 1, "-o", "json"]
    ours = json.loads(run([ingot, "bench", path, *prompt])[0])[0]
    begin = time.monotonic()
    theirs = json.loads(run([llama, "-m", path, *prompt, "--no-warmup"])[0])[0]
    elapsed = time.monotonic() - begin
    streams = json.loads(run([ingot, "bench", path, "-p", 0, "-n", args.generate, "-t", args.threads, "-r", 1,
                              "--streams", "1,2,4", "-o", "json"])[0])
    alone, two, four = (row["avg_ns"] for row in streams)
    return {"load": (ours["load_seconds"], elapsed - 1e-9 * theirs["avg_ns"]),
            "first": (ours["load_seconds"] + ours["first_token_seconds"], elapsed),
            "streams": (two / alone - 1, four / alone - 1)}


def report_start(name, runs):
    cells = []
    for what in ("load", "first"):
        pairs = [run[what] for run in runs]
        cells += [f"{statistics.median(pair[0] for pair in pairs):.2f}", f"{statistics.median(pair[1] for pair in pairs):.2f}",
                  f"{statistics.median(pair[0] / pair[1] for pair in pairs):.2f}"]
    cells += [f"{statistics.median(run['streams'][i] for run in runs):+.0%}" for i in (0, 1)]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def report(name, path, runs):
    size = path.stat().st_size / 2**20
    for test in runs[0]["ours"]:
        ours = [run["ours"][test] for run in runs]
        theirs = [run["theirs"][test] for run in runs]
        ratios = [a / b for a, b in zip(ours, theirs)]
        share = statistics.median(run["share"][test] for run in runs)
        memory = [statistics.median(run["memory"][i] for run in runs) for i in (0, 1)]
        print(f"| {name} | {test} | {statistics.median(ours):.1f} | {statistics.median(theirs):.1f} | "
              f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f}) | {share:.0%} | "
              f"{memory[0]:.0f} | {memory[1]:.0f} | {size:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=DEFAULT_MODELS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--generate", type=int, default=64)
    parser.add_argument("--depth", type=int, default=0, help="tokens in the context before each test")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="build folder of Ingot")
    parser.add_argument("--llama-bench", type=Path, help="a llama-bench to use instead of building one")
    args = parser.parse_args()
    ingot, limit_program = args.build / "bin/ingot", args.build / "bin/bench_limits"
    for program in (ingot, limit_program):
        if not program.exists():
            parser.error(f"{program} is missing: configure with -DINGOT_BENCH=ON and build it")
    llama = args.llama_bench or peer.llama_bench(args.threads)
    print("| model | test | ingot t/s | llama.cpp t/s | ratio | limit | MiB ingot | MiB llama.cpp | MiB file |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    reads, peaks, paths = [], [], {}
    for name in args.models.split(","):
        path = paths[name] = model_path(name, ingot)
        runs = [measure(path, args, (ingot, llama, limit_program)) for _ in range(args.runs)]
        report(name, path, runs)
        reads += [run["limits"][0] for run in runs]
        peaks += [run["limits"][1] for run in runs]
    depth = f", {args.depth} tokens in the context" if args.depth else ""
    print(f"\n{args.threads} threads, {args.runs} interleaved runs{depth}. Limits in the same runs, median (range): read "
          f"{statistics.median(reads):.1f} GB/s ({min(reads):.1f}-{max(reads):.1f}), 8-bit products "
          f"{statistics.median(peaks):.0f} Gop/s ({min(peaks):.0f}-{max(peaks):.0f}); load average "
          f"{os.getloadavg()[0]:.1f}.")
    print(f"\n| model | load s | llama.cpp | ratio | first token of {args.prompt} s | llama.cpp | ratio | 2 sequences | 4 |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, path in paths.items():
        report_start(name, [measure_start(path, args, (ingot, llama, limit_program)) for _ in range(args.runs)])


if __name__ == "__main__":
    main()

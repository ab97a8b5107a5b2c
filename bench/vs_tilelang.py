#!/usr/bin/env python3
"""Compare the tile compiler with TileLang: the same programs lowered by both in one run.

    pip install tilelang==0.1.15 numpy
    python3 bench/vs_tilelang.py [--ingot build/release/bin/ingot] [--only TEXT] [--repeat N]

For each program: milliseconds from the program to Metal source (ours as `ingot tile compile` measures it, TileLang's as one
call of tilelang.lower, both the median of N), bytes of source, and whether what was emitted computes the right values on the
virtual Metal device. Then what a threadgroup does for a step of K, counted there while it runs what either emitted: four
steps more, less what the program does anyway, divided by four and by the groups. Needs a release build.
"""
import argparse
import dataclasses
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Product:
    """C[m, n] = A[m, k] @ B[k, n] in halves, summed in floats: staged in shared tiles, or direct from tensors."""
    name: str
    m: int
    n: int
    k: int
    tile: tuple
    threads: int
    c: str = "fragment"  # fragment, shared or global
    metal4: bool = False
    stages: int = 0

    def text(self):
        """As a program of ours."""
        bm, bn, bk = self.tile
        rows, columns, step = f"by * {bm} : {bm}", f"bx * {bn} : {bn}", f"s * {bk} : {bk}"
        head = (f"kernel product {{\n  in A: f16[{self.m}, {self.k}]\n  in B: f16[{self.k}, {self.n}]\n"
                f"  out C: f32[{self.m}, {self.n}]\n  grid bx < ceildiv({self.n}, {bn}), by < ceildiv({self.m}, {bm})\n"
                f"  threads {self.threads}\n")
        if self.c == "global":
            return head + f"  gemm C[{rows}, {columns}] = A[{rows}, :] @ B[:, {columns}]\n}}\n"
        stages = f" pipelined({self.stages})" if self.stages else ""
        return head + (f"  shared As: f16[{bm}, {bk}]\n  shared Bs: f16[{bk}, {bn}]\n  {self.c} Ct: f32[{bm}, {bn}]\n"
                       f"  fill Ct = 0.0\n  for s < ceildiv({self.k}, {bk}){stages} {{\n    copy As = A[{rows}, {step}]\n"
                       f"    copy Bs = B[{step}, {columns}]\n    gemm Ct += As @ Bs\n  }}\n"
                       f"  copy C[{rows}, {columns}] = Ct\n}}\n")

    def peers(self):
        """As a program of TileLang's, and the target it is lowered for."""
        import tilelang.language as T
        from tvm.target import Target
        m, n, k, threads, stages, where = self.m, self.n, self.k, self.threads, self.stages, self.c
        scope = "shared" if where == "shared" else "shared.dyn"  # cooperative tensors take the one kind alone
        bm, bn, bk = self.tile
        if where == "global":
            @T.prim_func
            def main(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
                with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (bx, by):
                    T.gemm(A[by * bm:(by + 1) * bm, 0:k], B[0:k, bx * bn:(bx + 1) * bn],
                           C[by * bm:(by + 1) * bm, bx * bn:(bx + 1) * bn], clear_accum=True)
        else:
            @T.prim_func
            def main(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
                with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (bx, by):
                    As = T.alloc_shared((bm, bk), "float16", scope=scope)
                    Bs = T.alloc_shared((bk, bn), "float16", scope=scope)
                    Ct = T.alloc_shared((bm, bn), "float32", scope=scope) if where == "shared" \
                        else T.alloc_fragment((bm, bn), "float32")
                    T.clear(Ct)
                    for s in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                        T.copy(A[by * bm, s * bk], As)
                        T.copy(B[s * bk, bx * bn], Bs)
                        T.gemm(As, Bs, Ct)
                    T.copy(Ct, C[by * bm, bx * bn])
        return main, Target({"kind": "metal", "keys": ["metal", "gpu"] + (["metal4"] if self.metal4 else [])})


PRODUCTS = (
    Product("simdgroup 64x64x32, 128 threads", 128, 128, 256, (64, 64, 32), 128, stages=2),
    Product("simdgroup 64x128x64, 256 threads", 128, 256, 256, (64, 128, 64), 256),
    Product("simdgroup, edges", 100, 72, 40, (32, 32, 32), 64),
    Product("direct 64x128, 128 threads", 128, 256, 128, (64, 128, 16), 128, c="global", metal4=True),
    Product("direct 64x128, 256 threads", 128, 256, 128, (64, 128, 16), 256, c="global", metal4=True),
    Product("direct, edges", 100, 72, 48, (32, 64, 16), 128, c="global", metal4=True),
    Product("shared 64x64x32, 128 threads", 128, 128, 128, (64, 64, 32), 128, c="shared", metal4=True),
)
STEPS = 4  # of K, that the longer of two counted runs has more

# What is counted, and how the device's report says it.
COLUMNS = {
    "8x8x8 products": lambda c: c["matrix_products"],
    "tensor operations": lambda c: c["tensor_operations"],
    "fragment loads": lambda c: c["matrix_loads_device"] + c["matrix_loads_threadgroup"],
    "threadgroup bytes stored": lambda c: c["threadgroup_memory"]["bytes_written"],
    "loaded": lambda c: c["threadgroup_memory"]["bytes_read"],
    "barriers": lambda c: c["barriers"],
    "device bytes read": lambda c: sum(b["bytes_read"] for b in c["buffers"]),
}


def call(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def matrices(p, folder):
    random = numpy.random.default_rng(1)
    a, b = (random.uniform(-1, 1, shape).astype(numpy.float16) for shape in ((p.m, p.k), (p.k, p.n)))
    numpy.save(folder / "a.npy", a)
    numpy.save(folder / "b.npy", b)
    return a.astype(numpy.float64) @ b.astype(numpy.float64)


def verdict(code, error, folder, expected):
    if code != 0:
        return "refused: " + error.strip().splitlines()[-1][:60]
    worst = numpy.abs(numpy.load(folder / "c.npy").reshape(expected.shape) - expected).max()
    return "right" if worst <= 1e-4 * max(1.0, numpy.abs(expected).max()) else f"wrong by {worst:.2g}"


def target_of(p):
    return "metal-m5" if p.metal4 else "metal-m4"


def compile_ours(p, ingot, folder, repeat):
    """Milliseconds and source."""
    program, times = folder / "product.tile", []
    program.write_text(p.text())
    for _ in range(repeat):
        code, out, error = call(ingot, "tile", "compile", program, "--target", target_of(p), "--json")
        if code != 0:
            raise RuntimeError("refused: " + error.strip()[:60])
        described = json.loads(out)
        times.append(described["compile_ms"])
    return statistics.median(times), described["source"]


def run_ours(p, ingot, folder, *flags):
    (folder / "product.tile").write_text(p.text())
    return call(ingot, "tile", "run", folder / "product.tile", "--target", target_of(p), "--in", f"A={folder / 'a.npy'}",
                "--in", f"B={folder / 'b.npy'}", "--out", f"C={folder / 'c.npy'}", *flags)


def compile_theirs(p, ingot, folder, repeat):
    import tilelang
    times = []
    for _ in range(repeat):
        main, target = p.peers()
        started = time.perf_counter()
        try:
            with target:
                source = tilelang.lower(main, target=target).kernel_source
        except Exception as error:  # it raises many kinds
            raise RuntimeError("not lowered: " + str(error).strip().splitlines()[-1][:60])
        times.append((time.perf_counter() - started) * 1e3)
    (folder / "peer.metal").write_text(source)
    return statistics.median(times), source


def run_theirs(p, ingot, folder, *flags):
    """What compile_theirs() left there."""
    grid = f"{-(-p.n // p.tile[1])},{-(-p.m // p.tile[0])},1"
    padded = (-(-p.m // p.tile[0]) * p.tile[0], -(-p.n // p.tile[1]) * p.tile[1])
    done = call(ingot, "metal", "run", folder / "peer.metal", "--std", "metal4.0" if p.metal4 else "metal3.1", "--grid",
                grid, "--threads", p.threads, "--buffer", f"0={folder / 'a.npy'}", "--buffer", f"1={folder / 'b.npy'}",
                "--buffer", f"2=out:{folder / 'c.npy'}:f32[{padded[0]},{padded[1]}]", *flags)
    if done[0] == 0:  # what it wrote as if rows had the tensor's length
        c = numpy.load(folder / "c.npy").ravel()[:p.m * p.n]
        numpy.save(folder / "c.npy", c)
    return done


def counts_of_a_step(p, ingot, folder, compiling, running):
    """Of one group, by column."""
    totals = []
    for k in (p.k, p.k + STEPS * p.tile[2]):
        q = dataclasses.replace(p, k=k)
        matrices(q, folder)
        compiling(q, ingot, folder, 1)
        code, out, error = running(q, ingot, folder, "--count", "--json")
        if code != 0:
            raise RuntimeError("not counted: " + error.strip().splitlines()[-1][:60])
        totals.append(json.loads(out)["counts"])
    groups = totals[0]["threadgroups"]
    return {name: (count(totals[1]) - count(totals[0])) / (STEPS * groups) for name, count in COLUMNS.items()}


def measure(p, ingot, folder, repeat, compiling, running):
    try:
        expected = matrices(p, folder)
        milliseconds, source = compiling(p, ingot, folder, repeat)
        code, _, error = running(p, ingot, folder)
        return dict(milliseconds=milliseconds, bytes=len(source), verdict=verdict(code, error, folder, expected),
                    counts=counts_of_a_step(p, ingot, folder, compiling, running))
    except RuntimeError as error:
        return dict(verdict=str(error))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ingot", type=Path, default=ROOT / "build/release/bin/ingot")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for p in (p for p in PRODUCTS if args.only in p.name):
            both = ((compile_ours, run_ours), (compile_theirs, run_theirs))
            rows.append((p, *(measure(p, args.ingot, Path(scratch), args.repeat, *way) for way in both)))
    print("| program | ms: ours | TileLang | times | bytes: ours | TileLang | ours | TileLang |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for p, a, b in rows:
        ms = [x.get("milliseconds") for x in (a, b)]
        ratio = f"{ms[1] / ms[0]:.0f}" if all(ms) else ""
        shown = [f"{x:.2f}" if x else "" for x in ms]
        print(f"| {p.name} | {shown[0]} | {shown[1]} | {ratio} | {a.get('bytes', '')} | {b.get('bytes', '')} "
              f"| {a['verdict']} | {b['verdict']} |")
    print("\nA threadgroup, for a step of K, counted on the virtual device, ours / TileLang's:\n")
    print("| program | " + " | ".join(COLUMNS) + " |")
    print("| --- |" + " --- |" * len(COLUMNS))
    for p, *both in rows:
        shown = [" / ".join(f"{x['counts'][c]:g}" if "counts" in x else "-" for x in both) for c in COLUMNS]
        print(f"| {p.name} | " + " | ".join(shown) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())

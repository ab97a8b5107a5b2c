#!/usr/bin/env python3
"""What checking and counting costs, and how that compares with Oclgrind: in one run, on one machine.

    apt-get install oclgrind
    python3 bench/vs_oclgrind.py [--ingot build/release/bin/ingot] [--repeat N]

Five kernels run unwatched, under the bounds checker, under all that are on by default, and counted; three of them, written in
OpenCL C too, run under `oclgrind-kernel --data-races`. Processor seconds of a process from start to end, which busy neighbours
disturb least: the least of N interleaved runs (one of Oclgrind's, which take minutes), as a Markdown table. The first row is
an almost empty launch: what starting takes.
"""
import argparse
import dataclasses
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

METAL = """#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

kernel void add(device const float* a, device const float* b, device float* c, uint i [[thread_position_in_grid]]) {
    c[i] = a[i] + b[i];
}

kernel void multiply(device const float* a, device const float* b, device float* c, constant uint& size,
                     uint2 t [[thread_position_in_threadgroup]], uint2 at [[thread_position_in_grid]]) {
    threadgroup float left[16][16], right[16][16];
    float sum = 0;
    for (uint k = 0; k < size; k += 16) {
        left[t.y][t.x] = a[at.y * size + k + t.x];
        right[t.y][t.x] = b[(k + t.y) * size + at.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < 16; ++j) sum += left[t.y][j] * right[j][t.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[at.y * size + at.x] = sum;
}

kernel void reduce(device const float* in, device float* out, threadgroup float* shared,
                   uint t [[thread_index_in_threadgroup]], uint group [[threadgroup_position_in_grid]],
                   uint i [[thread_position_in_grid]]) {
    shared[t] = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint width = 128; width > 0; width /= 2) {
        if (t < width) shared[t] += shared[t + width];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) out[group] = shared[0];
}

kernel void softmax(device const float* in, device float* out, constant uint& count,
                    uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]], uint row [[threadgroup_position_in_grid]]) {
    threadgroup float largest[8], sums[8];
    float most = -INFINITY, sum = 0;
    for (uint i = t; i < count; i += 256) most = max(most, in[row * count + i]);
    most = simd_max(most);
    if (lane == 0) largest[simdgroup] = most;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < 8; ++i) most = max(most, largest[i]);
    for (uint i = t; i < count; i += 256) sum += exp(in[row * count + i] - most);
    sum = simd_sum(sum);
    if (lane == 0) sums[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = 0;
    for (uint i = 0; i < 8; ++i) sum += sums[i];
    for (uint i = t; i < count; i += 256) out[row * count + i] = exp(in[row * count + i] - most) / sum;
}

kernel void mul_mm(device const float* a, device const float* b, device float* c, constant uint& size,
                   uint t [[thread_index_in_threadgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
                   uint2 tile [[threadgroup_position_in_grid]]) {
    threadgroup float left[32 * 32], right[32 * 32];
    simdgroup_float8x8 x, y, sums[4];
    for (uint i = 0; i < 4; ++i) sums[i] = make_filled_simdgroup_matrix<float, 8>(0.0f);
    for (uint k = 0; k < size; k += 32) {
        for (uint i = t; i < 1024; i += 128) {
            left[i] = a[(tile.y * 32 + i / 32) * size + k + i % 32];
            right[i] = b[(k + i / 32) * size + tile.x * 32 + i % 32];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < 32; j += 8) {
            simdgroup_load(x, left + simdgroup * 8 * 32 + j, 32);
            for (uint i = 0; i < 4; ++i) {
                simdgroup_load(y, right + j * 32 + i * 8, 32);
                simdgroup_multiply_accumulate(sums[i], x, y, sums[i]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint i = 0; i < 4; ++i)
        simdgroup_store(sums[i], c + (tile.y * 32 + simdgroup * 8) * size + tile.x * 32 + i * 8, size);
}
"""

OPENCL = """
kernel void add(global const float* a, global const float* b, global float* c) {
    size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}

kernel void multiply(global const float* a, global const float* b, global float* c, uint size) {
    local float left[16][16], right[16][16];
    const size_t x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (uint k = 0; k < size; k += 16) {
        left[y][x] = a[row * size + k + x];
        right[y][x] = b[(k + y) * size + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint j = 0; j < 16; ++j) sum += left[y][j] * right[j][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * size + column] = sum;
}

kernel void reduce(global const float* in, global float* out, local float* shared) {
    const size_t t = get_local_id(0);
    shared[t] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint width = 128; width > 0; width /= 2) {
        if (t < width) shared[t] += shared[t + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) out[get_group_id(0)] = shared[0];
}
"""


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str
    grid: tuple      # threads
    group: tuple
    floats: tuple    # of each buffer; the last is written
    size: int = 0    # a number behind the buffers
    local: int = 0   # bytes of threadgroup memory
    in_opencl: bool = False

    def flags(self):
        flags = ["--kernel", self.name, "--grid-threads", ",".join(map(str, self.grid)), "--threads", ",".join(map(str, self.group))]
        for slot, count in enumerate(self.floats[:-1]):
            flags += ["--buffer", f"{slot}=zeros:f32[{count}]"]
        flags += ["--buffer", f"{len(self.floats) - 1}=out:f32[{self.floats[-1]}]"]
        if self.size:
            flags += ["--bytes", f"{len(self.floats)}=u32:{self.size}"]
        if self.local:
            flags += ["--threadgroup", f"0={self.local}"]
        return flags

    def simulation(self):
        lines = ["kernels.cl", self.name, " ".join(map(str, self.grid + (1,) * (3 - len(self.grid)))),
                 " ".join(map(str, self.group + (1,) * (3 - len(self.group))))]
        lines += [f"<size={4 * count} float fill=1>" for count in self.floats]
        if self.size:
            lines += ["<size=4 uint>", str(self.size)]
        if self.local:
            lines.append(f"<size={self.local}>")
        return "\n".join(lines) + "\n"


SIZE, LARGE = 256, 512
START = Kernel("add", (32,), (32,), (32,) * 3)
KERNELS = [Kernel("add", (1 << 20,), (256,), (1 << 20,) * 3, in_opencl=True),
           Kernel("multiply", (SIZE, SIZE), (16, 16), (SIZE * SIZE,) * 3, size=SIZE, in_opencl=True),
           Kernel("reduce", (1 << 18,), (256,), (1 << 18, 1 << 10), local=1024, in_opencl=True),
           Kernel("softmax", (256 * 512,), (256,), (512 * 4096,) * 2, size=4096),
           Kernel("mul_mm", (LARGE // 32 * 128, LARGE // 32), (128,), (LARGE * LARGE,) * 3, size=LARGE)]
MODES = {"unwatched": [], "bounds": ["--check=bounds"], "default": ["--check"], "count": ["--count"]}


def run_ours(ingot, source, kernel, flags):
    """Processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([ingot, "metal", "run", source, *kernel.flags(), "--executor", "fibers", *flags],
                          capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{kernel.name} {flags}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_oclgrind(folder, kernel):
    (folder / "kernel.sim").write_text(kernel.simulation())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["oclgrind-kernel", "--data-races", "kernel.sim"], cwd=folder, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0 or done.stderr.strip():
        sys.exit(f"oclgrind, {kernel.name}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ingot", default=ROOT / "build/release/bin/ingot", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    ingot = arguments.ingot.resolve()
    times, theirs = {}, {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "kernels.metal"
        source.write_text(METAL)
        (folder / "kernels.cl").write_text(OPENCL)
        for kernel in [START, *KERNELS]:  # compiles, and keeps what was compiled
            for flags in MODES.values():
                run_ours(ingot, source, kernel, flags)
        for _ in range(arguments.repeat):
            for kernel in [START, *KERNELS]:
                for mode, flags in MODES.items():
                    times.setdefault((kernel, mode), []).append(run_ours(ingot, source, kernel, flags))
        for kernel in KERNELS:
            if kernel.in_opencl:
                theirs[kernel] = run_oclgrind(folder, kernel)
    print("| kernel | unwatched | `bounds` | all by default | `--count` | Oclgrind | Oclgrind / all |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kernel in [START, *KERNELS]:
        least = [min(times[kernel, mode]) for mode in MODES]
        row = f"| {'(start)' if kernel == START else f'`{kernel.name}`'} | " + " | ".join(f"{t:.2f}" for t in least)
        if kernel in theirs:
            row += f" | {theirs[kernel]:.1f} | {theirs[kernel] / least[2]:.0f}x |"
        else:
            row += " | | |"
        print(row)


if __name__ == "__main__":
    main()

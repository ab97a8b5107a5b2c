#!/usr/bin/env python3
"""The virtual Metal device beside PoCL, OpenCL on the same cores: the same kernels, in one run, on one machine.

    apt-get install pocl-opencl-icd
    pip install numpy
    python3 bench/vs_pocl.py [--ingot build/release/bin/ingot] [--cores N] [--rounds N] [--repeat N]

Vector add, a product of 256 x 256 matrices in tiles of threadgroup memory, and a tree reduction, as vs_oclgrind.py has them in
Metal and in OpenCL C, all on the same cores (1 if not said). Each round runs every kernel N times on our executors and on PoCL
in turn; what counts is the median over rounds of a round's median, in milliseconds, and the best of all: ours as `ingot metal
run` measures a launch, PoCL's from start to end of the command on its device (its own profile). Results are compared with
numpy first. A Markdown table comes out.
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from vs_oclgrind import KERNELS, METAL, OPENCL, ROOT

EXECUTORS = ("fibers", "vector")
# OpenCL's constants.
DEVICE_TYPE_CPU, QUEUE_PROFILING, READ_WRITE, COPY_HOST = 2, 2, 1, 32
COMMAND_START, COMMAND_END, BUILD_LOG, DEVICE_NAME = 0x1282, 0x1283, 0x1183, 0x102B


class OpenCL:
    """The first CPU device, with one program and a queue that keeps times."""

    def __init__(self, source):
        try:
            self.cl = ctypes.CDLL("libOpenCL.so.1")
        except OSError:
            sys.exit("OpenCL isn't there: apt-get install pocl-opencl-icd")
        for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel", "clCreateBuffer"):
            getattr(self.cl, name).restype = ctypes.c_void_p
        platforms, count = (ctypes.c_void_p * 8)(), ctypes.c_uint()
        self.check(self.cl.clGetPlatformIDs(8, platforms, ctypes.byref(count)))
        self.device = ctypes.c_void_p()
        for platform in platforms[:count.value]:
            if self.cl.clGetDeviceIDs(ctypes.c_void_p(platform), ctypes.c_uint64(DEVICE_TYPE_CPU), 1,
                                      ctypes.byref(self.device), None) == 0:
                break
        else:
            sys.exit("OpenCL has no CPU device: apt-get install pocl-opencl-icd")
        status = ctypes.c_int()
        self.context = ctypes.c_void_p(self.cl.clCreateContext(None, 1, ctypes.byref(self.device), None, None,
                                                               ctypes.byref(status)))
        self.queue = ctypes.c_void_p(self.cl.clCreateCommandQueue(self.context, self.device, ctypes.c_uint64(QUEUE_PROFILING),
                                                                  ctypes.byref(status)))
        text = ctypes.c_char_p(source.encode())
        self.program = ctypes.c_void_p(self.cl.clCreateProgramWithSource(self.context, 1, ctypes.byref(text), None,
                                                                         ctypes.byref(status)))
        self.check(self.cl.clBuildProgram(self.program, 0, None, None, None, None))

    def check(self, status):
        if status != 0:
            sys.exit(f"OpenCL fails with {status}")

    def name(self):
        text = ctypes.create_string_buffer(200)
        self.check(self.cl.clGetDeviceInfo(self.device, DEVICE_NAME, 200, text, None))
        return text.value.decode()

    def prepare(self, kernel, arrays):
        """A kernel with its arguments; the last array is written."""
        status = ctypes.c_int()
        made = ctypes.c_void_p(self.cl.clCreateKernel(self.program, kernel.name.encode(), ctypes.byref(status)))
        self.check(status.value)
        buffers = []
        for array in arrays:
            buffers.append(ctypes.c_void_p(self.cl.clCreateBuffer(self.context, ctypes.c_uint64(READ_WRITE | COPY_HOST),
                                                                  ctypes.c_size_t(array.nbytes), array.ctypes.data_as(ctypes.c_void_p),
                                                                  ctypes.byref(status))))
        arguments = [(ctypes.sizeof(ctypes.c_void_p), ctypes.byref(buffer)) for buffer in buffers]
        if kernel.size:
            arguments.append((4, ctypes.byref(ctypes.c_uint(kernel.size))))
        if kernel.local:
            arguments.append((kernel.local, None))
        for index, (size, value) in enumerate(arguments):
            self.check(self.cl.clSetKernelArg(made, index, ctypes.c_size_t(size), value))
        return made, buffers[-1]

    def run(self, made, kernel):
        """Milliseconds on the device."""
        sizes = ctypes.c_size_t * len(kernel.grid)
        event = ctypes.c_void_p()
        self.check(self.cl.clEnqueueNDRangeKernel(self.queue, made, len(kernel.grid), None, sizes(*kernel.grid),
                                                  sizes(*kernel.group), 0, None, ctypes.byref(event)))
        self.check(self.cl.clFinish(self.queue))
        start, end = ctypes.c_uint64(), ctypes.c_uint64()
        for what, value in ((COMMAND_START, start), (COMMAND_END, end)):
            self.check(self.cl.clGetEventProfilingInfo(event, what, ctypes.c_size_t(8), ctypes.byref(value), None))
        self.cl.clReleaseEvent(event)
        return (end.value - start.value) / 1e6

    def read(self, buffer, array):
        self.check(self.cl.clEnqueueReadBuffer(self.queue, buffer, 1, ctypes.c_size_t(0), ctypes.c_size_t(array.nbytes),
                                               array.ctypes.data_as(ctypes.c_void_p), 0, None, None))


def expected(kernel, arrays):
    if kernel.name == "add":
        return arrays[0] + arrays[1]
    if kernel.name == "multiply":
        a, b = (array.reshape(kernel.size, kernel.size).astype(np.float64) for array in arrays[:2])
        return (a @ b).ravel()
    return arrays[0].astype(np.float64).reshape(-1, kernel.group[0]).sum(1)


def compare(kernel, who, got, arrays):
    error = np.max(np.abs(got - expected(kernel, arrays)))
    if error > 1e-3:
        sys.exit(f"{kernel.name} on {who} is wrong by {error}")


def run_ours(ingot, folder, kernel, executor, arrays, repeat):
    """Median and best of one process, in milliseconds."""
    flags = kernel.flags()
    place = 0
    for index, flag in enumerate(flags):  # files in place of zeros
        if flags[index - 1] == "--buffer" and index > 0 and place < len(arrays):
            last = place == len(arrays) - 1
            flags[index] = (f"{place}=out:{folder}/result.npy:f32[{kernel.floats[place]}]" if last
                            else f"{place}={folder}/{kernel.name}.{place}.npy")
            place += 1
    done = subprocess.run([ingot, "metal", "run", folder / "kernels.metal", *flags, "--executor", executor, "--repeat", str(repeat),
                           "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{kernel.name}: {done.stderr}")
    report = json.loads(done.stdout)
    if report["executor"] != executor:
        sys.exit(f"{kernel.name} ran on {report['executor']}: {report['refusal']}")
    compare(kernel, executor, np.load(folder / "result.npy"), arrays)
    return report["median_milliseconds"], report["milliseconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ingot", default=ROOT / "build/release/bin/ingot", type=Path)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--repeat", type=int, default=20)
    arguments = parser.parse_args()
    ingot = arguments.ingot.resolve()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:arguments.cores])  # of children too
    os.environ["POCL_MAX_PTHREAD_COUNT"] = str(arguments.cores)
    opencl = OpenCL(OPENCL)
    generator = np.random.default_rng(1)
    kernels = [kernel for kernel in KERNELS if kernel.in_opencl]
    times = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "kernels.metal").write_text(METAL)
        prepared = []
        for kernel in kernels:
            arrays = [generator.uniform(-1, 1, count).astype(np.float32) for count in kernel.floats]
            for index, array in enumerate(arrays[:-1]):
                np.save(folder / f"{kernel.name}.{index}.npy", array)
            made, output = opencl.prepare(kernel, arrays)
            opencl.run(made, kernel)  # compiles
            result = np.empty(kernel.floats[-1], np.float32)
            opencl.read(output, result)
            compare(kernel, "PoCL", result, arrays)
            prepared.append((kernel, arrays, made))
        for _ in range(arguments.rounds):
            for kernel, arrays, made in prepared:
                for executor in EXECUTORS:
                    times.setdefault((kernel, executor), []).append(
                        run_ours(ingot, folder, kernel, executor, arrays, arguments.repeat))
                opencl.run(made, kernel)
                theirs = [opencl.run(made, kernel) for _ in range(arguments.repeat)]
                times.setdefault((kernel, "PoCL"), []).append((statistics.median(theirs), min(theirs)))
    columns = [f"{who}, {what}" for who in ("fibers", "vector", f"PoCL ({opencl.name()})") for what in ("median", "best")]
    print(f"| kernel, ms | {' | '.join(columns)} | vector / PoCL, median | best |\n| --- |{' --- |' * (len(columns) + 2)}")
    for kernel in kernels:
        values = []
        for who in (*EXECUTORS, "PoCL"):
            medians, bests = zip(*times[kernel, who])
            values += [statistics.median(medians), min(bests)]
        print(f"| `{kernel.name}` | {' | '.join(f'{value:.3f}' for value in values)} | {values[2] / values[4]:.2f} | "
              f"{values[3] / values[5]:.2f} |")


if __name__ == "__main__":
    main()

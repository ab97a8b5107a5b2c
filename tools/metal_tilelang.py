#!/usr/bin/env python3
"""Run the Metal source that TileLang emits on the virtual Metal device, and compare with numpy.

    pip install tilelang==0.1.15 numpy      # pure lowering: no Mac and no GPU needed
    python3 tools/metal_tilelang.py [--ingot build/release/bin/ingot] [--only TEXT] [--keep FOLDER]

Lowers the kernels of tools/conformance/tilelang_programs.py, runs each with `ingot metal run` on inputs drawn from [-1, 1], and
prints a table: what an independent run found in the source, and what came out here. An exit status of 0 says that every
kernel whose source is right, but for those that Metal refuses (REFUSED), came out right. --keep leaves sources, inputs and
outputs in FOLDER. No part of `make test`.
"""
import argparse
import collections
import dataclasses
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools/conformance"))
sys.dont_write_bytecode = True

DTYPES = {"float16": "f16", "float32": "f32", "bfloat16": "bf16", "int32": "i32", "int8": "i8", "uint8": "u8"}
# Right where the language is read generously; a Mac refuses them, and so does the device.
REFUSED = {"gemm_f16_outf16_64x64x32_t128": "stores a matrix of floats to memory of halves",
           "mpp_cshared_static_f16_64x64x64_t128": "declares more than 32 KiB of threadgroup memory"}
SECONDS = 60


@dataclasses.dataclass
class Buffer:
    index: int
    name: str
    dtype: str
    shape: tuple
    is_output: bool
    words: list | None = None  # of scalar arguments


@dataclasses.dataclass
class Lowered:
    source: str
    entry: str
    grid: tuple
    threads: tuple
    buffers: list


def lower(spec):
    """One kernel as Metal source, or what TileLang raises."""
    import tilelang
    import tilelang.language as T
    from tvm.target import Target
    target = Target({"kind": "metal", "keys": ["metal", "gpu"] + (["metal4"] if spec.metal4 else [])})
    config = {} if spec.vectorize else {"tirx.disable_vectorize": True}
    with tilelang.tvm.transform.PassContext(config=config), target:
        program = spec.build()
        artifact = tilelang.lower(program, target=target)
    (function,) = artifact.device_mod.functions.values()
    scalars = spec.facts()["options"].get("scalars", {})

    def constant(value):  # an extent may depend on a dynamic size
        return value if isinstance(value, int) else int(eval(str(value), {"T": T}, dict(scalars)))

    extents = {str(key): constant(value) for key, value in function.attrs["thread_extent"].items()}
    tensors = {program.buffer_map[p].name: program.buffer_map[p] for p in program.params if p in program.buffer_map}
    buffers = []
    for name, index in re.findall(r"(\w+)\s*\[\[\s*buffer\((\d+)\)\s*\]\]", artifact.kernel_source):
        if name in tensors:
            shape = tuple(constant(extent) for extent in tensors[name].shape)
            buffers.append(Buffer(int(index), name, str(tensors[name].dtype), shape, name in spec.facts()["outputs"]))
        else:
            words = [word for value in scalars.values() for word in (value, 0)]
            buffers.append(Buffer(int(index), name, "int32", (len(words),), False, words))
    return Lowered(artifact.kernel_source, str(function.attrs["global_symbol"]),
                   tuple(extents.get(f"blockIdx.{axis}", 1) for axis in "xyz"),
                   tuple(extents.get(f"threadIdx.{axis}", 1) for axis in "xyz"), buffers)


def to_bfloat(values):
    """Bits, rounded to nearest even."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bfloat(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def draw(buffer, generator):
    """What goes into the file, and the numbers it stands for."""
    if buffer.words is not None:
        array = np.array(buffer.words, np.int32)
    elif buffer.dtype in ("float16", "float32", "bfloat16"):
        array = generator.uniform(-1, 1, buffer.shape).astype(np.float32)
        if buffer.dtype == "bfloat16":
            bits = to_bfloat(array)
            return bits, from_bfloat(bits).astype(np.float64)
        array = array.astype(buffer.dtype)
    elif buffer.dtype == "int32":
        array = generator.integers(0, 32, buffer.shape).astype(np.int32)
    else:
        limits = np.iinfo(buffer.dtype)
        array = generator.integers(limits.min, limits.max + 1, buffer.shape).astype(buffer.dtype)
    return array, array.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def softmax(x, axis):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def int4(packed):
    """Two values a byte, the low nibble first, less 8, in eighths."""
    packed = packed.astype(np.uint8)
    return (np.stack([packed & 15, packed >> 4], -1).reshape(packed.shape[0], -1).astype(np.int64) - 8) / 8


def expected(facts, inputs):
    names = {name: getattr(np, name) for name in ("maximum", "sqrt", "bincount")}
    return np.asarray(eval(facts["reference"], {**names, **facts["sizes"], "softmax": softmax, "int4": int4}, dict(inputs)))


def run(ingot, folder, spec, lowered, generator):
    """(outcome, note); an outcome is right, wrong, refused, stopped or crashed."""
    source = folder / f"{spec.name}.metal"
    source.write_text(lowered.source)
    command = [ingot, "metal", "run", source, "--kernel", lowered.entry, "--grid", ",".join(map(str, lowered.grid)),
               "--threads", ",".join(map(str, lowered.threads)), "--time-limit", str(SECONDS)]
    if "metal_tensor" in lowered.source or "MetalPerformance" in lowered.source:
        command += ["--std", "metal4.0"]
    inputs, outputs = {}, []
    for buffer in lowered.buffers:
        file = folder / f"{spec.name}.{buffer.name}.npy"
        if buffer.is_output:
            outputs.append((buffer, file))
            shape = ",".join(map(str, buffer.shape))
            command += ["--buffer", f"{buffer.index}=out:{file}:{DTYPES[buffer.dtype]}[{shape}]"]
        else:
            stored, inputs[buffer.name] = draw(buffer, generator)
            np.save(file, stored)
            command += ["--buffer", f"{buffer.index}={file}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=4 * SECONDS)
    if done.returncode < 0:
        return "crashed", f"signal {-done.returncode}"
    if done.returncode != 0:
        refused = ": error: " in done.stderr or "threadgroup memory" in done.stderr
        return "refused" if refused else "stopped", done.stderr.strip().splitlines()[0].replace(str(folder) + "/", "")
    (buffer, file), = outputs
    facts = spec.facts()
    result = np.load(file)
    result = (from_bfloat(result) if buffer.dtype == "bfloat16" else result).astype(np.float64)
    error = np.max(np.abs(result - expected(facts, inputs).reshape(result.shape)))
    return "right" if error <= facts["tolerance"] else "wrong", f"{error:.3g}, {facts['tolerance']} allowed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ingot", default=ROOT / "build/release/bin/ingot", type=Path)
    parser.add_argument("--only", default="", help="names that contain this text")
    parser.add_argument("--keep", type=Path, help="a folder for sources, inputs and outputs")
    arguments = parser.parse_args()
    from tilelang_programs import FINDINGS, KERNELS
    generator = np.random.default_rng(5)
    table, missed = collections.Counter(), []
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for spec in (kernel for kernel in KERNELS if arguments.only in kernel.name):
            finding = FINDINGS.get(spec.name, ("right", ""))[0]
            try:
                lowered = lower(spec)
            except Exception as error:  # TileLang raises many kinds
                print(f"{spec.name}: not lowered: {str(error).strip().splitlines()[-1][:100]}", flush=True)
                table["not lowered", ""] += 1
                continue
            outcome, note = run(arguments.ingot, folder, spec, lowered, generator)
            print(f"{spec.name}: {outcome} ({note}); its source: {finding}", flush=True)
            table[finding, outcome] += 1
            if finding == "right" and outcome != "right" and not (outcome == "refused" and spec.name in REFUSED):
                missed.append(spec.name)
    print("\n| its source | kernels | here |\n| --- | --- | --- |")
    for finding in dict.fromkeys(key for key, _ in table):
        outcomes = {outcome: count for (key, outcome), count in table.items() if key == finding}
        text = ", ".join(f"{count} {outcome}".strip() for outcome, count in outcomes.items())
        print(f"| {finding.replace('_', ' ')} | {sum(outcomes.values())} | {text} |")
    if missed:
        print(f"not right, though their source is: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Writes tests/data/quant/TYPE.decoded: what the gguf Python package decodes random blocks of each type to.

A file holds a little-endian uint32 (bytes of blocks), the blocks, then float32 values. Needs numpy and gguf 0.19.
Run from the root of the repository: tools/oracle/make_quant_golden.py
"""
import pathlib
import struct

import gguf
import numpy as np

# Type -> (blocks in the file, offsets of the halves in a block).
TYPES = {
    "F32": (64, []), "F16": (64, []), "BF16": (64, []),
    "Q4_0": (6, [0]), "Q4_1": (6, [0, 2]), "Q5_0": (6, [0]), "Q5_1": (6, [0, 2]), "Q8_0": (6, [0]),
    "Q2_K": (3, [80, 82]), "Q3_K": (3, [108]), "Q4_K": (3, [0, 2]), "Q5_K": (3, [0, 2]), "Q6_K": (3, [208]),
    "IQ4_NL": (6, [0]), "MXFP4": (6, []),
}


def make_blocks(rng, name):
    count, halves = TYPES[name]
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][1]
    if name in ("F32", "F16", "BF16"):
        values = (rng.standard_normal(count) * 10.0 ** rng.uniform(-6, 4, count)).astype(np.float32)
        if name == "F16":
            return np.concatenate([values.astype(np.float16), np.array([0.0, -0.0, 6e-8, 65504.0], np.float16)])
        bits = np.concatenate([values, np.array([0.0, -0.0, 1e-40, 3e38], np.float32)])
        return bits if name == "F32" else (bits.view(np.uint32) >> 16).astype(np.uint16)
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for offset in halves:  # random bytes there could be an infinity or a NaN
        scales = (rng.standard_normal(count) * 0.1).astype(np.float16)
        scales[0] = 6e-8  # subnormal
        blocks[:, offset:offset + 2] = scales.view(np.uint8).reshape(count, 2)
    if name == "MXFP4":
        blocks[:, 0] = [0, 1, 2, 100, 127, 140]
    return blocks


def main():
    rng = np.random.default_rng(20240607)
    out = pathlib.Path("tests/data/quant")
    out.mkdir(parents=True, exist_ok=True)
    for name in TYPES:
        blocks = np.ascontiguousarray(make_blocks(rng, name)).view(np.uint8).reshape(1, -1)
        values = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[name])
        payload = struct.pack("<I", blocks.size) + blocks.tobytes() + values.astype("<f4").tobytes()
        (out / f"{name}.decoded").write_bytes(payload)
        print(name, blocks.size, values.size)


if __name__ == "__main__":
    main()

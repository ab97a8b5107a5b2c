#!/usr/bin/env python3
"""Writes tests/data/quant/rows.f32 and TYPE.encoded: what ggml encodes those rows to, byte for byte.

rows.f32 holds rows of 256 float32 values: random ones of several spreads, and the ones on which quantizers go wrong.
TYPE.encoded holds the blocks that ggml_quantize_chunk makes of all of them without an importance matrix.
Run from the root of the repository: tools/oracle/make_quantize_golden.py LIBGGML_BASE_SO
(ggml built for x86-64, as the sources of llama-cpp-python 0.3.36 do.)
"""
import ctypes
import pathlib
import sys

import numpy as np

# Type -> (id, elements of a block, bytes of a block).
TYPES = {
    "F16": (1, 1, 2), "BF16": (30, 1, 2),
    "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34),
    "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176),
    "Q6_K": (14, 256, 210), "IQ4_NL": (20, 32, 18), "MXFP4": (39, 32, 17),
}


def make_rows():
    rng = np.random.default_rng(20240608)
    normal = lambda scale: rng.standard_normal(256) * scale
    alternating = np.where(np.arange(256) % 2 == 0, 1.0, -1.0)
    one_hot = np.zeros(256)
    one_hot[77] = -3.0
    outliers = normal(0.02)
    outliers[::50] = 4.0
    half_zero = normal(1.0)
    half_zero[:128] = 0.0
    rows = [
        normal(1.0), normal(0.02), rng.uniform(0.5, 1.5, 256), rng.laplace(0.0, 0.1, 256), outliers,
        np.where(np.arange(256) % 32 < 9, 0.0, -0.0),
        np.full(256, 0.75), np.full(256, -0.3), np.zeros(256), np.full(256, -0.0), one_hot, alternating,
        np.linspace(-1.0, 1.0, 256), np.repeat(normal(1.0)[:8], 32), half_zero,
        normal(9000.0),                       # huge, though every scale still fits a half
        normal(1e-6), normal(1e-15),          # scales that are subnormal or zero as halves
        normal(1e-40), np.full(256, 1e-45),   # subnormal floats: the inverse of a scale overflows
        np.sign(normal(1.0)) * 2.0 ** rng.integers(-12, 12, 256),
        rng.integers(-8, 8, 256) * 0.125,     # ties
    ]
    return np.stack(rows).astype(np.float32)


def main():
    ggml = ctypes.CDLL(sys.argv[1])
    encode = ggml.ggml_quantize_chunk
    encode.restype = ctypes.c_size_t
    encode.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
    out = pathlib.Path("tests/data/quant")
    out.mkdir(parents=True, exist_ok=True)
    rows = make_rows()
    (out / "rows.f32").write_bytes(rows.astype("<f4").tobytes())
    for name, (type_id, block, block_bytes) in TYPES.items():
        blocks = np.zeros(rows.size // block * block_bytes, np.uint8)
        written = encode(type_id, rows.ctypes.data, blocks.ctypes.data, 0, rows.shape[0], rows.shape[1], None)
        assert written == blocks.size, (name, written, blocks.size)
        (out / f"{name}.encoded").write_bytes(blocks.tobytes())
        print(name, blocks.size)


if __name__ == "__main__":
    main()

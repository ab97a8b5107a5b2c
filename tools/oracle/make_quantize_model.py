#!/usr/bin/env python3
"""Writes tests/data/quant/shapes.gguf: an F16 file of the shapes and names on which quantizing a model turns.

It isn't a model that runs, but llama-quantize takes it: rows of 256, 32 and 20, experts in three dimensions, matrices
that keep their type, layers whose order by number is not that by name, and metadata of every type.

With --random ROWS OUT it writes to OUT as many F32 rows of 256 of all spreads and kinds instead, for a broad comparison
with check_quantize.py.

Needs numpy and gguf 0.19. Run from the root of the repository: tools/oracle/make_quantize_model.py
"""
import argparse

import gguf
import numpy as np

SHAPES = {  # as numpy has it, the row length last
    "output.weight": (6, 256), "token_embd.weight": (6, 256), "output_norm.weight": (256,),
    "blk.10.attn_q.weight": (5, 256), "blk.2.attn_q.weight": (3, 512), "blk.2.attn_k.weight": (4, 32),
    "blk.2.attn_v.weight": (4, 20), "blk.2.attn_q.bias": (2, 32), "blk.2.ffn_gate_inp.weight": (4, 256),
    "blk.2.ffn_up_exps.weight": (3, 2, 256), "blk.10.attn_norm.weight": (2, 64), "blk.2.attn_output.weight": (1, 256),
    "rope_freqs.weight": (16,),
}


def add_model_keys(writer):
    for key, value in (("context_length", 128), ("embedding_length", 256), ("block_count", 11),
                       ("feed_forward_length", 512), ("attention.head_count", 4)):
        writer.add_uint32("llama." + key, value)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_random(count, path):
    """Each row: a distribution, a spread from subnormal floats to the largest that halves can scale, and often a twist."""
    rng = np.random.default_rng(20240610)
    rows = np.zeros((count, 256))
    for row in rows:
        kind = rng.integers(5)
        row[:] = (rng.standard_normal(256) if kind == 0 else rng.laplace(0, 1, 256) if kind == 1 else
                  rng.uniform(-1, 1, 256) if kind == 2 else rng.uniform(0, 1, 256) if kind == 3 else
                  rng.integers(-8, 9, 256) / 8)
        twist = rng.integers(6)
        if twist == 0:
            row[rng.random(256) < 0.9] = 0  # sparse
        elif twist == 1:
            row[rng.integers(256, size=3)] *= 50  # outliers
        elif twist == 2:
            row[:] += rng.standard_normal() * 3  # off zero
        elif twist == 3:
            row[:] *= np.repeat(10.0 ** rng.uniform(-6, 0, 16), 16)  # groups of different spread
        row *= 10.0 ** (rng.uniform(-3, 0) if rng.random() < 0.7 else rng.uniform(-44, 2))
    writer = gguf.GGUFWriter(path, "llama")
    add_model_keys(writer)
    writer.add_tensor("token_embd.weight", rows.astype(np.float32))
    finish(writer)


def write_shapes(path):
    rng = np.random.default_rng(20240609)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_file_type(1)
    add_model_keys(writer)
    for kind in ("uint8", "int8", "uint16", "int16", "uint64", "int64"):
        getattr(writer, f"add_{kind}")(f"test.{kind}", 100)
    writer.add_float64("test.float64", 0.1)
    writer.add_bool("test.bool", True)
    writer.add_string("test.string", "gr\u00fcn")
    writer.add_array("test.strings", ["a", "", "\u4f60\u597d"])
    writer.add_array("test.floats", [0.5, -1.5])
    writer.add_array("test.ints", [1, -2, 3])
    writer.add_array("test.bools", [True, False])
    writer.add_quantization_version(2)
    writer.add_uint32("test.last", 7)
    for name, shape in SHAPES.items():
        values = rng.standard_normal(shape) * 0.05
        writer.add_tensor(name, values.astype(np.float32 if len(shape) == 1 else np.float16))
    finish(writer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", nargs=2, metavar=("ROWS", "OUT"))
    args = parser.parse_args()
    if args.random:
        write_random(int(args.random[0]), args.random[1])
    else:
        write_shapes("tests/data/quant/shapes.gguf")


if __name__ == "__main__":
    main()

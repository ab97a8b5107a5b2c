#!/usr/bin/env python3
"""Write a GGUF file of a real model's shape with random weights, for measurements.

    python3 bench/make_model.py SHAPE OUT.gguf

Weights are F16, normal with deviation 0.02; norms are 1, biases 0. It holds no vocabulary, which `ingot bench` and
llama-bench do without. `ingot quantize` stores it in another type. Needs the Python packages numpy and gguf.
"""
import argparse
import dataclasses

import gguf
import numpy as np


@dataclasses.dataclass(frozen=True)
class Shape:
    arch: str
    width: int
    ffn: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    rope_base: float
    epsilon: float
    tied: bool = True


SHAPES = {
    "smollm2-135m": Shape("llama", 576, 1536, 30, 9, 3, 64, 49152, 1e5, 1e-5),
    "qwen2.5-0.5b": Shape("qwen2", 896, 4864, 24, 14, 2, 64, 151936, 1e6, 1e-6),
    "qwen3-0.6b": Shape("qwen3", 1024, 3072, 28, 16, 8, 128, 151936, 1e6, 1e-6),
    "llama-1b": Shape("llama", 2048, 8192, 16, 32, 8, 64, 128256, 5e5, 1e-5),
}
CONTEXT = 8192


class Source:
    """Random matrices, cut from one block of numbers at random places: a new number each would take minutes."""

    def __init__(self):
        self.random = np.random.default_rng(1)
        self.block = (self.random.standard_normal(1 << 22, dtype=np.float32) * 0.02).astype(np.float16)

    def matrix(self, rows, cols):
        start = int(self.random.integers(len(self.block)))
        return np.resize(np.roll(self.block, -start), (rows, cols))


def matrices_of_layer(shape):
    """Name and [rows, columns] of a layer's matrices."""
    q, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    return {
        "attn_q": (q, shape.width), "attn_k": (kv, shape.width), "attn_v": (kv, shape.width),
        "attn_output": (shape.width, q), "ffn_gate": (shape.ffn, shape.width), "ffn_up": (shape.ffn, shape.width),
        "ffn_down": (shape.width, shape.ffn),
    }


def add_metadata(writer, name, shape):
    writer.add_name(f"random {name}")
    writer.add_block_count(shape.layers)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_vocab_size(shape.vocab)
    writer.add_tokenizer_model("none")
    writer.add_file_type(1)


def write(name, path):
    shape, source = SHAPES[name], Source()
    writer = gguf.GGUFWriter(path, shape.arch)
    add_metadata(writer, name, shape)
    vector = lambda value, length: np.full(length, value, dtype=np.float32)
    writer.add_tensor("token_embd.weight", source.matrix(shape.vocab, shape.width))
    if not shape.tied:
        writer.add_tensor("output.weight", source.matrix(shape.vocab, shape.width))
    writer.add_tensor("output_norm.weight", vector(1, shape.width))
    for layer in range(shape.layers):
        prefix = f"blk.{layer}."
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{prefix}{norm}.weight", vector(1, shape.width))
        for matrix, (rows, cols) in matrices_of_layer(shape).items():
            writer.add_tensor(f"{prefix}{matrix}.weight", source.matrix(rows, cols))
            if shape.arch == "qwen2" and matrix in ("attn_q", "attn_k", "attn_v"):
                writer.add_tensor(f"{prefix}{matrix}.bias", vector(0, rows))
        if shape.arch == "qwen3":
            for norm in ("attn_q_norm", "attn_k_norm"):
                writer.add_tensor(f"{prefix}{norm}.weight", vector(1, shape.head_dim))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("out")
    args = parser.parse_args()
    write(args.shape, args.out)


if __name__ == "__main__":
    main()

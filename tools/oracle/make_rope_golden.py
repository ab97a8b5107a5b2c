#!/usr/bin/env python3
"""Golden rotation frequencies for tests/llm/graph/rope_test.cpp, computed by transformers in float64.

Run from the root of the repository: tools/oracle/make_rope_golden.py tests/data/rope/frequencies.json
Needs torch and transformers.
"""
import json
import sys

import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

CASES = [
    dict(name="linear", dims=64, base=10000.0, scaling=dict(rope_type="linear", factor=4.0)),
    dict(name="yarn", dims=128, base=1000000.0,
         scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32768)),
    dict(name="yarn_narrow", dims=64, base=10000.0,
         scaling=dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=2048, beta_fast=16.0,
                      beta_slow=2.0)),
    dict(name="llama3", dims=64, base=500000.0,
         scaling=dict(rope_type="llama3", factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0,
                      original_max_position_embeddings=8192)),
]


def main() -> None:
    torch.set_default_dtype(torch.float64)
    out = []
    for case in CASES:
        scaling = dict(case["scaling"], rope_theta=case["base"])
        config = LlamaConfig(head_dim=case["dims"], hidden_size=case["dims"], num_attention_heads=1,
                             max_position_embeddings=131072, rope_parameters=scaling)
        config.rope_theta = case["base"]
        frequencies, magnitude = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](config, "cpu")
        row = dict(case, frequencies=[float(f) for f in frequencies], magnitude=float(magnitude))
        if case["name"] == "llama3":  # GGUF stores the divisors of the unscaled frequencies
            plain = [case["base"] ** (-2.0 * i / case["dims"]) for i in range(case["dims"] // 2)]
            row["factors"] = [p / f for p, f in zip(plain, row["frequencies"])]
        out.append(row)
    with open(sys.argv[1], "w") as file:
        json.dump(out, file)
        file.write("\n")


if __name__ == "__main__":
    main()

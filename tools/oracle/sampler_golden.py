#!/usr/bin/env python3
"""Makes tests/data/sampler/golden.json: draws of a sampler written here in plain Python, with no code in common.

The definitions: nucleus sampling (Holtzman et al. 2020), locally typical sampling (Meister et al. 2022), min-p
(Nguyen et al. 2024), penalties as in the CTRL paper and the OpenAI API, SplitMix64 for the draw. Logits are
rounded to 3 decimals, so that they are the same floats everywhere.

    python3 tools/oracle/sampler_golden.py > tests/data/sampler/golden.json
"""

import json
import math
import random
import struct

MASK = (1 << 64) - 1


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def splitmix64(seed):
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def softmax(pairs):
    top = max(l for _, l in pairs)
    weights = [math.exp(l - top) for _, l in pairs]
    total = math.fsum(weights)
    return [w / total for w in weights]


def survivors(logits, history, o):
    """(id, logit) pairs left for the draw, in the order of decreasing logit, then of ids."""
    logits = [f32(x) for x in logits]
    for token, bias in o.get("logit_bias", []):
        logits[token] = f32(logits[token] + f32(bias))
    n = o.get("penalty_last_n", 64)
    recent = history if n < 0 else history[len(history) - min(n, len(history)):]
    for token in set(recent):
        r = f32(o.get("repeat_penalty", 1.0))
        logits[token] = f32(logits[token] / r) if logits[token] > 0 else f32(logits[token] * r)
        take = f32(f32(recent.count(token) * f32(o.get("frequency_penalty", 0))) + f32(o.get("presence_penalty", 0)))
        logits[token] = f32(logits[token] - take)
    pairs = sorted(enumerate(logits), key=lambda p: (-p[1], p[0]))
    if o.get("top_k", 0):
        pairs = pairs[: o["top_k"]]
    if o.get("typical_p", 1) < 1:
        ps = softmax(pairs)
        entropy = -math.fsum(p * math.log(p) for p in ps)
        order = sorted(range(len(pairs)), key=lambda i: abs(-math.log(ps[i]) - entropy))
        kept, held = [], 0.0
        for i in order:
            kept.append(i)
            held += ps[i]
            if held > o["typical_p"]:
                break
        pairs = [pairs[i] for i in sorted(kept)]
    if o.get("top_p", 1) < 1:
        ps, held = softmax(pairs), 0.0
        for i, p in enumerate(ps):
            held += p
            if held >= o["top_p"]:
                pairs = pairs[: i + 1]
                break
    if o.get("min_p", 0) > 0:
        ps = softmax(pairs)
        pairs = [pair for pair, p in zip(pairs, ps) if p >= o["min_p"] * ps[0]]
    return pairs


def draw(pairs, temperature, number):
    """Walks the ids upwards until the number is used up."""
    pairs = sorted(pairs)
    ps = softmax([(t, l / temperature) for t, l in pairs])
    u = (number >> 11) / 2**53
    held = 0.0
    for (token, _), p in zip(pairs, ps):
        held += p
        if u < held:
            return token, min(abs(u - held), abs(u - (held - p)))
    return pairs[-1][0], 0.0


CASES = [
    {"temperature": 1.0},
    {"temperature": 0.5},
    {"temperature": 3.0},
    {"temperature": 1.0, "top_k": 1},
    {"temperature": 1.0, "top_k": 5},
    {"temperature": 0.8, "top_k": 1000},
    {"temperature": 1.0, "top_p": 0.5},
    {"temperature": 1.0, "top_p": 0.9},
    {"temperature": 1.0, "min_p": 0.2},
    {"temperature": 2.0, "min_p": 0.5},
    {"temperature": 1.0, "typical_p": 0.3},
    {"temperature": 1.0, "typical_p": 0.9},
    {"temperature": 1.0, "repeat_penalty": 1.5},
    {"temperature": 1.0, "repeat_penalty": 0.5, "penalty_last_n": 3},
    {"temperature": 1.0, "presence_penalty": 1.5},
    {"temperature": 1.0, "frequency_penalty": 0.7, "penalty_last_n": -1},
    {"temperature": 1.0, "presence_penalty": -2.0, "frequency_penalty": -0.25},
    {"temperature": 1.0, "logit_bias": [[3, 4.5], [7, -100.0], [3, 0.5]]},
    {"temperature": 0.7, "top_k": 20, "typical_p": 0.9, "top_p": 0.8, "min_p": 0.1, "repeat_penalty": 1.1,
     "presence_penalty": 0.3, "frequency_penalty": 0.2, "logit_bias": [[11, 2.0]]},
    {"temperature": 1.3, "top_k": 12, "top_p": 0.7, "min_p": 0.3},
]


def main():
    maker = random.Random(20240501)
    cases = []
    for options in CASES:
        for size in (8, 50, 300):
            if options.get("top_k") == 5 and size == 8:
                size = 6
            if any(t >= size for t, _ in options.get("logit_bias", [])):
                size = 12
            logits = [round(maker.gauss(0, 2), 3) for _ in range(size)]
            logits[maker.randrange(size)] = logits[0]  # a tie
            history = [maker.randrange(size) for _ in range(70)]
            seed = maker.getrandbits(64)
            numbers = splitmix64(seed)
            pairs = survivors(logits, history, options)
            tokens = []
            for _ in range(16):
                token, margin = draw(pairs, options["temperature"], next(numbers))
                assert margin > 1e-9, "too close to call"
                tokens.append(token)
            cases.append({"options": options, "seed": str(seed), "logits": logits, "history": history,
                          "survivors": sorted(t for t, _ in pairs), "tokens": tokens})
    print("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]")


if __name__ == "__main__":
    main()

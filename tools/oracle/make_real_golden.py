#!/usr/bin/env python3
"""Write tests/data/golden/NAME.json: what llama.cpp says about a real model.

    python3 tools/oracle/make_real_golden.py MODEL.gguf PROMPTS.txt TEXT.txt OUT.json

PROMPTS.txt holds prompts separated by lines of "---". For each: the text, its ids, the greedy continuation and, for
every step, the difference between the two best logits. Then the perplexity of TEXT.txt by llama.cpp's definition
(chunks of 512 tokens, scored on their second half). Needs llama-cpp-python 0.3.36; KV cache in its default f16.
"""
import ctypes
import json
import os
import sys

import llama_cpp
import numpy as np

STEPS = 32
CONTEXT = 512
THREADS = int(os.environ.get("THREADS", "2"))


class Model:
    def __init__(self, path):
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        assert self.model, path
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = CONTEXT
        params.n_threads = params.n_threads_batch = THREADS
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        self.vocab = llama_cpp.llama_model_get_vocab(self.model)
        self.vocab_size = llama_cpp.llama_vocab_n_tokens(self.vocab)

    def tokenize(self, text):
        data = text.encode()
        ids = (llama_cpp.llama_token * (len(data) + 8))()
        n = llama_cpp.llama_tokenize(self.vocab, data, len(data), ids, len(ids), True, True)
        assert n >= 0
        return list(ids[:n])

    def forget(self):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)

    def forward(self, ids, position, first_output):
        """Logits [len(ids) - first_output, vocab] of ids placed at `position`."""
        batch = llama_cpp.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i] = token, position + i
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, 0
            batch.logits[i] = i >= first_output
        assert llama_cpp.llama_decode(self.context, batch) == 0
        llama_cpp.llama_batch_free(batch)
        rows = [np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(self.context, i), (self.vocab_size,)).copy()
                for i in range(first_output, len(ids))]
        return np.stack(rows)


def greedy(model, ids):
    model.forget()
    chosen, gaps = [], []
    row = model.forward(ids, 0, len(ids) - 1)[-1]
    for step in range(STEPS):
        best, second = np.argsort(-row, kind="stable")[:2]
        chosen.append(int(best))
        gaps.append(round(float(row[best] - row[second]), 4))
        if step + 1 < STEPS:
            row = model.forward([int(best)], len(ids) + step, 0)[-1]
    return chosen, gaps


def perplexity(model, ids):
    add_bos = llama_cpp.llama_vocab_get_add_bos(model.vocab)
    total, count = 0.0, 0
    for start in range(0, len(ids) - CONTEXT + 1, CONTEXT):
        chunk = ids[start:start + CONTEXT]
        targets = chunk[CONTEXT // 2 + 1:]
        if add_bos:
            chunk = [llama_cpp.llama_vocab_bos(model.vocab), *chunk[1:]]
        model.forget()
        rows = model.forward(chunk, 0, CONTEXT // 2)[:-1].astype(np.float64)
        rows -= rows.max(axis=1, keepdims=True)
        total += float(np.sum(np.log(np.exp(rows).sum(axis=1)) - rows[np.arange(len(targets)), targets]))
        count += len(targets)
    return float(np.exp(total / count)), count


def main():
    path, prompts, text, out = sys.argv[1:]
    model = Model(path)
    golden = {"prompts": []}
    for prompt in open(prompts, encoding="utf-8").read().split("\n---\n"):
        ids = model.tokenize(prompt.rstrip("\n"))
        chosen, gaps = greedy(model, ids)
        golden["prompts"].append({"text": prompt.rstrip("\n"), "ids": ids, "continuation": chosen, "gaps": gaps})
        pieces = (ctypes.c_char * 4096)()
        n = llama_cpp.llama_detokenize(model.vocab, (llama_cpp.llama_token * STEPS)(*chosen), STEPS, pieces, 4096,
                                       False, True)
        print(f"{min(gaps):7.4f} {sum(g < 0.05 for g in gaps)} near ties: {pieces[:n].decode(errors='replace')!r}")
    golden["perplexity"], golden["scored"] = perplexity(model, model.tokenize(open(text, encoding="utf-8").read()))
    print(f"perplexity {golden['perplexity']:.4f} over {golden['scored']} tokens")
    rows = ",\n".join(json.dumps(p, ensure_ascii=False) for p in golden["prompts"])
    with open(out, "w", encoding="utf-8") as f:
        f.write(f'{{"prompts": [\n{rows}\n],\n'
                f'"perplexity": {golden["perplexity"]:.6f}, "scored": {golden["scored"]}}}\n')


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Write tests/data/golden/NAME.json: what llama.cpp says about a real model.

    python3 tools/oracle/make_real_golden.py [--f32-weights] MODEL.gguf PROMPTS.txt TEXT.txt OUT.json

PROMPTS.txt holds prompts separated by lines of "---". For each: the text, its ids, the greedy continuation and, for
every step, the difference between the two best logits. Then the perplexity of TEXT.txt by llama.cpp's definition
(chunks of 512 tokens, scored on their second half). Needs llama-cpp-python 0.3.36. Keys, values and attention are F32:
llama.cpp's default, flash attention in f16, moves Gemma 3's perplexity by 0.3 % (it is kept as default_perplexity).

With --f32-weights the model's weights are first decoded to F32 (by the gguf package, into a temporary file): what
llama.cpp says without any rounding of its own choice.
"""
import argparse
import ctypes
import json
import os
import tempfile

import gguf
import llama_cpp
import numpy as np

STEPS = 32
CONTEXT = 512
THREADS = int(os.environ.get("THREADS", "2"))


def decode(source, path):
    """Writes the GGUF file `source` again with every tensor in F32."""
    reader = gguf.GGUFReader(source)
    skipped = ("general.architecture", "general.file_type", "general.quantization_version")
    writer = gguf.GGUFWriter(path, reader.fields["general.architecture"].contents())
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key in skipped:
            continue
        if field.types[0] == gguf.GGUFValueType.ARRAY:
            writer.add_array(key, field.contents())
        else:
            writer.add_key_value(key, field.contents(), field.types[0])
    writer.add_file_type(0)
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        writer.add_tensor(tensor.name, values.reshape([int(extent) for extent in reversed(tensor.shape)]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Model:
    def __init__(self, path, f32_attention=True):
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        assert self.model, path
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = CONTEXT
        params.n_threads = params.n_threads_batch = THREADS
        if f32_attention:
            params.type_k = params.type_v = llama_cpp.GGML_TYPE_F32
            params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
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


def golden_of(model, prompts, text):
    golden = {"prompts": []}
    for prompt in prompts.split("\n---\n"):
        ids = model.tokenize(prompt.rstrip("\n"))
        chosen, gaps = greedy(model, ids)
        golden["prompts"].append({"text": prompt.rstrip("\n"), "ids": ids, "continuation": chosen, "gaps": gaps})
        pieces = (ctypes.c_char * 4096)()
        n = llama_cpp.llama_detokenize(model.vocab, (llama_cpp.llama_token * STEPS)(*chosen), STEPS, pieces, 4096,
                                       False, True)
        print(f"{min(gaps):7.4f} {sum(g < 0.05 for g in gaps)} near ties: {pieces[:n].decode(errors='replace')!r}")
    golden["perplexity"], golden["scored"] = perplexity(model, model.tokenize(text))
    print(f"perplexity {golden['perplexity']:.4f} over {golden['scored']} tokens")
    return golden


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--f32-weights", action="store_true")
    for name in ("model", "prompts", "text", "out"):
        parser.add_argument(name)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = args.model
        if args.f32_weights:
            path = os.path.join(folder, "f32.gguf")
            decode(args.model, path)
        model, text = Model(path), read(args.text)
        golden = golden_of(model, read(args.prompts), text)
        if not args.f32_weights:
            golden["default_perplexity"], _ = perplexity(Model(path, f32_attention=False), model.tokenize(text))
    rows = ",\n".join(json.dumps(p, ensure_ascii=False) for p in golden.pop("prompts"))
    figures = json.dumps({name: round(value, 6) for name, value in golden.items()})
    with open(args.out, "w", encoding="utf-8") as f:
        f.write(f'{{"prompts": [\n{rows}\n],\n{figures[1:]}\n')


if __name__ == "__main__":
    main()

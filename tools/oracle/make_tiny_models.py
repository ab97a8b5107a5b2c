#!/usr/bin/env python3
"""Write tests/data/models: tiny random models of every architecture and what transformers says about them.

    python3 tools/oracle/make_tiny_models.py [OUT_DIR] [NAME...]

NAME.gguf is the model (F32 weights, laid out as the public GGUF converters do); NAME.golden.gguf holds, for every
prompt length N, the prompt and the greedy continuation as metadata arrays (golden.N.prompt, golden.N.greedy), the
float32 logits of the last prompt position and of every decode step (tensor logits.N, one row per step), and for
the longest prompt every 16th logit of all its positions (tensor all.N). Needs torch, transformers, gguf, numpy.
The reference recomputes the whole sequence at every step: no KV cache, eager attention, float32.
"""
import os
import sys

import gguf
import numpy as np
import torch
import transformers

LENGTHS = (1, 2, 63, 64, 65, 97)
STEPS = 16
MIN_GAP = 4e-3  # between the two best logits at every step, so that greedy ids can't depend on rounding
COLUMN_STRIDE = 16
CONTEXT = 160

CHAT_TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def default_rope(base):
    return {"rope_type": "default", "rope_theta": base}


# One row per model. `lengths` defaults to all of LENGTHS.
MODELS = {
    "llama": dict(arch="llama", vocab=501, dim=48, ffn=112, layers=2, heads=3, kv=1, head_dim=16, tied=False,
                  rope=default_rope(10000.0)),
    "qwen2": dict(arch="qwen2", vocab=501, dim=72, ffn=160, layers=2, heads=9, kv=3, head_dim=8, tied=True,
                  rope=default_rope(1e6)),
    "qwen3": dict(arch="qwen3", vocab=501, dim=48, ffn=96, layers=3, heads=9, kv=3, head_dim=20, tied=False,
                  rope=default_rope(1e6)),
    "gemma3": dict(arch="gemma3", vocab=503, dim=48, ffn=88, layers=7, heads=3, kv=1, head_dim=24, tied=True,
                   rope=default_rope(1e6), window=32, pattern=6),
    # The same mathematics on other branches: tied output, scaled rotary frequencies, a pattern from the file.
    "llama-tied-linear": dict(arch="llama", vocab=97, dim=32, ffn=64, layers=2, heads=4, kv=2, head_dim=8, tied=True,
                              rope={"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}, lengths=(65,)),
    "llama-yarn": dict(arch="llama", vocab=97, dim=64, ffn=64, layers=2, heads=2, kv=1, head_dim=32, tied=False,
                       rope={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                             "original_max_position_embeddings": 64}, lengths=(2, 97)),
    "llama-llama3": dict(arch="llama", vocab=97, dim=64, ffn=64, layers=2, heads=2, kv=2, head_dim=32, tied=True,
                         rope={"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
                               "high_freq_factor": 4.0, "original_max_position_embeddings": 64}, lengths=(97,)),
    "qwen2-untied-yarn": dict(arch="qwen2", vocab=97, dim=64, ffn=64, layers=2, heads=2, kv=1, head_dim=32, tied=False,
                              rope={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                                    "original_max_position_embeddings": 64}, lengths=(97,)),
    "qwen3-tied": dict(arch="qwen3", vocab=97, dim=32, ffn=64, layers=2, heads=3, kv=1, head_dim=16, tied=True,
                       rope=default_rope(10000.0), lengths=(65,)),
    "gemma3-linear": dict(arch="gemma3", vocab=97, dim=32, ffn=64, layers=3, heads=2, kv=1, head_dim=32, tied=True,
                          rope={"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0}, window=20, pattern=2,
                          lengths=(97,)),
    "llama-biases": dict(arch="llama", vocab=97, dim=32, ffn=64, layers=2, heads=4, kv=2, head_dim=8, tied=False,
                         rope=default_rope(10000.0), biases=True, lengths=(65,)),
}


def make_reference(m):
    """The transformers model with random weights of a size that makes attention and every gain matter."""
    common = dict(vocab_size=m["vocab"], hidden_size=m["dim"], intermediate_size=m["ffn"],
                  num_hidden_layers=m["layers"], num_attention_heads=m["heads"], num_key_value_heads=m["kv"],
                  head_dim=m["head_dim"], max_position_embeddings=CONTEXT, tie_word_embeddings=m["tied"],
                  attn_implementation="eager", rms_norm_eps=1e-5, bos_token_id=None, eos_token_id=None,
                  pad_token_id=None)
    rope = dict(m["rope"])
    if m["arch"] == "llama":
        biases = m.get("biases", False)
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            rope_parameters=rope, attention_bias=biases, mlp_bias=biases, **common))
    elif m["arch"] == "qwen2":
        common.pop("head_dim")
        model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(rope_parameters=rope, **common))
    elif m["arch"] == "qwen3":
        model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(rope_parameters=rope, **common))
    else:
        kinds = ["full_attention" if (i + 1) % m["pattern"] == 0 else "sliding_attention" for i in range(m["layers"])]
        config = transformers.Gemma3TextConfig(
            rope_parameters={"full_attention": rope, "sliding_attention": default_rope(10000.0)},
            layer_types=kinds, sliding_window=m["window"], query_pre_attn_scalar=m["head_dim"],
            hidden_activation="gelu_pytorch_tanh", **common)
        model = transformers.Gemma3ForCausalLM(config)
        assert model.config.layer_types == kinds and model.config.sliding_window == m["window"]
    model = model.float().eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("norm.weight"):
                p.copy_(torch.randn_like(p) * 0.2 + (0.0 if m["arch"] == "gemma3" else 1.0))
            elif name.endswith("bias"):
                p.copy_(torch.randn_like(p) * 0.5)
            elif "embed_tokens" in name:
                p.copy_(torch.randn_like(p) * (1.0 if not m["tied"] else 1.5 / m["dim"] ** 0.5))
            else:
                p.copy_(torch.randn_like(p) * 1.5 / p.shape[1] ** 0.5)
    return model


@torch.no_grad()
def logits_of(model, ids):
    return model(torch.tensor([ids]), use_cache=False).logits[0].numpy()


def make_golden(model, m, rng):
    golden = {}
    lengths = m.get("lengths", LENGTHS)
    for n in lengths:
        for _ in range(100):  # draw prompts until no step is a near tie
            ids = [int(i) for i in rng.integers(0, m["vocab"], n)]
            rows, greedy, gap = [], [], np.inf
            for _ in range(STEPS + 1):
                row = logits_of(model, ids + greedy)[-1]
                second, best = np.sort(row)[-2:]
                gap = min(gap, best - second)
                rows.append(row)
                greedy.append(int(np.argmax(row)))
            if gap > MIN_GAP:
                break
        else:
            sys.exit("every prompt had a near tie")
        golden[n] = (ids, greedy, np.stack(rows))
    return golden, logits_of(model, golden[max(lengths)][0])[:, ::COLUMN_STRIDE]


def permute(w, heads):
    """Rows of a rotated projection from halves (NeoX) to pairs (interleaved), as converters do for llama."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(w.shape)


def byte_level_alphabet():
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {b: chr(b) for b in keep}
    for b in range(256):
        if b not in table:
            table[b] = chr(256 + len(table) - len(keep))
    return [table[b] for b in range(256)]


def add_bpe_vocabulary(w, size):
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = byte_level_alphabet()
    tokens, merges = list(alphabet), []
    letters = "etaoinshrdlu"
    pairs = [("Ġ", c) for c in "tasiowbhpdfclmrn"] + [(a, b) for a in letters for b in letters]
    pairs += [("Ġt", "he"), ("Ġa", "nd")] + [(a, b) for a in "mgcpwyfvbk" for b in letters]
    for a, b in pairs:
        if len(tokens) + len(special) < size and a + b not in tokens and a in tokens and b in tokens:
            merges.append(f"{a} {b}")
            tokens.append(a + b)
    kinds = [gguf.TokenType.NORMAL] * len(tokens) + [gguf.TokenType.CONTROL] * len(special)
    tokens += special
    assert len(tokens) == size, (len(tokens), size)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(tokens)
    w.add_token_types(kinds)
    w.add_token_merges(merges)
    w.add_eos_token_id(tokens.index("<|im_end|>"))
    w.add_add_bos_token(False)
    w.add_chat_template(CHAT_TEMPLATE)


def add_spm_vocabulary(w, size):
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>"]
    kinds = [gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.UNKNOWN]
    tokens += [f"<0x{b:02X}>" for b in range(256)]
    kinds += [gguf.TokenType.BYTE] * 256
    scores = [0.0] * len(tokens)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    pieces = ["▁the", "▁th", "▁t", "the", "th", "▁a", "▁"]
    pieces += [a + b for a in letters[:16] for b in letters[:16] if a + b != "th"]
    pieces = pieces[:size - len(tokens) - len(letters)] + list(letters)
    tokens += pieces
    kinds += [gguf.TokenType.NORMAL] * len(pieces)
    scores += [-float(i) for i in range(len(pieces))]
    assert len(tokens) == size and len(set(tokens)) == size, (len(tokens), size)
    w.add_tokenizer_model("llama")
    w.add_tokenizer_pre("default")
    w.add_token_list(tokens)
    w.add_token_scores(scores)
    w.add_token_types(kinds)
    w.add_bos_token_id(2)
    w.add_eos_token_id(1)
    w.add_unk_token_id(3)
    w.add_add_bos_token(True)
    w.add_add_space_prefix(False)


def write_model(path, m, model):
    w = gguf.GGUFWriter(path, m["arch"])
    w.add_name(f"tiny random {m['arch']}")
    w.add_block_count(m["layers"])
    w.add_context_length(CONTEXT)
    w.add_embedding_length(m["dim"])
    w.add_feed_forward_length(m["ffn"])
    w.add_head_count(m["heads"])
    w.add_head_count_kv(m["kv"])
    w.add_layer_norm_rms_eps(1e-5)
    rope = m["rope"]
    w.add_rope_freq_base(rope["rope_theta"])
    if m["arch"] in ("qwen3", "gemma3"):
        w.add_key_length(m["head_dim"])
        w.add_value_length(m["head_dim"])
    else:
        assert m["heads"] * m["head_dim"] == m["dim"]
        w.add_rope_dimension_count(m["head_dim"])
    if rope["rope_type"] in ("linear", "yarn"):
        w.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        w.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if m["arch"] == "gemma3":
        w.add_sliding_window(m["window"])
        if m["pattern"] != 6:
            w.add_sliding_window_pattern(m["pattern"])
    w.add_vocab_size(m["vocab"])
    w.add_file_type(gguf.LlamaFileType.ALL_F32)
    if m["vocab"] < 256:
        w.add_tokenizer_model("none")
    elif m["arch"] == "gemma3":
        add_spm_vocabulary(w, m["vocab"])
    else:
        add_bpe_vocabulary(w, m["vocab"])

    state = {k: v.numpy() for k, v in model.state_dict().items()}
    gain = 1.0 if m["arch"] == "gemma3" else 0.0  # converters fold gemma's (1 + w)

    def put(name, source, add=0.0, heads=None):
        data = state.pop(source).astype(np.float32) + np.float32(add)
        w.add_tensor(name, np.ascontiguousarray(permute(data, heads) if heads else data))

    put("token_embd.weight", "model.embed_tokens.weight")
    put("output_norm.weight", "model.norm.weight", gain)
    if m["tied"]:
        state.pop("lm_head.weight", None)
    else:
        put("output.weight", "lm_head.weight")
    if rope["rope_type"] == "llama3":
        d = m["head_dim"]
        plain = 1.0 / (np.float32(rope["rope_theta"]) ** (np.arange(0, d, 2, dtype=np.float32) / np.float32(d)))
        w.add_tensor("rope_freqs.weight", (plain / model.model.rotary_emb.inv_freq.numpy()).astype(np.float32))
    interleaved = m["arch"] == "llama"
    for i in range(m["layers"]):
        b, s = f"blk.{i}.", f"model.layers.{i}."
        put(b + "attn_norm.weight", s + "input_layernorm.weight", gain)
        put(b + "attn_q.weight", s + "self_attn.q_proj.weight", heads=m["heads"] if interleaved else None)
        put(b + "attn_k.weight", s + "self_attn.k_proj.weight", heads=m["kv"] if interleaved else None)
        put(b + "attn_v.weight", s + "self_attn.v_proj.weight")
        put(b + "attn_output.weight", s + "self_attn.o_proj.weight")
        if m["arch"] == "qwen2":
            for x in "qkv":
                put(b + f"attn_{x}.bias", s + f"self_attn.{x}_proj.bias")
        if m["arch"] in ("qwen3", "gemma3"):
            put(b + "attn_q_norm.weight", s + "self_attn.q_norm.weight", gain)
            put(b + "attn_k_norm.weight", s + "self_attn.k_norm.weight", gain)
        if m["arch"] == "gemma3":
            put(b + "post_attention_norm.weight", s + "post_attention_layernorm.weight", gain)
            put(b + "ffn_norm.weight", s + "pre_feedforward_layernorm.weight", gain)
            put(b + "post_ffw_norm.weight", s + "post_feedforward_layernorm.weight", gain)
        else:
            put(b + "ffn_norm.weight", s + "post_attention_layernorm.weight")
        for x in ("gate", "up", "down"):
            put(b + f"ffn_{x}.weight", s + f"mlp.{x}_proj.weight")
        if m.get("biases", False):
            put(b + "attn_q.bias", s + "self_attn.q_proj.bias", heads=m["heads"])
            put(b + "attn_k.bias", s + "self_attn.k_proj.bias", heads=m["kv"])
            put(b + "attn_v.bias", s + "self_attn.v_proj.bias")
            put(b + "attn_output.bias", s + "self_attn.o_proj.bias")
            for x in ("gate", "up", "down"):
                put(b + f"ffn_{x}.bias", s + f"mlp.{x}_proj.bias")
    assert not state, list(state)
    finish(w)


def write_golden(path, golden, all_positions):
    w = gguf.GGUFWriter(path, "golden")
    w.add_array("golden.lengths", list(golden))
    w.add_uint32("golden.column_stride", COLUMN_STRIDE)
    for n, (prompt, greedy, rows) in golden.items():
        w.add_array(f"golden.{n}.prompt", prompt)
        w.add_array(f"golden.{n}.greedy", greedy)
        w.add_tensor(f"logits.{n}", rows.astype(np.float32))
    w.add_tensor(f"all.{max(golden)}", np.ascontiguousarray(all_positions, dtype=np.float32))
    finish(w)


def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else "tests/data/models"
    os.makedirs(out, exist_ok=True)
    for index, (name, m) in enumerate(MODELS.items()):
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        torch.manual_seed(1000 + index)
        model = make_reference(m)
        golden, all_positions = make_golden(model, m, np.random.default_rng(2000 + index))
        write_model(f"{out}/{name}.gguf", m, model)
        write_golden(f"{out}/{name}.golden.gguf", golden, all_positions)
        gaps = [float(np.min(np.diff(np.sort(r, axis=1)[:, -2:]))) for _, _, r in golden.values()]
        print(f"{name}: max |logit| {max(np.abs(r).max() for _, _, r in golden.values()):.2f}, "
              f"smallest gap {min(gaps):.4f}, distinct ids {len({i for _, g, _ in golden.values() for i in g})}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

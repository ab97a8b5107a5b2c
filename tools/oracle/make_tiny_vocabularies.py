#!/usr/bin/env python3
"""Makes what the unit tests of tokenizers compare with, by implementations that aren't ours.

  tests/data/tokenizer/tiny-bpe.gguf, tiny-spm.gguf   vocabularies of about 700 tokens, trained here by Hugging Face
                                                      `tokenizers` and by `sentencepiece`
  tests/data/tokenizer/tiny-bpe.ids.json, tiny-spm.ids.json
                                                      the ids that the two libraries give for strings.json
  tests/data/tokenizer/splits.json                    words of some texts by each splitting rule, from `tokenizers`
                                                      (Oniguruma) with the patterns of the models' tokenizer.json

strings.json must be there (make_tokenizer_golden.py). Needs: gguf, tokenizers, sentencepiece.
"""

import io
import json
from pathlib import Path

import gguf
import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers, trainers

from make_tokenizer_golden import (DEEPSEEK_PUNCTUATION, ENDINGS, HAN_HANGUL, OUT, SPACES, byte_level, deepseek_letters,
                                   digits, isolated)

SIZE = 700
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
ADDED = ["<tool>", "<tool_call>"]

# ------------------------------------------------------------------------------------------------------ splits

HAN_KANA = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
SYMBOLS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LEAD = r"[^\r\n\p{L}\p{N}]?"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
O200K_WORDS = rf"{LEAD}{UPPER}*{LOWER}+{ENDINGS}?|{LEAD}{UPPER}+{LOWER}*{ENDINGS}?"
BLOOM = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
DEEPSEEK_V3_WORDS = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
                     r" ?[\p{P}\p{S}]+")
CASCADE = "|".join(rf"\s{{{n}}}(?!\S)" for n in (512, 256, 128, 64, 32, 16, 8, 4)) + r"|\s{1,2}(?!\S)|\s{1}"

# Names of tokenizer.ggml.pre, and the steps of those models.
RULES = [
    ("default", ["[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"]),
    ("gpt-2 phi-2 mpt olmo jais exaone4 trillion gigachat a.x-4.0 mellum granite-docling modern-bert jina-es jina-de "
     "jina-v2-es jina-v2-de", [GPT2]),
    ("starcoder refact command-r smollm codeshell exaone minerva-7b mellum2", [r"\p{N}", GPT2]),
    ("falcon", ["[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2, "[0-9][0-9][0-9]"]),
    ("llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 dbrx smaug-bpe chatglm-bpe glm4 glm5",
     [rf"{ENDINGS}|{WORD}|\p{{N}}{{1,3}}|{SYMBOLS}|{SPACES}"]),
    ("jais-2", [rf"{ENDINGS}|{WORD}|\p{{N}}{{1,3}}|{SYMBOLS}|\s*[\r\n]+|{CASCADE}"]),
    ("minicpm5", [r"\p{N}{1,3}", rf"{ENDINGS}|{WORD}|\p{{N}}+|{SYMBOLS}|{SPACES}"]),
    ("qwen2 deepseek-r1-qwen stablelm2 hunyuan solar-open megrez kormo f2llmv2 grok-2",
     [rf"{ENDINGS}|{WORD}|\p{{N}}|{SYMBOLS}|{SPACES}"]),
    ("qwen35", [rf"{ENDINGS}|{LEAD}[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{SPACES}"]),
    ("laguna", [r"[^\n]+|[\n]+", rf"{ENDINGS}|{WORD}|\p{{N}}|{SYMBOLS}|{SPACES}"]),
    ("ufakzeka", [rf"{WORD}|\p{{N}}|{SYMBOLS}|{SPACES}"]),
    ("seed-coder", [rf"{ENDINGS}|{WORD}|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{SPACES}"]),
    ("bailingmoe bailingmoe2 llada-moe", [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}|"
                                          r" ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"]),
    ("exaone-moe", [rf"{ENDINGS}|{LEAD}(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}|"
                    r" ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"]),
    ("gpt-4o llama4 kanana2 minimax-m2",
     [rf"{O200K_WORDS}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{SPACES}"]),
    ("tekken", [rf"{LEAD}{UPPER}*{LOWER}+|{LEAD}{UPPER}+{LOWER}*|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{SPACES}"]),
    ("youtu", ["[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-"
               "\u303f\ufe30-\ufe4f]+|[\u3105-\u312f]+|" + HAN_KANA,
               rf"{O200K_WORDS}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{SPACES}"]),
    ("deepseek-llm", ["[\r\n]", rf"\s?[{deepseek_letters()}]+", DEEPSEEK_PUNCTUATION, r"\s+$", HAN_HANGUL, r"\p{N}+"]),
    ("deepseek-coder", ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", HAN_HANGUL, r"\p{N}"]),
    ("deepseek-v3 hunyuan-dense hy_v4 joyai-llm",
     [r"\p{N}{1,3}", HAN_KANA, rf"{DEEPSEEK_V3_WORDS}[\r\n]*|{SPACES}"]),
    ("spark2_5", [r"\p{N}{1,3}", HAN_KANA, rf"{DEEPSEEK_V3_WORDS}|[\r\n]|\s+(?!\S)|\s+", r"\p{N}"]),
    ("bloom gpt3-finnish poro-chat", [BLOOM]),
    ("viking", [BLOOM, r"\p{N}"]),
    ("gemma4", [r"[^\n]+|[\n]+"]),
]

TEXTS = [
    "I'm sure HE'LL say it's y'all's", "Hello  World\n\n  next\tline \r\n", "12345 x1 3.14159 \u0663\u0664\u0665 \u00bd\u00b2",
    "cafe\u0301 \u0928\u092e\u0938\u094d\u0924\u0947 Vie\u0323\u0302t", "\u4f60\u597d\u4e16\u754c\uff0chello\u3053\u3093\u306b\u3061\u306f \ud55c\uad6d\uc5b4\u3002", "foo(bar)[0] += a->b; //x\n\n", "camelCase ABCdef XMLHttp \u01c5x \u00c9COLE",
    "    indented\n\t\ttabs   end   ", "a\u00a0b\u3000c\u2003\u2003d \u180e e\u0085f", "\U0001f600\U0001f468\u200d\U0001f469 ok \U0001f1e9\U0001f1ea!", "\u0645\u0631\u062d\u0628\u0627\u060c \u0628\u0627\u0644\u0639\u0627\u0644\u0645 \u06d4", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0e51\u0e52",
    "a b c de f", "$1,000.00 (50%) #tag @me", "\u201cquoted\u201d \u2018x\u2019 \u2014 \u2026!", "\u0391\u03b2\u03b3 \u0416\u0437 \U0001d400\U0001d41a \u10d0\u10d1", "---\n===\n~~~", " lead", "trail ", "\n", " ",
]


def split_words(patterns: list[str], text: str) -> list[str]:
    sequence = pre_tokenizers.Sequence([isolated(pattern) for pattern in patterns])
    return [word for word, _ in sequence.pre_tokenize_str(text)]


def write_splits() -> None:
    rules = [{"names": names.split(), "words": [split_words(patterns, text) for text in TEXTS]}
             for names, patterns in RULES]
    body = ",\n".join(json.dumps(rule, separators=(",", ":")) for rule in rules)
    (OUT / "splits.json").write_text(f'{{"texts": {json.dumps(TEXTS)},\n"rules": [\n{body}\n]}}\n')
    print(f"splits: {len(RULES)} rules, {len(TEXTS)} texts")


# ------------------------------------------------------------------------------------------------ vocabularies

def corpus() -> list[str]:
    strings = json.loads((OUT / "strings.json").read_text())
    return [text for text in strings if text.strip()] * 3


def write_ids(name: str, maker: str, ids: list[list[int]]) -> None:
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in ids)
    (OUT / f"{name}.ids.json").write_text(f'{{"maker": {json.dumps(maker)}, "ids": [\n{rows}\n]}}\n')


def write_gguf(name: str, model: str, tokens: list[str], kinds: list[int], extra) -> None:
    writer = gguf.GGUFWriter(OUT / f"{name}.gguf", "llama")
    writer.add_name(name)
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    extra(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def make_bpe(strings: list[str]) -> None:
    tokenizer = Tokenizer(models.BPE())
    pattern = next(patterns for names, patterns in RULES if "qwen35" in names.split())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([isolated(pattern[0]), byte_level(False)])
    trainer = trainers.BpeTrainer(vocab_size=SIZE, special_tokens=SPECIAL, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in ADDED])
    state = json.loads(tokenizer.to_str())
    tokens = [tokenizer.id_to_token(index) for index in range(tokenizer.get_vocab_size())]
    kinds = [gguf.TokenType.CONTROL if token in SPECIAL else
             gguf.TokenType.USER_DEFINED if token in ADDED else gguf.TokenType.NORMAL for token in tokens]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in state["model"]["merges"]]

    def extra(writer):
        writer.add_tokenizer_pre("qwen35")
        writer.add_token_merges(merges)
        writer.add_bos_token_id(tokens.index("<|im_start|>"))
        writer.add_eos_token_id(tokens.index("<|im_end|>"))
        writer.add_add_bos_token(False)
    write_gguf("tiny-bpe", "gpt2", tokens, kinds, extra)
    write_ids("tiny-bpe", "Hugging Face tokenizers", [tokenizer.encode(text, add_special_tokens=False).ids for text in strings])
    print(f"tiny-bpe: {len(tokens)} tokens, {len(merges)} merges")


def make_spm(strings: list[str]) -> None:
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()), model_writer=out, vocab_size=SIZE, model_type="bpe", byte_fallback=True,
        character_coverage=0.98, normalization_rule_name="identity", remove_extra_whitespaces=False,
        add_dummy_prefix=True, user_defined_symbols=ADDED, pad_id=-1, minloglevel=2)
    processor = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    count = processor.get_piece_size()
    tokens = [processor.id_to_piece(index) for index in range(count)]
    scores = [processor.get_score(index) for index in range(count)]
    kinds = [gguf.TokenType.UNKNOWN if processor.is_unknown(i) else gguf.TokenType.CONTROL if processor.is_control(i) else
             gguf.TokenType.BYTE if processor.is_byte(i) else gguf.TokenType.USER_DEFINED if tokens[i] in ADDED else
             gguf.TokenType.NORMAL for i in range(count)]

    def extra(writer):
        writer.add_tokenizer_pre("default")
        writer.add_token_scores(scores)
        writer.add_bos_token_id(processor.bos_id())
        writer.add_eos_token_id(processor.eos_id())
        writer.add_unk_token_id(processor.unk_id())
        writer.add_add_bos_token(True)
        writer.add_add_eos_token(False)
        writer.add_add_space_prefix(True)
    write_gguf("tiny-spm", "llama", tokens, kinds, extra)
    # SentencePiece knows control tokens only by id: text stays text. It keeps spaces as they are here.
    write_ids("tiny-spm", "sentencepiece", [processor.encode(text) for text in strings])
    print(f"tiny-spm: {count} tokens")


def main() -> None:
    write_splits()
    strings = json.loads((OUT / "strings.json").read_text())
    make_bpe(strings)
    make_spm(strings)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes tests/data/tokenizer: 300 strings, and their token ids in each vocabulary by implementations that aren't ours.

    make_tokenizer_golden.py --vocabularies DIR --models DIR

Byte-pair vocabularies go through Hugging Face `tokenizers`, built from the GGUF file's own tokens and merges and the
splitting rules of the model's tokenizer.json; SentencePiece ones and Gemma 4 go through llama.cpp (the
llama-cpp-python binding), which also gives a second opinion on all others. Strings about which the two disagree are
listed at the end; a vocabulary's file then holds the ids of the first.

Needs: gguf, tokenizers, llama-cpp-python 0.3.36.
"""

import argparse
import json
import unicodedata
from pathlib import Path

import gguf
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

OUT = Path(__file__).parents[2] / "tests/data/tokenizer"

# ---------------------------------------------------------------------------------------------------- strings

WORDS = {
    "code": [
        "for (int i = 0; i < n; ++i) { sum += a[i] * 2; }",
        "def f(x: list[int]) -> int:\n    return sum(x)  # total\n",
        "#include <vector>\nint main() {\n\treturn 0;\n}\n",
        "SELECT name, COUNT(*) FROM users WHERE age >= 21 GROUP BY name;",
        "{\"key\": [1, 2.5, -3e10, null, true], \"s\": \"a\\nb\"}",
        "<div class=\"row\"><a href='/x?y=1&z=2'>link</a></div>",
        "let x = y?.z ?? 0; // ok?",
        "if (a&&b||!c) return ~d^e;",
        "const re = /^[A-Za-z_]\\w*$/g;",
        "$ git commit -m 'fix: it works' && make -j8",
        "x86_64-linux-gnu/libfoo.so.1.2.3",
        "https://example.org/a/b.html?q=%20x#frag",
        "0xDEADBEEF 0b1010 1_000_000 3.14e-7 1e9",
        "camelCaseIdentifier snake_case_name SCREAMING_CASE kebab-case",
        "a+=b-=c*=d/=e%=f<<=g>>=h",
        "template <typename T> auto f(T&& t) -> decltype(t);",
        "\\begin{equation} \\alpha_{i}^{2} \\leq \\frac{1}{2} \\end{equation}",
        "print(f\"{x:>10.3f}\")",
    ],
    "english": [
        "Hello, world!", "The quick brown fox jumps over the lazy dog.", "I'm sure you've done it; they'll say he'd won't.",
        "IT'S WE'RE I'VE YOU'LL HE'D I'M CAN'T", "It's John's, isn't it? 'Tis!", "rock 'n' roll 'round the '90s",
        "Mr. O'Neill -- co-operate... (really?!)", "email@example.com, +1 (555) 010-9999", "antidisestablishmentarianism",
        "a", "A", " a", " A", "a ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "AbCdEfGhIjK", "hello HELLO Hello hELLO",
        "state-of-the-art 3D-printing", "don't don\u2019t \u201cquoted\u201d \u2018single\u2019",
    ],
    "european": [
        "Stra\u00dfe, \u00c4pfel, \u00d6l und \u00dcbermut", "na\u00efve caf\u00e9 d\u00e9j\u00e0-vu \u00e0 No\u00ebl", "ma\u00f1ana, \u00bfqu\u00e9 tal? \u00a1Ol\u00e9!", "za\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105 ja\u017a\u0144",
        "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u041a\u0430\u043a \u0434\u0435\u043b\u0430?", "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5", "\u0130stanbul \u0131\u015f\u0131k \u011f", "\u00de\u00f3r\u00f0ur \u00e6tla\u00f0i", "\u0561\u0580\u0587 \u0540\u0561\u0575\u0561\u057d\u057f\u0561\u0576", "\u10d2\u10d0\u10db\u10d0\u10e0\u10ef\u10dd\u10d1\u10d0",
        "C\u1eeda Vi\u1ec7t ph\u1edf b\u00f2", "\u01c5ep \u01c8ubav", "\u1e9e\u017f \ufb01nal \u2160\u2161\u2162",
    ],
    "chinese and japanese": [
        "\u4f60\u597d\uff0c\u4e16\u754c\uff01", "\u6211\u4eec\u5728\u5317\u4eac\u5927\u5b66\u5b66\u4e60\u4eba\u5de5\u667a\u80fd\u3002", "\u4e2d\u6587 mixed with English \u548c 123 \u6570\u5b57", "\u300c\u5f15\u7528\u300d\u3001\u300e\u66f8\u540d\u300f\u2026\u2026\u2014\u2014", "\u7e41\u9ad4\u4e2d\u6587\u6e2c\u8a66",
        "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c", "\u30ab\u30bf\u30ab\u30ca\u3068\u3072\u3089\u304c\u306a\u3068\u6f22\u5b57", "\uff26\uff55\uff4c\uff4c\uff57\uff49\uff44\uff54\uff48\u3000\uff11\uff12\uff13", "\uff76\uff80\uff76\uff85", "\ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8 \ud14c\uc2a4\ud2b8", "\u3131\u314f\u1100\u1161", "\U00020000\U0002a6d6", "\u9fa5\u9fa6\u3007",
    ],
    "other scripts": [
        "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u0627\u0644\u0633\u064e\u0651\u0644\u064e\u0627\u0645\u064f \u0639\u064e\u0644\u064e\u064a\u0652\u0643\u064f\u0645", "\u06f1\u06f2\u06f3 \u0661\u0662\u0663 \u06cc\u06a9", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01", "\u0e01\u0e33\u0e25\u0e31\u0e07\u0e17\u0e14\u0e2a\u0e2d\u0e1a \u0e51\u0e52\u0e53",
        "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e \u0967\u0968\u0969", "\u09ac\u09be\u0982\u09b2\u09be \u09ad\u09be\u09b7\u09be", "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd \u0bae\u0bca\u0bb4\u0bbf", "\u178f\u17be\u17a2\u17d2\u1793\u1780", "\u1019\u103c\u1014\u103a\u1019\u102c", "\u1200\u120b\u121d", "\u13e3\u13b3\u13a9", "\u1820\u180e\u1824", "\U00010400\U00010428", "\U0001d400\U0001d41a\U0001d7d8",
        "\u0cb2\u0c95\u0ccd\u0cb7",
    ],
    "emoji": [
        "\U0001f600\U0001f602\U0001f923", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 family", "\U0001f469\U0001f3fd\u200d\U0001f4bb codes", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7\U0001f1ef\U0001f1f5", "\u2764\ufe0f\u200d\U0001f525", "1\ufe0f\u20e3 2\ufe0f\u20e3", "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "\U0001f44d\U0001f3ff ok\U0001f44c", "\u2603\ufe0f\u2728\u2b50", "a\U0001f600b", "\U0001f3f3\ufe0f\u200d\U0001f308", "\u2620\ufe0e",
    ],
    "combining accents": [
        "cafe\u0301 vs caf\u00e9", "e\u0301e\u0300e\u0302", "a\u0308o\u0308u\u0308 A\u030a", "n\u0303 \u0303n", "Z\u0351\u036b\u0343a\u0325l\u0334g\u0335o\u0336", "C\u031b\u0309a Vie\u0323\u0302t", "\u0301\u0301\u0301", " \u0301x", "q\u0307\u0323 q\u0323\u0307", "\u1100\u1161\u11a8", "1\u0301 .\u0301 \n\u0301",
    ],
    "numbers": [
        "0", "12", "123", "1234", "12345", "123456", "1234567", "12345678901234567890", "3.14159", "1,234,567.89", "-42", "1/2 \u00bd \u00be \u2153", "x\u00b2 + y\u00b3 = z\u2074", "\u2460\u2461\u2462", "\u216b \u217b",
        "2024-01-31T23:59:59Z", "100%", "$9.99 \u20ac5 \u00a33 \u00a5100", "0 1 22 333 4444 55555", "1st 2nd 3rd", "v1.2.3-rc4", "\uff10\uff11\uff12\uff13", "\u0663\u0664\u0665\u0666", "9" * 40,
    ],
    "white space": [
        "", " ", "  ", "   ", "    ", "     ", " " * 7, " " * 8, " " * 15, " " * 16, " " * 24, " " * 25, " " * 33, " " * 70, "\t", "\t\t", "\t\t\t\t", "\n", "\n\n", "\n\n\n", "\n" * 5, "\n" * 17, "\n" * 40, "\r", "\r\n", "\r\n\r\n", "\n\r\n\r", " \n", "\n ", " \n ", "\t\n\t", "\n\n \n\n",
        "a  b", "a   b    c", "  leading", "trailing  ", "\tindented\t", "a\tb\t\tc", "a\nb", "a\n\nb\n\n\nc", "a \n b", "a  \n  b", "line1\r\nline2\r\n", "x\n\n    y\n        z", "    if x:\n        y\n", "\n a", "  \n\n  a  \n\n  ",
        "\u00a0", "a\u00a0b", "a\u00a0\u00a0b", "\u2003\u2003x", "\u3000\u3000\u5168", "\u2028line\u2029para", "\u0085", "a\u0085b", "\u1680ogham", "\u200bzero\u200bwidth", "\ufeffbom", "\u202fnarrow\u205fmath", "\x0c\x0c", "a \u00a0 b", " \u3000 ", "\u2000 \u2001",
    ],
    "punctuation": [
        "...", "!!!", "?!?!", "---", "___", "***", "###", "===", "~~~", "```\ncode\n```", "''''", "\"\"\"\"", "()[]{}<>", "@#$%^&*", "\u00ab\u00bb\u2039\u203a", "\u2013\u2014\u2015", "\u2022 item", "\u2192\u21d2\u2260\u2264", "\u00a9\u00ae\u2122", "a.b.c.d", "a,b;c:d", " .", " ,", " !", " ?", " '", "' '", "$", " $", "=> -> <- <=", "//", "/* */", "\\\\", "\u3002\uff0c\uff01\uff1f", "`x`", "|a|b|", "+-*/", "^_^", ":-)", "<3", "\u2581", "a\u2581b",
    ],
    "special tokens": [
        "a<s>b", "a</s>b", "text <s> more", "x <unk> y", "say <|endoftext|> now", "a<|endoftext|><|endoftext|>b", "hi <|im_start|>user\nhello<|im_end|>\n", "x<|eot_id|>\n\ny", "x <|begin_of_text|> y", "x <|start_header_id|>user<|end_header_id|>\n\nhi",
        "q<end_of_turn>\n<start_of_turn>model\n", "a <bos> b <eos>", "x<|user|>\nhi<|end|>\n<|assistant|>\nyo", "x <|end|>   y", "x <|assistant|> \n y", "x <|START_OF_TURN_TOKEN|><|USER_TOKEN|>hi<|END_OF_TURN_TOKEN|>", "x <BOS_TOKEN> y <EOS_TOKEN>", "x <fim_prefix>a<fim_suffix>b<fim_middle>c", "x<|fim_prefix|>a<|fim_suffix|>",
        "x <\uff5cbegin\u2581of\u2581sentence\uff5c> y", "x<\uff5cend\u2581of\u2581sentence\uff5c>", "x<\uff5cfim\u2581hole\uff5c>y", ">>TITLE<< x >>ABSTRACT<<", "<|im_", "<|", "|>", "x <|im_end", "< |im_end|>", "<|IM_END|>", "x <pad> <mask>", "x [INST] hi [/INST]", "x <0x0A> y", "<0x41>", "x <|turn> <turn|>", "x <|tool_call>f<tool_call|>", "x <start_of_image> y", "x <table><tr><td>1</td></tr></table>", "x<reponame>y<gh_stars>", "x <|placeholder1|>  z", "x </s>  y </s>z",
    ],
}


def make_strings() -> list[str]:
    strings = [text for group in WORDS.values() for text in group]
    # Joined ones, since what stands before and after a text changes its tokens.
    groups = list(WORDS.values())
    step = 0
    while len(strings) < 300:
        first = groups[step % len(groups)]
        second = groups[(step * 3 + 1) % len(groups)]
        strings.append(("x" if step % 2 else "") + " " + first[step % len(first)] + ["", " ", "\n"][step % 3] +
                       second[(step * 5 + 2) % len(second)])
        step += 1
    assert len(strings) == len(set(strings)) >= 300, len(strings) - len(set(strings))
    return strings


# ------------------------------------------------------------------------------------- Hugging Face tokenizers

ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
DEEPSEEK_PUNCTUATION = "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"
HAN_HANGUL = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
# Cased letters that deepseek-llm's pattern leaves out.
DEEPSEEK_WITHOUT = ((0x560, 0x588), (0x10c7, 0x10ff), (0x1c80, 0x1c88), (0x2d00, 0x2d2d), (0xa790, 0xa7fa),
                    (0xab30, 0xab68), (0x10570, 0x105bc), (0x16e40, 0x1df1e))


def deepseek_letters() -> str:
    """The inside of a character class."""
    points = [point for point in range(0x110000) if unicodedata.category(chr(point)) in ("Lu", "Ll", "Lt")
              and not any(first <= point <= last for first, last in DEEPSEEK_WITHOUT)]
    ranges: list[list[int]] = []
    for point in points:
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def isolated(pattern: str):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def byte_level(use_regex: bool):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def digits():
    return pre_tokenizers.Digits(individual_digits=True)


def pre_tokenizer_of(name: str):
    """The steps of the model's tokenizer.json."""
    if name in ("gpt-2", "mpt"):
        steps = [byte_level(True)]
    elif name in ("starcoder", "refact", "command-r", "smollm"):
        steps = [digits(), byte_level(True)]
    elif name == "falcon":
        steps = [pre_tokenizers.Punctuation("contiguous"), byte_level(True), isolated("[0-9][0-9][0-9]")]
    elif name == "llama-bpe":
        steps = [isolated(rf"{ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{SPACES}"),
                 byte_level(False)]
    elif name == "qwen2":
        steps = [isolated(rf"{ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{SPACES}"),
                 byte_level(False)]
    elif name == "qwen35":
        steps = [isolated(rf"{ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|"
                          rf"{SPACES}"), byte_level(False)]
    elif name == "deepseek-coder":
        steps = [isolated("[\r\n]"), isolated(r"\s?\p{L}+"), isolated(r"\s?\p{P}+"), isolated(HAN_HANGUL), digits(),
                 byte_level(False)]
    elif name == "deepseek-llm":
        steps = [isolated("[\r\n]"), isolated(rf"\s?[{deepseek_letters()}]+"),
                 isolated(DEEPSEEK_PUNCTUATION), isolated(r"\s+$"),
                 isolated(HAN_HANGUL), pre_tokenizers.Digits(individual_digits=False), byte_level(False)]
    else:
        return None
    return pre_tokenizers.Sequence(steps)


def hugging_face(fields) -> Tokenizer | None:
    pre = pre_tokenizer_of(fields.get("tokenizer.ggml.pre", ""))
    if fields["tokenizer.ggml.model"] != "gpt2" or pre is None:
        return None
    tokens, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    merges = []
    for merge in fields["tokenizer.ggml.merges"]:
        left, right = merge.split(" ", 1)
        merges.append((left, right))
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges,
                                     ignore_merges=fields["tokenizer.ggml.pre"] == "llama-bpe"))
    tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoders.ByteLevel()
    added = [AddedToken(token, special=kind == gguf.TokenType.CONTROL, normalized=False)
             for token, kind in zip(tokens, kinds) if kind in (gguf.TokenType.CONTROL, gguf.TokenType.USER_DEFINED)]
    tokenizer.add_tokens(added)
    assert tokenizer.get_vocab_size() == len(tokens)
    return tokenizer


# ------------------------------------------------------------------------------------------------------- files

def read_fields(path: Path) -> dict:
    return {name: field.contents() for name, field in gguf.GGUFReader(path).fields.items() if name.startswith("tokenizer.")}


def make_ids(path: Path, strings: list[str]) -> tuple[str, list[list[int]], list[str]]:
    """The maker, ids per string with BOS where the vocabulary adds one, and the strings with a second opinion."""
    from llama_cpp import Llama  # not at the top: make_tiny_vocabularies.py shares this file and needs none

    llama = Llama(model_path=str(path), vocab_only=True, verbose=False)
    theirs = [llama.tokenize(text.encode(), add_bos=True, special=True) for text in strings]
    fields = read_fields(path)
    tokenizer = hugging_face(fields)
    if tokenizer is None:
        return "llama.cpp (llama-cpp-python 0.3.36)", theirs, []
    bos = []
    if fields.get("tokenizer.ggml.add_bos_token", fields["tokenizer.ggml.pre"] == "llama-bpe"):
        bos = [fields["tokenizer.ggml.bos_token_id"]]
    ids = [bos + tokenizer.encode(text, add_special_tokens=False).ids for text in strings]
    differences = [f"{text!r}: {a} by tokenizers, {b} by llama.cpp" for text, a, b in zip(strings, ids, theirs) if a != b]
    return "Hugging Face tokenizers", ids, differences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabularies", type=Path, required=True, help="folder with ggml-vocab-*.gguf")
    parser.add_argument("--models", type=Path, required=True, help="folder with SmolLM2 and Gemma 3")
    parser.add_argument("--only", nargs="*", help="names of the vocabularies to do; all without it")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    strings = make_strings()
    lines = ",\n".join(json.dumps(text) for text in strings)
    (OUT / "strings.json").write_text(f"[\n{lines}\n]\n")
    paths = {path.stem.removeprefix("ggml-vocab-"): path for path in sorted(arguments.vocabularies.glob("ggml-vocab-*.gguf"))
             if Path(f"{path}.inp").is_file() and "bert" not in path.stem}
    paths["smollm2"] = arguments.models / "SmolLM2-135M-Instruct.Q4_1.gguf"
    paths["gemma-3"] = arguments.models / "gemma-3-270m-q4_k_m.gguf"
    for name, path in paths.items():
        if arguments.only and name not in arguments.only:
            continue
        maker, ids, differences = make_ids(path, strings)
        rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in ids)
        (OUT / f"{name}.ids.json").write_text(f'{{"maker": {json.dumps(maker)}, "ids": [\n{rows}\n]}}\n')
        print(f"{name}: {len(ids)} strings by {maker}; {len(differences)} differ in llama.cpp", flush=True)
        for line in differences:
            print(f"    {line}")


if __name__ == "__main__":
    main()

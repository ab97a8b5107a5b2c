#!/usr/bin/env python3
"""Checks `ingot tokenize` on every vocabulary of llama.cpp's models folder that comes with expected ids.

Two sets of expected ids, neither made by Ingot: the .inp/.out pairs next to the vocabularies, and those of
tests/data/tokenizer (made by tools/oracle/make_tokenizer_golden.py). A vocabulary whose kind Ingot doesn't serve must
be refused with a message that names the kind; such ones are counted apart. Standard library only.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

SEPARATOR = "\n__ggml_vocab_test__\n"
GOLDEN = Path(__file__).parents[2] / "tests/data/tokenizer"
# What the program may refuse, and the words that its message must hold.
MAY_REFUSE = {"bert-bge": "tokenizer model 'bert' (WordPiece) isn't supported"}


class Refusal(Exception):
    pass


def tokenize(program: Path, model: Path, texts: list[str], *flags: str) -> list[list[int]]:
    separator = SEPARATOR
    done = subprocess.run([program, "tokenize", model, "-f", "-", "--json", "--separator", separator, *flags],
                          input=separator.join(texts).encode(), capture_output=True, timeout=120)
    if done.returncode != 0:
        raise Refusal(done.stderr.decode(errors="replace").strip())
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def compare(texts: list[str], expected: list[list[int]], got: list[list[int]]) -> list[str]:
    """One line per text whose ids differ."""
    if len(got) != len(expected):
        return [f"{len(got)} results for {len(expected)} texts"]
    return [f"{text!r}: expected {want}, got {have}"
            for text, want, have in zip(texts, expected, got) if want != have]


def check_pairs(program: Path, model: Path) -> tuple[int, list[str]]:
    text = model.with_name(model.name + ".inp").read_bytes().decode()
    texts = text.removesuffix(SEPARATOR).split(SEPARATOR)
    lines = model.with_name(model.name + ".out").read_text().splitlines()
    expected = [[int(word) for word in line.split()] for line in lines]
    return len(texts), compare(texts, expected, tokenize(program, model, texts, "--no-special"))


def check_golden(program: Path, model: Path, name: str) -> tuple[int, list[str]]:
    path = GOLDEN / f"{name}.ids.json"
    if not path.is_file():
        return 0, [f"{path} is missing"]
    texts = json.loads((GOLDEN / "strings.json").read_text())
    expected = json.loads(path.read_text())["ids"]
    return len(texts), compare(texts, expected, tokenize(program, model, texts))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=Path, help="the ingot program")
    parser.add_argument("--source", required=True, type=Path, help="folder with the ggml-vocab-*.gguf files")
    arguments = parser.parse_args()

    passed = failed = 0
    refused = []
    models = sorted(path for path in arguments.source.glob("ggml-vocab-*.gguf")
                    if path.with_name(path.name + ".inp").is_file())
    for model in models:
        name = model.stem.removeprefix("ggml-vocab-")
        try:
            num_pairs, differences = check_pairs(arguments.program, model)
            num_golden, more = check_golden(arguments.program, model, name)
        except Refusal as refusal:
            if name in MAY_REFUSE and MAY_REFUSE[name] in str(refusal):
                refused.append(name)
                print(f"tokenizer {name}: refused by name ({MAY_REFUSE[name]})")
            else:
                failed += 1
                print(f"tokenizer {name}: FAILED: {refusal}")
            continue
        if differences or more:
            failed += 1
            print(f"tokenizer {name}: FAILED: {len(differences)} of {num_pairs} texts and {len(more)} of {num_golden} "
                  "golden strings differ")
            for line in (differences + more)[:10]:
                print(f"    {line}")
        else:
            passed += 1
            print(f"tokenizer {name}: {num_pairs} texts and {num_golden} golden strings equal")
    if not models:
        print(f"no ggml-vocab-*.gguf with expected ids in {arguments.source}")
        failed += 1
    print(f"tokenizers: {passed} equal, {len(refused)} refused by name ({', '.join(refused) or 'none'}), {failed} failed")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

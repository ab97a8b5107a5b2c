#!/usr/bin/env python3
"""Writes the seeds of fuzz_gguf to tests/fuzz/corpus/gguf: small files that between them use every part of the format."""
import pathlib
import struct

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}


def string(text):
    return struct.pack("<Q", len(text)) + text.encode()


def scalar(kind, value):
    return string(value) if kind == STRING else struct.pack("<" + FORMATS[kind], value)


def entry(key, kind, value):
    return string(key) + struct.pack("<I", kind) + scalar(kind, value)


def array(key, kind, values):
    head = string(key) + struct.pack("<IIQ", ARRAY, kind, len(values))
    return head + b"".join(scalar(kind, value) for value in values)


def tensor(name, shape, kind, offset):
    return string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def gguf(entries=(), tensors=(), data=b"", version=3, alignment=32):
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries)) + b"".join(entries) + b"".join(tensors)
    return head + b"\0" * (-len(head) % alignment if tensors else 0) + data


def quantized():
    """One block of each quantized type: (id, elements, bytes)."""
    kinds = [(2, 32, 18), (3, 32, 20), (6, 32, 22), (7, 32, 24), (8, 32, 34), (20, 32, 18), (39, 32, 17),
             (10, 256, 84), (11, 256, 110), (12, 256, 144), (13, 256, 176), (14, 256, 210), (1, 3, 6), (30, 3, 6)]
    tensors, data = [], b""
    for kind, elements, size in kinds:
        tensors.append(tensor(f"t{kind}", [elements], kind, len(data)))
        data += bytes(i * 37 % 120 for i in range(size))
        data += b"\0" * (-len(data) % 32)
    return gguf([], tensors, data)


SEEDS = {
    "empty": gguf(),
    "scalars": gguf([entry(f"k{kind}", kind, "text" if kind == STRING else 1) for kind in range(13) if kind != ARRAY]),
    "arrays": gguf([array("floats", F32, [0.5, 1.5]), array("strings", STRING, ["a", "bc"]), array("bools", BOOL, [1, 0]),
                    array("none", U8, []), array("longs", I64, [-1])]),
    "tensors": gguf([], [tensor("a", [2, 3], 0, 0), tensor("b", [1, 1, 1, 2], 0, 32), tensor("c", [], 0, 64)], b"\0" * 68),
    "alignment": gguf([entry("general.alignment", U32, 64)], [tensor("a", [4], 0, 64)], b"\0" * 80, alignment=64),
    "version2": gguf([entry("general.architecture", STRING, "llama")], [tensor("a", [4], 0, 0)], b"\0" * 16, version=2),
    "split": gguf([entry("split.no", U16, 0), entry("split.count", U16, 2), entry("split.tensors.count", I32, 1)],
                  [tensor("a", [4], 0, 0)], b"\0" * 16),
    "quantized": quantized(),
}


def main():
    folder = pathlib.Path(__file__).parent / "corpus" / "gguf"
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in SEEDS.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()

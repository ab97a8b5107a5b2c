#!/usr/bin/env python3
"""Writes the seeds of fuzz_metallib and fuzz_npy to tests/fuzz/corpus: small files that use every part of the formats."""
import pathlib
import struct

HEADER_BYTES = 88


def tag(name, data):
    return name.encode() + struct.pack("<H", len(data)) + data


def entry(name, offset, size, reflection=None, kind=2):
    tags = tag("NAME", name.encode() + b"\0") + tag("TYPE", bytes([kind])) + tag("HASH", bytes(32))
    tags += tag("OFFT", struct.pack("<3Q", 0, 0, offset)) + tag("VERS", struct.pack("<4H", 2, 8, 4, 0))
    tags += tag("MDSZ", struct.pack("<Q", size))
    if reflection is not None:
        tags += tag("RFLT", struct.pack("<Q", reflection))
    tags += b"ENDT"
    return struct.pack("<I", len(tags) + 4) + tags


class Flat:
    """A FlatBuffer written front to back: tables point forward to what they hold."""

    def __init__(self):
        self.bytes = bytearray(b"\0\0\0\0AIRR")

    def table(self, fields):
        """fields: {number: int (u32), bytes (a string), a table or a list of tables}; returns its position."""
        count = max(fields, default=-1) + 1
        vtable = len(self.bytes)
        self.bytes += struct.pack("<HH", 4 + 2 * count, 4 + 4 * len(fields))
        slots = {number: 4 + 4 * i for i, number in enumerate(sorted(fields))}
        self.bytes += b"".join(struct.pack("<H", slots.get(number, 0)) for number in range(count))
        at = len(self.bytes)
        self.bytes += struct.pack("<i", at - vtable) + bytes(4 * len(fields))
        for number, value in fields.items():
            place = at + slots[number]
            if isinstance(value, int):
                struct.pack_into("<I", self.bytes, place, value)
                continue
            struct.pack_into("<I", self.bytes, place, len(self.bytes) - place)
            if isinstance(value, bytes):
                self.bytes += struct.pack("<I", len(value)) + value + b"\0"
            elif isinstance(value, dict):
                struct.pack_into("<I", self.bytes, place, self.table(value) - place)
            else:
                vector = len(self.bytes)
                self.bytes += struct.pack("<I", len(value)) + bytes(4 * len(value))
                for i, one in enumerate(value):
                    slot = vector + 4 + 4 * i
                    struct.pack_into("<I", self.bytes, slot, self.table(one) - slot)
        return at


def reflection():
    flat = Flat()
    buffer = {0: 1, 1: 0, 2: 3, 4: 3, 5: 1, 8: 4, 9: 4, 10: b"float", 11: b"x"}
    nodes = [{0: 0x2, 1: {0: b"kernel"}}, {0: 0x1003, 1: {0: 256}}, {0: 0x40000, 1: buffer},
             {0: 0x80000, 1: {0: b"bool", 1: b"flag", 2: 7}}, {0: 0x41000, 1: {1: b"uint", 2: b"i", 3: 0}}]
    struct.pack_into("<I", flat.bytes, 0, flat.table({1: nodes}))
    record = tag("RBUF", bytes(4) + bytes(flat.bytes)) + b"ENDT"
    return struct.pack("<I", len(record) + 4) + record


def library(functions, with_reflection=False, magic=b"MTLB", minor=9):
    modules, listed = b"", b""
    for name, module in functions:
        listed += entry(name, len(modules), len(module), 0 if with_reflection else None)
        modules += module
    section = reflection() if with_reflection else b""
    extension_bytes = (4 + 2 + 16 if with_reflection else 0) + 4
    public = HEADER_BYTES + 4 + len(listed) + extension_bytes
    private, code = public + 16, public + 24
    extension = tag("RLST", struct.pack("<QQ", code + len(modules), len(section))) if with_reflection else b""
    constants = struct.pack("<I", 16) + b"ENDT" + bytes(8)
    total = code + len(modules) + len(section)
    header = magic + struct.pack("<HHHBBHHQ", 0x8001, 2, minor, 0, 0x81, 26, 2, total)
    header += struct.pack("<8Q", HEADER_BYTES, len(listed), public, 16, private, 8, code, len(modules))
    return (header + struct.pack("<I", len(functions)) + listed + extension + b"ENDT" + constants
            + struct.pack("<I", 8) + b"ENDT" + modules + section)


def npy(descr, shape, data, version=1, order="False"):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    head = b"\x93NUMPY" + bytes([version, 0])
    length = struct.pack("<H" if version == 1 else "<I", len(header) + 1)
    return head + length + header.encode() + b"\n" + data


METALLIB = {
    "none": library([]),
    "one": library([("kernel", b"BC\xc0\xde" + bytes(12))]),
    "two": library([("a", b"module-a"), ("longer_name", b"module-b")], minor=7),
    "reflection": library([("kernel", b"BC\xc0\xde" + bytes(12))], with_reflection=True),
    "section": reflection(),
}
NPY = {
    "f32": npy("<f4", "(2, 3)", bytes(24)),
    "f16": npy("<f2", "(4,)", bytes(8)),
    "scalar": npy("<i8", "()", bytes(8)),
    "empty": npy("|b1", "(0, 5)", b""),
    "version2": npy("|u1", "(3,)", b"abc", version=2),
    "fortran": npy("<f4", "(2, 3)", bytes(24), order="True"),
    "big_endian": npy(">f4", "(1,)", bytes(4)),
}


def main():
    corpus = pathlib.Path(__file__).parent / "corpus"
    for folder, seeds in (("metallib", METALLIB), ("npy", NPY)):
        (corpus / folder).mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (corpus / folder / name).write_bytes(data)


if __name__ == "__main__":
    main()

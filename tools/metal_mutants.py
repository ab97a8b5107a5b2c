#!/usr/bin/env python3
"""Breaks the vectoriser in ways that it could be broken in, one at a time, and sees the test of that step fail.

    python3 tools/metal_mutants.py [--build build/release] [NAME...]

Each mutant is one edit of a file in src/metal/jit; it is compiled, and the text tests (tests/metal/passes/TEST.ll) named
with it must fail. The file is put back afterwards. A build takes about 20 s a mutant. Not for a tree that is being edited.
"""

import argparse
import dataclasses
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LANES = "src/metal/jit/lanes"


@dataclasses.dataclass
class Mutant:
    name: str
    file: str
    right: str
    wrong: str
    test: str  # that must see it


MUTANTS = [
    Mutant("masks dropped at phis", f"{LANES}/vectorise_control.cpp",
           "const bool blends = blend && !shape(phi).is_scalar() && !LaneBuilder::is_all_lanes(mask);",
           "const bool blends = false && blend;", "vectorise.blend"),
    Mutant("blend order", f"{LANES}/vectorise_control.cpp",
           "value = b().CreateSelect(mask, value, b().CreateLoad(slot_type(slots[i]), slots[i]));",
           "value = b().CreateSelect(mask, b().CreateLoad(slot_type(slots[i]), slots[i]), value);", "vectorise.blend"),
    Mutant("joins that never vary", f"{LANES}/analysis_shapes.cpp",
           "if (several && joins_.contains(phi.getParent())", "if (false && joins_.contains(phi.getParent())",
           "vectorise.joins"),
    Mutant("values that leave a loop never vary", f"{LANES}/analysis_shapes.cpp",
           "if (regions_.level(loop).divergent && defined", "if (false && defined", "vectorise.joins"),
    Mutant("wrong lane map of matrices", f"{LANES}/calls.h", "(quad & 2) * 2", "(quad & 1) * 4", "vectorise.lane-map"),
    Mutant("unmasked stores", f"{LANES}/vectorise_memory.cpp",
           "b().CreateMaskedStore(units[unit], to, a.align, mask);", "b().CreateAlignedStore(units[unit], to, a.align);",
           "vectorise"),
    Mutant("an OR of masks forgotten", f"{LANES}/vectorise_control.cpp",
           "b().CreateStore(b().CreateOr(before, edge.mask), mask_slots_[edge.to]);",
           "b().CreateStore(edge.mask, mask_slots_[edge.to]); static_cast<void>(before);", "vectorise"),
    Mutant("linear code without a guard", f"{LANES}/vectorise_control.cpp",
           "if (instruction.isAtomic() || instruction.isVolatile() || s.is_uniform() || s.assumed)",
           "if (instruction.isAtomic() || instruction.isVolatile() || s.assumed)", "vectorise.unguarded"),
    Mutant("scans that look ahead", f"{LANES}/vectorise_simd.cpp", "return lane % width >= step ? int(lane - step)",
           "return lane % width >= step ? int(lane + 1 - step)", "vectorise.simdgroup"),
    Mutant("reductions of idle lanes", f"{LANES}/vectorise_simd.cpp",
           "value = b().CreateSelect(mask_, value, nothing);", "static_cast<void>(nothing);", "vectorise.simdgroup"),
    Mutant("atomics of idle lanes", f"{LANES}/vectorise_instruction.cpp", "lanes_.for_each_lane(mask_, operands, results,",
           "lanes_.for_each_lane(lanes_.all_lanes(), operands, results,", "vectorise.atomic"),
    Mutant("lanes that share a private variable", f"{LANES}/vectorise_instruction.cpp", "uint64_t(stride) * kLanes",
           "uint64_t(stride)", "vectorise.private"),
    Mutant("accumulators stored where nobody looks", f"{LANES}/vectorise_matrix.cpp",
           "llvm::Value* after = stays ? before : new_matrix(call);", "llvm::Value* after = new_matrix(call);",
           "vectorise.accumulator"),
]


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def outcome(mutant, build):
    """None if the mutant's test fails as it should, otherwise what happened instead."""
    path = ROOT / mutant.file
    original = path.read_text()
    if original.count(mutant.right) != 1:
        return f"{mutant.file} has {original.count(mutant.right)} places like: {mutant.right}"
    try:
        path.write_text(original.replace(mutant.right, mutant.wrong))
        built = run("cmake", "--build", build, "--target", "ingot_metal_jit", "metal_pass")
        if built.returncode != 0:
            return "it doesn't compile:\n" + built.stdout[-2000:]
        tested = run("ctest", "--test-dir", build, "-R", rf"^metal_passes[.]{mutant.test.replace('.', '[.]')}[.]ll$")
        if "***Failed" in tested.stdout:
            return None
        return f"{mutant.test} doesn't see it" if "100% tests passed" in tested.stdout else tested.stdout
    finally:
        path.write_text(original)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="a build folder with the tests")
    parser.add_argument("name", nargs="*", help="mutants to try (all if none is named)")
    arguments = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if not arguments.name or mutant.name in arguments.name]
    if not chosen:
        sys.exit("no such mutant; there are: " + ", ".join(mutant.name for mutant in MUTANTS))
    survivors = 0
    try:
        for mutant in chosen:
            why = outcome(mutant, arguments.build)
            survivors += why is not None
            print(f"{'caught' if why is None else 'SURVIVES'}  {mutant.name} ({mutant.test}){'' if why is None else ': ' + why}", flush=True)
    finally:
        run("cmake", "--build", arguments.build, "--target", "ingot_metal_jit")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()

// What an instrumented kernel's code tells about itself: the places ("sites") where it touches memory or
// meets other threads, and the objects that it touches there. Written by the pass `instrument`
// (jit/passes/instrument.cpp), kept with the kernel, read by whoever watches a launch (monitor.h). Plain
// values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::metal {

enum class SiteKind : uint8_t {
    kLoad,
    kStore,
    kCopy,              // a run of bytes, read or written
    kAtomic,            // reads, writes or both, as one
    kFence,             // atomic_thread_fence
    kBarrier,           // threadgroup_barrier
    kSimdgroupBarrier,  // simdgroup_barrier
    kSimdFunction,      // simd_sum, quad_shuffle...
    kMatrixLoad,        // what a lane reads of an 8x8 matrix
    kMatrixStore,
    kMatrixProduct,
    kTensorOperation,  // matmul2d
    kTensorCopy,       // a lane's part of a cooperative tensor, loaded or stored
    kTensorElement,    // what is asked of a cooperative tensor
    kOverflow,         // index arithmetic that left its type
    kUndefinedUse,     // of a variable without a value
    kEnd,              // the thread returns
};

enum class MemorySpace : uint8_t { kPrivate, kDevice, kConstant, kThreadgroup };

enum class ObjectKind : uint8_t {
    kNone,                 // a site without memory
    kBuffer,               // bound in a slot
    kSomeBuffer,           // device or constant memory that the code doesn't name: one of all that is bound
    kThreadgroupSlot,      // threadgroup memory whose length the host sets
    kThreadgroupVariable,  // declared in the kernel
    kSomeThreadgroup,      // threadgroup memory, of several objects or unknown
    kPrivateVariable,
    kProgramConstant,  // `constant` data of the program itself
};

enum class ElementKind : uint8_t { kOther, kFloat, kHalf, kBfloat };

struct MemoryObject {
    ObjectKind kind = ObjectKind::kNone;
    MemorySpace space = MemorySpace::kPrivate;
    uint32_t slot = 0;
    uint64_t offset_bytes = 0;  // of a threadgroup variable in its group's memory
    uint64_t size_bytes = 0;    // 0 where only a launch knows
    std::string name = {};      // as the source has it; may be empty

    bool operator==(const MemoryObject&) const = default;
};

struct Site {
    SiteKind kind = SiteKind::kLoad;
    MemorySpace space = MemorySpace::kPrivate;
    ElementKind element = ElementKind::kOther;
    bool reads = false, writes = false, is_atomic = false;
    uint32_t size_bytes = 0;   // 0: varies
    uint32_t align_bytes = 1;  // what the element needs
    // Of a buffer: all accesses of the place are the same one, at that offset.
    bool is_fixed = false;
    uint64_t fixed_offset = 0;
    uint32_t object = 0;       // index
    uint32_t block = 0;        // the block of code that it stands in, as they are counted
    uint32_t line = 0;         // 0: not known, as in compiled libraries
    uint32_t caller_line = 0;  // where the function that holds the place is called, if it is one
    uint32_t instruction = 0;  // number in the kernel's code, from 1 on
    std::string file, caller_file;
    std::string function;  // of a call: "simd_sum", "threadgroup_barrier"
};

// Classes of arithmetic instructions: enumerator, name, what counts.
#define INGOT_METAL_ARITHMETIC(X)                                                       \
    X(kFloatAdd, "float_add", "float additions")                                        \
    X(kFloatMultiply, "float_multiply", "float multiplications")                        \
    X(kFloatFma, "float_fma", "float multiply-adds")                                    \
    X(kFloatDivide, "float_divide", "float divisions")                                  \
    X(kFloatFunction, "float_function", "float functions: exp, sqrt, floor, max...")    \
    X(kIntegerAdd, "integer_add", "integer additions")                                  \
    X(kIntegerMultiply, "integer_multiply", "integer multiplications")                  \
    X(kIntegerDivide, "integer_divide", "integer divisions")                            \
    X(kIntegerFunction, "integer_function", "integer functions: min, clz, popcount...") \
    X(kBitwise, "bitwise", "bitwise operations and shifts")                             \
    X(kCompare, "compare", "comparisons")                                               \
    X(kSelect, "select", "selections")                                                  \
    X(kConvert, "convert", "conversions")

enum class Arithmetic : uint8_t {
#define X(enumerator, name, text) enumerator,
    INGOT_METAL_ARITHMETIC(X)
#undef X
};

// Arithmetic instructions of one class at one place, as often as their block runs. Vectors count by element.
struct BlockArithmetic {
    uint32_t block = 0;
    Arithmetic kind{};
    uint32_t count = 0, line = 0;
    std::string file;
};

struct Instrumentation {
    std::vector<Site> sites;
    std::vector<MemoryObject> objects;
    uint32_t num_blocks = 0;  // of the code, that count how often each thread runs them
    std::vector<BlockArithmetic> arithmetic;

    bool empty() const { return sites.empty(); }
};

}  // namespace ingot::metal

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
    uint32_t object = 0;       // index
    uint32_t line = 0;         // 0: not known, as in compiled libraries
    uint32_t caller_line = 0;  // where the function that holds the place is called, if it is one
    uint32_t instruction = 0;  // number in the kernel's code, from 1 on
    std::string file, caller_file;
    std::string function;  // of a call: "simd_sum", "threadgroup_barrier"
};

struct Instrumentation {
    std::vector<Site> sites;
    std::vector<MemoryObject> objects;

    bool empty() const { return sites.empty(); }
};

}  // namespace ingot::metal

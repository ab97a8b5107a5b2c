// A kernel that is ready to run: code, and what its executor must know to launch it. Made by the compiler
// (compiler.h), run by an executor (executor.h). Shared and immutable.
#pragma once

#include <cstdint>
#include <memory>

#include "metal/air/kernel_info.h"

namespace ingot::metal {

namespace fibers {
struct Lane;
}

// How matmul2d's cooperative tensors spread over the lanes of a simdgroup. Apple leaves it to the
// implementation; kernels compiled by Apple for MLX need kNax, kScrambled shows who else relies on a layout.
enum class CooperativeLayout : uint8_t { kNax, kRowMajor, kScrambled };

struct CompileTimes {
    double parse_ms = 0, lower_ms = 0, optimise_ms = 0, generate_ms = 0;
};

struct Kernel {
    KernelInfo info;
    void (*entry)(fibers::Lane*) = nullptr;
    bool meets = true;           // has barriers or simdgroup functions: its threads need fibers
    uint32_t private_bytes = 0;  // stack its private variables take, spills aside
    uint32_t matrix_operations = 0, matrix_batches = 0;
    CooperativeLayout layout = CooperativeLayout::kNax;
    CompileTimes times;
    std::shared_ptr<void> code;  // keeps `entry` mapped
};

}  // namespace ingot::metal

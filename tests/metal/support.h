// What the tests of the virtual Metal device share: 16-bit floats, kernels from MLX's compiled libraries,
// launches, comparison with double-precision references. The libraries come from `tools/fetch.py mlx-metal`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/half.h"
#include "metal/air/library_file.h"
#include "metal/exec/compiler.h"
#include "metal/exec/executor.h"

namespace ingot::metal::testing {

struct Half {
    uint16_t bits = 0;
    Half() = default;
    explicit Half(float value) : bits(float_to_half(value)) {}
    explicit operator double() const { return half_to_float(bits); }
};
struct Bfloat {
    uint16_t bits = 0;
    Bfloat() = default;
    explicit Bfloat(float value) : bits(float_to_bfloat16(value)) {}
    explicit operator double() const { return bfloat16_to_float(bits); }
};

// The library of the wheel for macOS 26 ("26.0") or 14 ("14.0"); fails the test if it isn't there.
const LibraryFile& mlx_library(const std::string& system = "26.0");
// The compiler, or a failed test.
Compiler& the_compiler();
Executor& the_executor();

// A kernel of mlx_library() with constants by index; null (and a failed test) if it doesn't compile.
std::shared_ptr<const Kernel> mlx_kernel(const std::string& name,
                                         const std::map<uint32_t, ConstantValue>& constants = {},
                                         CompileOptions options = {});
// A kernel from IR text.
std::shared_ptr<const Kernel> text_kernel(const std::string& ir, CompileOptions options = {});

// Collects bindings, then launches. Vectors must outlive the launch; values are copied.
class Dispatch {
  public:
    explicit Dispatch(std::shared_ptr<const Kernel> kernel) : kernel_(std::move(kernel)) {}

    template <typename T>
    Dispatch& buffer(uint32_t slot, std::vector<T>& data) {
        launch_.buffers[slot] = {data.data(), data.size() * sizeof(T)};
        return *this;
    }
    template <typename T>
    Dispatch& value(uint32_t slot, const T& value) {
        auto& bytes = values_.emplace_back(sizeof(T));
        std::memcpy(bytes.data(), &value, sizeof(T));
        launch_.buffers[slot] = {bytes.data(), bytes.size()};
        return *this;
    }
    Dispatch& threadgroup(uint32_t slot, uint32_t bytes) {
        launch_.threadgroup_bytes[slot] = bytes;
        return *this;
    }
    Dispatch& executor(ExecutorKind kind) {
        launch_.executor = kind;
        return *this;
    }
    Dispatch& time_limit(double seconds) {
        launch_.deadline = std::chrono::steady_clock::now() +
                           std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                               std::chrono::duration<double>(seconds));
        return *this;
    }
    LaunchReport groups(Size3 groups, Size3 threads) {
        return threads_of_grid({groups.x * threads.x, groups.y * threads.y, groups.z * threads.z}, threads);
    }
    LaunchReport threads_of_grid(Size3 grid, Size3 threads);

  private:
    std::shared_ptr<const Kernel> kernel_;
    Launch launch_;
    std::deque<std::vector<std::byte>> values_;
};

template <typename T>
std::vector<T> normal_values(size_t count, uint32_t seed, float deviation = 1) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> distribution(0, deviation);
    std::vector<T> values(count);
    for (T& value : values) value = T(distribution(generator));
    return values;
}

// Largest difference, in units of the largest expected magnitude. A NaN anywhere is infinite.
template <typename T>
double error_of_largest(const std::vector<T>& actual, const std::vector<double>& expected) {
    double error = 0, largest = 1e-30;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double difference = std::fabs(double(actual[i]) - expected[i]);
        error =
            std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(error, difference);
        largest = std::max(largest, std::fabs(expected[i]));
    }
    return error / largest;
}

}  // namespace ingot::metal::testing

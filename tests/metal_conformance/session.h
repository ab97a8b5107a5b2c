// Runs one kernel of a corpus and compares what it wrote with a reference. A corpus is a set of kernels by
// name behind one of the device's doors: the libraries of MLX and PyTorch as Apple's compiler built them, or
// sources that our front end compiles. A case (a function of a Session) doesn't know which door it runs
// through, so that the same case serves both, and another executor. Which cases exist is in the tables
// (mlx_*.cpp, torch_*.cpp, ggml_*.cpp).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "metal/exec/compiler.h"
#include "metal/exec/executor.h"
#include "metal_conformance/array.h"

namespace ingot::metal::conformance {

using ConstantMap = std::map<uint32_t, ConstantValue>;

class Corpus {
  public:
    virtual ~Corpus() = default;
    virtual std::string_view name() const = 0;
    // False if kernel() can't know `kernel`, e.g. because a table of sources has no row for it.
    virtual bool has(const std::string& kernel) const = 0;
    virtual Result<std::shared_ptr<const Kernel>> kernel(const std::string& kernel,
                                                         const ConstantMap& constants) = 0;
};

// Collects bindings, then launches. Arrays must outlive the launch; values are copied.
class Dispatch {
  public:
    Dispatch(std::shared_ptr<const Kernel> kernel, std::string name)
        : kernel_(std::move(kernel)), name_(std::move(name)) {}

    Dispatch& buffer(uint32_t slot, Array& array);
    template <typename T>
    Dispatch& value(uint32_t slot, const T& value) {
        return bytes(slot, &value, sizeof(T));
    }
    template <typename T>
    Dispatch& values(uint32_t slot, const std::vector<T>& values) {
        return bytes(slot, values.data(), values.size() * sizeof(T));
    }
    // The same without a slot: each add() takes the next one, from from() on.
    Dispatch& from(uint32_t slot) {
        next_ = slot;
        return *this;
    }
    Dispatch& add(Array& array) { return buffer(next_++, array); }
    template <typename T>
    Dispatch& add(const std::vector<T>& many) {
        return values(next_++, many);
    }
    template <typename T>
    Dispatch& add(const T& one) {
        return value(next_++, one);
    }
    Dispatch& skip() { return from(next_ + 1); }
    Dispatch& threadgroup(uint32_t slot, uint32_t size_bytes);
    // Fails the test unless the launch ends as it should and without a finding.
    void groups(Size3 groups, Size3 threads);
    void threads(Size3 grid, Size3 threads);

  private:
    Dispatch& bytes(uint32_t slot, const void* data, size_t size);

    std::shared_ptr<const Kernel> kernel_;
    std::string name_;
    uint32_t next_ = 0;
    Launch launch_;
    std::map<uint32_t, const Array*> arrays_;
    std::deque<std::vector<std::byte>> values_;
};

class Session {
  public:
    explicit Session(Corpus& corpus) : corpus_(corpus) {}

    Dispatch kernel(const std::string& name, const ConstantMap& constants = {});
    // |actual - expected| <= tolerance * (largest |expected|), everywhere; a NaN fails unless one is
    // expected.
    void near(const Array& actual, const std::vector<double>& expected, double tolerance);
    // Equal element for element.
    void same(const Array& actual, const std::vector<double>& expected);

    // What was compared, in order: two doors must agree on it.
    const std::vector<Array>& results() const { return results_; }
    // Names of the kernels it ran.
    const std::set<std::string>& kernels() const { return kernels_; }

  private:
    Corpus& corpus_;
    std::string last_kernel_;
    std::set<std::string> kernels_;
    std::vector<Array> results_;
};

struct Case {
    std::string family;   // a word; the test's name is FAMILY/KERNEL/VARIANT
    std::string kernel;   // the kernel whose result is compared
    std::string variant;  // e.g. a shape; may be empty
    std::function<void(Session&)> run;
};
using Cases = std::vector<Case>;

}  // namespace ingot::metal::conformance

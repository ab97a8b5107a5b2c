#include "metal_conformance/session.h"

#include <chrono>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "metal_conformance/checked.h"

namespace ingot::metal::conformance {
namespace {

constexpr std::chrono::seconds kTimeLimit{60};

Executor& executor() {
    static const std::unique_ptr<Executor> only = make_fiber_executor();
    return *only;
}

}  // namespace

Dispatch& Dispatch::buffer(uint32_t slot, Array& array) {
    launch_.buffers[slot] = {array.data(), array.num_bytes()};
    arrays_[slot] = &array;
    return *this;
}

Dispatch& Dispatch::bytes(uint32_t slot, const void* data, size_t size) {
    auto& copy = values_.emplace_back(size);
    std::memcpy(copy.data(), data, size);
    launch_.buffers[slot] = {copy.data(), copy.size()};
    return *this;
}

Dispatch& Dispatch::threadgroup(uint32_t slot, uint32_t size_bytes) {
    launch_.threadgroup_bytes[slot] = size_bytes;
    return *this;
}

void Dispatch::groups(Size3 groups, Size3 threads_) {
    threads({groups.x * threads_.x, groups.y * threads_.y, groups.z * threads_.z}, threads_);
}

void Dispatch::threads(Size3 grid, Size3 threads_) {
    if (kernel_ == nullptr) return;  // reported by Session::kernel
    launch_.grid_threads = grid;
    launch_.group_threads = threads_;
    launch_.deadline = std::chrono::steady_clock::now() + kTimeLimit;
    const auto report = run_or_check(executor(), *kernel_, launch_);
    if (!report) {
        ADD_FAILURE() << name_ << ": " << report.error().describe();
        return;
    }
    EXPECT_EQ(LaunchStatus::kDone, report->status) << name_ << ": " << report->message;
    // PyTorch's gamma and Bessel functions call themselves: those run on fibers, as the device says.
    const bool recurses = report->refusal.ends_with("which calls itself");
    if (launch_.executor == ExecutorKind::kVector && !recurses) {
        EXPECT_EQ(ExecutorKind::kVector, report->executor)
            << name_ << " was refused by the vector executor: " << report->refusal;
    }
    for (const auto& [slot, array] : arrays_) {
        EXPECT_TRUE(array->tail_is_untouched()) << name_ << " wrote past the end of buffer " << slot;
    }
    EXPECT_TRUE(report->findings.empty()) << name_ << ": " << report->findings[0];
}

Dispatch Session::kernel(const std::string& name, const ConstantMap& constants) {
    last_kernel_ = name;
    kernels_.insert(name);
    auto kernel = corpus_.kernel(name, constants);
    if (!kernel) {
        ADD_FAILURE() << corpus_.name() << ", " << name << ": " << kernel.error().describe();
        return {nullptr, name};
    }
    return {*kernel, name};
}

void Session::near(const Array& actual, const std::vector<double>& expected, double tolerance) {
    results_.push_back(actual);
    ASSERT_LE(expected.size(), actual.size()) << last_kernel_;
    double largest = 1e-30;
    for (const double value : expected) {
        if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    }
    double worst = -1;
    size_t at = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double got = actual.get(i), want = expected[i];
        if (got == want || (std::isnan(got) && std::isnan(want))) continue;
        const double error =
            std::isfinite(got) && std::isfinite(want) ? std::fabs(got - want) / largest : INFINITY;
        if (error > worst) worst = error, at = i;
    }
    if (worst <= tolerance) return;
    ADD_FAILURE() << last_kernel_ << ": element " << at << " of " << expected.size() << " is "
                  << actual.get(at) << ", the reference says " << expected[at] << ": " << worst
                  << " of the largest, " << largest << "; " << tolerance << " allowed";
}

void Session::same(const Array& actual, const std::vector<double>& expected) {
    near(actual, expected, 0);
}

}  // namespace ingot::metal::conformance

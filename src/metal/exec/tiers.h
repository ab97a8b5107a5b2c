// Which form of a kernel a launch runs: threads as fibers, which is there at once, or a simdgroup as a
// vector. Where the device may choose (kAuto), a kernel starts on fibers; once enough threads ran, its vector
// form is compiled on a background thread and taken by the launches that follow. A launch never waits for
// that thread. Owned by an executor.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "metal/exec/kernel.h"
#include "metal/exec/launch.h"

namespace ingot::metal {

// What the vector form must be compiled for to serve `launch`.
LaneVariant variant_of(const Launch& launch);

// Threads on fibers after which the vector form pays for its compilation: some 5 to 50 ms of work.
constexpr uint64_t kHotThreads = 1 << 16;

class Tiers {
  public:
    Tiers() = default;
    // Waits for the compilation at hand, gives up the others.
    ~Tiers();
    Tiers(const Tiers&) = delete;
    Tiers& operator=(const Tiers&) = delete;

    struct Choice {
        std::optional<LaneEntry> lanes;  // nothing: fibers
        std::string refusal;             // why it isn't vectors although they were wanted
    };
    Choice choose(const Kernel& kernel, const Launch& launch);

  private:
    struct Job {
        std::shared_ptr<LaneForm> form;
        LaneVariant variant;
    };
    void request(const Job& job);
    void compile_jobs();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;  // the first one is being compiled
    bool ends_ = false;
    std::thread thread_;  // started by the first request
};

}  // namespace ingot::metal

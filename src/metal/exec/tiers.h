// Which form of a kernel a launch runs: threads as fibers, which is there at once, or a simdgroup as a
// vector. Where the device may choose (kAuto), a kernel whose vector form is on disk starts with it, another
// on fibers; once these took long enough, its vector form is compiled in the background and taken by the
// launches that follow. That happens in a child process of low priority, so that no launch waits for it, nor
// the end of this process. Owned by an executor.
#pragma once

#include <chrono>
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

// Time of a core on fibers after which a kernel counts as hot: about what compiling the vector form takes.
constexpr std::chrono::milliseconds kHotTime{50};

class Tiers {
  public:
    Tiers() = default;
    ~Tiers() = default;  // gives up what is being compiled
    Tiers(const Tiers&) = delete;
    Tiers& operator=(const Tiers&) = delete;

    struct Choice {
        std::optional<LaneEntry> lanes;  // nothing: fibers
        std::string refusal;             // why it isn't vectors although they were wanted
    };
    Choice choose(const Kernel& kernel, const Launch& launch);
    // A launch that was left to the device ran on fibers, for so long on all cores together.
    void ran_on_fibers(const Kernel& kernel, const Launch& launch, std::chrono::duration<double> busy);

  private:
    struct Job {
        std::shared_ptr<LaneForm> form;
        LaneVariant variant;
    };
    void request(const Job& job);
    void compile_jobs(const std::stop_token& stop);

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Job> jobs_;  // the first one is being compiled
    std::jthread thread_;   // started by the first request
};

}  // namespace ingot::metal

// Raises a flag when a deadline passes: one background thread for all launches, started on first need.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

namespace ingot::metal {

class Watchdog {
  public:
    using Clock = std::chrono::steady_clock;

    // Ends the watch when destroyed; after that the flag is no longer touched.
    class Guard {
      public:
        explicit Guard(uint64_t id) : id_(id) {}
        ~Guard();
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

      private:
        uint64_t id_;
    };

    // Sets `flag` to 1 at `deadline`. time_point::max() watches nothing.
    static Guard watch(Clock::time_point deadline, std::atomic<uint32_t>& flag);
};

}  // namespace ingot::metal

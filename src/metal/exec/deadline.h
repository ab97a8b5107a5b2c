// A time limit in seconds as a point in time.
#pragma once

#include <chrono>

namespace ingot::metal {

// From now on. Longer than the clock can count is no limit.
inline std::chrono::steady_clock::time_point deadline_after(double seconds) {
    using Clock = std::chrono::steady_clock;
    constexpr double kMostSeconds = 1e9;  // thirty years
    if (!(seconds < kMostSeconds)) return Clock::time_point::max();
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace ingot::metal

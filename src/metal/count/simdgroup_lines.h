// Which 128-byte lines the lanes of a simdgroup touch together at one place of the code: for each time that a
// simdgroup is there, a set, kept as bits of 64 lines side by side. Lanes mostly go on where the one before
// ended: such a run of bytes waits to be put into the set until it ends.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace ingot::metal::count {

class SimdgroupLines {
  public:
    // Of a region's bytes, by offset.
    struct Run {
        uint64_t begin = 0, end = 0;

        bool empty() const { return begin == end; }
    };

    bool empty() const { return runs_.empty() && firsts_.empty(); }
    // Whether the run of that time has the bytes [offset, offset + size), or goes on with them.
    bool continues(uint64_t time, uint64_t offset, uint64_t size_bytes) {
        if (time >= runs_.size()) [[unlikely]]
            return false;
        Run& run = runs_[time];
        if (offset == run.end) [[likely]] {
            run.end += size_bytes;
            return true;
        }
        return offset >= run.begin && offset + size_bytes <= run.end;
    }
    // The one that there was is over, and the caller's to add.
    Run begin_run(uint64_t time, const Run& run) {
        if (time >= runs_.size()) runs_.resize(time + 1);
        return std::exchange(runs_[time], run);
    }

    // A lane touches `line` when its simdgroup is there for that time.
    void add(uint64_t time, uint64_t line) {
        if (time >= firsts_.size()) firsts_.resize(time + 1);
        Window* window = &firsts_[time];
        const uint64_t number = line / 64 + 1;
        if (window->number != number) window = &window_of(*window, number);
        window->lines |= uint64_t{1} << line % 64;
    }

    // Ends all runs: over(time, run) for each, which may add() its lines; `alone` if its set is empty.
    template <typename Over>
    void end_runs(Over over) {
        for (uint64_t time = 0; time < runs_.size(); ++time) {
            const bool alone = time >= firsts_.size() || firsts_[time].number == 0;
            if (!runs_[time].empty()) over(time, runs_[time], alone);
        }
        runs_.clear();
    }
    // Of all sets together; empties them.
    uint64_t take() {
        uint64_t count = 0;
        for (std::vector<Window>* windows : {&firsts_, &others_}) {
            for (const Window& window : *windows) count += uint64_t(std::popcount(window.lines));
            windows->clear();
        }
        return count;
    }

  private:
    struct alignas(32) Window {
        uint64_t number = 0;  // plus 1; 0: none yet
        uint64_t lines = 0;
        uint32_t next = 0;  // of the same set, in others_, plus 1
    };
    Window& window_of(Window& first, uint64_t number) {
        Window* window = &first;
        while (window->number != number && window->number != 0) {
            if (window->next == 0) {
                window->next = uint32_t(others_.size() + 1);
                window = &others_.emplace_back();
            } else {
                window = &others_[window->next - 1];
            }
        }
        window->number = number;
        return *window;
    }

    std::vector<Run> runs_;       // by time
    std::vector<Window> firsts_;  // likewise, of each set
    std::vector<Window> others_;
};

}  // namespace ingot::metal::count

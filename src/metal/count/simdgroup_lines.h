// Which 128-byte lines the lanes of a simdgroup touch together at one place of the code: for each time that a
// simdgroup is there, a set, kept as bits of 64 lines side by side.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace ingot::metal::count {

class SimdgroupLines {
  public:
    bool has(uint64_t time) const { return time < firsts_.size(); }
    // False if there is no set yet.
    bool grow(uint64_t time) {
        const bool had_any = !firsts_.empty();
        firsts_.resize(time + 1);
        return had_any;
    }

    // A lane touches `line` when its simdgroup is there for that time, which the sets must reach.
    void add(uint64_t time, uint64_t line) {
        Window* window = &firsts_[time];
        const uint64_t number = line / 64 + 1;
        if (window->number != number) window = &window_of(*window, number);
        window->lines |= uint64_t{1} << line % 64;
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

    std::vector<Window> firsts_;  // of each set
    std::vector<Window> others_;
};

}  // namespace ingot::metal::count

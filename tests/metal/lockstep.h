// A simdgroup as a GPU runs it, for tests: one instruction for all active lanes at a time. A branch runs one
// side after the other, then its lanes go on together; a loop runs until its last lane left it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace ingot::metal::testing {

class Lockstep {
  public:
    static constexpr uint32_t kWidth = 32;
    using Values = std::array<uint32_t, kWidth>;
    using OfLane = std::function<uint32_t(uint32_t lane)>;
    using Body = std::function<void()>;

    explicit Lockstep(uint32_t active) : active_(active) {}

    uint32_t active() const { return active_; }

    void branch(const OfLane& condition, const Body& then, const Body& otherwise = {}) {
        const uint32_t outer = active_, taken = chosen(condition);
        run(taken, then);
        run(outer & ~taken, otherwise);
        active_ = outer & ~gone();
    }

    // `while (condition) { body; next; }`
    void loop(const OfLane& condition, const Body& body, const Body& next = {}) {
        const uint32_t outer = active_;
        loops_.push_back({});
        for (;;) {
            loops_.back().continued = 0;
            active_ = outer & ~gone();
            loops_.back().broken |= active_ & ~chosen(condition);
            active_ = outer & ~gone();
            if (active_ == 0) break;
            body();
            loops_.back().continued = 0;
            run(outer & ~gone(), next);
        }
        loops_.pop_back();
        active_ = outer & ~gone();
    }

    void break_if(const OfLane& condition) { loops_.back().broken |= leave(chosen(condition)); }
    void continue_if(const OfLane& condition) { loops_.back().continued |= leave(chosen(condition)); }
    void return_if(const OfLane& condition) { returned_ |= leave(chosen(condition)); }

    void set(Values& to, const OfLane& value) const {
        for_each([&](uint32_t lane) { to[lane] = value(lane); });
    }

    // simdgroup functions of the active lanes.
    uint32_t sum(const OfLane& value) const {
        uint32_t result = 0;
        for_each([&](uint32_t lane) { result += value(lane); });
        return result;
    }
    uint32_t max(const OfLane& value) const {
        uint32_t result = 0;
        for_each([&](uint32_t lane) { result = std::max(result, value(lane)); });
        return result;
    }
    uint32_t first() const {
        for (uint32_t lane = 0; lane < kWidth; ++lane) {
            if ((active_ >> lane & 1) != 0) return lane;
        }
        return 0;
    }

  private:
    struct Loop {
        uint32_t broken = 0, continued = 0;
    };

    template <typename Visit>
    void for_each(Visit visit) const {
        for (uint32_t lane = 0; lane < kWidth; ++lane) {
            if ((active_ >> lane & 1) != 0) visit(lane);
        }
    }
    uint32_t chosen(const OfLane& condition) const {
        uint32_t mask = 0;
        for_each([&](uint32_t lane) { mask |= condition(lane) != 0 ? 1u << lane : 0; });
        return mask;
    }
    uint32_t leave(uint32_t mask) {
        active_ &= ~mask;
        return mask;
    }
    void run(uint32_t mask, const Body& body) {
        active_ = mask;
        if (mask != 0 && body) body();
    }
    uint32_t gone() const {
        uint32_t mask = returned_;
        for (const Loop& loop : loops_) mask |= loop.broken | loop.continued;
        return mask;
    }

    uint32_t active_, returned_ = 0;
    std::vector<Loop> loops_;
};

}  // namespace ingot::metal::testing

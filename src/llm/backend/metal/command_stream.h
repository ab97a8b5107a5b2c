// The backend's way to the device: dispatches go into one command buffer, made when the first of them comes,
// and submit() runs it. Waiting is bounded and every outcome is looked at; a failure is an Error with the
// last dispatches' labels. Knows neither nodes nor weights.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "llm/backend/metal/device.h"

namespace ingot::mtl {

// A place in a buffer. The buffer belongs to someone who outlives the dispatch.
struct Bound {
    const MTL::Buffer* buffer = nullptr;
    size_t offset_bytes = 0;
};

struct Dispatch {
    const Pipeline* pipeline = nullptr;
    std::string label;             // "mat_mul_one_q4_0 %7 mat_mul 'blk.0.attn_q.weight'"
    std::vector<Bound> buffers;    // by slot
    std::vector<std::byte> bytes;  // in the slot behind the buffers; empty: none
    MTL::Size grid{0, 0, 0};       // 0: nothing to do this time
    bool grid_is_threads = false;  // else threadgroups
};

class CommandStream {
  public:
    struct Options {
        double wait_seconds = 0;  // how long a submission may take
        bool profile = false;     // time encoding
        // For tests of what barriers are worth: the dispatch, counted from 0, that none follows.
        std::optional<uint64_t> without_barrier = {};
    };
    CommandStream(const Device& device, Options options);
    // Submits what is pending and waits until the device has let go of all memory.
    ~CommandStream();
    CommandStream(const CommandStream&) = delete;
    CommandStream& operator=(const CommandStream&) = delete;

    void encode(const Dispatch& dispatch);
    // No effect if nothing was encoded. After a submission that didn't end in time, the stream stays unusable
    // and repeats its Error: the device may still be writing.
    Result<void> submit();
    bool is_pending() const { return bool(commands_); }

    struct Stats {
        uint64_t dispatches = 0, submissions = 0;
        double wait_seconds = 0;
        std::map<std::string, uint64_t> kernels;         // dispatches by kernel
        std::map<std::string, double> encoding_seconds;  // by kernel, if profiled
    };
    const Stats& stats() const { return stats_; }
    // What was waited for, and the twenty kernels that took the host longest to encode; empty unless
    // profiled.
    std::string profile() const;

  private:
    std::string recent_labels() const;

    const Options options_;
    NS::SharedPtr<MTL::CommandQueue> queue_;
    NS::SharedPtr<MTL::CommandBuffer> commands_;
    NS::SharedPtr<MTL::ComputeCommandEncoder> encoder_;
    NS::SharedPtr<MTL::CommandBuffer> overdue_;  // didn't end in time
    std::array<std::string, 16> labels_;         // a ring, of the current command buffer
    size_t num_labels_ = 0;
    Stats stats_;
};

}  // namespace ingot::mtl

// Who watches a device's programs (extensions.h: set_checks, set_recording): runs dispatches under checkers,
// collects what they find and which rules of the API calls break, knows what orders dispatches of a
// concurrent encoder and what the host has waited for. Kernels must have been compiled to be watched. Safe to
// use from several threads.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "metal/api/extensions.h"
#include "metal/api/objects.h"
#include "metal/check/finding.h"
#include "metal/check/session.h"
#include "metal/count/touched.h"

namespace ingot::metal::api {

// A dispatch, as its encoder had it.
struct WatchedDispatch {
    const PipelineImpl& pipeline;
    Launch launch;
    std::array<const BufferImpl*, kNumBufferSlots> buffers{};  // null: bytes, or nothing
};

// What the dispatches of a concurrent encoder touched since the last barrier. Of the queue's thread.
class Unordered {
  public:
    struct Dispatch {
        std::string kernel;
        count::Touched read, written;  // by address
    };
    void barrier() { dispatches_.clear(); }
    void barrier(const BufferImpl& buffer);
    // The dispatches before it that it races with are reported.
    void add(class Watch& watch, Dispatch dispatch, const WatchedDispatch& what);

  private:
    std::vector<Dispatch> dispatches_;
};

class Watch {
  public:
    std::vector<check::CheckerId> checkers;  // empty: none
    std::string record_folder;               // empty: no launch files
    bool counts = false;                     // dispatches, while there are checkers
    bool prints = false;                     // findings go to stderr as they come

    bool is_on(check::CheckerId id) const;
    // A rule that a call breaks. Equal ones are counted.
    void report(check::FindingKind kind, std::string text, std::string kernel = {}, std::string memory = {});
    std::vector<check::Finding> take();
    std::vector<DispatchCounts> take_counts();

    // Runs a dispatch; `unordered` is its encoder's if that is concurrent.
    Result<LaunchReport> run(const WatchedDispatch& dispatch, Unordered* unordered);

    // From its commit on until the host knows that it is done, a command buffer may write `buffers`.
    void committed(const CommandBufferImpl& commands, const std::set<const BufferImpl*>& buffers);
    void host_knows(const CommandBufferImpl& commands);
    void host_reads(const BufferImpl& buffer);
    // Only the command buffer still holds some of what it kept.
    void check_released(const CommandBufferImpl& commands);

  private:
    struct Pending {
        const CommandBufferImpl* commands;
        const QueueImpl* queue;
        std::string label;
        std::set<const BufferImpl*> buffers;
    };
    void add(check::Finding finding);
    bool check_limits(const WatchedDispatch& dispatch);
    void record(const WatchedDispatch& dispatch);

    std::mutex mutex_;
    std::vector<check::Finding> found_;
    std::vector<DispatchCounts> counted_;
    std::vector<Pending> pending_;  // in the order of their commits
    unsigned num_recorded_ = 0;
};

// The device's, or null.
Watch* watch_of(const DeviceImpl& device);
// "buffer 'weights'", "a buffer of 64 bytes"
std::string describe(const BufferImpl& buffer);

// Whether a call keeps to a rule. If not, that is a finding where somebody watches and ends the process
// otherwise.
bool obeys(const DeviceImpl& device, bool holds, check::FindingKind kind, std::string_view message);

}  // namespace ingot::metal::api

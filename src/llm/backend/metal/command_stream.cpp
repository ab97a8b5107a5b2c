#include "llm/backend/metal/command_stream.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

namespace ingot::mtl {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// What a completion handler tells the thread that waits; outlives both.
class Completion {
  public:
    void set() {
        {
            const std::scoped_lock lock(mutex_);
            done_ = true;
        }
        changed_.notify_all();
    }
    bool wait(double seconds) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return done_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
};

}  // namespace

CommandStream::CommandStream(const Device& device, Options options)
    : options_(options), queue_(NS::TransferPtr(device->newCommandQueue())) {}

CommandStream::~CommandStream() {
    (void)submit();
    // Its buffers may be gone after this.
    if (overdue_) overdue_->waitUntilCompleted();
}

void CommandStream::encode(const Dispatch& dispatch) {
    if (overdue_ || dispatch.grid.width * dispatch.grid.height * dispatch.grid.depth == 0) return;
    const auto start = options_.profile ? Clock::now() : Clock::time_point();
    if (!commands_) {
        const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        commands_ = NS::RetainPtr(queue_->commandBuffer());
        encoder_ = NS::RetainPtr(commands_->computeCommandEncoder(MTL::DispatchTypeConcurrent));
        num_labels_ = 0;
    }
    labels_[num_labels_++ % labels_.size()] = dispatch.label;
    ++stats_.kernels[dispatch.pipeline->name];
    const uint64_t index = stats_.dispatches++;
    encoder_->setComputePipelineState(dispatch.pipeline->state.get());
    for (size_t slot = 0; slot < dispatch.buffers.size(); ++slot) {
        encoder_->setBuffer(dispatch.buffers[slot].buffer, dispatch.buffers[slot].offset_bytes, slot);
    }
    if (!dispatch.bytes.empty()) {
        encoder_->setBytes(dispatch.bytes.data(), dispatch.bytes.size(), dispatch.buffers.size());
    }
    NS::UInteger threads = dispatch.pipeline->threads;
    if (dispatch.grid_is_threads) {
        threads = std::min(threads, dispatch.grid.width);
        encoder_->dispatchThreads(dispatch.grid, MTL::Size(threads, 1, 1));
    } else {
        encoder_->dispatchThreadgroups(dispatch.grid, MTL::Size(threads, 1, 1));
    }
    // Nothing else orders it and the next one.
    if (index != options_.without_barrier) encoder_->memoryBarrier(MTL::BarrierScopeBuffers);
    if (options_.profile) stats_.encoding_seconds[dispatch.pipeline->name] += seconds_since(start);
}

Result<void> CommandStream::submit() {
    if (overdue_) {
        return fail(ErrorKind::kLimit, "an earlier submission to the Metal device didn't end within {} s",
                    options_.wait_seconds);
    }
    if (!commands_) return {};
    const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    const auto commands = std::exchange(commands_, {});
    encoder_->endEncoding();
    encoder_.reset();
    const auto completion = std::make_shared<Completion>();
    commands->addCompletedHandler(
        MTL::HandlerFunction([completion](MTL::CommandBuffer*) { completion->set(); }));
    const auto start = Clock::now();
    commands->commit();
    const bool in_time = completion->wait(options_.wait_seconds);
    stats_.wait_seconds += seconds_since(start);
    ++stats_.submissions;
    if (!in_time) {
        overdue_ = commands;
        return fail(ErrorKind::kLimit, "the Metal device didn't end within {} s; {}", options_.wait_seconds,
                    recent_labels());
    }
    if (commands->status() == MTL::CommandBufferStatusCompleted) return {};
    const NS::Error* error = commands->error();
    return fail(ErrorKind::kIo, "the Metal device failed: {}; {}",
                error == nullptr ? "no reason given" : error->localizedDescription()->utf8String(),
                recent_labels());
}

std::string CommandStream::profile() const {
    if (!options_.profile) return {};
    constexpr size_t kMostKernels = 20;
    std::vector<std::pair<double, std::string>> rows;
    double encoding = 0;
    for (const auto& [kernel, seconds] : stats_.encoding_seconds) {
        rows.emplace_back(seconds, kernel);
        encoding += seconds;
    }
    std::ranges::sort(rows, std::greater());
    std::string text =
        fmt::format("metal: {} dispatches in {} submissions; {:.1f} ms encoding, {:.1f} ms waiting\n",
                    stats_.dispatches, stats_.submissions, encoding * 1e3, stats_.wait_seconds * 1e3);
    for (size_t i = 0; i < std::min(rows.size(), kMostKernels); ++i) {
        text += fmt::format("  {:8.2f} ms encoding  {:7} x {}\n", rows[i].first * 1e3,
                            stats_.kernels.at(rows[i].second), rows[i].second);
    }
    return text;
}

std::string CommandStream::recent_labels() const {
    const size_t shown = std::min(num_labels_, labels_.size());
    std::string list = fmt::format("the last {} of {} dispatches:", shown, num_labels_);
    for (size_t i = num_labels_ - shown; i < num_labels_; ++i) {
        list += fmt::format("{} {}", i == num_labels_ - shown ? "" : ",", labels_[i % labels_.size()]);
    }
    return list;
}

}  // namespace ingot::mtl

#include "llm/backend/metal/command_stream.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace ingot::mtl {
namespace {

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

CommandStream::CommandStream(const Device& device, double wait_seconds)
    : wait_seconds_(wait_seconds), queue_(NS::TransferPtr(device->newCommandQueue())) {}

CommandStream::~CommandStream() {
    (void)submit();
    // Its buffers may be gone after this.
    if (overdue_) overdue_->waitUntilCompleted();
}

void CommandStream::encode(const Dispatch& dispatch) {
    if (overdue_ || dispatch.grid.width * dispatch.grid.height * dispatch.grid.depth == 0) return;
    if (!commands_) {
        const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        commands_ = NS::RetainPtr(queue_->commandBuffer());
        encoder_ = NS::RetainPtr(commands_->computeCommandEncoder());
        num_labels_ = 0;
    }
    labels_[num_labels_++ % labels_.size()] = dispatch.label;
    ++stats_.kernels[dispatch.pipeline->name];
    ++stats_.dispatches;
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
    // Metal doesn't promise that the next dispatch sees what this one wrote.
    encoder_->memoryBarrier(MTL::BarrierScopeBuffers);
}

Result<void> CommandStream::submit() {
    if (overdue_) {
        return fail(ErrorKind::kLimit, "an earlier submission to the Metal device didn't end within {} s",
                    wait_seconds_);
    }
    if (!commands_) return {};
    const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    const auto commands = std::exchange(commands_, {});
    encoder_->endEncoding();
    encoder_.reset();
    const auto completion = std::make_shared<Completion>();
    commands->addCompletedHandler(
        MTL::HandlerFunction([completion](MTL::CommandBuffer*) { completion->set(); }));
    const auto start = std::chrono::steady_clock::now();
    commands->commit();
    const bool in_time = completion->wait(wait_seconds_);
    stats_.wait_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ++stats_.submissions;
    if (!in_time) {
        overdue_ = commands;
        return fail(ErrorKind::kLimit, "the Metal device didn't end within {} s; {}", wait_seconds_,
                    recent_labels());
    }
    if (commands->status() == MTL::CommandBufferStatusCompleted) return {};
    const NS::Error* error = commands->error();
    return fail(ErrorKind::kIo, "the Metal device failed: {}; {}",
                error == nullptr ? "no reason given" : error->localizedDescription()->utf8String(),
                recent_labels());
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

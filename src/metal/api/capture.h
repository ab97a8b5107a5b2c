// A capture in progress: a text file that lists what was encoded into the command buffers made while it was
// active.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "metal/api/objects.h"

namespace ingot::metal::api {

class Capture {
  public:
    // Of one queue, or of all if null.
    Capture(const QueueImpl* queue, std::string path) : queue_(queue), path_(std::move(path)) {}

    bool covers(const QueueImpl& queue) const { return queue_ == nullptr || queue_ == &queue; }
    // A committed command buffer.
    void record(const CommandBufferImpl& buffer);
    // Writes the file; later records are lost.
    void finish();

  private:
    const QueueImpl* queue_;
    std::string path_;
    std::mutex mutex_;
    std::string text_;
};

// The capture that command buffers of `queue` made now belong to, or null.
std::shared_ptr<Capture> active_capture(const QueueImpl& queue);

}  // namespace ingot::metal::api

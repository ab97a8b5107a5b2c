// Child processes that do work which may crash: a crash, a hang or a hunger for memory ends the child, and is
// an Error here. A child serves one request at a time and stays for the next; requests of several threads get
// a child each. What the bytes mean is worker_protocol.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"

namespace ingot::metal {

class WorkerPool {
  public:
    using Duration = std::chrono::steady_clock::duration;

    // `program` serves requests on its standard input, a socket, until that is closed (serve_requests).
    explicit WorkerPool(std::string program);
    ~WorkerPool();

    // The answer. kCorrupt: the child crashed, or was ended because of `stop`; kLimit: it took longer than
    // `limit`; kUnsupported: it can't be started.
    Result<std::vector<std::byte>> request(std::span<const std::byte> bytes, Duration limit,
                                           const std::stop_token& stop = {});

  private:
    class Child;

    std::string program_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Child>> idle_;
};

// The child's side: answers requests on `socket` until the parent closes it. False if the parent broke off.
bool serve_requests(int socket, std::vector<std::byte> (*answer)(std::span<const std::byte> request));

}  // namespace ingot::metal

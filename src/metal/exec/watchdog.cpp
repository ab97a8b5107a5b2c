#include "metal/exec/watchdog.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace ingot::metal {
namespace {

using Clock = Watchdog::Clock;

struct Watch {
    Clock::time_point deadline;
    std::atomic<uint32_t>* flag;
};

class Service {
  public:
    static Service& instance() {
        static Service service;
        return service;
    }

    uint64_t add(Watch watch) {
        const std::scoped_lock lock(mutex_);
        if (!thread_.joinable()) thread_ = std::jthread([this](std::stop_token stop) { serve(stop); });
        watches_.emplace(++last_id_, watch);
        // The thread sleeps until the earliest deadline it knows of: a later one needn't wake it.
        if (watch.deadline < next_) changed_.notify_one();
        return last_id_;
    }

    void remove(uint64_t id) {
        const std::scoped_lock lock(mutex_);
        watches_.erase(id);
    }

  private:
    void serve(std::stop_token stop) {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
            next_ = Clock::time_point::max();
            const auto now = Clock::now();
            for (const auto& [id, watch] : watches_) {
                if (watch.deadline <= now) watch.flag->store(1);
                if (watch.deadline > now) next_ = std::min(next_, watch.deadline);
            }
            const auto wanted = next_;
            const auto sooner = [&] {
                for (const auto& [id, watch] : watches_) {
                    if (watch.deadline < wanted && watch.flag->load() == 0) return true;
                }
                return false;
            };
            if (wanted == Clock::time_point::max()) {
                changed_.wait(lock, stop, sooner);
            } else {
                changed_.wait_until(lock, stop, wanted, sooner);
            }
        }
    }

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<uint64_t, Watch> watches_;
    Clock::time_point next_ = Clock::time_point::max();
    uint64_t last_id_ = 0;
    std::jthread thread_;
};

}  // namespace

Watchdog::Guard::~Guard() {
    if (id_ != 0) Service::instance().remove(id_);
}

Watchdog::Guard Watchdog::watch(Clock::time_point deadline, std::atomic<uint32_t>& flag) {
    if (deadline == Clock::time_point::max()) return Guard(0);
    return Guard(Service::instance().add({deadline, &flag}));
}

}  // namespace ingot::metal

#include "metal/exec/tiers.h"

#include <algorithm>

#include <sys/resource.h>
#include <unistd.h>

namespace ingot::metal {

LaneVariant variant_of(const Launch& launch) {
    const Size3 group = launch.group_threads, grid = launch.grid_threads;
    const bool whole = grid.x % group.x == 0 && grid.y % group.y == 0 && grid.z % group.z == 0;
    return {.full = whole && group.count() % kSimdWidth == 0,
            .linear = group.x % kSimdWidth == 0
                          ? whole || grid.x % kSimdWidth == 0 || group.count() == group.x
                          : group.count() == group.x};
}

Tiers::~Tiers() {
    {
        const std::scoped_lock lock(mutex_);
        ends_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

Tiers::Choice Tiers::choose(const Kernel& kernel, const Launch& launch) {
    if (launch.executor == ExecutorKind::kFibers) return {};
    const LaneVariant variant = variant_of(launch);
    const auto taken = [](const Result<LaneEntry>& entry) {
        return entry ? Choice{.lanes = *entry, .refusal = {}}
                     : Choice{.lanes = {}, .refusal = entry.error().describe()};
    };
    if (launch.executor == ExecutorKind::kVector) return taken(kernel.lanes->entry(variant));
    if (const auto ready = kernel.lanes->ready(variant)) return taken(*ready);
    const uint64_t threads = launch.grid_threads.count();
    if (kernel.lanes->threads_run.fetch_add(threads) + threads >= kHotThreads)
        request({kernel.lanes, variant});
    return {};
}

void Tiers::request(const Job& job) {
    const std::scoped_lock lock(mutex_);
    const bool known = std::ranges::any_of(
        jobs_, [&](const Job& j) { return j.form == job.form && j.variant == job.variant; });
    if (known) return;
    jobs_.push_back(job);
    if (!thread_.joinable()) thread_ = std::thread([this] { compile_jobs(); });
    changed_.notify_one();
}

void Tiers::compile_jobs() {
    // Kernels that run now come first (Linux has a priority for each thread).
    constexpr int kLowestPriority = 19;
    ::setpriority(PRIO_PROCESS, id_t(::gettid()), kLowestPriority);
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return ends_ || !jobs_.empty(); });
        if (ends_) return;
        const Job job = jobs_.front();
        lock.unlock();
        // A refusal is kept by the form and reported by the launches that follow.
        static_cast<void>(job.form->entry(job.variant));
        lock.lock();
        jobs_.pop_front();
    }
}

}  // namespace ingot::metal

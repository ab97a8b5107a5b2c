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

Tiers::Choice Tiers::choose(const Kernel& kernel, const Launch& launch) {
    if (launch.executor == ExecutorKind::kFibers) return {};
    const LaneVariant variant = variant_of(launch);
    const auto taken = [](const Result<LaneEntry>& entry) {
        return entry ? Choice{.lanes = *entry, .refusal = {}}
                     : Choice{.lanes = {}, .refusal = entry.error().describe()};
    };
    if (launch.executor == ExecutorKind::kVector) return taken(kernel.lanes->entry(variant));
    if (const auto ready = kernel.lanes->ready(variant)) return taken(*ready);
    return {};
}

void Tiers::ran_on_fibers(const Kernel& kernel, const Launch& launch, std::chrono::duration<double> busy) {
    const auto passed = std::chrono::duration_cast<std::chrono::nanoseconds>(busy);
    const auto before = kernel.lanes->fiber_nanoseconds.fetch_add(uint64_t(passed.count()));
    const LaneVariant variant = variant_of(launch);
    if (std::chrono::nanoseconds(before) + passed >= kHotTime && !kernel.lanes->ready(variant))
        request({kernel.lanes, variant});
}

void Tiers::request(const Job& job) {
    const std::scoped_lock lock(mutex_);
    const bool known = std::ranges::any_of(
        jobs_, [&](const Job& j) { return j.form == job.form && j.variant == job.variant; });
    if (known) return;
    jobs_.push_back(job);
    if (!thread_.joinable())
        thread_ = std::jthread([this](const std::stop_token& stop) { compile_jobs(stop); });
    changed_.notify_one();
}

void Tiers::compile_jobs(const std::stop_token& stop) {
    // Kernels that run now come first, but not so far that a busy machine never gets to compile them: those
    // of lowest priority are starved. (Linux has a priority for each thread, which its children get.)
    constexpr int kLowPriority = 5;
    ::setpriority(PRIO_PROCESS, id_t(::gettid()), kLowPriority);
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return !jobs_.empty(); }) && !stop.stop_requested()) {
        const Job job = jobs_.front();
        lock.unlock();
        // A refusal is kept by the form and reported by the launches that follow.
        job.form->prepare(job.variant, stop);
        lock.lock();
        jobs_.pop_front();
    }
}

}  // namespace ingot::metal

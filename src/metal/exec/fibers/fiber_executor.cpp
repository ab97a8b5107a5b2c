// Threadgroups dealt out over worker threads; inside one, a fiber per thread (scheduler.h).
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include <sys/mman.h>

#include "base/check.h"
#include "base/thread_pool.h"
#include "metal/exec/executor.h"
#include "metal/exec/fault.h"
#include "metal/exec/fibers/scheduler.h"
#include "metal/exec/fibers/stacks.h"
#include "metal/exec/monitor.h"
#include "metal/exec/tiers.h"
#include "metal/exec/watchdog.h"

namespace ingot::metal::fibers {
namespace {

constexpr size_t kDefaultStackBytes = 56 * 1024;
constexpr size_t kLanesSpillBytes = 1024 * 1024;  // 32 threads' registers spill into one frame
constexpr size_t kSpillBytes = 32 * 1024;  // what a kernel's frame may take beyond its private variables
constexpr size_t kArenaBytes = 128 * 1024;
constexpr size_t kMaxFindings = 16;

// One reservation per worker: fence, arena, fence.
class Arena {
  public:
    Result<unsigned char*> reserve() {
        if (base_ != nullptr) return base_ + kFenceBytes;
        void* memory = ::mmap(nullptr, 2 * kFenceBytes + kArenaBytes, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return fail(ErrorKind::kLimit, "can't reserve threadgroup memory");
        base_ = static_cast<unsigned char*>(memory);
        if (::mprotect(base_ + kFenceBytes, kArenaBytes, PROT_READ | PROT_WRITE) != 0) {
            return fail(ErrorKind::kLimit, "can't map {} bytes of threadgroup memory", kArenaBytes);
        }
        return base_ + kFenceBytes;
    }
    ~Arena() {
        if (base_ != nullptr) ::munmap(base_, 2 * kFenceBytes + kArenaBytes);
    }

  private:
    unsigned char* base_ = nullptr;
};

template <typename T>
struct AlignedDelete {
    void operator()(T* memory) const { std::free(memory); }
};
template <typename T>
using AlignedArray = std::unique_ptr<T[], AlignedDelete<T>>;

template <typename T>
AlignedArray<T> aligned_array(size_t count) {
    void* memory = std::aligned_alloc(64, (count * sizeof(T) + 63) / 64 * 64);
    std::memset(memory, 0, count * sizeof(T));
    return AlignedArray<T>(static_cast<T*>(memory));
}

// What all workers of one launch share.
struct Shared {
    const Kernel& kernel;
    const Launch& launch;
    Watchdog::Clock::time_point deadline;
    std::optional<LaneEntry> lanes;  // a simdgroup is one fiber
    Size3 num_groups;
    std::atomic<uint64_t> next_group{0};
    uint64_t end_group = num_groups.count();
    std::atomic<uint32_t> stop{0};
    std::atomic<uint64_t> rendezvous{0};
    std::mutex mutex;
    LaunchReport report;

    void add_finding(std::string text) {
        const std::scoped_lock lock(mutex);
        if (report.findings.size() < kMaxFindings) report.findings.push_back(std::move(text));
    }
};

// One worker's memory, kept from launch to launch.
class Worker {
  public:
    Result<void> prepare(const Shared& shared);
    void run(Shared& shared);
    void finding(const char* what, uint32_t a, uint32_t b);

  private:
    void bind(Shared& shared);
    void start_group(uint64_t index);
    void set_shape(const uint32_t threads[3]);
    void set_lane(uint32_t index, uint32_t thread);
    void run_groups();
    void prepare_fibers();
    void run_guarded(FaultTrap& trap);
    std::string describe_fault(const FaultTrap& trap) const;
    std::string find_faulting_thread(const Shared& shared);

    Shared* shared_ = nullptr;
    uint64_t group_index_ = 0;
    Group group_ = {};
    AlignedArray<Lane> lanes_;
    AlignedArray<Simdgroup> simdgroups_;
    AlignedArray<float> matrices_;
    StackPool stacks_;
    Arena arena_;
    bool needs_fibers_ = false;
    std::array<void*, kNumBufferSlots + 1> buffers_{};
    std::array<void*, kNumThreadgroupSlots + 1> threadgroup_buffers_{};
};

Result<void> Worker::prepare(const Shared& shared) {
    if (!lanes_) {
        constexpr uint32_t kMaxSimdgroups = kMaxThreadsPerThreadgroup / kSimdWidth;
        lanes_ = aligned_array<Lane>(kMaxThreadsPerThreadgroup);
        simdgroups_ = aligned_array<Simdgroup>(kMaxSimdgroups);
    }
    if (shared.kernel.matrix_batches != 0 && !matrices_) {
        matrices_ = aligned_array<float>(size_t{kMaxThreadsPerThreadgroup / kSimdWidth} * kMatrixSlots * 64);
    }
    INGOT_ASSIGN(group_.arena, arena_.reserve());
    // A kernel without meetings needs one fiber at a time: its stack catches overflows as the others' do.
    const size_t threads = shared.launch.group_threads.count();
    if (shared.lanes) {
        const size_t simdgroups = (threads + kSimdWidth - 1) / kSimdWidth;
        return stacks_.reserve(shared.lanes->has_barriers ? simdgroups : 1,
                               shared.lanes->private_bytes + kLanesSpillBytes);
    }
    const size_t bytes = std::max(kDefaultStackBytes, shared.kernel.private_bytes + kSpillBytes);
    return stacks_.reserve(shared.kernel.meets ? threads : 1, bytes);
}

void Worker::bind(Shared& shared) {
    const Launch& launch = shared.launch;
    shared_ = &shared;
    unsigned char* arena = group_.arena;
    group_ = {};
    group_.arena = arena;
    group_.simdgroups = simdgroups_.get();
    group_.lanes = lanes_.get();
    group_.entry = shared.lanes ? shared.lanes->run : shared.kernel.entry;
    const bool waits = shared.lanes ? shared.lanes->has_barriers : shared.kernel.meets;
    needs_fibers_ = waits;
    group_.lanes_per_fiber = shared.lanes ? kSimdWidth : 1;
    group_.stop = reinterpret_cast<const volatile uint32_t*>(&shared.stop);
    group_.worker = this;
    group_.monitor = launch.monitor == nullptr ? nullptr : launch.monitor->enter();
    if (group_.monitor != nullptr) {
        group_.block_counts = group_.monitor->block_counts();
        group_.quiet = group_.monitor->quiet_ranges();
        group_.hears_calls = group_.monitor->hears_calls();
    }
    group_.sites = shared.kernel.instrumentation.sites.data();
    group_.stacks_begin = stacks_.begin();
    group_.stacks_bytes = stacks_.size_bytes();
    for (uint32_t i = 0; i < kNumBufferSlots; ++i) buffers_[i] = launch.buffers[i].address;
    const ThreadgroupLayout layout = threadgroup_layout(shared.kernel.info, launch);
    for (uint32_t i = 0; i < kNumThreadgroupSlots; ++i)
        threadgroup_buffers_[i] = arena + layout.slot_offsets[i];
    group_.buffers = buffers_.data();
    group_.threadgroup_buffers = threadgroup_buffers_.data();
    const Size3 full = launch.group_threads;
    const uint32_t values[][3] = {{full.x, full.y, full.z},
                                  {shared.num_groups.x, shared.num_groups.y, shared.num_groups.z},
                                  {launch.grid_threads.x, launch.grid_threads.y, launch.grid_threads.z}};
    std::copy_n(values[0], 3, group_.dispatch_group_threads);
    std::copy_n(values[1], 3, group_.num_groups);
    std::copy_n(values[2], 3, group_.grid_threads);
    group_.dispatch_simdgroups = uint32_t(full.count() + kSimdWidth - 1) / kSimdWidth;
}

// Everything about lanes that depends on the group's shape only; boundary groups have their own.
void Worker::set_shape(const uint32_t threads[3]) {
    std::copy_n(threads, 3, group_.group_threads);
    group_.num_threads = threads[0] * threads[1] * threads[2];
    group_.num_simdgroups = (group_.num_threads + kSimdWidth - 1) / kSimdWidth;
    // Where a simdgroup is one fiber, the scheduler sees its simdgroups as the lanes of a single one.
    if (group_.lanes_per_fiber != 1) {
        group_.num_threads = group_.num_simdgroups;
        group_.num_simdgroups = 1;
    }
    for (uint32_t i = 0; i < group_.num_threads; ++i) set_lane(i, i * group_.lanes_per_fiber);
    for (uint32_t i = 0; i < group_.num_simdgroups; ++i) {
        Simdgroup& simdgroup = simdgroups_[i];
        simdgroup.index = i;
        simdgroup.group = &group_;
        if (matrices_) simdgroup.matrices = matrices_.get() + size_t{i} * kMatrixSlots * 64;
    }
}

// The record of fiber `index`, whose first thread is `thread`.
void Worker::set_lane(uint32_t index, uint32_t thread) {
    const uint32_t* threads = group_.group_threads;
    Lane& lane = lanes_[index];
    lane.group = &group_;
    lane.simdgroup = &simdgroups_[index / kSimdWidth];
    lane.lane = index % kSimdWidth;
    lane.thread = thread;
    lane.simdgroup_index = thread / kSimdWidth;
    lane.position[0] = thread % threads[0];
    lane.position[1] = thread / threads[0] % threads[1];
    lane.position[2] = thread / threads[0] / threads[1];
    const uint32_t quad = lane.lane / 4;
    const uint32_t row = (quad & 4) + lane.lane / 2 % 4, column = (quad & 2) * 2 + lane.lane % 2 * 2;
    lane.matrix_element = row * 8 + column;
    const uint32_t left = threads[0] * threads[1] * threads[2] - thread;
    lane.active_lanes = left >= kSimdWidth ? ~0u : (1u << left) - 1;
}

void Worker::start_group(uint64_t index) {
    const uint32_t* counts = group_.num_groups;
    const uint32_t position[3] = {uint32_t(index % counts[0]), uint32_t(index / counts[0] % counts[1]),
                                  uint32_t(index / counts[0] / counts[1])};
    uint32_t threads[3], origin[3];
    for (int k = 0; k < 3; ++k) {
        group_.group_position[k] = position[k];
        origin[k] = position[k] * group_.dispatch_group_threads[k];
        threads[k] = std::min(group_.dispatch_group_threads[k], group_.grid_threads[k] - origin[k]);
    }
    if (std::memcmp(threads, group_.group_threads, sizeof threads) != 0) set_shape(threads);
    for (uint32_t i = 0; i < group_.num_threads; ++i) {
        for (int k = 0; k < 3; ++k) lanes_[i].grid_position[k] = origin[k] + lanes_[i].position[k];
    }
}

void Worker::run_groups() {
    while (shared_->stop.load(std::memory_order_relaxed) == 0) {
        group_index_ = shared_->next_group.fetch_add(1, std::memory_order_relaxed);
        if (group_index_ >= shared_->end_group) return;
        start_group(group_index_);
        if (group_.monitor != nullptr) group_.monitor->begin_group(group_);
        if (needs_fibers_) {
            prepare_fibers();
            run_group(&group_);
        } else {
            run_serial(&group_, stacks_.fresh_context(0));
        }
        if (group_.monitor != nullptr) {
            end_tensor_watch();
            // Of threads that were stopped nobody knows what they would have done.
            if (*group_.stop == 0) group_.monitor->end_group(group_);
        }
    }
}

void Worker::prepare_fibers() {
    const uint32_t count = group_.num_threads;
    for (uint32_t i = 0; i < count; ++i) lanes_[i].context = stacks_.fresh_context(i);
    for (uint32_t i = 0; i < group_.num_simdgroups; ++i) {
        const uint32_t left = count - i * kSimdWidth;
        Simdgroup& simdgroup = simdgroups_[i];
        simdgroup.live = simdgroup.runnable = left >= kSimdWidth ? ~0u : (1u << left) - 1;
        simdgroup.arrived = simdgroup.waiting = 0;
        simdgroup.mixed = false;
    }
    group_.live = count;
    group_.arrived = 0;
}

std::string Worker::describe_fault(const FaultTrap& trap) const {
    const uint32_t* p = group_.current->grid_position;
    return fmt::format("kernel '{}', {} ({}, {}, {}) of the grid: {} (address {})", shared_->kernel.info.name,
                       shared_->lanes ? "a thread of the simdgroup that starts with" : "thread", p[0], p[1],
                       p[2], describe_signal(trap.signal), fmt::ptr(trap.address));
}

void Worker::run_guarded(FaultTrap& trap) {
    const FaultScope scope(trap);
    if (sigsetjmp(trap.escape, 1) == 0) {
        run_groups();
    } else {
        shared_->stop.store(1);
    }
}

// A simdgroup that faults doesn't say which of its threads did: its threadgroup runs again with a fiber for
// each, on memory that nobody can rely on any more. Empty if nothing faults this time.
std::string Worker::find_faulting_thread(const Shared& shared) {
    Shared again{.kernel = shared.kernel,
                 .launch = shared.launch,
                 .deadline = shared.deadline,
                 .lanes = {},
                 .num_groups = shared.num_groups,
                 .next_group = group_index_,
                 .end_group = group_index_ + 1,
                 .mutex = {},
                 .report = {}};
    if (!prepare(again)) return {};
    bind(again);
    FaultTrap trap;
    const Watchdog::Guard guard = Watchdog::watch(shared.deadline, again.stop);
    run_guarded(trap);
    return trap.signal == 0 ? std::string() : describe_fault(trap);
}

void Worker::run(Shared& shared) {
    bind(shared);
    FaultTrap trap;
    run_guarded(trap);
    const uint64_t rendezvous = group_.rendezvous;
    if (trap.signal != 0) {
        const std::scoped_lock lock(shared.mutex);
        if (shared.report.status == LaunchStatus::kDone) {
            shared.report.status = LaunchStatus::kFault;
            shared.report.message = describe_fault(trap);
            std::string named = shared.lanes ? find_faulting_thread(shared) : std::string();
            if (!named.empty()) shared.report.message = std::move(named);
        }
    }
    shared.rendezvous += rendezvous;
    std::memset(group_.group_threads, 0, sizeof group_.group_threads);
}

void Worker::finding(const char* what, uint32_t a, uint32_t b) {
    const uint32_t* p = group_.group_position;
    shared_->add_finding(fmt::format("kernel '{}', threadgroup ({}, {}, {}): {}", shared_->kernel.info.name,
                                     p[0], p[1], p[2], fmt::format(fmt::runtime(what), a, b)));
}

Result<void> check_launch(const Kernel& kernel, const Launch& launch) {
    const Size3 &group = launch.group_threads, &grid = launch.grid_threads;
    const uint32_t most = std::min(kMaxThreadsPerThreadgroup, kernel.info.max_threads_per_threadgroup);
    // First each direction, then the product: it can't overflow.
    const bool group_fits = std::max({group.x, group.y, group.z}) <= most && group.count() <= most;
    uint64_t threads = 0;
    const bool grid_fits = !__builtin_mul_overflow(uint64_t{grid.x} * grid.y, grid.z, &threads);
    if (!group_fits || group.count() == 0 || !grid_fits || threads == 0) {
        return fail(
            ErrorKind::kInvalidArgument,
            "kernel '{}': a threadgroup of {} x {} x {} threads over a grid of {} x {} x {}; 1 to {} threads "
            "and a grid that isn't empty, of less than 2^64, are accepted",
            kernel.info.name, group.x, group.y, group.z, grid.x, grid.y, grid.z, most);
    }
    if ((launch.monitor == nullptr) != kernel.instrumentation.empty()) {
        return fail(ErrorKind::kInvalidArgument, "kernel '{}' was{} compiled to be watched, and {} watches",
                    kernel.info.name, kernel.instrumentation.empty() ? "n't" : "",
                    launch.monitor == nullptr ? "nobody" : "somebody");
    }
    const uint64_t bytes = threadgroup_layout(kernel.info, launch).size_bytes;
    if (bytes > kMaxThreadgroupBytes) {
        return fail(ErrorKind::kLimit, "kernel '{}': {} bytes of threadgroup memory, at most {} accepted",
                    kernel.info.name, bytes, kMaxThreadgroupBytes);
    }
    return {};
}

class FiberExecutor final : public Executor {
  public:
    Result<LaunchReport> run(const Kernel& kernel, const Launch& launch) override;

  private:
    std::mutex mutex_;  // one launch at a time: it takes every core
    std::vector<std::unique_ptr<Worker>> workers_;
    std::optional<ThreadPool> pool_;
    Tiers tiers_;
};

// Instrumented code is fibers' code.
Tiers::Choice watched(const Launch& launch) {
    const bool asked = launch.executor == ExecutorKind::kVector;
    return {.lanes = {}, .refusal = asked ? "checked and counted launches run on fibers" : ""};
}

Result<LaunchReport> FiberExecutor::run(const Kernel& kernel, const Launch& launch) {
    INGOT_TRY(check_launch(kernel, launch));
    const auto asked = std::chrono::steady_clock::now();
    auto [lanes, refusal] = launch.monitor == nullptr ? tiers_.choose(kernel, launch) : watched(launch);
    const std::scoped_lock lock(mutex_);
    // What compiling and waiting for other launches take isn't the kernel's time.
    auto deadline = launch.deadline;
    if (deadline != Watchdog::Clock::time_point::max()) deadline += std::chrono::steady_clock::now() - asked;
    const auto begin = std::chrono::steady_clock::now();
    const auto groups = [](uint32_t grid, uint32_t group) {
        return uint32_t((uint64_t{grid} + group - 1) / group);
    };
    Shared shared{.kernel = kernel,
                  .launch = launch,
                  .deadline = deadline,
                  .lanes = lanes,
                  .num_groups = {groups(launch.grid_threads.x, launch.group_threads.x),
                                 groups(launch.grid_threads.y, launch.group_threads.y),
                                 groups(launch.grid_threads.z, launch.group_threads.z)},
                  .mutex = {},
                  .report = {}};
    const unsigned cores = num_available_cores();
    // One who watches sees one thing after the other, as a rule.
    const bool splits = launch.monitor == nullptr || launch.monitor->splits();
    const unsigned allowed = splits ? launch.max_workers : 1;
    const unsigned most = allowed == 0 ? cores : std::min(cores, allowed);
    const unsigned count = unsigned(std::min<uint64_t>(most, shared.num_groups.count()));
    while (workers_.size() < count) workers_.push_back(std::make_unique<Worker>());
    for (unsigned i = 0; i < count; ++i) INGOT_TRY(workers_[i]->prepare(shared));
    const Watchdog::Guard guard = Watchdog::watch(deadline, shared.stop);
    if (count == 1) {
        workers_[0]->run(shared);
    } else {
        if (!pool_) pool_.emplace(cores);
        pool_->run([&](ingot::Worker& worker) {
            if (worker.index() < count) workers_[worker.index()]->run(shared);
        });
    }
    LaunchReport report = std::move(shared.report);
    if (report.status == LaunchStatus::kDone && shared.stop.load() != 0) {
        report.status = LaunchStatus::kTimeLimit;
        report.message = fmt::format("kernel '{}' was stopped at its time limit", kernel.info.name);
    }
    report.executor = lanes ? ExecutorKind::kVector : ExecutorKind::kFibers;
    report.refusal = std::move(refusal);
    report.rendezvous = shared.rendezvous;
    report.workers = count;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (launch.executor == ExecutorKind::kAuto && launch.monitor == nullptr && !lanes)
        tiers_.ran_on_fibers(kernel, launch, std::chrono::duration<double>(report.seconds * count));
    return report;
}

}  // namespace

void report_finding(Group* group, const char* what, uint32_t a, uint32_t b) {
    static_cast<Worker*>(group->worker)->finding(what, a, b);
}

}  // namespace ingot::metal::fibers

namespace ingot::metal {

std::unique_ptr<Executor> make_fiber_executor() {
    return std::make_unique<fibers::FiberExecutor>();
}

}  // namespace ingot::metal

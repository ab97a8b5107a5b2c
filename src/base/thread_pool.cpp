#include "base/thread_pool.h"

#include <algorithm>

#if defined(__linux__)
#include <sched.h>
#endif

#include "base/check.h"

namespace ingot {
namespace {

// Some 20-50 us on current x86 and Arm cores: longer than any imbalance between two ops, shorter than a time
// slice.
constexpr uint32_t kMaxSpins = 1000;
constexpr uint32_t kMinSpins = 16;

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

}  // namespace

uint32_t num_available_cores() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
    return std::max(1u, std::thread::hardware_concurrency());
}

void Barrier::wait(uint32_t& spins) {
    const uint32_t phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
        arrived_.store(0, std::memory_order_relaxed);
        // A full barrier between this store and notify_all's look for sleepers: neither may miss the other.
        phase_.fetch_add(1, std::memory_order_seq_cst);
        phase_.notify_all();
        return;
    }
    for (uint32_t i = 0; i < spins; ++i) {
        if (phase_.load(std::memory_order_acquire) != phase) {
            spins = std::min(max_spins_, spins * 2);
            return;
        }
        pause();
    }
    spins = std::min(max_spins_, std::max(kMinSpins, spins / 2));
    phase_.wait(phase, std::memory_order_acquire);
}

void Worker::barrier() {
    if (count_ > 1) pool_.barrier_.wait(pool_.states_[index_].spins);
    ++epoch_;
}

uint32_t Worker::claim(uint32_t counter, uint32_t amount) {
    std::atomic<uint64_t>& shared = pool_.counters_[counter].epoch_and_value;
    const uint64_t zero = uint64_t(epoch_) << 32;
    uint64_t seen = shared.load(std::memory_order_relaxed);
    for (;;) {
        const uint64_t current = seen >> 32 == epoch_ ? seen : zero;
        if (shared.compare_exchange_weak(seen, current + amount, std::memory_order_relaxed))
            return uint32_t(current);
    }
}

ThreadPool::ThreadPool(uint32_t num_threads)
    : num_threads_(num_threads),
      barrier_(num_threads, num_threads > num_available_cores() ? 0 : kMaxSpins),
      counters_(std::make_unique<Counter[]>(num_threads)),
      states_(std::make_unique<ThreadState[]>(num_threads)) {
    INGOT_CHECK(num_threads >= 1, "a pool needs a thread");
    for (uint32_t i = 0; i < num_threads; ++i) states_[i].spins = barrier_.max_spins();
    try {
        for (uint32_t i = 1; i < num_threads; ++i) threads_.emplace_back([this, i] { thread_main(i); });
    } catch (...) {  // the barrier's other parties will never come
        start(Start::kQuit);
        for (std::thread& thread : threads_) thread.join();
        throw;
    }
    start(Start::kGo);
}

void ThreadPool::start(Start start) {
    start_ = start;
    start_.notify_all();
}

ThreadPool::~ThreadPool() {
    region_ = nullptr;
    if (num_threads_ > 1) barrier_.wait(states_[0].spins);
    for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::thread_main(uint32_t index) {
    start_.wait(Start::kHold);
    if (start_ == Start::kQuit) return;
    for (;;) {
        barrier_.wait(states_[index].spins);
        if (region_ == nullptr) return;
        execute(index);
        barrier_.wait(states_[index].spins);
    }
}

uint32_t ThreadPool::execute(uint32_t index) {
    Worker worker(*this, index, num_threads_, epoch_);
    region_(function_, worker);
    return worker.epoch_;
}

void ThreadPool::run_region(Region region, void* function) {
    region_ = region;
    function_ = function;
    if (++epoch_ >= 1u << 31) {  // no counter may keep an epoch that comes round again
        for (uint32_t i = 0; i < num_threads_; ++i)
            counters_[i].epoch_and_value.store(0, std::memory_order_relaxed);
        epoch_ = 1;
    }
    if (num_threads_ > 1) barrier_.wait(states_[0].spins);
    const uint32_t last_epoch = execute(0);
    if (num_threads_ > 1) barrier_.wait(states_[0].spins);
    epoch_ = last_epoch;  // not earlier: the others read it as they start
}

Range split_evenly(size_t count, const Worker& worker, size_t granularity) {
    const size_t units = (count + granularity - 1) / granularity;
    const size_t begin = units * worker.index() / worker.count();
    const size_t end = units * (worker.index() + 1) / worker.count();
    return {std::min(count, begin * granularity), std::min(count, end * granularity)};
}

}  // namespace ingot

#include "base/thread_pool.h"

#include <algorithm>
#include <utility>

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

// Until `word` isn't `value` any more: spins, then sleeps. A spin that was enough makes the next one longer,
// one that wasn't makes it shorter.
void wait_while(const std::atomic<uint32_t>& word, uint32_t value, uint32_t& spins, uint32_t max_spins) {
    for (uint32_t i = 0; i < spins; ++i) {
        if (word.load(std::memory_order_acquire) != value) {
            spins = std::min(max_spins, spins * 2);
            return;
        }
        pause();
    }
    spins = std::min(max_spins, std::max(kMinSpins, spins / 2));
    word.wait(value, std::memory_order_acquire);
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
    // Read before arriving: once all have, the number may change.
    const uint32_t phase = phase_.load(std::memory_order_relaxed), parties = parties_;
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties) {
        arrived_.store(0, std::memory_order_relaxed);
        // A full barrier between this store and notify_all's look for sleepers: neither may miss the other.
        phase_.fetch_add(1, std::memory_order_seq_cst);
        phase_.notify_all();
        return;
    }
    wait_while(phase_, phase, spins, max_spins_);
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

ThreadPool::ThreadPool(uint32_t num_threads, Contention contention, DelayClock delay)
    : num_threads_(num_threads),
      contention_(contention),
      delay_(delay),
      active_(num_threads),
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
    call_threads(num_threads_);
    for (std::thread& thread : threads_) thread.join();
}

// Threads 1 to count - 1, which wait for it.
void ThreadPool::call_threads(uint32_t count) {
    for (uint32_t i = 1; i < count; ++i) {
        states_[i].regions.fetch_add(1, std::memory_order_seq_cst);
        states_[i].regions.notify_one();
    }
}

void ThreadPool::thread_main(uint32_t index) {
    start_.wait(Start::kHold);
    if (start_ == Start::kQuit) return;
    ThreadState& state = states_[index];
    for (uint32_t regions = 0;; ++regions) {
        wait_while(state.regions, regions, state.spins, barrier_.max_spins());
        if (region_ == nullptr) return;
        execute(index);
    }
}

// A thread's part, up to where all have done theirs.
uint32_t ThreadPool::execute(uint32_t index) {
    Worker worker(*this, index, active_, epoch_);
    region_(function_, worker);
    ThreadState& state = states_[index];
    if (contention_ == Contention::kYield) {
        const auto delayed = delay_();
        state.delay = delayed - std::exchange(state.delayed, delayed);
    }
    if (worker.count_ > 1) barrier_.wait(state.spins);
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
    const auto start = std::chrono::steady_clock::now();
    // The caller may have waited for other things, or be another thread than the last time.
    if (contention_ == Contention::kYield) states_[0].delayed = delay_();
    barrier_.set_parties(active_);
    call_threads(active_);
    epoch_ = execute(0);  // not earlier: the others read it as they start
    if (contention_ == Contention::kYield) adapt(std::chrono::steady_clock::now() - start);
}

void ThreadPool::adapt(std::chrono::nanoseconds region) {
    std::chrono::nanoseconds delay{};
    for (uint32_t i = 0; i < active_; ++i) delay = std::max(delay, states_[i].delay);
    delay_sum_ = delay_sum_ / 2 + delay;
    time_sum_ = time_sum_ / 2 + region;
    // What n threads do in (1 - 1/n) of the time, n - 1 do in all of it.
    if (active_ > 1 && delay_sum_ * active_ > time_sum_) {
        set_active(active_ - 1);
        patience_ = std::min(kMostPatience, patience_ * 2);
    } else if (active_ == num_threads_) {
        patience_ = std::max(kLeastPatience, patience_ / 2);
    } else if (--regions_left_ == 0) {
        set_active(active_ + 1);
    }
}

void ThreadPool::set_active(uint32_t count) {
    active_ = count;
    regions_left_ = patience_;
    delay_sum_ = time_sum_ = {};
}

Range split_evenly(size_t count, const Worker& worker, size_t granularity) {
    const size_t units = (count + granularity - 1) / granularity;
    const size_t begin = units * worker.index() / worker.count();
    const size_t end = units * (worker.index() + 1) / worker.count();
    return {std::min(count, begin * granularity), std::min(count, end * granularity)};
}

}  // namespace ingot

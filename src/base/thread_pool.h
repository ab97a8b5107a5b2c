// Persistent threads for SPMD regions: run(f) calls f(worker) once on every thread, the caller being thread
// 0, and returns when all have returned. Inside a region the workers share a barrier and counters that deal
// out work dynamically. A thread that waits spins for a bounded time, then sleeps in the kernel; the spin
// shrinks while it proves useless, so that a busy neighbour gets its core, and is zero with more threads than
// cores. A pool may go on with fewer threads while other processes hold the cores: a barrier waits for all
// its threads, and so for each to have a core. What the work is, and where it is stored, is its user's
// business.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/run_delay.h"

namespace ingot {

// Cores that this process may run on, as the scheduler affinity mask says; at least 1.
uint32_t num_available_cores();

// Blocks until `parties` threads have arrived. Everything written before an arrival is visible after it.
class Barrier {
  public:
    Barrier(uint32_t parties, uint32_t max_spins) : parties_(parties), max_spins_(max_spins) {}

    // `spins` is the waiting thread's own budget, adapted by each call; start it at max_spins.
    void wait(uint32_t& spins);
    uint32_t max_spins() const { return max_spins_; }
    // While no thread is about to arrive.
    void set_parties(uint32_t parties) { parties_ = parties; }

  private:
    uint32_t parties_;
    const uint32_t max_spins_;
    alignas(64) std::atomic<uint32_t> arrived_{0};
    alignas(64) std::atomic<uint32_t> phase_{0};
};

class ThreadPool;

// A thread's part in a running region; every thread has its own. Barriers are counted, so all workers of a
// region must call barrier() equally often.
class Worker {
  public:
    uint32_t index() const { return index_; }
    uint32_t count() const { return count_; }

    // All workers must arrive before any goes on. Starts all counters again from zero.
    void barrier();

    // Takes `amount` from counter `counter` (< count()) and returns its value before: the first of the items
    // that are now this worker's. A counter starts at zero in each region and after each barrier.
    uint32_t claim(uint32_t counter, uint32_t amount);

  private:
    friend class ThreadPool;
    Worker(ThreadPool& pool, uint32_t index, uint32_t count, uint32_t epoch)
        : pool_(pool), index_(index), count_(count), epoch_(epoch) {}

    ThreadPool& pool_;
    const uint32_t index_;
    const uint32_t count_;
    uint32_t epoch_;
};

// What a pool does about other processes that keep its threads from running.
enum class Contention {
    kWait,   // every region has all threads
    kYield,  // after regions that waited for a thread longer than its help saves, some have one thread less;
             // now and then one more is tried again. Workers see it in count()
};

class ThreadPool {
  public:
    // num_threads >= 1, the caller's included; more than there are cores is allowed, and slower. Throws
    // std::system_error if the system gives no more threads. `delay` says how long the calling thread has
    // been kept from running so far.
    using DelayClock = std::chrono::nanoseconds (*)();
    explicit ThreadPool(uint32_t num_threads, Contention contention = Contention::kWait,
                        DelayClock delay = run_delay);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    uint32_t num_threads() const { return num_threads_; }

    // f(Worker&) on all threads, or on the first ones (Contention). One caller at a time, never from inside a
    // region; f must not throw.
    template <typename F>
    void run(F&& f) {
        using Function = std::remove_reference_t<F>;
        run_region([](void* function, Worker& worker) { (*static_cast<Function*>(function))(worker); },
                   const_cast<void*>(static_cast<const void*>(std::addressof(f))));
    }

  private:
    friend class Worker;
    using Region = void (*)(void* function, Worker& worker);

    // Items taken from one counter in one epoch; a counter of an older epoch stands at zero.
    struct alignas(64) Counter {
        std::atomic<uint64_t> epoch_and_value{0};
    };
    struct alignas(64) ThreadState {
        uint32_t spins = 0;
        std::chrono::nanoseconds delayed{}, delay{};  // up to the end of the last region, and within it
        std::atomic<uint32_t> regions{0};             // that it was called to
    };

    enum class Start : uint32_t { kHold, kGo, kQuit };  // threads hold until all are there
    void start(Start start);
    void run_region(Region region, void* function);
    void thread_main(uint32_t index);
    void call_threads(uint32_t count);
    uint32_t execute(uint32_t index);  // returns the region's last epoch
    void adapt(std::chrono::nanoseconds region);
    void set_active(uint32_t count);

    const uint32_t num_threads_;
    const Contention contention_;
    const DelayClock delay_;
    uint32_t active_;                                    // threads of a region
    std::chrono::nanoseconds delay_sum_{}, time_sum_{};  // of regions with so many, the older the less
    uint32_t patience_ = kLeastPatience;  // regions with fewer threads before one more is tried
    uint32_t regions_left_ = 0;           // until then
    Barrier barrier_;
    std::unique_ptr<Counter[]> counters_;
    std::unique_ptr<ThreadState[]> states_;
    Region region_ = nullptr;  // null when the threads shall end
    void* function_ = nullptr;
    std::atomic<Start> start_{Start::kHold};
    uint32_t epoch_ = 0;  // last epoch used; regions and the stretches between barriers have one each
    std::vector<std::thread> threads_;

    static constexpr uint32_t kLeastPatience = 8, kMostPatience = 256;
};

// Items [begin, end) of a static split of `count` items over the workers, in whole multiples of
// `granularity`.
struct Range {
    size_t begin, end;
};
Range split_evenly(size_t count, const Worker& worker, size_t granularity = 1);

}  // namespace ingot

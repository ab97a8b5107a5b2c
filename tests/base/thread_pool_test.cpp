#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

namespace ingot {
namespace {

// 1, odd, even, and more than any machine that runs the tests has cores for.
class ThreadPoolOf : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolOf, testing::Values(1, 2, 3, 5, 33));

TEST_P(ThreadPoolOf, EveryThreadRunsTheFunctionOncePerRegion) {
    ThreadPool pool(GetParam());
    std::vector<int> calls(GetParam(), 0);
    for (int region = 1; region <= 200; ++region) {
        pool.run([&](Worker& worker) {
            EXPECT_EQ(GetParam(), worker.count());
            ++calls[worker.index()];
        });
        for (int count : calls) ASSERT_EQ(region, count);
    }
}

TEST_P(ThreadPoolOf, CallerIsThreadZero) {
    ThreadPool pool(GetParam());
    const std::thread::id caller = std::this_thread::get_id();
    pool.run([&](Worker& worker) { EXPECT_EQ(worker.index() == 0, std::this_thread::get_id() == caller); });
}

TEST_P(ThreadPoolOf, BarrierShowsEveryWriteBeforeItToEveryThread) {
    const uint32_t count = GetParam();
    const int rounds = count > num_available_cores() ? 200 : 3000;  // with more, each round waits for a core
    ThreadPool pool(count);
    std::vector<uint32_t> written(count, 0);  // plain memory: only the barrier orders it
    std::atomic<int> wrong = 0;
    pool.run([&](Worker& worker) {
        for (int round = 1; round <= rounds; ++round) {
            written[worker.index()] = uint32_t(round);
            worker.barrier();
            for (uint32_t value : written) wrong += value != uint32_t(round);
            worker.barrier();
        }
    });
    EXPECT_EQ(0, wrong);
}

TEST_P(ThreadPoolOf, ClaimsDealOutEveryItemOnceAndStartAgainAfterABarrier) {
    constexpr uint32_t kItems = 1000;
    ThreadPool pool(GetParam());
    std::vector<std::atomic<uint32_t>> taken(kItems);
    for (int region = 0; region < 20; ++region) {
        pool.run([&](Worker& worker) {
            for (int op = 0; op < 5; ++op) {
                const uint32_t counter = uint32_t(op) % worker.count();
                for (uint32_t i; (i = worker.claim(counter, 7)) < kItems;) {
                    for (uint32_t k = i; k < std::min(kItems, i + 7); ++k) ++taken[k];
                }
                worker.barrier();
            }
        });
    }
    for (const auto& count : taken) ASSERT_EQ(100u, count);
}

TEST_P(ThreadPoolOf, EvenSplitCoversEveryItemOnceInWholeUnits) {
    ThreadPool pool(GetParam());
    for (size_t count : {0, 1, 15, 16, 17, 100, 1000}) {
        std::vector<std::atomic<int>> seen(count);
        pool.run([&](Worker& worker) {
            const Range range = split_evenly(count, worker, 16);
            EXPECT_TRUE(range.begin % 16 == 0 || range.begin == count);
            EXPECT_TRUE(range.end % 16 == 0 || range.end == count);
            for (size_t i = range.begin; i < range.end; ++i) ++seen[i];
        });
        for (const auto& times : seen) ASSERT_EQ(1, times);
    }
}

TEST(ThreadPool, PoolsAreMadeAndEndedWithoutRunningAnything) {
    for (int i = 0; i < 50; ++i) ThreadPool pool(4);
}

// Threads asleep in the kernel (the pause is far longer than any spin) still wake for the next region.
TEST(ThreadPool, SleepingThreadsWakeForTheNextRegion) {
    ThreadPool pool(3);
    std::atomic<int> calls = 0;
    for (int i = 0; i < 5; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        pool.run([&](Worker&) { ++calls; });
    }
    EXPECT_EQ(15, calls);
}

// One worker comes late to each barrier, another one each time: the rest go to sleep and must be woken.
TEST(ThreadPool, LateWorkerWakesTheOthers) {
    ThreadPool pool(3);
    std::atomic<int> passed = 0;
    pool.run([&](Worker& worker) {
        for (uint32_t round = 0; round < 12; ++round) {
            if (worker.index() == round % 3) std::this_thread::sleep_for(std::chrono::milliseconds(5));
            worker.barrier();
            ++passed;
        }
    });
    EXPECT_EQ(36, passed);
}

// Stacks so large that only the first threads fit into the address space; in a process of its own.
std::atomic<bool> crowded = false;

// An hour more with each look while it is crowded.
std::chrono::nanoseconds delay_in_a_crowd() {
    thread_local std::chrono::nanoseconds delay{};
    if (crowded) delay += std::chrono::hours(1);
    return delay;
}

// How many workers a region had, each of which must have done its part of what there is to do.
uint32_t workers_of_a_region(ThreadPool& pool) {
    std::atomic<uint32_t> items = 0, workers = 0;
    pool.run([&](Worker& worker) {
        while (worker.claim(0, 1) < 20) ++items;
        worker.barrier();
        if (worker.index() == 0) workers = worker.count();
        while (worker.claim(0, 1) < 20) ++items;
    });
    EXPECT_EQ(40u, items);
    return workers;
}

TEST(ThreadPool, FewerThreadsGoOnWhileOtherProcessesHoldTheCores) {
    ThreadPool pool(3, Contention::kYield, delay_in_a_crowd);
    EXPECT_EQ(3u, workers_of_a_region(pool));
    crowded = true;
    uint32_t with_one = 0;
    for (int region = 0; region < 1000; ++region) with_one += workers_of_a_region(pool) == 1;
    EXPECT_GE(with_one, 950u);
    EXPECT_LT(with_one, 998u) << "one more is tried now and then";
    crowded = false;
    uint32_t workers = 1;
    for (int region = 0; region < 1000; ++region) workers = workers_of_a_region(pool);
    EXPECT_EQ(3u, workers);
}

TEST(ThreadPool, ThatWaitsKeepsAllItsThreadsInACrowd) {
    ThreadPool pool(3, Contention::kWait, delay_in_a_crowd);
    crowded = true;
    for (int region = 0; region < 10; ++region) EXPECT_EQ(3u, workers_of_a_region(pool));
    crowded = false;
}

#if defined(__linux__)
TEST(RunDelay, GrowsWhileTwoThreadsWantOneCore) {
    std::atomic<bool> done = false;
    std::atomic<uint32_t> running = 0;
    std::chrono::nanoseconds most{};
    const auto compete = [&](bool measure) {
        cpu_set_t all, one;
        sched_getaffinity(0, sizeof all, &all);
        CPU_ZERO(&one);
        for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
            if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        ++running;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (measure && most.count() == 0 && std::chrono::steady_clock::now() < end)
            if (running == 2) most = run_delay();
        while (!measure && !done) continue;
        if (measure) done = true;
    };
    std::thread other(compete, false), measured(compete, true);
    measured.join();
    other.join();
    EXPECT_GT(most.count(), 0);
}
#endif

TEST(ThreadPoolDeath, AThreadThatTheSystemRefusesIsAnExceptionAndTheOthersEnd) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            pthread_attr_t attributes;
            pthread_attr_init(&attributes);
            pthread_attr_setstacksize(&attributes, size_t(1) << 45);
            pthread_setattr_default_np(&attributes);
            try {
                ThreadPool pool(33);
            } catch (const std::system_error&) {
                std::exit(3);
            }
            std::exit(4);
        },
        testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace ingot

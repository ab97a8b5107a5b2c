// Counts what a launch does: exactly, as the kernel's code says before this machine's optimiser sees it, the
// same in every run and on any number of cores. A listener (check/event.h); what it counted is plain values.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "metal/check/event.h"
#include "metal/count/simdgroup_lines.h"
#include "metal/count/touched.h"
#include "metal/exec/executor.h"

namespace ingot::metal::count {

constexpr size_t kNumArithmetic = 0
#define X(enumerator, name, text) +1
    INGOT_METAL_ARITHMETIC(X)
#undef X
    ;

constexpr uint64_t kSectorBytes = 32, kLineBytes = 128;

// Traffic with one buffer, or with one address space.
struct MemoryCounts {
    std::string name;   // "buffer 1 ('sums')", "threadgroup memory"
    uint32_t slot = 0;  // of a buffer
    uint64_t bytes_read = 0, bytes_written = 0;
    // Different bytes touched; 32- and 128-byte blocks that they lie in. 0 for threadgroup memory, which
    // threadgroups share.
    uint64_t unique_bytes_read = 0, unique_bytes_written = 0;
    uint64_t sectors = 0, lines = 0;

    bool operator==(const MemoryCounts&) const = default;
};

// One place of the code.
struct SiteCounts {
    uint64_t threads = 0;                        // how often threads came there
    uint64_t simdgroups = 0;                     // how often simdgroups did: in uniform code, a 32nd
    uint64_t bytes_read = 0, bytes_written = 0;  // of tensor operations, those of buffers
    uint64_t tensor_threadgroup_bytes = 0;       // of tensor operations, whose operands lie in either memory
    // 128-byte lines that the lanes of a simdgroup touch together, summed over its accesses. Device and
    // constant memory; not of tensor operations.
    uint64_t lines = 0;

    bool operator==(const SiteCounts&) const = default;
};

// Products of one shape.
struct ProductCounts {
    ProductShape shape;
    uint64_t simdgroups = 0;  // that took part, in all; threads where a thread multiplies alone

    // How often the kernel multiplied.
    uint64_t operations() const { return simdgroups / std::max(shape.threads / kSimdWidth, 1u); }
    bool operator==(const ProductCounts&) const = default;
};

struct Counts {
    uint64_t threadgroups = 0, simdgroups = 0, threads = 0;
    uint64_t barriers = 0;            // meetings of a threadgroup
    uint64_t simdgroup_barriers = 0;  // from here on: of a simdgroup each
    uint64_t simd_functions = 0;      // other than shuffles
    uint64_t shuffles = 0;
    uint64_t matrix_loads_device = 0, matrix_loads_threadgroup = 0;
    uint64_t matrix_stores_device = 0, matrix_stores_threadgroup = 0;
    uint64_t matrix_products = 0;                       // 8x8x8 multiply-accumulates
    uint64_t tensor_operations = 0;                     // matmul2d, of a simdgroup each
    uint64_t atomics = 0;                               // of a thread each
    std::array<uint64_t, kNumArithmetic> arithmetic{};  // by class, of a thread each; vectors by element
    uint64_t fences = 0;
    std::vector<ProductCounts> tensor_products;  // those matmul2d, by shape and types
    std::vector<MemoryCounts> buffers;           // that were touched, by slot
    MemoryCounts threadgroup_memory;
    std::vector<SiteCounts> sites;  // of Kernel::instrumentation
    std::vector<uint64_t> blocks;   // how often each ran

    bool operator==(const Counts&) const = default;
};

class Counter final : public check::Listener {
  public:
    std::unique_ptr<check::Listener> fork() const override { return std::make_unique<Counter>(); }
    void join(const check::Listener& other) override;
    // What stays inside of threadgroup memory is counted by the blocks of code that do it.
    bool is_quiet(const MemoryObject& object) const override {
        return object.space == MemorySpace::kThreadgroup || object.space == MemorySpace::kPrivate;
    }
    // And what a place accesses whose offset never changes.
    bool is_quiet_where_fixed(const MemoryObject& object) const override {
        return is_quiet(object) || object.kind == ObjectKind::kBuffer;
    }
    bool hears_calls() const override { return false; }
    decltype(Ear::hear) ear() const override;
    void launch_begins(const check::LaunchEvent& event) override;
    void group_begins(const check::GroupEvent& event) override;
    void access(const check::Access& access) override;
    void product(const check::Product& product) override;
    void tensor_access(const check::TensorAccess& access) override;
    void group_ends(const check::GroupEvent& event) override;
    void launch_ends() override;

    // After the launch.
    const Counts& counts() const { return counts_; }

  private:
    struct Buffer {
        MemoryCounts counts;
        Touched read, written;
    };
    // How often code was run: by threads; by simdgroups, each as often as the lane that ran it most; by
    // threadgroups likewise.
    struct Runs {
        uint64_t threads = 0, simdgroups = 0, threadgroups = 0;

        void add(const Runs& other);
        void subtract(const Runs& other);
    };

    // What is accessed at a site, and was.
    struct alignas(64) Place {
        uint64_t begin = 0;  // of the region
        uint32_t size_bytes = 0, block = 0;
        uint64_t times_heard = 0;               // by the running group, by ear
        SimdgroupLines lines{};                 // likewise, in any way
        const check::Region* region = nullptr;  // of its object
        bool reads = false, writes = false;
        bool is_fixed = false;  // counted by its block alone
    };

    Buffer& buffer_of(const check::Region& region);
    void hear(const fibers::Lane& lane, uint32_t site, uint64_t address);
    void begin_run(uint32_t site, uint64_t time, uint64_t offset);
    void add_lines(uint32_t site, uint64_t time, uint64_t region_begin, const SimdgroupLines::Run& bytes);
    void add_touched(const Place& place, const SimdgroupLines::Run& bytes);
    // Of one block, if `less` (by thread) of its runs don't count.
    Runs runs_of(std::span<const uint64_t> counts, uint32_t block, const std::vector<uint32_t>& less) const;
    void add_runs(std::span<const uint64_t> counts);
    void sum_up(uint32_t site, const Runs& runs);
    void sum_up_fixed(uint32_t site, const Runs& runs);

    const Kernel* kernel_ = nullptr;
    Counts counts_;
    uint32_t num_blocks_ = 0;
    uint32_t num_threads_ = 0, num_simdgroups_ = 0;     // of the running group
    std::vector<Runs> blocks_;                          // by block
    std::vector<Runs> missed_;                          // by site: accesses that didn't happen
    std::vector<Place> places_;                         // by site
    std::vector<uint32_t> with_lines_;                  // sites with lines
    std::map<uint32_t, std::vector<uint32_t>> misses_;  // site -> by thread of the running group
    std::map<uint64_t, Buffer> buffers_;                // by address
    std::array<Buffer*, kNumBufferSlots> by_slot_{};
    std::map<ProductShape, uint64_t> products_;
};

// Runs a launch counted. The kernel must have been compiled with CompileOptions::instrument.
Result<Counts> run_counted(Executor& executor, const Kernel& kernel, const Launch& launch);

}  // namespace ingot::metal::count

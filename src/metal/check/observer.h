// Turns what instrumented code tells (exec/monitor.h) into events (event.h) for listeners: finds the memory
// that an address lies in, and keeps for each thread which barriers it passed.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "metal/check/event.h"
#include "metal/exec/monitor.h"

namespace ingot::metal::check {

// A buffer's label, and whether anything was written to it before the launch, where the host tells.
struct BufferFacts {
    std::string label;
    bool initialised = true;
};

class Observer final : public Monitor {
  public:
    // `kernel` must be instrumented; everything given must outlive the observer. `launch` isn't read before
    // begin().
    Observer(const Kernel& kernel, const Launch& launch, std::vector<Listener*> listeners);

    // What else is known about the buffer in a slot.
    void describe_buffer(uint32_t slot, BufferFacts facts) { facts_[slot] = std::move(facts); }
    // Before and after the executor's run().
    void begin();
    void end();

    bool splits() const override { return splits_; }
    Monitor* enter() override;
    void begin_group(const fibers::Group& group) override;
    void end_group(const fibers::Group& group) override;
    bool access(const fibers::Lane& lane, const RawAccess& access) override;
    void call(const fibers::Lane& lane, uint32_t site, uint32_t argument) override;
    void product(const fibers::Lane& lane, const ProductShape& shape) override;
    void tensor_access(const fibers::Lane& lane, uint32_t site, const TensorPiece& piece) override;
    void tensor(const fibers::Lane& lane, const TensorUse& use) override;
    void stray_shuffle(const fibers::Lane& lane, uint32_t source, bool exists) override;
    uint64_t* block_counts() override { return block_counts_.data(); }
    const fibers::QuietRange* quiet_ranges() const override { return quiet_.data(); }
    bool hears_calls() const override { return hears_calls_; }

  private:
    // Accesses of a site that has an ear: what all have in common, and who hears of them.
    struct alignas(128) Usual {
        Access event;
        const std::vector<Listener*>* hearers = nullptr;
    };
    // What a worker of its own hears with.
    struct Fork {
        std::vector<std::unique_ptr<Listener>> listeners;
        std::unique_ptr<Observer> observer;
    };
    void add_regions();
    void place_threadgroup_memory(const fibers::Group& group);
    void settle_quiet_ranges();
    void settle_ears();
    void tell(const fibers::Lane& lane, uint32_t site, uint64_t address, uint64_t low, uint64_t high);
    const std::vector<Listener*>& hearers_of(const Site& site) const {
        return (site.is_fixed ? fixed_hearers_ : hearers_)[site.object];
    }
    const Region* region_of(const RawAccess& access, const MemoryObject& object);
    const Region* buffer_around(uint64_t address, uint64_t size_bytes) const;

    const Kernel& kernel_;
    const Launch& launch_;
    std::vector<Listener*> listeners_;
    std::array<BufferFacts, kNumBufferSlots> facts_{};
    std::vector<Region> regions_;  // of the kernel's objects, by index
    std::vector<Region> buffers_;  // all that is bound
    Region arena_;                 // all threadgroup memory of the running group
    Region stacks_;                // the private memory of all its threads
    Site in_arena_;                // the site of the event at hand, if it is of threadgroup memory after all
    Region of_base_;               // the private variable or constant of the event at hand
    std::vector<Thread> threads_;  // of the running group
    std::vector<uint32_t> last_calls_;  // where each of them called something last
    std::vector<uint64_t> block_counts_;
    std::vector<fibers::QuietRange> quiet_;  // of the kernel's objects, by index
    // Likewise, who hears of accesses that are as they should be; of those at one offset only.
    std::vector<std::vector<Listener*>> hearers_, fixed_hearers_;
    uint32_t num_blocks_ = 0;
    std::vector<Ear> ears_by_site_;
    std::vector<Usual> usual_;  // by site
    GroupEvent group_{};
    bool splits_ = false;  // all listeners can be forked
    bool hears_calls_ = true;
    std::mutex mutex_;
    std::vector<Fork> forks_;
    uint32_t num_groups_ = 0;
    uint32_t epoch_ = 1;  // where the running group's epochs begin
};

}  // namespace ingot::metal::check

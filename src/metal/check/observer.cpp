#include "metal/check/observer.h"

#include <algorithm>

namespace ingot::metal::check {
namespace {

uint64_t number(const void* address) {
    return reinterpret_cast<uintptr_t>(address);
}

}  // namespace

Observer::Observer(const Kernel& kernel, const Launch& launch, std::vector<Listener*> listeners)
    : kernel_(kernel), launch_(launch), listeners_(std::move(listeners)) {}

void Observer::begin() {
    add_regions();
    for (Listener* listener : listeners_) listener->launch_begins({kernel_, launch_, regions_});
    const std::vector<MemoryObject>& objects = kernel_.instrumentation.objects;
    num_blocks_ = kernel_.instrumentation.num_blocks;
    block_counts_.assign(num_blocks_ * launch_.group_threads.count(), 0);
    quiet_.assign(objects.size(), {});
    hearers_.assign(objects.size(), {});
    fixed_hearers_.assign(objects.size(), {});
    for (size_t i = 0; i < objects.size(); ++i) {
        for (Listener* listener : listeners_) {
            if (!listener->is_quiet(objects[i])) hearers_[i].push_back(listener);
            if (!listener->is_quiet_where_fixed(objects[i])) fixed_hearers_[i].push_back(listener);
        }
    }
    splits_ = !listeners_.empty() && std::ranges::all_of(listeners_, [](const Listener* listener) {
        return listener->fork() != nullptr;
    });
    hears_calls_ =
        std::ranges::any_of(listeners_, [](const Listener* listener) { return listener->hears_calls(); });
}

Monitor* Observer::enter() {
    if (!splits_) return this;
    Fork fork;
    std::vector<Listener*> listeners;
    for (const Listener* listener : listeners_)
        listeners.push_back(fork.listeners.emplace_back(listener->fork()).get());
    fork.observer = std::make_unique<Observer>(kernel_, launch_, std::move(listeners));
    fork.observer->facts_ = facts_;
    fork.observer->begin();
    const std::scoped_lock lock(mutex_);
    return forks_.emplace_back(std::move(fork)).observer.get();
}

void Observer::end() {
    for (const Fork& fork : forks_) {
        for (size_t i = 0; i < listeners_.size(); ++i) listeners_[i]->join(*fork.listeners[i]);
    }
    for (Listener* listener : listeners_) listener->launch_ends();
}

void Observer::add_regions() {
    regions_.clear();
    buffers_.clear();
    for (uint32_t slot = 0; slot < kNumBufferSlots; ++slot) {
        const BufferBinding& bound = launch_.buffers[slot];
        if (bound.address == nullptr) continue;
        Region region;
        region.object = {.kind = ObjectKind::kBuffer,
                         .space = MemorySpace::kDevice,
                         .slot = slot,
                         .name = facts_[slot].label};
        region.begin = number(bound.address);
        region.size_bytes = bound.size_bytes;
        region.initialised = facts_[slot].initialised;
        for (const Argument& argument : kernel_.info.arguments) {
            const bool is_it = argument.kind == ArgumentKind::kBuffer && argument.slot == slot;
            if (is_it && region.object.name.empty()) region.object.name = argument.name;
        }
        buffers_.push_back(region);
    }
    for (const MemoryObject& object : kernel_.instrumentation.objects) {
        Region region{.object = object, .begin = 0, .size_bytes = object.size_bytes};
        if (object.kind == ObjectKind::kBuffer) {
            const BufferBinding& bound = launch_.buffers[object.slot];
            region.begin = number(bound.address);
            region.size_bytes = bound.size_bytes;
            region.initialised = facts_[object.slot].initialised;
            if (!facts_[object.slot].label.empty()) region.object.name = facts_[object.slot].label;
        }
        if (object.space == MemorySpace::kThreadgroup) region.initialised = false;
        if (object.kind == ObjectKind::kThreadgroupSlot) {
            region.size_bytes = launch_.threadgroup_bytes[object.slot];
        }
        regions_.push_back(std::move(region));
    }
}

void Observer::place_threadgroup_memory(const fibers::Group& group) {
    stacks_.begin = group.stacks_begin;
    stacks_.size_bytes = group.stacks_bytes;
    arena_.object = {.kind = ObjectKind::kSomeThreadgroup, .space = MemorySpace::kThreadgroup};
    arena_.begin = number(group.arena);
    arena_.size_bytes = threadgroup_layout(kernel_.info, launch_).size_bytes;
    arena_.initialised = false;
    for (Region& region : regions_) {
        if (region.object.kind == ObjectKind::kThreadgroupVariable) {
            region.begin = arena_.begin + region.object.offset_bytes;
        } else if (region.object.kind == ObjectKind::kThreadgroupSlot) {
            region.begin = number(group.threadgroup_buffers[region.object.slot]);
        }
    }
}

void Observer::settle_quiet_ranges() {
    for (size_t i = 0; i < quiet_.size(); ++i) {
        const Region& region = regions_[i].object.kind == ObjectKind::kSomeThreadgroup ? arena_ : regions_[i];
        // Where the code doesn't say which buffer it means, there is no one range.
        if (region.object.kind == ObjectKind::kSomeBuffer) continue;
        quiet_[i] = {.begin = region.begin,
                     .size_bytes = hearers_[i].empty() ? region.size_bytes : 0,
                     .fixed_bytes = fixed_hearers_[i].empty() ? region.size_bytes : 0};
    }
}

// What is accessed where the code names it, and somebody hears of it.
void Observer::settle_ears() {
    const std::vector<Site>& sites = kernel_.instrumentation.sites;
    ears_by_site_.assign(sites.size(), {});
    usual_.assign(sites.size(), {});
    for (uint32_t i = 0; i < sites.size(); ++i) {
        const Site& site = sites[i];
        const ObjectKind kind = kernel_.instrumentation.objects[site.object].kind;
        const bool named = kind == ObjectKind::kBuffer || kind == ObjectKind::kThreadgroupSlot ||
                           kind == ObjectKind::kThreadgroupVariable || kind == ObjectKind::kSomeThreadgroup;
        const Region& region = kind == ObjectKind::kSomeThreadgroup ? arena_ : regions_[site.object];
        const std::vector<Listener*>& hearers = hearers_of(site);
        if (!named || hearers.empty() || site.kind == SiteKind::kCopy || site.size_bytes == 0 ||
            region.size_bytes < site.size_bytes)
            continue;
        usual_[i] = {.event = {.site_number = i,
                               .site = &site,
                               .size_bytes = site.size_bytes,
                               .region = &region,
                               .block_counts = block_counts_.data(),
                               .num_blocks = num_blocks_},
                     .hearers = &hearers};
        Ear& ear = ears_by_site_[i];
        ear = {.begin = region.begin,
               .num_places = region.size_bytes - site.size_bytes + 1,
               .align_mask = site.align_bytes - 1,
               .hear = hearers.size() == 1 ? hearers[0]->ear() : nullptr,
               .hearer = hearers[0]};
        if (ear.hear != nullptr) continue;
        ear.hearer = this;
        ear.hear = [](void* self, const fibers::Lane& lane, uint32_t number, uint64_t address, uint64_t low,
                      uint64_t high) {
            static_cast<Observer*>(self)->tell(lane, number, address, low, high);
        };
    }
    ears_ = ears_by_site_.data();
}

void Observer::begin_group(const fibers::Group& group) {
    if (num_groups_ == 0) {
        place_threadgroup_memory(group);
        settle_quiet_ranges();
        settle_ears();
    }
    ++num_groups_;
    const uint32_t *at = group.group_position, *all = group.num_groups;
    group_ = {.number = at[0] + all[0] * (at[1] + all[1] * at[2]),
              .position = {at[0], at[1], at[2]},
              .num_threads = group.num_threads,
              .first_epoch = epoch_};
    threads_.resize(group.num_threads);
    last_calls_.assign(group.num_threads, 0);
    for (uint32_t i = 0; i < group.num_threads; ++i) {
        const fibers::Lane& lane = group.lanes[i];
        Thread& thread = threads_[i];
        thread = {.group = group_.number,
                  .index = lane.thread,
                  .simdgroup = lane.simdgroup_index,
                  .lane = lane.lane,
                  .position = {},
                  .group_position = group_.position,
                  .device_epoch = epoch_,
                  .threadgroup_epoch = epoch_};
        std::copy_n(lane.position, 3, thread.position.begin());
    }
    for (Listener* listener : listeners_) listener->group_begins(group_);
}

void Observer::end_group(const fibers::Group&) {
    for (const Thread& thread : threads_) {
        epoch_ = std::max({epoch_, thread.device_epoch, thread.threadgroup_epoch});
    }
    ++epoch_;
    group_.block_counts = std::span(block_counts_).first(size_t{group_.num_threads} * num_blocks_);
    for (Listener* listener : listeners_) listener->group_ends(group_);
    std::ranges::fill(block_counts_, 0);
}

// The bound buffer in which all of an access lies; else the one that its first byte is in.
const Region* Observer::buffer_around(uint64_t address, uint64_t size_bytes) const {
    const Region* first = nullptr;
    for (const Region& buffer : buffers_) {
        const uint64_t offset = address - buffer.begin;
        if (offset >= buffer.size_bytes) continue;
        if (buffer.size_bytes - offset >= size_bytes) return &buffer;
        if (first == nullptr) first = &buffer;
    }
    return first;
}

const Region* Observer::region_of(const RawAccess& access, const MemoryObject& object) {
    const uint64_t address = number(access.address);
    switch (object.kind) {
        // A pointer that was kept in memory may lead anywhere.
        case ObjectKind::kSomeBuffer:
            for (const Region* region : {&arena_, &stacks_})
                if (address - region->begin < region->size_bytes) return region;
            return buffer_around(address, access.size_bytes);
        case ObjectKind::kSomeThreadgroup:
            return &arena_;
        case ObjectKind::kPrivateVariable:
        case ObjectKind::kProgramConstant:
            of_base_ = {.object = object, .begin = number(access.base), .size_bytes = object.size_bytes};
            return &of_base_;
        default:
            return &regions_[kernel_.instrumentation.sites[access.site].object];
    }
}

void Observer::tell(const fibers::Lane& lane, uint32_t site, uint64_t address, uint64_t low, uint64_t high) {
    Usual& usual = usual_[site];
    usual.event.thread = &threads_[lane.thread];
    usual.event.address = address;
    usual.event.value_low = low;
    usual.event.value_high = high;
    for (Listener* listener : *usual.hearers) listener->access(usual.event);
}

bool Observer::access(const fibers::Lane& lane, const RawAccess& raw) {
    const Site& site = kernel_.instrumentation.sites[raw.site];
    const Region* region = region_of(raw, kernel_.instrumentation.objects[site.object]);
    const uint64_t address = number(raw.address);
    const bool inside = region != nullptr && raw.size_bytes <= region->size_bytes &&
                        address - region->begin <= region->size_bytes - raw.size_bytes;
    // Copies are of any size, which counters must hear of.
    const bool is_right = inside && (address & (site.align_bytes - 1)) == 0 && site.kind != SiteKind::kCopy;
    const std::vector<Listener*>& hearers = is_right ? hearers_of(site) : listeners_;
    if (hearers.empty() || region == &stacks_) return true;
    const Site* seen = &site;
    if (region == &arena_ && site.space != MemorySpace::kThreadgroup) {
        in_arena_ = site;
        in_arena_.space = MemorySpace::kThreadgroup;
        seen = &in_arena_;
    }
    const Access event{.site_number = raw.site,
                       .site = seen,
                       .thread = &threads_[lane.thread],
                       .address = address,
                       .size_bytes = raw.size_bytes,
                       .region = region,
                       .inside = inside,
                       .block_counts = block_counts_.data(),
                       .num_blocks = num_blocks_,
                       .value_low = raw.value_low,
                       .value_high = raw.value_high};
    for (Listener* listener : hearers) listener->access(event);
    return inside;
}

void Observer::tensor_access(const fibers::Lane& lane, uint32_t site_number, const TensorPiece& piece) {
    const uint64_t address = number(piece.address);
    const bool threadgroup = address - arena_.begin < arena_.size_bytes;
    const TensorAccess event{
        .site_number = site_number,
        .site = &kernel_.instrumentation.sites[site_number],
        .thread = &threads_[lane.thread],
        .address = address,
        .size_bytes = piece.size_bytes,
        .region = threadgroup ? &arena_ : buffer_around(address, piece.size_bytes),
        .writes = piece.writes,
        .brings = piece.brings,
    };
    for (Listener* listener : listeners_) listener->tensor_access(event);
}

void Observer::call(const fibers::Lane& lane, uint32_t site_number, uint32_t argument) {
    const Site& site = kernel_.instrumentation.sites[site_number];
    Thread& thread = threads_[lane.thread];
    if (site.kind == SiteKind::kEnd) {
        for (Listener* listener : listeners_) listener->thread_ends(thread);
        return;
    }
    last_calls_[lane.thread] = site_number;
    const Call event{.site_number = site_number, .site = &site, .thread = &thread, .argument = argument};
    for (Listener* listener : listeners_) listener->call(event);
    const bool device = (argument & kOrdersDevice) != 0, threadgroup = (argument & kOrdersThreadgroup) != 0;
    if (site.kind == SiteKind::kBarrier) {
        if (device) ++thread.device_epoch;
        if (threadgroup) ++thread.threadgroup_epoch;
    } else if (site.kind == SiteKind::kSimdgroupBarrier) {
        if (device) ++thread.device_simdgroup_epoch;
        if (threadgroup) ++thread.threadgroup_simdgroup_epoch;
    }
}

void Observer::product(const fibers::Lane& lane, const ProductShape& shape) {
    const uint32_t site = last_calls_[lane.thread];
    const Product event{.site_number = site,
                        .site = &kernel_.instrumentation.sites[site],
                        .thread = &threads_[lane.thread],
                        .shape = shape};
    for (Listener* listener : listeners_) listener->product(event);
}

void Observer::tensor(const fibers::Lane& lane, const TensorUse& use) {
    const TensorEvent event{
        .site_number = last_calls_[lane.thread], .thread = &threads_[lane.thread], .use = use};
    for (Listener* listener : listeners_) listener->tensor(event);
}

void Observer::stray_shuffle(const fibers::Lane& lane, uint32_t source, bool exists) {
    const uint32_t site = last_calls_[lane.thread];
    const StrayShuffle event{.site_number = site,
                             .site = &kernel_.instrumentation.sites[site],
                             .thread = &threads_[lane.thread],
                             .source = source,
                             .exists = exists};
    for (Listener* listener : listeners_) listener->stray_shuffle(event);
}

}  // namespace ingot::metal::check

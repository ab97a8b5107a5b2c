#include "metal/count/counter.h"

#include <algorithm>

#include "metal/check/describe.h"
#include "metal/check/session.h"
namespace ingot::metal::count {
namespace {

bool is_shuffle(const Site& site) {
    return site.function.find("shuffle") != std::string::npos ||
           site.function.find("broadcast") != std::string::npos ||
           site.function.find("rotate") != std::string::npos;
}

bool has_one_size(SiteKind kind) {
    return kind == SiteKind::kLoad || kind == SiteKind::kStore || kind == SiteKind::kAtomic ||
           kind == SiteKind::kMatrixLoad || kind == SiteKind::kMatrixStore;
}

bool is_private_access(const Site& site) {
    return site.space == MemorySpace::kPrivate && (has_one_size(site.kind) || site.kind == SiteKind::kCopy);
}

bool is_global(const Site& site) {
    return site.space == MemorySpace::kDevice || site.space == MemorySpace::kConstant;
}

// Whether all accesses of a place are one, inside of its buffer and aligned: of others each is told.
bool is_right_and_fixed(const Site& site, const check::Region& region) {
    return site.is_fixed && site.size_bytes <= region.size_bytes &&
           site.fixed_offset <= region.size_bytes - site.size_bytes &&
           (region.begin + site.fixed_offset) % site.align_bytes == 0;
}

void add(MemoryCounts& to, const MemoryCounts& from) {
    to.bytes_read += from.bytes_read;
    to.bytes_written += from.bytes_written;
}

void add(SiteCounts& to, const SiteCounts& from) {
    to.bytes_read += from.bytes_read;
    to.bytes_written += from.bytes_written;
    to.tensor_threadgroup_bytes += from.tensor_threadgroup_bytes;
    to.lines += from.lines;
}

}  // namespace

void Counter::Runs::add(const Runs& other) {
    threads += other.threads;
    simdgroups += other.simdgroups;
    threadgroups += other.threadgroups;
}

void Counter::Runs::subtract(const Runs& other) {
    threads -= other.threads;
    simdgroups -= other.simdgroups;
    threadgroups -= other.threadgroups;
}

void Counter::launch_begins(const check::LaunchEvent& event) {
    kernel_ = &event.kernel;
    const Instrumentation& table = event.kernel.instrumentation;
    counts_ = {};
    counts_.threadgroup_memory.name = "threadgroup memory";
    counts_.sites.resize(table.sites.size());
    num_blocks_ = table.num_blocks;
    blocks_.assign(num_blocks_, {});
    missed_.assign(table.sites.size(), {});
    places_ = std::vector<Place>(table.sites.size());
    for (size_t i = 0; i < places_.size(); ++i) {
        const Site& site = table.sites[i];
        const check::Region& region = event.regions[site.object];
        places_[i] = {.begin = region.begin,
                      .size_bytes = site.size_bytes,
                      .block = site.block,
                      .region = &region,
                      .reads = site.reads,
                      .writes = site.writes,
                      .is_fixed = is_right_and_fixed(site, region)};
    }
    buffers_.clear();
    by_slot_ = {};
    products_.clear();
}

void Counter::join(const check::Listener& listener) {
    const auto& other = static_cast<const Counter&>(listener);
    for (uint64_t Counts::* const sum : {&Counts::threadgroups, &Counts::simdgroups, &Counts::threads})
        counts_.*sum += other.counts_.*sum;
    add(counts_.threadgroup_memory, other.counts_.threadgroup_memory);
    for (size_t i = 0; i < blocks_.size(); ++i) blocks_[i].add(other.blocks_[i]);
    for (size_t i = 0; i < missed_.size(); ++i) missed_[i].add(other.missed_[i]);
    for (size_t i = 0; i < counts_.sites.size(); ++i) add(counts_.sites[i], other.counts_.sites[i]);
    for (const auto& [shape, simdgroups] : other.products_) products_[shape] += simdgroups;
    for (const auto& [address, theirs] : other.buffers_) {
        Buffer& mine = buffers_[address];
        mine.counts.name = theirs.counts.name;
        mine.counts.slot = theirs.counts.slot;
        add(mine.counts, theirs.counts);
        mine.read.add(theirs.read);
        mine.written.add(theirs.written);
    }
}

void Counter::group_begins(const check::GroupEvent& event) {
    num_threads_ = event.num_threads;
    ++counts_.threadgroups;
    counts_.threads += num_threads_;
    num_simdgroups_ = (num_threads_ + kSimdWidth - 1) / kSimdWidth;
    counts_.simdgroups += num_simdgroups_;
}

Counter::Buffer& Counter::buffer_of(const check::Region& region) {
    Buffer*& known = by_slot_[region.object.slot];
    if (known != nullptr) return *known;
    known = &buffers_[region.begin];
    if (known->counts.name.empty()) {
        known->counts.name = check::describe(region.object);
        known->counts.slot = region.object.slot;
    }
    return *known;
}

// Lanes of a simdgroup that are at a place for the same time access together.
void Counter::add_lines(uint32_t site, uint64_t time, uint64_t region_begin,
                        const SimdgroupLines::Run& bytes) {
    SimdgroupLines& lines = places_[site].lines;
    if (lines.empty()) with_lines_.push_back(site);
    // Blocks of the region itself, wherever this process has it; no two regions share a number.
    const uint64_t base = region_begin * kLineBytes, last = (bytes.end - 1) / kLineBytes;
    for (uint64_t line = bytes.begin / kLineBytes; line <= last; ++line) lines.add(time, base + line);
}

void Counter::add_touched(const Place& place, const SimdgroupLines::Run& bytes) {
    Buffer& buffer = buffer_of(*place.region);
    if (place.reads) buffer.read.add(bytes.begin, bytes.end - bytes.begin);
    if (place.writes) buffer.written.add(bytes.begin, bytes.end - bytes.begin);
}

[[gnu::noinline]] void Counter::begin_run(uint32_t site, uint64_t time, uint64_t offset) {
    Place& place = places_[site];
    if (place.lines.empty()) with_lines_.push_back(site);
    const SimdgroupLines::Run over =
        place.lines.begin_run(time, {.begin = offset, .end = offset + place.size_bytes});
    if (over.empty()) return;
    add_lines(site, time, place.begin, over);
    add_touched(place, over);
}

// The usual access of a buffer. Nobody is told of those of a fixed place.
inline void Counter::hear(const fibers::Lane& lane, uint32_t site, uint64_t address) {
    Place& place = places_[site];
    const uint64_t offset = address - place.begin;
    const uint64_t runs = lane.group->block_counts[size_t{lane.thread} * num_blocks_ + place.block];
    const uint64_t time = (runs - 1) * num_simdgroups_ + lane.simdgroup_index;
    ++place.times_heard;
    if (!place.lines.continues(time, offset, place.size_bytes)) begin_run(site, time, offset);
}

decltype(Ear::hear) Counter::ear() const {
    return [](void* self, const fibers::Lane& lane, uint32_t site, uint64_t address, uint64_t, uint64_t) {
        static_cast<Counter*>(self)->hear(lane, site, address);
    };
}

void Counter::access(const check::Access& access) {
    const Site& site = *access.site;
    if (site.space == MemorySpace::kPrivate || places_[access.site_number].is_fixed) return;
    if (!access.inside) {
        std::vector<uint32_t>& by_thread = misses_[access.site_number];
        by_thread.resize(num_threads_);
        ++by_thread[access.thread->index];
        return;
    }
    const uint64_t read = site.reads ? access.size_bytes : 0, written = site.writes ? access.size_bytes : 0;
    // What always has one size is multiplied out in the end.
    if (site.kind == SiteKind::kCopy) {
        counts_.sites[access.site_number].bytes_read += read;
        counts_.sites[access.site_number].bytes_written += written;
    }
    if (site.space == MemorySpace::kThreadgroup) {
        // By a pointer that might have led elsewhere.
        if (kernel_->instrumentation.sites[access.site_number].space == site.space) return;
        counts_.threadgroup_memory.bytes_read += read;
        counts_.threadgroup_memory.bytes_written += written;
        return;
    }
    const uint64_t offset = uint64_t(access.offset());
    add_lines(access.site_number, access.round() * num_simdgroups_ + access.thread->simdgroup,
              access.region->begin, {.begin = offset, .end = offset + access.size_bytes});
    if (access.region->object.kind != ObjectKind::kBuffer) return;
    Buffer& buffer = buffer_of(*access.region);
    buffer.counts.bytes_read += read;
    buffer.counts.bytes_written += written;
    if (site.reads) buffer.read.add(offset, access.size_bytes);
    if (site.writes) buffer.written.add(offset, access.size_bytes);
}

void Counter::product(const check::Product& product) {
    ++products_[product.shape];
}

void Counter::tensor_access(const check::TensorAccess& access) {
    SiteCounts& here = counts_.sites[access.site_number];
    const auto add = [&](auto& counts) {
        (access.writes ? counts.bytes_written : counts.bytes_read) += access.size_bytes;
    };
    if (access.region == nullptr) return add(here);
    if (access.region->object.space == MemorySpace::kThreadgroup) {
        here.tensor_threadgroup_bytes += access.size_bytes;
        return add(counts_.threadgroup_memory);
    }
    add(here);
    Buffer& buffer = buffer_of(*access.region);
    add(buffer.counts);
    (access.writes ? buffer.written : buffer.read).add(access.offset(), access.size_bytes);
}

Counter::Runs Counter::runs_of(std::span<const uint64_t> counts, uint32_t block,
                               const std::vector<uint32_t>& less) const {
    Runs runs;
    for (uint32_t first = 0; first < num_threads_; first += kSimdWidth) {
        uint64_t most = 0;
        for (uint32_t i = first; i < std::min(first + kSimdWidth, num_threads_); ++i) {
            const uint64_t count = counts[size_t{i} * num_blocks_ + block] - less[i];
            runs.threads += count;
            most = std::max(most, count);
        }
        runs.simdgroups += most;
        runs.threadgroups = std::max(runs.threadgroups, most);
    }
    return runs;
}

// The same for all blocks, row by row.
void Counter::add_runs(std::span<const uint64_t> counts) {
    std::vector<uint64_t> most_of_simdgroup(num_blocks_), most(num_blocks_);
    for (uint32_t first = 0; first < num_threads_; first += kSimdWidth) {
        std::ranges::fill(most_of_simdgroup, 0);
        for (uint32_t i = first; i < std::min(first + kSimdWidth, num_threads_); ++i) {
            const uint64_t* row = counts.data() + size_t{i} * num_blocks_;
            for (uint32_t block = 0; block < num_blocks_; ++block) {
                blocks_[block].threads += row[block];
                most_of_simdgroup[block] = std::max(most_of_simdgroup[block], row[block]);
            }
        }
        for (uint32_t block = 0; block < num_blocks_; ++block) {
            blocks_[block].simdgroups += most_of_simdgroup[block];
            most[block] = std::max(most[block], most_of_simdgroup[block]);
        }
    }
    for (uint32_t block = 0; block < num_blocks_; ++block) blocks_[block].threadgroups += most[block];
}

void Counter::group_ends(const check::GroupEvent& event) {
    add_runs(event.block_counts);
    const std::vector<uint32_t> none(num_threads_);
    for (const auto& [site, misses] : misses_) {
        const uint32_t block = kernel_->instrumentation.sites[site].block;
        missed_[site].add(runs_of(event.block_counts, block, none));
        missed_[site].subtract(runs_of(event.block_counts, block, misses));
    }
    misses_.clear();
    for (const uint32_t number : with_lines_) {
        Place& place = places_[number];
        uint64_t& lines = counts_.sites[number].lines;
        place.lines.end_runs([&](uint64_t time, const SimdgroupLines::Run& bytes, bool alone) {
            add_touched(place, bytes);
            if (!alone) return add_lines(number, time, place.begin, bytes);
            lines += (bytes.end - 1) / kLineBytes - bytes.begin / kLineBytes + 1;
        });
        lines += place.lines.take();
        if (place.times_heard == 0) continue;
        const uint64_t bytes = place.times_heard * place.size_bytes;
        MemoryCounts& counts = buffer_of(*place.region).counts;
        if (place.reads) counts.bytes_read += bytes;
        if (place.writes) counts.bytes_written += bytes;
        place.times_heard = 0;
    }
    with_lines_.clear();
}

void Counter::sum_up(uint32_t number, const Runs& runs) {
    const Site& site = kernel_->instrumentation.sites[number];
    SiteCounts& here = counts_.sites[number];
    here.threads = runs.threads;
    here.simdgroups = runs.simdgroups;
    if (has_one_size(site.kind)) {
        if (site.reads) here.bytes_read = runs.threads * site.size_bytes;
        if (site.writes) here.bytes_written = runs.threads * site.size_bytes;
    }
    if (site.space == MemorySpace::kThreadgroup) {
        counts_.threadgroup_memory.bytes_read += here.bytes_read;
        counts_.threadgroup_memory.bytes_written += here.bytes_written;
    }
    const bool device = is_global(site);
    switch (site.kind) {
        case SiteKind::kBarrier:
            counts_.barriers += runs.threadgroups;
            break;
        case SiteKind::kSimdgroupBarrier:
            counts_.simdgroup_barriers += runs.simdgroups;
            break;
        case SiteKind::kSimdFunction:
            (is_shuffle(site) ? counts_.shuffles : counts_.simd_functions) += runs.simdgroups;
            break;
        case SiteKind::kMatrixLoad:
            (device ? counts_.matrix_loads_device : counts_.matrix_loads_threadgroup) += runs.simdgroups;
            break;
        case SiteKind::kMatrixStore:
            (device ? counts_.matrix_stores_device : counts_.matrix_stores_threadgroup) += runs.simdgroups;
            break;
        case SiteKind::kMatrixProduct:
            counts_.matrix_products += runs.simdgroups;
            break;
        case SiteKind::kTensorOperation:
            counts_.tensor_operations += runs.simdgroups;
            break;
        case SiteKind::kAtomic:
            counts_.atomics += runs.threads;
            break;
        case SiteKind::kFence:
            counts_.fences += runs.threads;
            break;
        default:
            break;
    }
}

void Counter::sum_up_fixed(uint32_t number, const Runs& runs) {
    const Place& place = places_[number];
    if (!place.is_fixed || runs.threads == 0) return;
    const uint64_t begin = kernel_->instrumentation.sites[number].fixed_offset,
                   last = begin + place.size_bytes - 1;
    counts_.sites[number].lines = runs.simdgroups * (last / kLineBytes - begin / kLineBytes + 1);
    Buffer& buffer = buffer_of(*place.region);
    const uint64_t bytes = runs.threads * place.size_bytes;
    if (place.reads) buffer.counts.bytes_read += bytes;
    if (place.writes) buffer.counts.bytes_written += bytes;
    if (place.reads) buffer.read.add(begin, place.size_bytes);
    if (place.writes) buffer.written.add(begin, place.size_bytes);
}

void Counter::launch_ends() {
    const Instrumentation& table = kernel_->instrumentation;
    for (const Runs& runs : blocks_) counts_.blocks.push_back(runs.threads);
    for (const BlockArithmetic& part : table.arithmetic)
        counts_.arithmetic[size_t(part.kind)] += counts_.blocks[part.block] * part.count;
    for (uint32_t i = 0; i < table.sites.size(); ++i) {
        if (is_private_access(table.sites[i])) continue;
        Runs runs = blocks_[table.sites[i].block];
        runs.subtract(missed_[i]);
        sum_up(i, runs);
        sum_up_fixed(i, runs);
    }
    // A lane loads and stores two elements of a matrix, each at a place of its own.
    for (uint64_t* count : {&counts_.matrix_loads_device, &counts_.matrix_loads_threadgroup,
                            &counts_.matrix_stores_device, &counts_.matrix_stores_threadgroup}) {
        *count /= 2;
    }
    for (const auto& [shape, simdgroups] : products_) counts_.tensor_products.push_back({shape, simdgroups});
    for (auto& [address, buffer] : buffers_) {
        buffer.counts.unique_bytes_read = buffer.read.blocks(1);
        buffer.counts.unique_bytes_written = buffer.written.blocks(1);
        buffer.read.add(buffer.written);
        buffer.counts.sectors = buffer.read.blocks(kSectorBytes);
        buffer.counts.lines = buffer.read.blocks(kLineBytes);
        counts_.buffers.push_back(buffer.counts);
    }
    std::ranges::sort(counts_.buffers, {}, &MemoryCounts::slot);
}

Result<Counts> run_counted(Executor& executor, const Kernel& kernel, const Launch& launch) {
    Counter counter;
    check::Request request;
    request.others.push_back(&counter);
    INGOT_ASSIGN(const check::Outcome outcome, run_checked(executor, kernel, launch, request));
    if (outcome.report.status != LaunchStatus::kDone) {
        return fail(ErrorKind::kInvalidArgument, "{}", outcome.report.message);
    }
    return counter.counts();
}

}  // namespace ingot::metal::count

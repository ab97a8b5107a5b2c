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

bool is_global(const Site& site) {
    return site.space == MemorySpace::kDevice || site.space == MemorySpace::kConstant;
}

void add(MemoryCounts& to, const MemoryCounts& from) {
    to.bytes_read += from.bytes_read;
    to.bytes_written += from.bytes_written;
}

void add(SiteCounts& to, const SiteCounts& from) {
    to.threads += from.threads;
    to.simdgroups += from.simdgroups;
    to.bytes_read += from.bytes_read;
    to.bytes_written += from.bytes_written;
    to.tensor_threadgroup_bytes += from.tensor_threadgroup_bytes;
    to.lines += from.lines;
}

}  // namespace

void Counter::launch_begins(const check::LaunchEvent& event) {
    kernel_ = &event.kernel;
    counts_ = {};
    counts_.threadgroup_memory.name = "threadgroup memory";
    counts_.sites.resize(event.kernel.instrumentation.sites.size());
    came_.assign(counts_.sites.size(), {});
    lines_.assign(counts_.sites.size(), {});
    buffers_.clear();
    products_.clear();
}

void Counter::join(const check::Listener& listener) {
    const auto& other = static_cast<const Counter&>(listener);
    constexpr uint64_t Counts::* kSums[] = {&Counts::threadgroups,
                                            &Counts::simdgroups,
                                            &Counts::threads,
                                            &Counts::barriers,
                                            &Counts::simdgroup_barriers,
                                            &Counts::simd_functions,
                                            &Counts::shuffles,
                                            &Counts::matrix_loads_device,
                                            &Counts::matrix_loads_threadgroup,
                                            &Counts::matrix_stores_device,
                                            &Counts::matrix_stores_threadgroup,
                                            &Counts::matrix_products,
                                            &Counts::tensor_operations};
    for (uint64_t Counts::* const sum : kSums) counts_.*sum += other.counts_.*sum;
    add(counts_.threadgroup_memory, other.counts_.threadgroup_memory);
    for (size_t i = 0; i < counts_.sites.size(); ++i) add(counts_.sites[i], other.counts_.sites[i]);
    for (const auto& [shape, simdgroups] : other.products_) products_[shape] += simdgroups;
    for (const auto& [address, theirs] : other.buffers_) {
        Buffer& mine = buffers_[address];
        mine.counts.name = theirs.counts.name;
        mine.counts.slot = theirs.counts.slot;
        add(mine.counts, theirs.counts);
        mine.read.add(theirs.read);
        mine.written.add(theirs.written);
        mine.all.add(theirs.all);
    }
}

void Counter::group_begins(const check::GroupEvent& event) {
    num_threads_ = event.num_threads;
    ++counts_.threadgroups;
    counts_.threads += num_threads_;
    counts_.simdgroups += (num_threads_ + kSimdWidth - 1) / kSimdWidth;
}

// How often the thread was there before, in this group.
uint32_t Counter::come(uint32_t site, const check::Thread& thread) {
    std::vector<uint32_t>& came = came_[site];
    if (came.empty()) came.resize(num_threads_);
    ++counts_.sites[site].threads;
    return came[thread.index]++;
}

// Lanes of a simdgroup that are at a place for the same time access together.
void Counter::add_lines(const check::Access& access, uint32_t round) {
    const uint32_t num_simdgroups = (num_threads_ + kSimdWidth - 1) / kSimdWidth;
    auto& rounds = lines_[access.site_number];
    const size_t index = size_t{round} * num_simdgroups + access.thread->simdgroup;
    if (rounds.size() <= index) rounds.resize(index + 1);
    std::vector<uint64_t>& lines = rounds[index];
    // Blocks of the region itself, wherever this process has it; no two regions share a number.
    const uint64_t base = access.region->begin * kLineBytes, offset = uint64_t(access.offset());
    const uint64_t last = base + (offset + access.size_bytes - 1) / kLineBytes;
    for (uint64_t line = base + offset / kLineBytes; line <= last; ++line) {
        if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
    }
}

Counter::Buffer& Counter::buffer_of(const check::Region& region) {
    Buffer& buffer = buffers_[region.begin];
    if (buffer.counts.name.empty()) {
        buffer.counts.name = check::describe(region.object);
        buffer.counts.slot = region.object.slot;
    }
    return buffer;
}

void Counter::access(const check::Access& access) {
    const Site& site = *access.site;
    if (!access.inside || site.space == MemorySpace::kPrivate) return;
    const uint32_t round = come(access.site_number, *access.thread);
    SiteCounts& here = counts_.sites[access.site_number];
    const uint64_t read = site.reads ? access.size_bytes : 0, written = site.writes ? access.size_bytes : 0;
    here.bytes_read += read;
    here.bytes_written += written;
    if (site.space == MemorySpace::kThreadgroup) {
        counts_.threadgroup_memory.bytes_read += read;
        counts_.threadgroup_memory.bytes_written += written;
        return;
    }
    add_lines(access, round);
    if (access.region->object.kind != ObjectKind::kBuffer) return;
    Buffer& buffer = buffer_of(*access.region);
    buffer.counts.bytes_read += read;
    buffer.counts.bytes_written += written;
    if (site.reads) buffer.read.add(uint64_t(access.offset()), access.size_bytes);
    if (site.writes) buffer.written.add(uint64_t(access.offset()), access.size_bytes);
    buffer.all.add(uint64_t(access.offset()), access.size_bytes);
}

void Counter::call(const check::Call& call) {
    come(call.site_number, *call.thread);
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
    buffer.all.add(access.offset(), access.size_bytes);
}

void Counter::blocks(std::span<const uint64_t> counts) {
    counts_.blocks.assign(counts.begin(), counts.end());
    for (const BlockArithmetic& part : kernel_->instrumentation.arithmetic)
        counts_.arithmetic[size_t(part.kind)] += counts[part.block] * part.count;
}

// What a group's threads did at a place, once they are done: a simdgroup came as often as the lane that came
// most.
void Counter::add_issues(uint32_t number) {
    const Site& site = kernel_->instrumentation.sites[number];
    const std::vector<uint32_t>& came = came_[number];
    uint64_t issues = 0;
    for (uint32_t first = 0; first < num_threads_; first += kSimdWidth) {
        issues += *std::max_element(came.begin() + first,
                                    came.begin() + std::min(first + kSimdWidth, num_threads_));
    }
    counts_.sites[number].simdgroups += issues;
    const bool device = is_global(site);
    switch (site.kind) {
        case SiteKind::kBarrier:
            counts_.barriers += *std::ranges::max_element(came);
            break;
        case SiteKind::kSimdgroupBarrier:
            counts_.simdgroup_barriers += issues;
            break;
        case SiteKind::kSimdFunction:
            (is_shuffle(site) ? counts_.shuffles : counts_.simd_functions) += issues;
            break;
        case SiteKind::kMatrixLoad:
            (device ? counts_.matrix_loads_device : counts_.matrix_loads_threadgroup) += issues;
            break;
        case SiteKind::kMatrixStore:
            (device ? counts_.matrix_stores_device : counts_.matrix_stores_threadgroup) += issues;
            break;
        case SiteKind::kMatrixProduct:
            counts_.matrix_products += issues;
            break;
        case SiteKind::kTensorOperation:
            counts_.tensor_operations += issues;
            break;
        default:
            break;
    }
}

void Counter::group_ends(const check::GroupEvent&) {
    for (uint32_t site = 0; site < came_.size(); ++site) {
        if (came_[site].empty()) continue;
        add_issues(site);
        came_[site].clear();
        for (const std::vector<uint64_t>& lines : lines_[site]) counts_.sites[site].lines += lines.size();
        lines_[site].clear();
    }
}

void Counter::launch_ends() {
    // A lane loads and stores two elements of a matrix, each at a place of its own.
    for (uint64_t* count : {&counts_.matrix_loads_device, &counts_.matrix_loads_threadgroup,
                            &counts_.matrix_stores_device, &counts_.matrix_stores_threadgroup}) {
        *count /= 2;
    }
    for (size_t i = 0; i < counts_.sites.size(); ++i) {
        const Site& site = kernel_->instrumentation.sites[i];
        if (site.kind == SiteKind::kAtomic) counts_.atomics += counts_.sites[i].threads;
        if (site.kind == SiteKind::kFence) counts_.fences += counts_.sites[i].threads;
    }
    for (const auto& [shape, simdgroups] : products_) counts_.tensor_products.push_back({shape, simdgroups});
    for (auto& [address, buffer] : buffers_) {
        buffer.counts.unique_bytes_read = buffer.read.blocks(1);
        buffer.counts.unique_bytes_written = buffer.written.blocks(1);
        buffer.counts.sectors = buffer.all.blocks(kSectorBytes);
        buffer.counts.lines = buffer.all.blocks(kLineBytes);
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

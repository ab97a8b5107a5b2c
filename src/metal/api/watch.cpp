#include "metal/api/watch.h"

#include <algorithm>

#include "base/check.h"
#include "metal/api/extensions.h"
#include "metal/check/describe.h"
#include "metal/check/report.h"

namespace ingot::metal::api {
namespace {

using check::FindingKind;

// What a dispatch reads and writes of buffers.
class Traffic final : public check::Listener {
  public:
    explicit Traffic(Unordered::Dispatch& dispatch) : dispatch_(dispatch) {}

    void access(const check::Access& access) override {
        const Site& site = *access.site;
        if (!access.inside || access.region->object.kind != ObjectKind::kBuffer || site.is_atomic) return;
        if (site.reads) dispatch_.read.add(access.address, access.size_bytes);
        if (site.writes) dispatch_.written.add(access.address, access.size_bytes);
    }

  private:
    Unordered::Dispatch& dispatch_;
};

// "byte 16 of buffer 0 ('sums')", of what a dispatch has bound.
std::string place_of(uint64_t address, const WatchedDispatch& dispatch) {
    for (uint32_t slot = 0; slot < kNumBufferSlots; ++slot) {
        const BufferBinding& bound = dispatch.launch.buffers[slot];
        const uint64_t offset = address - reinterpret_cast<uintptr_t>(bound.address);
        if (bound.address == nullptr || offset >= bound.size_bytes) continue;
        const BufferImpl* buffer = dispatch.buffers[slot];
        const std::string label = buffer == nullptr || buffer->label.empty() ? "" : buffer->label;
        return fmt::format("byte {} of buffer {}{}", offset, slot,
                           label.empty() ? "" : fmt::format(" ('{}')", label));
    }
    return "memory";
}

std::string name_of(const CommandBufferImpl& commands) {
    return commands.label.empty() ? "a command buffer" : fmt::format("command buffer '{}'", commands.label);
}

}  // namespace

std::string describe(const BufferImpl& buffer) {
    return buffer.label.empty() ? fmt::format("a buffer of {} bytes", buffer.length)
                                : fmt::format("buffer '{}'", buffer.label);
}

void Unordered::barrier(const BufferImpl& buffer) {
    for (Dispatch& dispatch : dispatches_) {
        const auto begin = reinterpret_cast<uintptr_t>(buffer.address());
        dispatch.read.remove(begin, buffer.length);
        dispatch.written.remove(begin, buffer.length);
    }
}

void Unordered::add(Watch& watch, Dispatch dispatch, const WatchedDispatch& what) {
    for (const Dispatch& before : dispatches_) {
        struct Pair {
            std::optional<uint64_t> place;
            const char *now, *then;
        };
        const Pair pairs[] = {{dispatch.read.first_common(before.written), "reads", "writes"},
                              {dispatch.written.first_common(before.written), "writes", "writes"},
                              {dispatch.written.first_common(before.read), "writes", "reads"}};
        for (const Pair& pair : pairs) {
            if (!pair.place) continue;
            watch.report(FindingKind::kDispatchRace,
                         fmt::format("it {} {}, which a dispatch of '{}' before it {}; no memoryBarrier "
                                     "stands between the two in their concurrent encoder.",
                                     pair.now, place_of(*pair.place, what), before.kernel, pair.then),
                         dispatch.kernel);
            break;
        }
    }
    dispatches_.push_back(std::move(dispatch));
}

bool Watch::is_on(check::CheckerId id) const {
    return std::ranges::find(checkers, id) != checkers.end();
}

void Watch::report(FindingKind kind, std::string text, std::string kernel, std::string memory) {
    if (!is_on(check::facts_of(kind).checker)) return;
    add({.kind = kind,
         .kernel = std::move(kernel),
         .place = {},
         .text = std::move(text),
         .memory = std::move(memory)});
}

void Watch::add(check::Finding finding) {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find_if(found_, [&](const check::Finding& other) {
        return other.kind == finding.kind && other.kernel == finding.kernel && other.text == finding.text;
    });
    if (known != found_.end()) {
        known->count += finding.count;
        return;
    }
    if (prints) fmt::print(stderr, "{}", check::to_text(finding, check::lines_of_files()));
    found_.push_back(std::move(finding));
}

std::vector<check::Finding> Watch::take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(found_, {});
}

std::vector<DispatchCounts> Watch::take_counts() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(counted_, {});
}

// Whether the executor takes it.
bool Watch::check_limits(const WatchedDispatch& dispatch) {
    const KernelInfo& info = dispatch.pipeline.kernel->info;
    const Size3& threads = dispatch.launch.group_threads;
    const uint32_t most = dispatch.pipeline.max_threads;
    const uint64_t bytes = threadgroup_layout(info, dispatch.launch).size_bytes;
    if (threads.count() > most) {
        report(FindingKind::kLargeThreadgroup,
               fmt::format("It is dispatched in threadgroups of {} x {} x {} threads; its pipeline takes at "
                           "most {}.",
                           threads.x, threads.y, threads.z, most),
               info.name);
    }
    if (bytes > kMaxThreadgroupBytes) {
        report(FindingKind::kLargeThreadgroupMemory,
               fmt::format("It is dispatched with {} bytes of threadgroup memory, of which {} are its own; "
                           "there are {}.",
                           bytes, info.static_threadgroup_bytes, kMaxThreadgroupBytes),
               info.name);
    }
    return threads.count() <= most && bytes <= kMaxThreadgroupBytes;
}

Result<LaunchReport> Watch::run(const WatchedDispatch& dispatch, Unordered* unordered) {
    if (!record_folder.empty()) record(dispatch);
    const Kernel& kernel = *dispatch.pipeline.kernel;
    Executor& executor = *dispatch.pipeline.device->executor;
    if (kernel.instrumentation.empty() || !check_limits(dispatch))
        return executor.run(kernel, dispatch.launch);
    check::Request request;
    request.checkers = checkers;
    Unordered::Dispatch touched{.kernel = kernel.info.name, .read = {}, .written = {}};
    Traffic traffic(touched);
    if (unordered != nullptr) request.others.push_back(&traffic);
    count::Counter counter;
    if (counts) request.others.push_back(&counter);
    for (uint32_t slot = 0; slot < kNumBufferSlots; ++slot) {
        const BufferImpl* buffer = dispatch.buffers[slot];
        if (buffer == nullptr) continue;
        request.buffers[slot] = {.label = buffer->label, .initialised = buffer->memory->has_contents};
    }
    INGOT_ASSIGN(check::Outcome outcome, run_checked(executor, kernel, dispatch.launch, request));
    for (check::Finding& finding : outcome.findings) add(std::move(finding));
    if (unordered != nullptr) unordered->add(*this, std::move(touched), dispatch);
    if (counts) {
        const std::scoped_lock lock(mutex_);
        counted_.push_back({kernel.info.name, counter.counts()});
    }
    for (const BufferImpl* buffer : dispatch.buffers) {
        if (buffer != nullptr) buffer->memory->has_contents = true;
    }
    return std::move(outcome.report);
}

void Watch::committed(const CommandBufferImpl& commands, const std::set<const BufferImpl*>& buffers) {
    const std::scoped_lock lock(mutex_);
    pending_.push_back({&commands, commands.queue, name_of(commands), buffers});
}

// With it, the host knows of those before it in the queue.
void Watch::host_knows(const CommandBufferImpl& commands) {
    const std::scoped_lock lock(mutex_);
    const auto last = std::ranges::find(pending_, &commands, &Pending::commands);
    if (last == pending_.end()) return;
    const QueueImpl* queue = last->queue;
    pending_.erase(std::remove_if(pending_.begin(), last + 1,
                                  [&](const Pending& other) { return other.queue == queue; }),
                   last + 1);
}

void Watch::host_reads(const BufferImpl& buffer) {
    std::string who;
    {
        const std::scoped_lock lock(mutex_);
        for (const Pending& pending : pending_) {
            if (pending.buffers.contains(&buffer)) who = pending.label;
        }
    }
    if (who.empty()) return;
    report(FindingKind::kHostAccess,
           fmt::format("contents() of {} is asked for while {} that writes it may be running: wait until it "
                       "is completed.",
                       describe(buffer), who),
           {}, describe(buffer));
}

void Watch::check_released(const CommandBufferImpl& commands) {
    std::map<const NS::Object*, uint32_t> held;
    for (const NS::Object* object : commands.kept) ++held[object];
    for (const auto& [object, count] : held) {
        const auto* buffer = dynamic_cast<const BufferImpl*>(object);
        if (buffer == nullptr || buffer->retainCount() > count) continue;
        report(FindingKind::kBufferInUse,
               fmt::format("{} was released before {} that uses it without a reference was completed.",
                           describe(*buffer), name_of(commands)),
               {}, describe(*buffer));
    }
}

Watch* watch_of(const DeviceImpl& device) {
    return device.watch.get();
}

bool obeys(const DeviceImpl& device, bool holds, FindingKind kind, std::string_view message) {
    if (holds) return true;
    Watch* watch = watch_of(device);
    INGOT_CHECK(watch != nullptr && !watch->checkers.empty(), "{}", message);
    watch->report(kind, fmt::format("{}.", message));
    return false;
}

}  // namespace ingot::metal::api

namespace ingot::metal {

Result<void> set_checks(MTL::Device* device, std::string_view checkers) {
    std::vector<check::CheckerId> chosen;
    if (!checkers.empty()) {
        INGOT_ASSIGN(chosen, check::parse_checkers(checkers));
    }
    auto& watch = api::impl(device).watch;
    if (watch == nullptr) watch = std::make_shared<api::Watch>();
    watch->checkers = std::move(chosen);
    return {};
}

std::vector<check::Finding> take_findings(MTL::Device* device) {
    auto& watch = api::impl(device).watch;
    return watch == nullptr ? std::vector<check::Finding>() : watch->take();
}

void set_counting(MTL::Device* device, bool on) {
    auto& watch = api::impl(device).watch;
    if (watch == nullptr) watch = std::make_shared<api::Watch>();
    watch->counts = on;
}

std::vector<DispatchCounts> take_counts(MTL::Device* device) {
    auto& watch = api::impl(device).watch;
    return watch == nullptr ? std::vector<DispatchCounts>() : watch->take_counts();
}

void set_recording(MTL::Device* device, std::string folder) {
    auto& watch = api::impl(device).watch;
    if (watch == nullptr) watch = std::make_shared<api::Watch>();
    watch->record_folder = std::move(folder);
}

}  // namespace ingot::metal

#include "metal/check/session.h"

#include "metal/check/checkers.h"

namespace ingot::metal::check {
namespace {

// What calls of the API do isn't seen in a launch: metal/api/watch.h looks after it.
class Deaf final : public Listener {
  public:
    bool is_quiet(const MemoryObject&) const override { return true; }
    bool hears_calls() const override { return false; }
};

}  // namespace

std::unique_ptr<Listener> make_api(Findings&) {
    return std::make_unique<Deaf>();
}
std::unique_ptr<Listener> make_order(Findings&) {
    return std::make_unique<Deaf>();
}

std::unique_ptr<Listener> make_checker(CheckerId id, Findings& findings) {
    switch (id) {
#define X(enumerator, name, by_default, text) \
    case CheckerId::enumerator:               \
        return make_##name(findings);
        INGOT_METAL_CHECKERS(X)
#undef X
    }
    return nullptr;
}

Result<Outcome> run_checked(Executor& executor, const Kernel& kernel, const Launch& launch,
                            const Request& request) {
    Findings findings;
    findings.begin(kernel);
    std::vector<std::unique_ptr<Listener>> checkers;
    std::vector<Listener*> listeners;
    for (const CheckerId id : request.checkers) {
        checkers.push_back(make_checker(id, findings));
        listeners.push_back(checkers.back().get());
    }
    listeners.insert(listeners.end(), request.others.begin(), request.others.end());
    Launch watched = launch;
    Observer observer(kernel, watched, std::move(listeners));
    for (uint32_t slot = 0; slot < kNumBufferSlots; ++slot)
        observer.describe_buffer(slot, request.buffers[slot]);
    watched.monitor = &observer;
    observer.begin();
    INGOT_ASSIGN(LaunchReport report, executor.run(kernel, watched));
    observer.end();
    return Outcome{.report = std::move(report), .findings = findings.take()};
}

}  // namespace ingot::metal::check

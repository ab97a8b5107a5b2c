#include "metal/exec/fault.h"

#include <memory>
#include <mutex>

#include <signal.h>

#include "base/check.h"

namespace ingot::metal {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr size_t kSignalStackBytes = 64 * 1024;

thread_local FaultTrap* armed = nullptr;
struct sigaction previous[64];

void on_signal(int signal, siginfo_t* info, void* context) {
    if (FaultTrap* trap = armed; trap != nullptr) {
        trap->signal = signal;
        trap->address = info->si_addr;
        siglongjmp(trap->escape, 1);
    }
    const struct sigaction& before = previous[signal];
    if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal, info, context);
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
    // Returning re-executes the instruction, now with the default action.
    ::sigaction(signal, &before, nullptr);
}

void install_handlers() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action = {};
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        for (const int signal : kSignals) INGOT_CHECK(::sigaction(signal, &action, &previous[signal]) == 0);
    });
}

// A fiber's stack may be what overflowed, so the handler needs one of its own. One per thread, for its
// lifetime.
struct SignalStack {
    SignalStack() : memory(new char[kSignalStackBytes]) {
        stack_t stack = {};
        stack.ss_sp = memory.get();
        stack.ss_size = kSignalStackBytes;
        INGOT_CHECK(::sigaltstack(&stack, &before) == 0);
    }
    ~SignalStack() { ::sigaltstack(&before, nullptr); }

    std::unique_ptr<char[]> memory;
    stack_t before = {};
};

}  // namespace

FaultScope::FaultScope(FaultTrap& trap) {
    install_handlers();
    static thread_local SignalStack stack;
    INGOT_CHECK(armed == nullptr, "a kernel was launched from inside a kernel");
    armed = &trap;
}

FaultScope::~FaultScope() {
    armed = nullptr;
}

const char* describe_signal(int signal) {
    switch (signal) {
        case SIGSEGV:
            return "an access outside every mapping";
        case SIGBUS:
            return "an access that memory can't serve";
        case SIGFPE:
            return "an integer division trap";
        case SIGILL:
            return "unreachable code was reached";
        default:
            return "an unknown signal";
    }
}

}  // namespace ingot::metal

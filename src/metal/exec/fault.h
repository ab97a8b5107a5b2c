// Keeps a kernel's crash from being the process's: while a worker runs a kernel, SIGSEGV, SIGBUS, SIGFPE and
// SIGILL on its thread end the kernel instead. Handlers that were there before still get every other signal.
#pragma once

#include <csetjmp>
#include <cstdint>

namespace ingot::metal {

struct FaultTrap {
    sigjmp_buf escape;        // the worker's sigsetjmp, before it enters the kernel
    int signal = 0;           // set when a fault arrived
    void* address = nullptr;  // the bad address, for SIGSEGV and SIGBUS
};

// Gives this thread a signal stack and arms `trap` for it, until destroyed. A nested scope isn't allowed.
class FaultScope {
  public:
    explicit FaultScope(FaultTrap& trap);
    ~FaultScope();
    FaultScope(const FaultScope&) = delete;
    FaultScope& operator=(const FaultScope&) = delete;
};

// "a read or write at 0x10, outside every mapping", "an integer division trap"...
const char* describe_signal(int signal);

}  // namespace ingot::metal

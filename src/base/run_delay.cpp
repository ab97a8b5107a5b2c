#include "base/run_delay.h"

#include <cstdint>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "base/system_call.h"

namespace ingot {

std::chrono::nanoseconds run_delay() {
    // Open for the life of the thread: it is asked for often.
    thread_local const Descriptor file(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    char text[96];
    const ssize_t length = file.get() < 0 ? -1 : ::pread(file.get(), text, sizeof text - 1, 0);
    if (length <= 0) return {};
    text[length] = '\0';
    unsigned long long running = 0, waiting = 0;
    if (std::sscanf(text, "%llu %llu", &running, &waiting) != 2) return {};
    return std::chrono::nanoseconds(waiting);
}

}  // namespace ingot

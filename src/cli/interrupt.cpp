#include "cli/interrupt.h"

#include <unistd.h>

namespace ingot::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

void on_interrupt(int) {
    if (interrupted.exchange(true)) _exit(130);
}

}  // namespace

Interrupt::Interrupt() {
    interrupted = false;
    struct sigaction action{};
    action.sa_handler = on_interrupt;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &before_);
}

Interrupt::~Interrupt() {
    sigaction(SIGINT, &before_, nullptr);
}

const std::atomic<bool>& Interrupt::flag() const {
    return interrupted;
}

void Interrupt::clear() {
    interrupted = false;
}

}  // namespace ingot::cli

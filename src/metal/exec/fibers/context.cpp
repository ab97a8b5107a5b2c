#include "metal/exec/fibers/context.h"

#include <cstdint>

#if defined(__x86_64__) && defined(__linux__)

// Fibers of a group wait at the same place, so a plain `ret` keeps the processor's stack of return addresses
// right: after a jump it would mispredict every return up to the kernel.
asm(R"(
    .text
    .p2align 4
    .globl ingot_switch_context
    .type ingot_switch_context, @function
ingot_switch_context:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size ingot_switch_context, . - ingot_switch_context
)");

namespace ingot::metal::fibers {

void* make_context(void* stack_top, size_t, void (*entry)()) {
    constexpr int kSavedRegisters = 6;
    auto* slot = reinterpret_cast<uintptr_t*>(reinterpret_cast<uintptr_t>(stack_top) & ~uintptr_t{15});
    *--slot = 0;  // where `entry` would return to; aligns its stack
    *--slot = reinterpret_cast<uintptr_t>(entry);
    for (int i = 0; i < kSavedRegisters; ++i) *--slot = 0;
    return slot;
}

}  // namespace ingot::metal::fibers

#else

#include <boost/context/detail/fcontext.hpp>

namespace ctx = boost::context::detail;

namespace ingot::metal::fibers {
namespace {

// All fibers of a thread start in the same function.
thread_local void (*starting_entry)();

void start(ctx::transfer_t from) {
    *static_cast<void**>(from.data) = from.fctx;
    starting_entry();
}

}  // namespace

void* make_context(void* stack_top, size_t stack_bytes, void (*entry)()) {
    starting_entry = entry;
    return ctx::make_fcontext(stack_top, stack_bytes, start);
}

}  // namespace ingot::metal::fibers

extern "C" void ingot_switch_context(void** save, void* to) {
    const ctx::transfer_t from = ctx::jump_fcontext(to, save);
    *static_cast<void**>(from.data) = from.fctx;
}

#endif

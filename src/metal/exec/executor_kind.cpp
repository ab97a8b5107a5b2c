#include <cstdio>
#include <cstdlib>
#include <utility>

#include "metal/exec/kernel.h"

namespace ingot::metal {
namespace {

constexpr std::pair<ExecutorKind, std::string_view> kNames[] = {
    {ExecutorKind::kFibers, "fibers"},
    {ExecutorKind::kVector, "vector"},
    {ExecutorKind::kAuto, "auto"},
};

}  // namespace

Result<ExecutorKind> executor_kind(std::string_view name) {
    for (const auto& [kind, text] : kNames) {
        if (name == text) return kind;
    }
    return fail(ErrorKind::kInvalidArgument, "no executor '{}'; there are fibers, vector and auto", name);
}

std::string_view to_string(ExecutorKind kind) {
    for (const auto& [known, text] : kNames) {
        if (known == kind) return text;
    }
    return "?";
}

ExecutorKind default_executor() {
    static const ExecutorKind kind = [] {
        const char* name = std::getenv("INGOT_EXECUTOR");
        if (name == nullptr || *name == 0) return ExecutorKind::kAuto;
        const auto known = executor_kind(name);
        if (known) return *known;
        std::fprintf(stderr, "INGOT_EXECUTOR: %s\n", known.error().message.c_str());
        return ExecutorKind::kAuto;
    }();
    return kind;
}

}  // namespace ingot::metal

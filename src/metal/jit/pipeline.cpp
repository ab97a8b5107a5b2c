#include "metal/jit/pipeline.h"

#include <algorithm>

#include <llvm/Support/raw_ostream.h>

#include "metal/jit/import_module.h"
#include "metal/jit/passes/passes.h"
namespace ingot::metal::jit {
namespace {

// Which executors a pass is for.
enum : uint8_t { kForFibers = 1, kForVector = 2, kForBoth = 3 };

struct Step {
    Pass pass;
    uint8_t executors;
};

constexpr Step kSteps[] = {
    {{"specialise-constants", specialise_constants}, kForBoth},
    {{"strip-promises", strip_promises}, kForBoth},
    {{"move-threadgroup-globals", move_threadgroup_globals}, kForBoth},
    {{"relax-alignment", relax_alignment}, kForBoth},
    {{"make-entry", make_entry}, kForBoth},
    {{"count-arithmetic", count_arithmetic}, kForFibers},
    {{"lower-builtins", lower_builtins}, kForBoth},
    {{"inline-all", inline_all}, kForBoth},
    // Vectors move together by themselves, but the optimiser mustn't pull lanes' code apart.
    {{"reconverge", reconverge}, kForBoth},
    {{"hold-loops", hold_loops}, kForFibers},
    // Only what the kernel itself does is told: reconverge marked the meetings that it added.
    {{"instrument", instrument}, kForFibers},
    {{"lower-tensors", lower_tensors}, kForBoth},
    {{"lower-to-fibers", lower_to_fibers}, kForFibers},
    {{"optimise", optimise}, kForFibers},
    {{"batch-matrices", batch_matrices}, kForFibers},
    {{"optimise-scalar", optimise_scalar}, kForVector},
    {{"tensors-in-registers", tensors_in_registers}, kForVector},
    {{"fence-private", fence_private}, kForVector},
    {{"shape-control", shape_control}, kForVector},
    {{"vectorise", vectorise}, kForVector},
    {{"optimise-lanes", optimise_lanes}, kForVector},
    {{"poll-loops", poll_loops}, kForBoth},
    {{"fence-private", fence_private}, kForFibers},
    {{"inline-watch", inline_watch}, kForFibers},
};

constexpr std::string_view kLastLowering = "lower-to-fibers";

}  // namespace

std::vector<std::string> pass_names() {
    std::vector<std::string> names;
    for (const Step& step : kSteps) {
        if (std::ranges::find(names, step.pass.name) == names.end()) names.emplace_back(step.pass.name);
    }
    return names;
}

const Pass* find_pass(std::string_view name) {
    for (const Step& step : kSteps) {
        if (name == step.pass.name) return &step.pass;
    }
    return nullptr;
}

std::string print_module(const llvm::Module& module) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, nullptr);
    return text;
}

Result<void> run_pipeline(llvm::Module& module, PassState& state) {
    const uint8_t executor = state.options.executor == ExecutorKind::kVector ? kForVector : kForFibers;
    for (const auto& [pass, executors] : kSteps) {
        if ((executors & executor) == 0) continue;
        if (auto done = pass.run(module, state); !done) return Failure(with_context(done.error(), pass.name));
        INGOT_TRY(verify(module, pass.name));
        if (state.options.print_after == pass.name && state.options.printed != nullptr) {
            *state.options.printed = print_module(module);
        }
        if (state.options.lower_only && pass.name == kLastLowering) break;
    }
    return {};
}

}  // namespace ingot::metal::jit

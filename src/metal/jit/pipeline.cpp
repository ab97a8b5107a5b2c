#include "metal/jit/pipeline.h"

#include <llvm/Support/raw_ostream.h>

#include "metal/jit/import_module.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

constexpr Pass kPasses[] = {
    {"specialise-constants", specialise_constants},
    {"strip-promises", strip_promises},
    {"move-threadgroup-globals", move_threadgroup_globals},
    {"relax-alignment", relax_alignment},
    {"make-entry", make_entry},
    // Instrumentation for checkers and counters belongs here: sites still speak AIR.
    {"lower-builtins", lower_builtins},
    {"inline-all", inline_all},
    {"reconverge", reconverge},
    {"lower-to-fibers", lower_to_fibers},
    {"optimise", optimise},
    {"batch-matrices", batch_matrices},
    {"poll-loops", poll_loops},
    {"fence-private", fence_private},
};

constexpr std::string_view kLastLowering = "lower-to-fibers";

}  // namespace

std::span<const Pass> all_passes() {
    return kPasses;
}

const Pass* find_pass(std::string_view name) {
    for (const Pass& pass : kPasses) {
        if (name == pass.name) return &pass;
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
    for (const Pass& pass : kPasses) {
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

#include "tile/passes/pipeline.h"

#include "tile/ir/verify.h"

namespace ingot::tile {
namespace {

constexpr NamedPass kPasses[] = {
    {"form-products", form_products, "element loops that sum products become matrix products"},
    {"bypass-staging", bypass_staging, "products read tensors where shared tiles only held copies of them"},
    {"overwrite-accumulators", overwrite_accumulators,
     "products right after a fill with 0 store instead of adding"},
    {"select-paths", select_paths,
     "a path for each product, its operands and accumulator brought where the path wants them"},
    {"fuse-epilogues", fuse_epilogues, "tiles between the element loops behind a product go"},
    {"promote-accumulators", promote_accumulators,
     "accumulators in shared memory move to fragments where the plan wants it"},
    {"pipeline-loops", pipeline_loops,
     "copies of pipelined loops run steps ahead, into versions of their tiles"},
    {"place-fragments", place_fragments, "fragments go to simdgroup matrices or to shared memory"},
    {"lay-out", lay_out, "padding of shared rows, places of shared tiles, and the memory in all"},
    {"insert-barriers", insert_barriers, "barriers between conflicting accesses"},
};

}  // namespace

std::span<const NamedPass> pass_list() {
    return kPasses;
}

Result<Kernel> run_passes(const Kernel& k, const PlanOptions& options, Plan& plan, const AfterPass& after) {
    INGOT_TRY(verify(k, TensorBounds::kFree));
    Kernel now = k;
    for (const NamedPass& p : kPasses) {
        INGOT_ASSIGN(now, p.pass(now, options, plan));
        if (auto legal = verify(now, TensorBounds::kFree); !legal)
            return Failure(with_context(legal.error(), fmt::format("after the pass {}", p.name)));
        if (after) after(p.name, now);
    }
    return now;
}

}  // namespace ingot::tile

#include "base/sha256.h"
#include "tile/ir/print.h"
#include "tile/passes/passes.h"
#include "tile/plan/plan_text.h"
#include "tile/tuner/database.h"

namespace ingot::tile {
namespace {

std::string hash_of(const std::string& text) {
    return to_hex(sha256(std::as_bytes(std::span(text))));
}

std::string list_of(const Kernel& k, const std::vector<ExprId>& sizes) {
    std::string out;
    for (const ExprId e : sizes) out += fmt::format("{}{}", out.empty() ? "" : ", ", print(k, e));
    return out;
}

}  // namespace

Result<TuningKey> tuning_key(const Kernel& k, const CompileOptions& options) {
    for (const Dim& d : k.dims)
        if (!options.dims.contains(d.name))
            return fail(ErrorKind::kInvalidArgument,
                        "{}: dim {} has no value; a tuned plan holds for sizes that are known", k.name,
                        d.name);
    TuningKey key;
    key.kernel = k.name;
    key.kernel_hash = hash_of(print(k));
    key.target = options.target;
    INGOT_ASSIGN(const Kernel special, specialise(k, options.dims));
    for (const BufferId b : special.tensors()) {
        const Buffer& x = special[b];
        key.shapes +=
            fmt::format("{}{}[{}]", key.shapes.empty() ? "" : " ", x.name, list_of(special, x.shape));
        const std::string strides = x.strides.empty() ? "row-major" : list_of(special, x.strides);
        key.strides += fmt::format("{}{}[{}{}]", key.strides.empty() ? "" : " ", x.name, strides,
                                   x.offset.valid() ? " from " + print(special, x.offset) : "");
    }
    key.options = fmt::format("path {}", options.path ? kPathNames[size_t(*options.path)] : "any");
    for (const auto& [name, multiple] : options.multiples)
        key.options += fmt::format(", {} of {}", multiple, name);
    // Whatever changes what is emitted changes the text of the reference way, or is told by the version.
    CompileOptions plain = options;
    plain.planner = {};
    plain.planner.enabled = false;
    INGOT_ASSIGN(const CompiledKernel reference, compile(k, plain));
    key.compiler = fmt::format("ingot {}, emits {}", INGOT_VERSION, hash_of(reference.source).substr(0, 16));
    return key;
}

Result<PlannerOptions> tuned_planner(const std::string& path, const Kernel& k,
                                     const CompileOptions& options) {
    INGOT_ASSIGN(const auto database, TuningDatabase::open(path, false));
    INGOT_ASSIGN(const TuningKey key, tuning_key(k, options));
    INGOT_ASSIGN(const TunedPlan tuned, database->plan_of(key));
    return parse_plan_text(tuned.plan);
}

}  // namespace ingot::tile

#include "tile/ir/build.h"
#include "tile/ir/interpret.h"
#include "tile/passes/passes.h"
#include "tile/passes/rewrite.h"

namespace ingot::tile {
namespace {

// Sizes, strides and extents that these dims make greater than their type holds: folding would wrap them.
Result<void> check_sizes(const Kernel& k, const std::map<std::string, int64_t>& dims) {
    std::vector<ExprId> sizes = k.grid_extents;
    for (const Buffer& b : k.buffers) {
        sizes.insert(sizes.end(), b.shape.begin(), b.shape.end());
        sizes.insert(sizes.end(), b.strides.begin(), b.strides.end());
        if (b.offset.valid()) sizes.push_back(b.offset);
    }
    for (const ExprId e : sizes) {
        const auto value = evaluate_at_launch(k, e, dims);  // fails where another dim is open, too
        if (!value && value.error().kind == ErrorKind::kLimit) return Failure(value.error());
    }
    return {};
}

}  // namespace

Result<Kernel> specialise(const Kernel& k, const std::map<std::string, int64_t>& dims) {
    Kernel out = k;
    Substitution with;
    for (const auto& [name, value] : dims) {
        std::string known;
        bool found = false;
        for (uint32_t d = 0; d < k.dims.size(); ++d) {
            known += (d == 0 ? "" : ", ") + k.dims[d].name;
            if (k.dims[d].name != name) continue;
            found = true;
            INGOT_TRY(check_dim(k.dims[d], value));
            with.dims[DimId(d)] = constant(out, double(value));
        }
        if (!found)
            return fail(ErrorKind::kInvalidArgument, "{} has no dim '{}'; there are: {}", k.name, name,
                        known.empty() ? "none" : known);
    }
    if (with.dims.empty()) return out;
    INGOT_TRY(check_sizes(k, dims));
    for (Buffer& b : out.buffers) {
        for (ExprId& e : b.shape) e = with.apply(out, e);
        for (ExprId& e : b.strides) e = with.apply(out, e);
        b.offset = with.apply(out, b.offset);
    }
    for (ExprId& e : out.grid_extents) e = with.apply(out, e);
    out.body = with.apply(out, out.body);
    return out;
}

}  // namespace ingot::tile

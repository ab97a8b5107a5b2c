#include "tile/ir/build.h"
#include "tile/passes/passes.h"
#include "tile/passes/rewrite.h"

namespace ingot::tile {

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
            if (value < 0 || value > 2147483647 || value % k.dims[d].multiple_of != 0)
                return fail(ErrorKind::kInvalidArgument,
                            "dim {} is {}; multiples of {} from 0 to 2147483647 are accepted", name, value,
                            k.dims[d].multiple_of);
            with.dims[DimId(d)] = constant(out, double(value));
        }
        if (!found)
            return fail(ErrorKind::kInvalidArgument, "{} has no dim '{}'; there are: {}", k.name, name,
                        known.empty() ? "none" : known);
    }
    if (with.dims.empty()) return out;
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

#include "tile/api/compile.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "tile/emit/emitter.h"
#include "tile/ir/interpret.h"
#include "tile/ir/parse.h"
#include "tile/ir/verify.h"
#include "tile/passes/pipeline.h"

namespace ingot::tile {
namespace {

// Vector accesses take up to 16 bytes.
constexpr uint32_t kAlignmentBytes = 16;

void describe_arguments(CompiledKernel& out) {
    uint32_t index = 0;
    for (const BufferId b : out.kernel.tensors()) {
        const Buffer& x = out.kernel[b];
        out.tensors.push_back({index++, x.name, x.type, x.role, kAlignmentBytes});
    }
    uint32_t at = 0, widest = 1;
    const auto field = [&](const std::string& name, DType type) {
        const uint32_t size = size_bytes(type);
        at = (at + size - 1) / size * size;
        widest = std::max(widest, size);
        out.fields.push_back({name, type, at});
        at += size;
    };
    for (const Dim& d : out.kernel.dims) field(d.name, DType::kI32);
    for (const Scalar& s : out.kernel.scalars) field(s.name, s.type);
    if (out.fields.empty()) return;
    out.fields_index = index;
    out.fields_bytes = (at + widest - 1) / widest * widest;
}

Result<void> check_threads(const Kernel& k, const Target& target) {
    if (k.threads > target.max_threads)
        return fail(ErrorKind::kLimit, "{} threads; {} takes at most {}", k.threads, target.name,
                    target.max_threads);
    return {};
}

Result<Kernel> with_promises(const Kernel& k, const CompileOptions& options) {
    Kernel out = k;
    out.name += options.entry_suffix;
    for (const auto& [name, multiple] : options.multiples) {
        const auto it = std::ranges::find(out.dims, name, &Dim::name);
        if (it == out.dims.end() || multiple < 1)
            return fail(ErrorKind::kInvalidArgument,
                        "{}: no multiple of {} of '{}' can be promised; from 1 on, of a dim", k.name,
                        multiple, name);
        it->multiple_of = std::lcm(it->multiple_of, multiple);
    }
    return out;
}

// What the planner is given.
struct ToPlan {
    Kernel kernel;
    PlanOptions reference;
};

Result<ToPlan> to_plan(const Kernel& k, const CompileOptions& options) {
    ToPlan out;
    INGOT_ASSIGN(out.reference.target, target_named(options.target));
    INGOT_TRY(verify(k));
    INGOT_TRY(check_threads(k, *out.reference.target));
    INGOT_ASSIGN(const Kernel promised, with_promises(k, options));
    INGOT_ASSIGN(out.kernel, specialise(promised, options.dims));
    out.reference.path = options.path;
    return out;
}

// Dims that got a value are gone from the arguments; their ids stay valid, so they are dropped only where no
// expression names them any more.
void drop_bound_dims(Kernel& k, const std::map<std::string, int64_t>& dims) {
    std::vector<Dim> left;
    std::map<uint32_t, uint32_t> moved;
    for (uint32_t d = 0; d < k.dims.size(); ++d) {
        if (dims.contains(k.dims[d].name)) continue;
        moved[d] = uint32_t(left.size());
        left.push_back(k.dims[d]);
    }
    for (Expr& e : k.exprs)
        if (e.op == ExprOp::kDim && moved.contains(e.ref)) e.ref = moved[e.ref];
    k.dims = std::move(left);
}

}  // namespace

Result<CompiledKernel> compile(const Kernel& k, const CompileOptions& options) {
    INGOT_ASSIGN(const ToPlan in, to_plan(k, options));
    const Target* target = in.reference.target;
    CompiledKernel out;
    out.target = target->name;
    out.specialised = options.dims;
    INGOT_ASSIGN(PlannedKernel planned, plan_group(in.kernel, in.reference, options.planner));
    out.group_plan = std::move(planned.plan);
    if (planned.passed && !options.after_pass) {
        out.kernel = std::move(planned.passed->kernel);
        out.plan = std::move(planned.passed->plan);
    } else {
        INGOT_ASSIGN(out.kernel, run_passes(planned.kernel, planned.options, out.plan, options.after_pass));
    }
    drop_bound_dims(out.kernel, options.dims);
    INGOT_ASSIGN(out.parts, emit(out.kernel, out.plan, *target));
    INGOT_ASSIGN(out.language, check_language(*target, out.parts.needs));
    out.group_plan.batched_copies = out.parts.batched_copies;
    out.source = source_text(std::span(&out.parts, 1));
    const size_t entry = out.source.find("]] void ") + 8;
    out.entry = out.source.substr(entry, out.source.find('(', entry) - entry);
    out.threads = out.kernel.threads;
    out.threadgroup_bytes = out.plan.threadgroup_bytes;
    describe_arguments(out);
    return out;
}

Result<CompiledKernel> compile_text(std::string_view text, std::string_view file,
                                    const CompileOptions& options) {
    INGOT_ASSIGN(const Kernel k, parse(text, file));
    return compile(k, options);
}

Result<Shortlist> shortlist(const Kernel& k, const CompileOptions& options, size_t size) {
    INGOT_ASSIGN(const ToPlan in, to_plan(k, options));
    return shortlist(in.kernel, in.reference, options.planner, size);
}

Result<Launch> CompiledKernel::launch(const std::map<std::string, int64_t>& dims) const {
    for (const Dim& d : kernel.dims) {
        const auto it = dims.find(d.name);
        if (it == dims.end())
            return fail(ErrorKind::kInvalidArgument, "{}: dim {} has no value", entry, d.name);
        if (const auto fits = check_dim(d, it->second); !fits)
            return Failure(with_context(fits.error(), entry));
    }
    for (const auto& [name, value] : specialised) {
        const auto it = dims.find(name);
        if (it != dims.end() && it->second != value)
            return fail(ErrorKind::kInvalidArgument, "{}: dim {} is {}; it was compiled for {}", entry, name,
                        it->second, value);
    }
    std::array<int64_t, 3> groups = {1, 1, 1};
    for (size_t i = 0; i < kernel.grid.size(); ++i) {
        INGOT_ASSIGN(groups[i], evaluate_at_launch(kernel, kernel.grid_extents[i], dims));
        groups[i] = std::max<int64_t>(groups[i], 0);
    }
    if (kernel.swizzle.order == SwizzleOrder::kMlx) {
        const int64_t panel = kernel.swizzle.panel;
        groups[0] *= panel;
        groups[1] = (groups[1] + panel - 1) / panel;
    }
    for (const int64_t g : groups) {
        if (g > std::numeric_limits<int32_t>::max())
            return fail(ErrorKind::kLimit, "{}: a grid of {} groups along one axis", entry, g);
    }
    return Launch{{uint32_t(groups[0]), uint32_t(groups[1]), uint32_t(groups[2])}, {threads, 1, 1}};
}

Result<std::vector<std::byte>> CompiledKernel::pack(const std::map<std::string, int64_t>& dims,
                                                    const std::map<std::string, double>& scalars) const {
    std::vector<std::byte> bytes(fields_bytes);
    for (const PackedField& f : fields) {
        double value = 0;
        if (const auto d = dims.find(f.name); d != dims.end()) {
            value = double(d->second);
        } else if (const auto s = scalars.find(f.name); s != scalars.end()) {
            value = s->second;
        } else {
            return fail(ErrorKind::kInvalidArgument, "{}: {} has no value", entry, f.name);
        }
        const uint32_t bits = to_bits(f.type, value);
        std::memcpy(bytes.data() + f.offset_bytes, &bits, size_bytes(f.type));
    }
    return bytes;
}

std::string CompiledKernel::explain() const {
    std::string out = fmt::format("{} for {}: {}, {} threads, {} bytes of threadgroup memory\n", entry,
                                  target, to_string(language), threads, threadgroup_bytes);
    for (const std::string& note : plan.notes) out += "  " + note + "\n";
    for (const auto& [id, g] : plan.gemms) {
        const Partition& p = g.partition;
        if (g.path == Path::kScalar) continue;
        out += p.rectangle
                   ? fmt::format("  {}: {} x {} simdgroups, {} x {} tiles of {} x {} each\n",
                                 kernel.where(kernel[id].loc), p.gm, p.gn, p.rm, p.rn, p.atom_m, p.atom_n)
                   : fmt::format("  {}: {} tiles of {} x {} in turn over {} simdgroups\n",
                                 kernel.where(kernel[id].loc), p.rows * p.columns, p.atom_m, p.atom_n,
                                 p.simdgroups);
    }
    return out + tile::explain(group_plan);
}

}  // namespace ingot::tile

#include "tile/emit/emitter.h"

#include <set>

#include "tile/emit/names.h"
#include "tile/ir/print.h"
#include "tile/passes/rewrite.h"

namespace ingot::tile {

Emitter::Emitter(const Kernel& k, const Plan& plan, const Target& target)
    : k_(k), plan_(plan), target_(target), domain_(k_) {
    const auto rename = [](auto& list) {
        for (auto& x : list) x.name = msl_name(x.name);
    };
    rename(k_.buffers);
    rename(k_.vars);
    k_.name = msl_name(k_.name);
    unique_names();
    domain_.bound_grid();
}

// Allocations and carried values are declared outside of the block they belong to: two of one name must not
// meet.
void Emitter::unique_names() {
    std::set<std::string> taken;
    const auto claim = [&](std::string& name) {
        const std::string base = name;
        for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}_{}", base, n);
    };
    for (const BufferId b : k_.tensors()) claim(k_.buffers[b.index()].name);
    walk(k_, k_.body, [&](StmtId id) {
        const Stmt& s = k_[id];
        if (s.op == StmtOp::kAlloc) claim(k_.buffers[s.buffer.index()].name);
        for (const VarId v : s.vars)
            if (k_[v].kind == VarKind::kCarried) claim(k_.vars[v.index()].name);
    });
}

Failure Emitter::refuse(SourceLoc loc, std::string message) const {
    return Failure(Error{ErrorKind::kUnsupported, std::move(message), k_.where(loc)});
}

Result<SourceParts> Emitter::run() {
    for (const Buffer& b : k_.buffers) needs_.bfloat |= b.type == DType::kBF16;
    depth_ = 1;
    INGOT_TRY(block(k_.body));
    if (error_) return Failure(*error_);
    std::string statements = std::exchange(body_, {});
    // What goes before depends on what the statements used.
    depth_ = 0;
    line("// {} for {}.", k_.name, target_.name);
    arguments_struct();
    signature();
    depth_ = 1;
    prologue();
    body_ += statements + "}\n";
    return SourceParts{includes(), helpers(), std::move(body_), needs_, batched_};
}

std::vector<std::string> Emitter::includes() const {
    std::vector<std::string> out = {"metal_stdlib"};
    if (uses_matrices_) out.emplace_back("metal_simdgroup_matrix");
    if (needs_.logging) out.emplace_back("metal_logging");
    if (needs_.cooperative_tensors) {
        out.emplace_back("metal_tensor");
        out.emplace_back("MetalPerformancePrimitives/MetalPerformancePrimitives.h");
    }
    return out;
}

std::vector<std::string> Emitter::helpers() const {
    std::vector<std::string> out;
    if (uses_floor_div_) {
        out.emplace_back(R"(// Division that rounds down, also below 0.
inline int floor_div(int a, int b) { return a / b - int((a % b != 0) && ((a < 0) != (b < 0))); }
inline int floor_mod(int a, int b) { return a - floor_div(a, b) * b; }
)");
    }
    if (uses_erf_) {
        out.emplace_back(R"(// erf(x), to 2e-7: a series near 0, a rational fit times exp(-x^2) elsewhere.
inline float error_function(float x) {
    const float a = fabs(x), t = 1.0f / (1.0f + 0.3275911f * a);
    const float p =
        t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
    const float s = x * x;
    const float near = 1.12837917f * x *
                       (1.0f + s * (-0.333333333f + s * (0.1f + s * (-0.0238095238f + s * 0.00462962963f))));
    return a < 0.5f ? near : copysign(1.0f - p * exp(-a * a), x);
}
)");
    }
    return out;
}

void Emitter::arguments_struct() {
    if (k_.dims.empty() && k_.scalars.empty()) return;
    open("struct {}_args", k_.name);
    for (const Dim& d : k_.dims) line("int {};", d.name);
    for (const Scalar& s : k_.scalars) line("{} {};", facts(s.type).msl, s.name);
    close(";");
    line("");
}

std::string Emitter::address_space(BufferId b, bool writes) const {
    const Buffer& x = k_[b];
    if (x.scope == Scope::kGlobal) return writes || x.role != Role::kIn ? "device" : "const device";
    return x.scope == Scope::kLocal ? "thread" : writes ? "threadgroup" : "const threadgroup";
}

void Emitter::signature() {
    line("[[kernel, max_total_threads_per_threadgroup({})]] void {}(", k_.threads, k_.name);
    int slot = 0;
    for (const BufferId b : k_.tensors()) {
        line("    {} {}* __restrict {} [[buffer({})]],", address_space(b, false), facts(k_[b].type).msl,
             k_[b].name, slot++);
    }
    if (!k_.dims.empty() || !k_.scalars.empty()) {
        line("    constant {0}_args& args [[buffer({1})]],", k_.name, slot);
    }
    if (!k_.grid.empty()) line("    uint3 group [[threadgroup_position_in_grid]],");
    if (uses_simdgroup_) {
        line("    ushort simdgroup [[simdgroup_index_in_threadgroup]],");
        line("    ushort lane [[thread_index_in_simdgroup]],");
    }
    line("    ushort thread_index [[thread_index_in_threadgroup]]) {{");
}

// The logical position of this group; the physical one isn't used after it.
void Emitter::grid_indices() {
    const Swizzle& s = k_.swizzle;
    constexpr std::string_view kAxes[] = {"x", "y", "z"};
    if (s.order == SwizzleOrder::kNone) {
        for (size_t i = 0; i < k_.grid.size(); ++i)
            line("const int {} = int(group.{});", k_[k_.grid[i]].name, kAxes[i]);
        return;
    }
    const std::string x = k_[k_.grid[0]].name, y = k_[k_.grid[1]].name;
    const std::string width = expr(k_.grid_extents[0], 10), height = expr(k_.grid_extents[1], 10);
    if (s.order == SwizzleOrder::kMlx) {
        uint32_t shift = 0;
        while ((1u << shift) < s.panel) ++shift;
        line("// Groups go in columns of {} tiles; those past the last row of tiles have nothing to do.",
             s.panel);
        line("const int {} = int(group.x >> {});", x, shift);
        line("const int {} = int((group.y << {}) + (group.x & {}));", y, shift, s.panel - 1);
        line("if ({} >= {}) return;", y, height);
        return;
    }
    const bool rows = s.order == SwizzleOrder::kRow;
    const std::string &along = rows ? width : height, &across = rows ? height : width;
    line("// Groups go in panels of {} {} of tiles.", s.panel, rows ? "rows" : "columns");
    line("const int {1}_{0} = int(group.y) * {2} + int(group.x);", "order", k_.name, width);
    line("const int {0}_first = {0}_order / ({1} * {2}) * {1}, {0}_in_panel = {0}_order % ({1} * {2});",
         k_.name, s.panel, along);
    line("const int {0}_breadth = min({1}, {2} - {0}_first);", k_.name, s.panel, across);
    line("const int {} = {}_first + {}_in_panel % {}_breadth;", rows ? y : x, k_.name, k_.name, k_.name);
    line("const int {} = {}_in_panel / {}_breadth;", rows ? x : y, k_.name, k_.name);
}

void Emitter::prologue() {
    grid_indices();
    if (uses_lane_place_) {
        line(
            "// This lane's two elements of an 8x8 matrix: row lane_row, columns lane_column and lane_column "
            "+ 1.");
        line(
            "const int lane_row = (lane >> 2 & 4) + (lane >> 1 & 3), lane_column = (lane >> 1 & 4) + (lane & "
            "1) * 2;");
    }
    // Threadgroup memory is declared where all of the kernel sees it.
    const bool in_turns = !plan_.shared_offset.empty();
    if (in_turns) line("alignas(16) threadgroup uchar shared_memory[{}];", plan_.threadgroup_bytes);
    walk(k_, k_.body, [&](StmtId id) {
        const Stmt& s = k_[id];
        if (s.op != StmtOp::kAlloc || k_[s.buffer].scope != Scope::kShared) return;
        const std::string_view type = facts(k_[s.buffer].type).msl;
        const std::string& name = k_[s.buffer].name;
        if (in_turns) {
            line("threadgroup {0}* const {1} = (threadgroup {0}*)(&shared_memory[{2}]);", type, name,
                 plan_.shared_offset.at(s.buffer));
        } else {
            line("alignas(16) threadgroup {} {}[{}];", type, name,
                 stride_of(s.buffer, 0) * extent(k_, s.buffer, 0));
        }
    });
}

void Emitter::comment(StmtId id) {
    line("// {}", print_head(k_, id));
}

Result<void> Emitter::block(const Block& b) {
    for (const StmtId id : b) INGOT_TRY(stmt(id));
    return {};
}

Result<void> Emitter::stmt(StmtId id) {
    const Stmt& s = k_[id];
    switch (s.op) {
        case StmtOp::kAlloc:
            allocate(s);
            return {};
        case StmtOp::kCopy:
            comment(id);
            copy(id);
            return {};
        case StmtOp::kFill:
            comment(id);
            fill(id);
            return {};
        case StmtOp::kGemm: {
            comment(id);
            switch (plan_.gemms.at(id).path) {
                case Path::kSimdgroup:
                    simdgroup_gemm(id);
                    return {};
                case Path::kScalar:
                    scalar_gemm(id);
                    return {};
                default:
                    cooperative_gemm(id);
                    return {};
            }
        }
        case StmtOp::kReduce:
            comment(id);
            reduce(id);
            return {};
        case StmtOp::kCumSum:
            comment(id);
            cumsum(s);
            return {};
        case StmtOp::kStore:
            store(s);
            return {};
        case StmtOp::kAtomicAdd:
            return atomic_add(s);
        case StmtOp::kFor:
            return loop(s);
        case StmtOp::kParallel:
            comment(id);
            return parallel(s);
        case StmtOp::kIf:
            return branch(s);
        case StmtOp::kLet:
            line("const {} {} = {};", facts(k_[s.vars[0]].type).msl, k_[s.vars[0]].name, expr(s.exprs[0]));
            return {};
        case StmtOp::kYield:
            for (size_t i = 0; i < s.exprs.size(); ++i)  // all are computed before any is replaced
                line("const {0} next_{1} = {2};", facts(k_[s.exprs[i]].type).msl,
                     k_[loops_.back()->vars[1 + i]].name, expr(s.exprs[i]));
            for (size_t i = 0; i < s.exprs.size(); ++i) {
                const std::string& name = k_[loops_.back()->vars[1 + i]].name;
                line("{0} = next_{0};", name);
            }
            return {};
        case StmtOp::kBarrier:
            line("threadgroup_barrier(mem_flags::mem_threadgroup{});", [&] {
                for (const BufferId b : k_.tensors())
                    if (k_[b].role == Role::kInOut) return " | mem_flags::mem_device";
                return "";
            }());
            return {};
        case StmtOp::kPrint:
            print(s);
            return {};
        case StmtOp::kAssert:
            line("// {}", print_head(k_, id));
            return {};
    }
    return {};
}

void Emitter::allocate(const Stmt& s) {
    const Buffer& b = k_[s.buffer];
    if (b.scope == Scope::kLocal) {
        int64_t count = 1;
        for (size_t d = 0; d < b.shape.size(); ++d) count *= extent(k_, s.buffer, d);
        line("{} {}[{}];", facts(b.type).msl, b.name, count);
    } else if (b.scope == Scope::kFragment) {
        declare_matrices(s.buffer);
    }
}

Result<void> Emitter::loop(const Stmt& s) {
    const std::string& index = k_[s.vars[0]].name;
    const size_t carried = s.exprs.size() - 1;
    for (size_t i = 0; i < carried; ++i) {
        const Var& v = k_[s.vars[1 + i]];
        line("{} {} = {};", facts(v.type).msl, v.name, expr(s.exprs[1 + i]));
    }
    if (s.loop == LoopKind::kUnroll) unrolled();
    open("for (int {0} = 0; {0} < {1}; ++{0})", index, expr(s.exprs[0], 7));
    const Domain outside = domain_;
    domain_.bound(s.vars[0], s.exprs[0]);
    loops_.push_back(&s);
    INGOT_TRY(block(s.body));
    loops_.pop_back();
    domain_ = outside;
    close();
    for (size_t i = 0; i < carried; ++i) {
        const Var& v = k_[s.vars[1 + carried + i]];
        line("const {} {} = {};", facts(v.type).msl, v.name, k_[s.vars[1 + i]].name);
    }
    return {};
}

Result<void> Emitter::branch(const Stmt& s) {
    open("if ({})", expr(s.exprs[0]));
    const Domain outside = domain_;
    domain_.assume(s.exprs[0]);
    INGOT_TRY(block(s.body));
    domain_ = outside;
    if (!s.otherwise.empty()) {
        --depth_;
        line("}} else {{");
        ++depth_;
        INGOT_TRY(block(s.otherwise));
    }
    close();
    return {};
}

void Emitter::store(const Stmt& s) {
    const Region& r = s.regions[0];
    const std::string value = expr(s.exprs[0]);
    if (const auto it = element_.find(r.buffer); it != element_.end()) {
        line("{} = {};", it->second, value);
        return;
    }
    write(r, {}, {}, value);
}

Result<void> Emitter::atomic_add(const Stmt& s) {
    const Region& r = s.regions[0];
    const Buffer& b = k_[r.buffer];
    const bool shared = b.scope == Scope::kShared;
    if (in_matrices(r.buffer))
        return refuse(s.loc, "an atomic add to a fragment; tensors and shared memory are accepted");
    if (shared && b.type == DType::kF32)
        return refuse(s.loc,
                      "an atomic add to f32 in shared memory, which Metal hasn't; i32 and u32 there, or f32 "
                      "in a tensor, are accepted");
    const std::vector<Index> at = indices(r, {}, {});
    std::vector<std::string> texts;
    for (const Index& i : at) texts.push_back(i.text);
    const std::string inside = guard(r.buffer, at);
    line("{}atomic_fetch_add_explicit((volatile {} atomic_{}*)(&{}), {}, memory_order_relaxed);",
         inside.empty() ? "" : fmt::format("if ({}) ", inside), shared ? "threadgroup" : "device",
         facts(b.type).msl, place(r.buffer, texts), expr(s.exprs[0]));
    return {};
}

void Emitter::print(const Stmt& s) {
    needs_.logging = true;
    std::string format, values;
    for (const char c : s.text)
        format += c == '\n' ? "\\n" : c == '"' ? "\\\"" : c == '%' ? "%%" : std::string(1, c);
    for (const ExprId e : s.exprs) {
        format += is_float(k_[e].type) ? " %f" : " %d";
        values += fmt::format(", {}({})", is_float(k_[e].type) ? "float" : "int", expr(e));
    }
    line("os_log_default.log_info(\"{}\"{});", format, values);
}

Result<SourceParts> emit(const Kernel& k, const Plan& plan, const Target& target) {
    return Emitter(k, plan, target).run();
}

}  // namespace ingot::tile

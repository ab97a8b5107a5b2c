#include "tile/emit/emitter.h"
#include "tile/ir/print.h"

namespace ingot::tile {
namespace {

constexpr uint32_t kLanes = 32;

int64_t product(const std::vector<int64_t>& sizes) {
    int64_t n = 1;
    for (const int64_t s : sizes) n *= s;
    return n;
}

}  // namespace

std::vector<int64_t> Emitter::spans(const Region& r) const {
    std::vector<int64_t> out;
    for (const size_t d : r.kept()) out.push_back(constant_int(k_, r.sizes[d]).value_or(0));
    return out;
}

std::vector<Emitter::Index> Emitter::indices(const Region& r, const std::vector<std::string>& at,
                                             const std::vector<int64_t>& span) {
    std::vector<Index> out;
    size_t kept = 0;
    for (size_t d = 0; d < r.offsets.size(); ++d) {
        if (!r.keeps(d)) {
            out.push_back({expr(r.offsets[d]), r.offsets[d], 1});
            continue;
        }
        const bool from_zero = constant_int(k_, r.offsets[d]) == 0;
        out.push_back(
            {from_zero ? at[kept] : expr(r.offsets[d], 8) + " + " + at[kept], r.offsets[d], span[kept]});
        ++kept;
    }
    return out;
}

std::string Emitter::read(const Region& r, const std::vector<std::string>& at,
                          const std::vector<int64_t>& span, const std::string& fill) {
    const std::vector<Index> index = indices(r, at, span);
    std::vector<std::string> texts;
    for (const Index& i : index) texts.push_back(i.text);
    const std::string inside = guard(r.buffer, index), value = place(r.buffer, texts);
    return inside.empty() ? value : fmt::format("({} ? {} : {})", inside, value, fill);
}

void Emitter::write(const Region& r, const std::vector<std::string>& at, const std::vector<int64_t>& span,
                    const std::string& value) {
    const std::vector<Index> index = indices(r, at, span);
    std::vector<std::string> texts;
    for (const Index& i : index) texts.push_back(i.text);
    const std::string inside = guard(r.buffer, index);
    line("{}{} = {};", inside.empty() ? "" : fmt::format("if ({}) ", inside), place(r.buffer, texts), value);
}

// What an element's indices are called: e alone, row and column, or e0, e1, ...
std::vector<std::string> Emitter::index_names(const std::vector<int64_t>& sizes) const {
    if (sizes.size() <= 1) return {"e"};
    if (sizes.size() == 2) return {"row", "column"};
    std::vector<std::string> names;
    for (size_t d = 0; d < sizes.size(); ++d) names.push_back(fmt::format("e{}", d));
    return names;
}

// Their values, from the element's number e.
void Emitter::index_lines(const std::vector<int64_t>& sizes) {
    if (sizes.size() <= 1) return;
    const std::vector<std::string> names = index_names(sizes);
    int64_t inner = product(sizes);
    for (size_t d = 0; d < sizes.size(); ++d) {
        inner /= sizes[d];
        std::string value = inner == 1 ? "e" : fmt::format("e / {}", inner);
        if (d > 0)
            value =
                inner == 1 ? fmt::format("e % {}", sizes[d]) : fmt::format("e / {} % {}", inner, sizes[d]);
        if (sizes[d] == 1) value = "0";
        line("const int {} = {};", names[d], value);
    }
}

std::vector<std::string> Emitter::spread(const std::vector<int64_t>& sizes, int64_t width) {
    const int64_t total = product(sizes), step = int64_t(k_.threads) * width;
    const std::string first = width == 1 ? "thread_index" : fmt::format("thread_index * {}", width);
    if (total < step) {
        open("if (thread_index < {})", total / width);
        line("const int e = {};", first);
    } else if (total == step) {
        open("");
        line("const int e = {};", first);
    } else {
        open("for (int e = {}; e < {}; e += {})", first, total, step);
    }
    index_lines(sizes);
    return index_names(sizes);
}

void Emitter::fill(StmtId id) {
    const Stmt& s = k_[id];
    if (in_matrices(s.regions[0].buffer)) {
        fill_matrices(s);
        return;
    }
    const std::vector<int64_t> sizes = spans(s.regions[0]);
    if (product(sizes) == 0) return;
    const std::vector<std::string> at = spread(sizes, 1);
    write(s.regions[0], at, sizes, expr(s.exprs[0]));
    close();
}

std::string Emitter::combine(Reduction r, const std::string& a, const std::string& b) const {
    switch (r) {
        case Reduction::kSum:
            return fmt::format("{} + {}", a, b);
        case Reduction::kProd:
            return fmt::format("{} * {}", a, b);
        case Reduction::kMin:
            return fmt::format("min({}, {})", a, b);
        case Reduction::kMax:
            return fmt::format("max({}, {})", a, b);
        case Reduction::kAbsMax:
            return fmt::format("max({}, abs({}))", a, b);
    }
    return {};
}

std::string Emitter::start_of(Reduction r, DType type) const {
    const bool floats = is_float(type);
    switch (r) {
        case Reduction::kSum:
        case Reduction::kAbsMax:
            return floats ? "0.0f" : "0";
        case Reduction::kProd:
            return floats ? "1.0f" : "1";
        case Reduction::kMax:
            return floats ? "-INFINITY" : facts(type).cls == TypeClass::kUnsigned ? "0" : "(-2147483647 - 1)";
        case Reduction::kMin:
            return floats ? "INFINITY" : "2147483647";
    }
    return {};
}

std::string Emitter::across_lanes(Reduction r, const std::string& value) const {
    const std::string_view names[] = {"simd_sum", "simd_max", "simd_min", "simd_max", "simd_product"};
    return fmt::format("{}({})", names[size_t(r)], value);
}

void Emitter::reduce(StmtId id) {
    const Stmt& s = k_[id];
    const Region &dst = s.regions[0], &src = s.regions[1];
    if (in_matrices(src.buffer)) {
        reduce_matrices(id);
        return;
    }
    std::vector<int64_t> outer = spans(src);
    const bool last = s.axis + 1 == outer.size();
    const int64_t count = outer[s.axis];
    if (last && k_.threads % kLanes == 0 && count > 4) {
        reduce_rows(s);
        return;
    }
    outer.erase(outer.begin() + s.axis);
    const DType to = k_[dst.buffer].type;
    const std::string type(is_float(to) ? "float" : "int");
    const std::vector<std::string> at = outer.empty() ? spread({1}, 1) : spread(outer, 1);
    std::vector<std::string> from = outer.empty() ? std::vector<std::string>{} : at;
    from.insert(from.begin() + s.axis, "kk");
    const std::vector<std::string> to_at = dst.rank() == 0 ? std::vector<std::string>{} : at;
    line(
        "{} total = {};", type,
        s.clear ? start_of(s.reduction, to) : fmt::format("{}({})", type, read(dst, to_at, spans(dst), "0")));
    open("for (int kk = 0; kk < {}; ++kk)", count);
    line("total = {};",
         combine(s.reduction, "total", fmt::format("{}({})", type, read(src, from, spans(src), "0"))));
    close();
    write(dst, to_at, spans(dst), fmt::format("{}(total)", facts(to).msl));
    close();
}

// A row for each simdgroup in turn: its lanes take the columns, then meet by shuffles.
void Emitter::reduce_rows(const Stmt& s) {
    uses_simdgroup_ = true;
    const Region &dst = s.regions[0], &src = s.regions[1];
    std::vector<int64_t> outer = spans(src);
    const int64_t count = outer.back();
    outer.pop_back();
    const int64_t rows = product(outer);
    const DType to = k_[dst.buffer].type;
    const std::string type(is_float(to) ? "float" : "int");
    open("for (int row = simdgroup; row < {}; row += {})", rows, k_.threads / kLanes);
    std::vector<std::string> at;
    int64_t inner = rows;
    for (const int64_t n : outer) {
        inner /= n;
        at.push_back(outer.size() == 1 ? "row"
                     : inner == 1      ? fmt::format("row % {}", n)
                                       : fmt::format("row / {} % {}", inner, n));
        if (n == 1) at.back() = "0";
    }
    line("{} total = {};", type, start_of(s.reduction, to));
    open("for (int column = lane; column < {}; column += {})", count, kLanes);
    std::vector<std::string> from = at;
    from.push_back("column");
    line("total = {};",
         combine(s.reduction, "total", fmt::format("{}({})", type, read(src, from, spans(src), "0"))));
    close();
    line("total = {};", across_lanes(s.reduction, "total"));
    std::vector<std::string> to_at = dst.rank() == 0 ? std::vector<std::string>{} : at;
    if (dst.rank() == 1 && to_at.empty()) to_at = {"0"};
    const std::string old = s.clear ? "" : fmt::format("{}({})", type, read(dst, to_at, spans(dst), "0"));
    open("if (lane == 0)");
    write(dst, to_at, spans(dst),
          fmt::format("{}({})", facts(to).msl, s.clear ? "total" : combine(s.reduction, old, "total")));
    close();
    close();
}

// A thread for each line along the axis.
void Emitter::cumsum(const Stmt& s) {
    const Region &dst = s.regions[0], &src = s.regions[1];
    std::vector<int64_t> outer = spans(src);
    const int64_t count = outer[s.axis];
    outer.erase(outer.begin() + s.axis);
    const DType to = k_[dst.buffer].type;
    const std::string type(is_float(to) ? "float" : "int");
    std::vector<std::string> at = spread(outer.empty() ? std::vector<int64_t>{1} : outer, 1);
    if (outer.empty()) at.clear();
    at.insert(at.begin() + s.axis, "kk");
    line("{} total = 0;", type);
    open("for (int kk = 0; kk < {}; ++kk)", count);
    line("total += {}({});", type, read(src, at, spans(src), "0"));
    write(dst, at, spans(dst), fmt::format("{}(total)", facts(to).msl));
    close();
    close();
}

Result<void> Emitter::parallel(const Stmt& s) {
    // Elements of a fragment are at hand only where its matrices lie.
    BufferId shape;
    const auto note = [&](BufferId b) {
        if (in_matrices(b)) shape = b;
    };
    const std::function<void(ExprId)> loads = [&](ExprId e) {
        if (k_[e].op == ExprOp::kLoad) note(BufferId(k_[e].ref));
        for (const ExprId a : k_[e].args) loads(a);
    };
    const std::function<void(const Block&)> search = [&](const Block& b) {
        for (const StmtId id : b) {
            for (const Region& r : k_[id].regions) note(r.buffer);
            for (const ExprId e : k_[id].exprs) loads(e);
            search(k_[id].body);
            search(k_[id].otherwise);
        }
    };
    search(s.body);
    if (shape.valid()) return parallel_matrices(s, shape);
    std::vector<int64_t> sizes;
    bool constant = true;
    for (const ExprId e : s.exprs) {
        sizes.push_back(constant_int(k_, e).value_or(0));
        constant &= constant_int(k_, e).has_value();
    }
    if (constant && product(sizes) == 0) return {};
    const Domain outside = domain_;
    if (constant) {
        const std::vector<std::string> at = spread(sizes, 1);
        for (size_t i = 0; i < s.vars.size(); ++i) line("const int {} = {};", k_[s.vars[i]].name, at[i]);
    } else {
        std::string total;
        for (const ExprId e : s.exprs) total += (total.empty() ? "" : " * ") + expr(e, 10);
        open("for (int e = thread_index; e < {}; e += {})", total, k_.threads);
        std::string rest = "e";
        for (size_t i = s.vars.size(); i-- > 0;) {
            line("const int {} = {};", k_[s.vars[i]].name,
                 i == 0 ? rest : fmt::format("{} % {}", rest, expr(s.exprs[i], 10)));
            rest = fmt::format("{} / {}", rest, expr(s.exprs[i], 10));
        }
    }
    for (size_t i = 0; i < s.vars.size(); ++i) domain_.bound(s.vars[i], s.exprs[i]);
    INGOT_TRY(block(s.body));
    domain_ = outside;
    close();
    return {};
}

// One element of C a thread at a time.
void Emitter::scalar_gemm(StmtId id) {
    const Stmt& s = k_[id];
    const Region &c = s.regions[0], &a = s.regions[1], &b = s.regions[2];
    const bool floats = is_float(k_[c.buffer].type);
    const std::string type(floats ? "float" : "int");
    const std::vector<int64_t> sizes = spans(c);
    if (product(sizes) == 0) return;
    const std::vector<std::string> at = spread(sizes, 1);
    line("{} total = {};", type,
         s.clear ? "0" : fmt::format("{}({})", type, read(c, at, sizes, zero(k_[c.buffer].type))));
    const ExprId depth = a.sizes[a.kept()[s.transpose_a ? 0 : 1]];
    open("for (int kk = 0; kk < {}; ++kk)", expr(depth, 7));
    const auto operand = [&](const Region& r, const std::string& i, const std::string& j, bool transpose) {
        std::vector<int64_t> span = spans(r);
        const std::vector<std::string> index =
            transpose ? std::vector<std::string>{j, i} : std::vector<std::string>{i, j};
        return fmt::format("{}({})", type, read(r, index, span, zero(k_[r.buffer].type)));
    };
    line("total += {} * {};", operand(a, at[0], "kk", s.transpose_a), operand(b, "kk", at[1], s.transpose_b));
    close();
    write(c, at, sizes, fmt::format("{}(total)", facts(k_[c.buffer].type).msl));
    close();
}

}  // namespace ingot::tile

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

std::vector<std::string> Emitter::spread(const std::vector<int64_t>& sizes, int64_t width) {
    const int64_t total = product(sizes), step = int64_t(k_.threads) * width;
    const std::string first = width == 1 ? "thread_index" : fmt::format("thread_index * {}", width);
    const bool flat = sizes.size() <= 1;
    if (total < step) {
        open("if (thread_index < {})", total / width);
        line("const int e = {};", first);
    } else if (total == step) {
        open("");
        line("const int e = {};", first);
    } else {
        open("for (int e = {}; e < {}; e += {})", first, total, step);
    }
    if (flat) return {"e"};
    std::vector<std::string> names;
    int64_t inner = total;
    for (size_t d = 0; d < sizes.size(); ++d) {
        inner /= sizes[d];
        names.push_back(sizes.size() == 2 ? (d == 0 ? "row" : "column") : fmt::format("e{}", d));
        std::string value = inner == 1 ? "e" : fmt::format("e / {}", inner);
        if (d > 0)
            value =
                inner == 1 ? fmt::format("e % {}", sizes[d]) : fmt::format("e / {} % {}", inner, sizes[d]);
        if (sizes[d] == 1) value = "0";
        line("const int {} = {};", names.back(), value);
    }
    return names;
}

// Elements that one access may take: 4 where addresses are multiples of 4 and edges don't cut through.
int64_t Emitter::vector_width(const Region& dst, const Region& src) {
    constexpr int64_t kWidth = 4;
    for (const Region* r : {&dst, &src}) {
        const Buffer& b = k_[r->buffer];
        const auto kept = r->kept();
        if (kept.empty() || kept.back() + 1 != b.shape.size() || !contiguous_last(r->buffer)) return 1;
        const size_t last = kept.back();
        const auto span = constant_int(k_, r->sizes[last]);
        if (!span || *span % kWidth != 0 || domain_.divisor(r->offsets[last]) % kWidth != 0) return 1;
        if (b.offset.valid() && domain_.divisor(b.offset) % kWidth != 0) return 1;
        const bool whole = domain_.proves_within(r->offsets[last], *span, b.shape[last]);
        if (!whole && domain_.divisor(b.shape[last]) % kWidth != 0) return 1;
        for (size_t d = 0; d < last; ++d) {
            if (b.scope != Scope::kGlobal) {
                if (stride_of(r->buffer, d) % kWidth != 0) return 1;
            } else if (!b.strides.empty()) {
                if (domain_.divisor(b.strides[d]) % kWidth != 0) return 1;
            } else if (d + 1 == last && domain_.divisor(b.shape[last]) % kWidth != 0) {
                return 1;
            }
        }
    }
    return kWidth;
}

void Emitter::copy_vectors(const Region& dst, const Region& src, int64_t width, const std::string& fill) {
    const DType from = k_[src.buffer].type, to = k_[dst.buffer].type;
    const std::vector<int64_t> sizes = spans(dst);
    const std::vector<std::string> at = spread(sizes, width);
    const auto vector_at = [&](const Region& r, bool writes, std::string& inside) {
        const std::vector<Index> index = indices(r, at, spans(r));
        std::vector<std::string> texts;
        for (const Index& i : index) texts.push_back(i.text);
        inside = guard(r.buffer, index);
        return fmt::format("*({} {}{}*)(&{})", address_space(r.buffer, writes), facts(k_[r.buffer].type).msl,
                           width, place(r.buffer, texts));
    };
    std::string readable, writable;
    std::string value = vector_at(src, false, readable);
    if (!readable.empty())
        value = fmt::format("{} ? {} : {}{}({})", readable, value, facts(from).msl, width, fill);
    if (from != to) value = fmt::format("{}{}({})", facts(to).msl, width, value);
    const std::string target = vector_at(dst, true, writable);
    line("{}{} = {};", writable.empty() ? "" : fmt::format("if ({}) ", writable), target, value);
    close();
}

void Emitter::copy(StmtId id) {
    const Stmt& s = k_[id];
    const Region &dst = s.regions[0], &src = s.regions[1];
    if (in_matrices(dst.buffer) || in_matrices(src.buffer)) {
        copy_matrices(s);
        return;
    }
    const DType from = k_[src.buffer].type, to = k_[dst.buffer].type;
    const std::string fill =
        s.exprs.empty() ? zero(from) : converted(expr(s.exprs[0]), k_[s.exprs[0]].type, from);
    // Within one buffer the copy is a snapshot; the parts must not meet.
    const std::vector<int64_t> sizes = spans(dst);
    if (product(sizes) == 0) return;
    const int64_t width = vector_width(dst, src);
    if (width > 1) {
        copy_vectors(dst, src, width, fill);
        return;
    }
    const std::vector<std::string> at = spread(sizes, 1);
    write(dst, at, sizes, converted(read(src, at, spans(src), fill), from, to));
    close();
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

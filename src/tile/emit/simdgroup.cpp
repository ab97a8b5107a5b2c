// Fragments in 8x8 simdgroup matrices, and products on them. An element's place in its matrix is this lane's
// two columns of one row (lane_row, lane_column): the arrangement that all Apple GPUs with simdgroup matrices
// share.
#include "tile/emit/emitter.h"

namespace ingot::tile {
namespace {

std::string simd_row(const Partition& p) {
    return p.gm == 1 ? "0" : p.gn == 1 ? "simdgroup" : fmt::format("simdgroup / {}", p.gn);
}
std::string simd_column(const Partition& p) {
    return p.gn == 1 ? "0" : p.gm == 1 ? "simdgroup" : fmt::format("simdgroup % {}", p.gn);
}

// First row (or column) of matrix `index` of a simdgroup that is the `at`-th along this axis and has `each`.
std::string origin(const std::string& at, uint32_t each, const std::string& index) {
    if (at == "0") return each == 1 ? "0" : fmt::format("{} * 8", index);
    const std::string group = at.find(' ') == std::string::npos ? at : "(" + at + ")";
    if (each == 1) return fmt::format("{} * 8", group);
    return fmt::format("({} * {} + {}) * 8", at.find('%') == std::string::npos ? at : group, each, index);
}

}  // namespace

std::string Emitter::matrix_type(DType type) const {
    return fmt::format("simdgroup_{}8x8", facts(type).msl);
}

void Emitter::declare_matrices(BufferId b) {
    uses_matrices_ = uses_simdgroup_ = true;
    line("simdgroup_float8x8 {}[{}];  // {} x {} in all", k_[b].name, plan_.fragments.at(b).atoms_each(),
         extent(k_, b, 0), extent(k_, b, 1));
}

void Emitter::open_matrices(const Partition& p, BufferId, bool elements) {
    uses_simdgroup_ = uses_matrices_ = true;
    const std::string lane_row = elements ? " + lane_row" : "",
                      lane_column = elements ? " + lane_column" : "";
    uses_lane_place_ |= elements;
    if (p.rectangle) {
        unrolled();
        open("for (ushort am = 0; am < {}; ++am)", p.rm);
        unrolled();
        open("for (ushort an = 0; an < {}; ++an)", p.rn);
        line("const ushort atom = am * {} + an;", p.rn);
        line("const int row = {}{}, column = {}{};", origin(simd_row(p), p.rm, "am"), lane_row,
             origin(simd_column(p), p.rn, "an"), lane_column);
    } else {
        unrolled();
        open("for (ushort atom = 0; atom < {}; ++atom)", p.atoms_each());
        line("const int place = atom * {} + simdgroup;", p.simdgroups);
        open("if (place < {})", p.rows * p.columns);
        line("const int row = place / {0} * 8{1}, column = place % {0} * 8{2};", p.columns, lane_row,
             lane_column);
    }
    if (!elements) return;
    unrolled();
    open("for (ushort ah = 0; ah < 2; ++ah)");
}

void Emitter::close_matrices(bool elements) {
    if (elements) close();
    close();
    close();
}

void Emitter::fill_matrices(const Stmt& s) {
    uses_matrices_ = uses_simdgroup_ = true;
    const BufferId b = s.regions[0].buffer;
    unrolled();
    line(
        "for (ushort atom = 0; atom < {}; ++atom) {}[atom] = make_filled_simdgroup_matrix<float, 8, "
        "8>(float({}));",
        plan_.fragments.at(b).atoms_each(), k_[b].name, expr(s.exprs[0]));
}

void Emitter::copy_matrices(const Stmt& s) {
    const Region &dst = s.regions[0], &src = s.regions[1];
    if (in_matrices(dst.buffer) && in_matrices(src.buffer)) {
        unrolled();
        line("for (ushort atom = 0; atom < {0}; ++atom) {1}[atom] = {2}[atom];",
             plan_.fragments.at(dst.buffer).atoms_each(), k_[dst.buffer].name, k_[src.buffer].name);
        return;
    }
    if (in_matrices(src.buffer)) {
        store_matrices(dst, src.buffer);
        return;
    }
    const DType from = k_[src.buffer].type;
    const Buffer& b = k_[src.buffer];
    if (from == DType::kF32 && b.scope == Scope::kShared && contiguous_last(src.buffer) &&
        src.kept().back() + 1 == b.shape.size()) {
        open_matrices(plan_.fragments.at(dst.buffer), dst.buffer, false);
        line("simdgroup_load({}[atom], {});", k_[dst.buffer].name,
             operand_address(src, "row", "column", false));
        close_matrices(false);
        return;
    }
    const std::string fill =
        s.exprs.empty() ? zero(from) : converted(expr(s.exprs[0]), k_[s.exprs[0]].type, from);
    open_matrices(plan_.fragments.at(dst.buffer), dst.buffer, true);
    line("{}[atom].thread_elements()[ah] = float({});", k_[dst.buffer].name,
         read(src, {"row", "column + ah"}, spans(src), fill));
    close_matrices(true);
}

// Whole matrices where the tile is inside of the tensor and types agree, else element by element with its
// guards.
void Emitter::store_matrices(const Region& dst, BufferId src) {
    const Partition& p = plan_.fragments.at(src);
    const Buffer& b = k_[dst.buffer];
    const auto kept = dst.kept();
    const bool bulk =
        b.type == DType::kF32 && kept.back() + 1 == b.shape.size() && contiguous_last(dst.buffer);
    std::string whole;
    for (const size_t d : kept) {
        const auto size = constant_int(k_, dst.sizes[d]);
        const auto require = [&](const std::string& c) { whole += (whole.empty() ? "" : " && ") + c; };
        if (!domain_.proves_non_negative(dst.offsets[d]))
            require(fmt::format("{} >= 0", expr(dst.offsets[d], 8)));
        if (!domain_.proves_within(dst.offsets[d], *size, b.shape[d]))
            require(fmt::format("{} + {} <= {}", expr(dst.offsets[d], 8), *size, expr(b.shape[d], 7)));
    }
    bool fixed_inside = true;  // plain indices of the region
    for (size_t d = 0; d < dst.offsets.size(); ++d)
        if (!dst.keeps(d))
            fixed_inside &= domain_.proves_non_negative(dst.offsets[d]) &&
                            domain_.proves_within(dst.offsets[d], 1, b.shape[d]);
    if (bulk && fixed_inside) {
        if (!whole.empty()) open("if ({})", whole);
        open_matrices(p, src, false);
        const std::vector<Index> at = indices(dst, {"row", "column"}, spans(dst));
        std::vector<std::string> texts;
        for (const Index& i : at) texts.push_back(i.text);
        line("simdgroup_store({}[atom], &{}, {});", k_[src].name, place(dst.buffer, texts),
             stride_text(dst.buffer, kept[0]));
        close_matrices(false);
        if (whole.empty()) return;
        --depth_;
        line("}} else {{");
        ++depth_;
    }
    open_matrices(p, src, true);
    write(dst, {"row", "column + ah"}, spans(dst),
          converted(fmt::format("{}[atom].thread_elements()[ah]", k_[src].name), DType::kF32, b.type));
    close_matrices(true);
    if (bulk && fixed_inside) close();
}

Result<void> Emitter::parallel_matrices(const Stmt& s, BufferId shape) {
    open_matrices(plan_.fragments.at(shape), shape, true);
    line("const int {} = row, {} = column + ah;", k_[s.vars[0]].name, k_[s.vars[1]].name);
    for (const auto& [b, p] : plan_.fragments)
        element_[b] = fmt::format("{}[atom].thread_elements()[ah]", k_[b].name);
    const Domain outside = domain_;
    for (size_t i = 0; i < s.vars.size(); ++i) domain_.bound(s.vars[i], s.exprs[i]);
    INGOT_TRY(block(s.body));
    domain_ = outside;
    element_.clear();
    close_matrices(true);
    return {};
}

// Along rows: the lane's own elements, then the lanes of the same row by shuffles, then simdgroups by shared
// memory.
void Emitter::reduce_matrices(StmtId id) {
    const Stmt& s = k_[id];
    const BufferId src = s.regions[1].buffer;
    const Region& dst = s.regions[0];
    const Partition& p = plan_.fragments.at(src);
    const auto scratch = plan_.scratch.find(id);
    const DType to = k_[dst.buffer].type;
    const int64_t rows = extent(k_, src, 0);
    uses_simdgroup_ = uses_matrices_ = uses_lane_place_ = true;
    const auto meet = [&] {
        for (const int mask : {1, 8})
            line("total = {};",
                 combine(s.reduction, "total", fmt::format("simd_shuffle_xor(total, ushort({}))", mask)));
    };
    const auto result = [&](const std::string& row) {
        const std::string old = s.clear ? "" : fmt::format("float({})", read(dst, {row}, spans(dst), "0"));
        return fmt::format("{}({})", facts(to).msl, s.clear ? "total" : combine(s.reduction, old, "total"));
    };
    if (p.rectangle) {
        unrolled();
        open("for (ushort am = 0; am < {}; ++am)", p.rm);
        line("float total = {};", start_of(s.reduction, DType::kF32));
        unrolled();
        open("for (ushort atom = am * {0}; atom < am * {0} + {0}; ++atom)", p.rn);
        for (const int h : {0, 1})
            line("total = {};", combine(s.reduction, "total",
                                        fmt::format("{}[atom].thread_elements()[{}]", k_[src].name, h)));
        close();
        meet();
        line("const int row = {} + lane_row;", origin(simd_row(p), p.rm, "am"));
        open("if (lane_column == 0)");
        if (scratch == plan_.scratch.end()) {
            write(dst, {"row"}, spans(dst), result("row"));
        } else {
            line("{}[{} * {} + row] = total;", k_[scratch->second].name,
                 simd_column(p).find(' ') == std::string::npos ? simd_column(p) : "(" + simd_column(p) + ")",
                 rows);
        }
        close();
        close();
    } else {
        open_matrices(p, src, false);
        line("float total = {};", start_of(s.reduction, DType::kF32));
        for (const int h : {0, 1})
            line("total = {};", combine(s.reduction, "total",
                                        fmt::format("{}[atom].thread_elements()[{}]", k_[src].name, h)));
        meet();
        line("if (lane_column == 0) {}[column / 8 * {} + row + lane_row] = total;", k_[scratch->second].name,
             rows);
        close_matrices(false);
    }
    if (scratch == plan_.scratch.end()) return;
    line("threadgroup_barrier(mem_flags::mem_threadgroup);");
    open("for (int row = thread_index; row < {}; row += {})", rows, k_.threads);
    line("float total = {}[row];", k_[scratch->second].name);
    open("for (int kk = 1; kk < {}; ++kk)", extent(k_, scratch->second, 0));
    line("total = {};",
         combine(s.reduction, "total", fmt::format("{}[kk * {} + row]", k_[scratch->second].name, rows)));
    close();
    write(dst, {"row"}, spans(dst), result("row"));
    close();
}

std::string Emitter::operand_address(const Region& r, const std::string& row, const std::string& column,
                                     bool transpose) {
    const std::vector<std::string> at =
        transpose ? std::vector<std::string>{column, row} : std::vector<std::string>{row, column};
    std::vector<std::string> texts;
    for (const Index& i : indices(r, at, spans(r))) texts.push_back(i.text);
    return fmt::format("&{}, {}{}", place(r.buffer, texts), stride_text(r.buffer, r.kept()[0]),
                       transpose ? ", ulong2(0), true" : "");
}

// C in shared memory, atoms in turn: each is loaded, summed over all of K and stored before the next.
void Emitter::gemm_by_atoms(StmtId id) {
    const Stmt& s = k_[id];
    const Partition& p = plan_.gemms.at(id).partition;
    const Region &c = s.regions[0], &a = s.regions[1], &b = s.regions[2];
    const bool f32 = k_[c.buffer].type == DType::kF32;
    const int64_t depth = constant_int(k_, a.sizes[a.kept()[s.transpose_a ? 0 : 1]]).value_or(0);
    const auto each_element = [&](const auto& text) {
        unrolled();
        open("for (ushort ah = 0; ah < 2; ++ah)");
        text();
        close();
    };
    const std::vector<std::string> at = {"row + lane_row", "column + lane_column + ah"};
    uses_lane_place_ |= !f32;
    open_matrices(p, c.buffer, false);
    line("simdgroup_float8x8 product = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);");
    if (!s.clear && f32) line("simdgroup_load(product, {});", operand_address(c, "row", "column", false));
    if (!s.clear && !f32)
        each_element([&] { line("product.thread_elements()[ah] = float({});", read(c, at, spans(c), "0")); });
    unrolled();
    open("for (ushort kk = 0; kk < {}; kk += 8)", depth);
    line("{} left, right;", matrix_type(k_[a.buffer].type));
    line("simdgroup_load(left, {});", operand_address(a, "row", "kk", s.transpose_a));
    line("simdgroup_load(right, {});", operand_address(b, "kk", "column", s.transpose_b));
    line("simdgroup_multiply_accumulate(product, left, right, product);");
    close();
    if (f32) {
        line("simdgroup_store(product, {});", operand_address(c, "row", "column", false));
    } else {
        each_element([&] {
            write(c, at, spans(c),
                  fmt::format("{}(product.thread_elements()[ah])", facts(k_[c.buffer].type).msl));
        });
    }
    close_matrices(false);
}

void Emitter::simdgroup_gemm(StmtId id) {
    const Stmt& s = k_[id];
    const GemmPlan& plan = plan_.gemms.at(id);
    const Partition& p = plan.partition;
    const Region &c = s.regions[0], &a = s.regions[1], &b = s.regions[2];
    uses_simdgroup_ = uses_matrices_ = true;
    const bool resident = in_matrices(c.buffer);
    if (!resident && !p.rectangle) return gemm_by_atoms(id);
    const std::string name = resident ? k_[c.buffer].name : "product";
    const bool f32 = k_[c.buffer].type == DType::kF32;
    if (!resident) {
        open("");
        line("simdgroup_float8x8 product[{}];", p.atoms_each());
    }
    const int64_t depth = constant_int(k_, a.sizes[a.kept()[s.transpose_a ? 0 : 1]]).value_or(0);
    const bool overwrites = s.clear && depth == 8 && p.rectangle;
    if (s.clear && !overwrites) {
        unrolled();
        line(
            "for (ushort atom = 0; atom < {}; ++atom) {}[atom] = make_filled_simdgroup_matrix<float, 8, "
            "8>(0.0f);",
            p.atoms_each(), name);
    } else if (!resident && !s.clear) {
        open_matrices(p, c.buffer, !f32);
        if (f32) {
            line("simdgroup_load(product[atom], {});", operand_address(c, "row", "column", false));
        } else {
            line("product[atom].thread_elements()[ah] = float({});",
                 read(c, {"row", "column + ah"}, spans(c), "0"));
        }
        close_matrices(!f32);
    }
    const std::string type = matrix_type(k_[a.buffer].type);
    unrolled();
    open("for (ushort kk = 0; kk < {}; kk += 8)", depth);
    if (p.rectangle) {
        line("{} left[{}], right[{}];", type, p.rm, p.rn);
        unrolled();
        line("for (ushort am = 0; am < {}; ++am) simdgroup_load(left[am], {});", p.rm,
             operand_address(a, origin(simd_row(p), p.rm, "am"), "kk", s.transpose_a));
        unrolled();
        line("for (ushort an = 0; an < {}; ++an) simdgroup_load(right[an], {});", p.rn,
             operand_address(b, "kk", origin(simd_column(p), p.rn, "an"), s.transpose_b));
        unrolled();
        open("for (ushort am = 0; am < {}; ++am)", p.rm);
        unrolled();
        open("for (ushort an = 0; an < {}; ++an)", p.rn);
        if (overwrites) {
            line("simdgroup_multiply({}[am * {} + an], left[am], right[an]);", name, p.rn);
        } else {
            line(
                "simdgroup_multiply_accumulate({0}[am * {1} + an], left[am], right[an], {0}[am * {1} + an]);",
                name, p.rn);
        }
        close();
        close();
    } else {
        open_matrices(p, c.buffer, false);
        line("{} left, right;", type);
        line("simdgroup_load(left, {});", operand_address(a, "row", "kk", s.transpose_a));
        line("simdgroup_load(right, {});", operand_address(b, "kk", "column", s.transpose_b));
        line("simdgroup_multiply_accumulate({0}[atom], left, right, {0}[atom]);", name);
        close_matrices(false);
    }
    close();
    if (resident) return;
    open_matrices(p, c.buffer, !f32);
    if (f32) {
        line("simdgroup_store(product[atom], {});", operand_address(c, "row", "column", false));
    } else {
        write(c, {"row", "column + ah"}, spans(c),
              fmt::format("{}(product[atom].thread_elements()[ah])", facts(k_[c.buffer].type).msl));
    }
    close_matrices(!f32);
    close();
}

}  // namespace ingot::tile

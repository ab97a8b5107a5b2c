// Products on cooperative tensors (Metal Performance Primitives): each simdgroup owns a rectangle of C in
// destination tensors, accumulates in float and casts at the store. Operands are tensor views of device or
// threadgroup memory, cut to what is there, so that edges in M, N and K read as nothing. An element's place
// is asked of the tensor (get_multidimensional_index): no layout is assumed.
#include "tile/emit/emitter.h"

namespace ingot::tile {
namespace {

constexpr int kOperationK = 16;

}  // namespace

std::string Emitter::operand_type(const Region& r) const {
    const Buffer& b = k_[r.buffer];
    const bool writes = b.scope == Scope::kGlobal && b.role != Role::kIn;
    const std::string_view space =
        b.scope == Scope::kGlobal ? (writes ? "device" : "const device") : "threadgroup";
    return fmt::format("{} {}", space, facts(b.type).msl);
}

// A pointer to where the operand starts for this simdgroup, which `at` says along M or N; it walks along K.
// `k_first`: K is the first of the region's two dimensions.
void Emitter::start_operand(const Region& r, bool k_first, const std::string& at, const std::string& side) {
    const std::vector<std::string> from =
        k_first ? std::vector<std::string>{"0", at} : std::vector<std::string>{at, "0"};
    std::vector<std::string> texts;
    for (const Index& i : indices(r, from, {0, 0})) texts.push_back(i.text);
    line("using {}_view = tensor<{}, dextents<int, 2>, tensor_inline>;", side, operand_type(r));
    line("{}* {}_at = &{};", operand_type(r), side, place(r.buffer, texts));
}

// A view of `length` of K from the pointer on, and `across` rows or columns. Extents are columns first.
std::string Emitter::operand_view(const Region& r, bool k_first, const std::string& side,
                                  const std::string& across, const std::string& length) const {
    return fmt::format("{}_view({}_at, dextents<int, 2>({}, {}), array<int, 2>{{1, int({})}})", side, side,
                       k_first ? across : length, k_first ? length : across,
                       stride_text(r.buffer, r.kept()[0]));
}

void Emitter::advance_operand(const Region& r, bool k_first, const std::string& side) {
    const std::string stride = k_first ? stride_text(r.buffer, r.kept()[0]) : "1";
    const bool number = stride.find_first_not_of("0123456789") == std::string::npos;
    line("{}_at += {}{};", side, number ? "" : fmt::format("{} * long(", kOperationK),
         number ? fmt::format("{}", kOperationK * std::stol(stride)) : stride + ")");
}

void Emitter::start_total(const Stmt& s) {
    const Region& c = s.regions[0];
    unrolled();
    open("for (ushort e = 0; e < total.get_capacity(); ++e)");
    if (s.clear) {
        line("total[e] = 0.0f;");
    } else {
        line("if (!total.is_valid_element(e)) continue;");
        line("const auto at = total.get_multidimensional_index(e);");
        line("total[e] = float({});",
             read(c, {"row + int(at[1])", "column + int(at[0])"}, spans(c), zero(k_[c.buffer].type)));
    }
    close();
}

void Emitter::store_total(const Region& c) {
    unrolled();
    open("for (ushort e = 0; e < total.get_capacity(); ++e)");
    line("if (!total.is_valid_element(e)) continue;");
    line("const auto at = total.get_multidimensional_index(e);");
    write(c, {"row + int(at[1])", "column + int(at[0])"}, spans(c),
          fmt::format("{}(total[e])", facts(k_[c.buffer].type).msl));
    close();
}

void Emitter::cooperative_gemm(StmtId id) {
    const Stmt& s = k_[id];
    const Partition& p = plan_.gemms.at(id).partition;
    const Region &c = s.regions[0], &a = s.regions[1], &b = s.regions[2];
    needs_.cooperative_tensors = uses_simdgroup_ = true;
    const uint32_t m = p.rm * p.atom_m, n = p.rn * p.atom_n;  // of one simdgroup
    const ExprId depth = a.sizes[a.kept()[s.transpose_a ? 0 : 1]];
    open("");
    // What this simdgroup's rectangle has inside of the tensors.
    const auto inside = [&](const Region& r, size_t kept, const std::string& first, uint32_t size) {
        const size_t d = r.kept()[kept];
        const auto span = constant_int(k_, r.sizes[d]);
        if (span && domain_.proves_within(r.offsets[d], *span, k_[r.buffer].shape[d]))
            return fmt::format("{}", size);
        const std::string offset = constant_int(k_, r.offsets[d]) == 0 ? "" : expr(r.offsets[d], 8) + " + ";
        return fmt::format("clamp({} - ({}{}), 0, {})", expr(k_[r.buffer].shape[d], 8), offset, first, size);
    };
    const std::string row = p.gm == 1   ? "0"
                            : p.gn == 1 ? fmt::format("simdgroup * {}", m)
                                        : fmt::format("simdgroup / {} * {}", p.gn, m);
    const std::string column = p.gn == 1 ? "0" : fmt::format("simdgroup % {} * {}", p.gn, n);
    line("const int row = {}, column = {};", row, column);
    line("const int rows = {}, columns = {};", inside(c, 0, "row", m), inside(c, 1, "column", n));
    // One operation that nothing is added to needs no accumulator to begin with.
    const auto length = constant_int(k_, depth);
    const bool overwrites = s.clear && length && *length > 0 && *length <= kOperationK;
    line("constexpr auto descriptor = mpp::tensor_ops::matmul2d_descriptor(");
    line(
        "    {}, {}, {}, {}, {}, /*relaxed precision*/ false, "
        "mpp::tensor_ops::matmul2d_descriptor::mode::{});",
        m, n, kOperationK, s.transpose_a, s.transpose_b, overwrites ? "multiply" : "multiply_accumulate");
    line("mpp::tensor_ops::matmul2d<descriptor, execution_simdgroup> product;");
    const bool left_k_first = s.transpose_a, right_k_first = !s.transpose_b;
    const auto steps = [&](const std::string& suffix, const std::string& step) {
        line("auto left{} = {};", suffix, operand_view(a, left_k_first, "left", "rows", step));
        line("auto right{} = {};", suffix, operand_view(b, right_k_first, "right", "columns", step));
    };
    const std::string whole_step = fmt::format("{}", kOperationK);
    open("if (rows > 0 && columns > 0)");
    start_operand(a, left_k_first, "row", "left");
    start_operand(b, right_k_first, "column", "right");
    steps("", whole_step);
    line(
        "auto total = product.get_destination_cooperative_tensor<decltype(left), decltype(right), float>();");
    if (!overwrites) start_total(s);
    open("for (int kk = 0; kk + {0} <= {1}; kk += {0})", kOperationK, expr(depth, 7));
    steps("_step", whole_step);
    line("product.run(left_step, right_step, total);");
    advance_operand(a, left_k_first, "left");
    advance_operand(b, right_k_first, "right");
    close();
    if (!length || *length % kOperationK != 0) {
        line("const int rest = {} % {};", expr(depth, 9), kOperationK);
        open("if (rest > 0)");
        steps("_step", "rest");
        line("product.run(left_step, right_step, total);");
        close();
    }
    store_total(c);
    close();
    close();
}

}  // namespace ingot::tile

// Products on cooperative tensors (Metal Performance Primitives): each simdgroup owns a rectangle of C in
// destination tensors, accumulates in float and casts at the store. Operands are tensor views of device or
// threadgroup memory, cut to what is there, so that edges in M, N and K read as nothing. An element's place
// is asked of the tensor (get_multidimensional_index): no layout is assumed.
#include "tile/emit/emitter.h"

namespace ingot::tile {
namespace {

constexpr int kOperationK = 16;

}  // namespace

// A view of the region from (row, column) on, both in the region's own dimensions. Its extents are columns
// first.
std::string Emitter::tensor_view(const Region& r, const std::string& row, const std::string& column,
                                 const std::string& rows, const std::string& columns) {
    const Buffer& b = k_[r.buffer];
    std::vector<std::string> texts;
    for (const Index& i : indices(r, {row, column}, {0, 0})) texts.push_back(i.text);
    const bool writes = b.scope == Scope::kGlobal && b.role != Role::kIn;
    const std::string space =
        b.scope == Scope::kGlobal ? (writes ? "device" : "const device") : "threadgroup";
    return fmt::format(
        "tensor<{0} {1}, dextents<int, 2>, tensor_inline>(&{2}, dextents<int, 2>({3}, {4}), array<int, "
        "2>{{1, int({5})}})",
        space, facts(b.type).msl, place(r.buffer, texts), columns, rows, stride_text(r.buffer, r.kept()[0]));
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
    line("constexpr auto descriptor = mpp::tensor_ops::matmul2d_descriptor(");
    line(
        "    {}, {}, {}, {}, {}, /*relaxed precision*/ false, "
        "mpp::tensor_ops::matmul2d_descriptor::mode::multiply_accumulate);",
        m, n, kOperationK, s.transpose_a, s.transpose_b);
    line("mpp::tensor_ops::matmul2d<descriptor, execution_simdgroup> product;");
    const auto left = [&](const std::string& k, const std::string& length) {
        return s.transpose_a ? tensor_view(a, k, "row", length, "rows")
                             : tensor_view(a, "row", k, "rows", length);
    };
    const auto right = [&](const std::string& k, const std::string& length) {
        return s.transpose_b ? tensor_view(b, "column", k, "columns", length)
                             : tensor_view(b, k, "column", length, "columns");
    };
    open("if (rows > 0 && columns > 0)");
    line("auto left = {};", left("0", fmt::format("{}", kOperationK)));
    line("auto right = {};", right("0", fmt::format("{}", kOperationK)));
    line(
        "auto total = product.get_destination_cooperative_tensor<decltype(left), decltype(right), float>();");
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
    const auto length = constant_int(k_, depth);
    open("for (int kk = 0; kk + {0} <= {1}; kk += {0})", kOperationK, expr(depth, 7));
    line("auto left_step = {};", left("kk", fmt::format("{}", kOperationK)));
    line("auto right_step = {};", right("kk", fmt::format("{}", kOperationK)));
    line("product.run(left_step, right_step, total);");
    close();
    if (!length || *length % kOperationK != 0) {
        line("const int rest = {} % {};", expr(depth, 9), kOperationK);
        open("if (rest > 0)");
        const std::string from = fmt::format("{} - rest", expr(depth, 8));
        line("auto left_step = {};", left(from, "rest"));
        line("auto right_step = {};", right(from, "rest"));
        line("product.run(left_step, right_step, total);");
        close();
    }
    unrolled();
    open("for (ushort e = 0; e < total.get_capacity(); ++e)");
    line("if (!total.is_valid_element(e)) continue;");
    line("const auto at = total.get_multidimensional_index(e);");
    write(c, {"row + int(at[1])", "column + int(at[0])"}, spans(c),
          fmt::format("{}(total[e])", facts(k_[c.buffer].type).msl));
    close();
    close();
    close();
}

}  // namespace ingot::tile

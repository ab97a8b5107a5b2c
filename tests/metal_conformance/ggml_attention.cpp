// ggml's flash attention: the form on 8x8 matrices for many rows of queries and the vector form for few, with
// a mask (hidden stretches too), sinks, grouped heads, and keys and values of every storage type that has
// kernels. A number of cells that is no multiple of a block goes through the padding kernel first.
#include <algorithm>
#include <cmath>

#include "metal_conformance/ggml_kernels.h"
#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using enum Type;

constexpr int kHeads = AttentionShape::kHeads, kKeyHeads = AttentionShape::kKeyHeads;

// The fields that the argument structs of both forms share.
std::vector<std::byte> attention_arguments(const std::string& name, const AttentionShape& s,
                                           const AttentionData& a) {
    const int d = s.head_size, blocks_a_row = d / int(ggml_block_size(s.type));
    const double row = double(a.k.row_bytes), plane = row * s.cells, m = 2.0 * s.cells, q = 4.0 * d;
    return ggml_arguments(name, {{"ne01", s.rows},
                                 {"ne02", kHeads},
                                 {"ne03", 1},
                                 {"nb01", q},
                                 {"nb02", q * s.rows},
                                 {"nb03", q * s.rows * kHeads},
                                 {"ne11", s.cells},
                                 {"ne_12_2", kKeyHeads},
                                 {"ne_12_3", 1},
                                 {"ns10", blocks_a_row},
                                 {"nb11", row},
                                 {"nb12", plane},
                                 {"nb13", plane * kKeyHeads},
                                 {"ns20", blocks_a_row},
                                 {"nb21", row},
                                 {"nb22", plane},
                                 {"nb23", plane * kKeyHeads},
                                 {"ne31", s.rows},
                                 {"ne32", 1},
                                 {"ne33", 1},
                                 {"nb31", m},
                                 {"nb32", m * s.rows},
                                 {"nb33", m * s.rows},
                                 {"ne1", kHeads},
                                 {"ne2", s.rows},
                                 {"ne3", 1},
                                 {"scale", 1 / std::sqrt(double(d))},
                                 {"m0", 1},
                                 {"m1", 1},
                                 {"n_head_log2", kHeads}});
}

// Copies the cells behind the last whole block of `block` cells to `pad`, followed by what is masked.
void pad_cells(Session& session, const AttentionShape& s, AttentionData& a, int block) {
    const double row = double(a.k.row_bytes), plane = row * s.cells, m = 2.0 * s.cells;
    session.kernel("fa_aux/kernel_flash_attn_ext_pad", {{100, true}, {125, int64_t(block)}})
        .add(ggml_arguments("flash_attn_ext_pad", {{"ne11", s.cells},
                                                   {"ne_12_2", kKeyHeads},
                                                   {"ne_12_3", 1},
                                                   {"nb11", row},
                                                   {"nb12", plane},
                                                   {"nb13", plane * kKeyHeads},
                                                   {"nb21", row},
                                                   {"nb22", plane},
                                                   {"nb23", plane * kKeyHeads},
                                                   {"ne31", s.rows},
                                                   {"ne32", 1},
                                                   {"ne33", 1},
                                                   {"nb31", m},
                                                   {"nb32", m * s.rows},
                                                   {"nb33", m * s.rows}}))
        .add(a.k.blocks)
        .add(a.v.blocks)
        .add(a.mask)
        .add(a.pad)
        .groups({uint32_t(block), kKeyHeads, 1}, {32, 1, 1});
}

// Products are of halves, or of bfloats.
double attention_tolerance(const AttentionShape& s) {
    return s.type == "bf16" ? 2e-2 : 5e-3;
}

std::string attention_name(const char* prefix, const AttentionShape& s) {
    const std::string size = std::to_string(s.head_size);
    return prefix + s.type + "_dk" + size + "_dv" + size;
}

// Floats and both 16-bit types share files with other forms.
std::string attention_file(const AttentionShape& s) {
    return s.type == "bf16" ? "f16" : s.type;
}
std::string matrix_attention_kernel(const AttentionShape& s) {
    return "fa_" + attention_file(s) + "/" + attention_name("kernel_flash_attn_ext_", s);
}
std::string vector_attention_kernel(const AttentionShape& s) {
    return "fa_vec_" + attention_file(s) + "/" + attention_name("kernel_flash_attn_ext_vec_", s);
}

}  // namespace

AttentionData::AttentionData(const AttentionShape& s)
    : q(random_array(kF32, size_t(kHeads) * s.rows * s.head_size, 22)),
      mask(kF16, size_t(s.rows) * s.cells),
      sinks(random_array(kF32, kHeads, 23)),
      pad(kU8, 1 << 20),
      blocks(kU8, 1 << 12),
      out(kF32, q.size()),
      k(s.type, kKeyHeads * s.cells, s.head_size, 24),
      v(s.type, kKeyHeads * s.cells, s.head_size, 25) {
    const Array chosen = uniform_array(kF32, mask.size(), 26, 0, 1);
    for (size_t i = 0; i < mask.size(); ++i) {
        const size_t row = i / size_t(s.cells), cell = i % size_t(s.cells);
        const bool hidden =
            s.causal ? cell + s.rows > s.cells + row : chosen.get(i) < 0.3 || (cell >= 64 && cell < 160);
        mask.set(i, hidden ? -INFINITY : 0);
    }
}

// Softmax over cells and the sink, a row of a head at a time.
std::vector<double> attention_reference(const AttentionShape& s, const AttentionData& a) {
    const int d = s.head_size;
    const double scale = 1 / std::sqrt(double(d));
    std::vector<double> out(a.out.size());
    for (int h = 0; h < kHeads; ++h) {
        const size_t base = size_t(h) / (kHeads / kKeyHeads) * s.cells;
        for (int r = 0; r < s.rows; ++r) {
            std::vector<double> p(s.cells);
            const double sink = s.causal ? -INFINITY : a.sinks.get(h);
            double top = sink, sum = 0;
            for (int i = 0; i < s.cells; ++i) {
                for (int j = 0; j < d; ++j)
                    p[i] +=
                        a.q.get((size_t(h) * s.rows + r) * d + j) * a.k.values[(base + i) * d + j] * scale;
                top = std::max(top, p[i] += a.mask.get(size_t(r) * s.cells + i));
            }
            for (double& x : p) sum += x = std::exp(x - top);
            sum += std::exp(sink - top);
            for (int i = 0; i < s.cells; ++i) {
                for (int j = 0; j < d; ++j)
                    out[(size_t(r) * kHeads + h) * d + j] += p[i] / sum * a.v.values[(base + i) * d + j];
            }
        }
    }
    return out;
}

void run_matrix_attention(Session& session, const AttentionShape& s, AttentionData& a) {
    constexpr int kRows = 8, kCells = 64, kSimdgroups = 4;
    const bool padded = s.cells % kCells != 0, quantized = ggml_block_size(s.type) > 1;
    if (padded) pad_cells(session, s, a, kCells);
    const uint32_t row_blocks = (s.rows + kRows - 1) / kRows, cell_blocks = (s.cells + kCells - 1) / kCells;
    const double m = 2.0 * s.cells;
    session.kernel("fa_aux/kernel_flash_attn_ext_blk", {{224, int64_t{kRows}}, {225, int64_t{kCells}}})
        .add(ggml_arguments("flash_attn_ext_blk", {{"ne01", s.rows},
                                                   {"ne30", s.cells},
                                                   {"ne31", s.rows},
                                                   {"ne32", 1},
                                                   {"ne33", 1},
                                                   {"nb31", m},
                                                   {"nb32", m * s.rows},
                                                   {"nb33", m * s.rows}}))
        .add(a.mask)
        .add(a.blocks)
        .groups({cell_blocks, row_blocks, 1}, {32, 1, 1});
    const int64_t blocks_a_row = s.head_size / ggml_block_size(s.type);
    const ConstantMap constants = {{300, true},         {301, !s.causal},    {302, false},
                                   {303, false},        {304, padded},       {310, s.rows % 8 != 0},
                                   {320, blocks_a_row}, {321, blocks_a_row}, {322, int64_t{kSimdgroups}}};
    const int padded_size = (s.head_size + 63) / 64 * 64,
              halves = kRows * (s.head_size + 2 * padded_size + 4 * kCells) +
                       (quantized ? 16 * 32 * kSimdgroups : 0);
    session.kernel(matrix_attention_kernel(s), constants)
        .add(attention_arguments("flash_attn_ext", s, a))
        .add(a.q)
        .add(a.k.blocks)
        .add(a.v.blocks)
        .add(a.mask)
        .add(a.sinks)
        .add(a.pad)
        .add(a.blocks)
        .add(a.out)
        .threadgroup(0, uint32_t(halves * 2 + 15) / 16 * 16)
        .groups({row_blocks, kHeads, 1}, {32, kSimdgroups, 1});
}

void run_vector_attention(Session& session, const AttentionShape& s, AttentionData& a, int workgroups) {
    constexpr int kCells = 32;
    const int simdgroups = workgroups == 1 ? 2 : 1;
    const bool padded = s.cells % kCells != 0;
    if (padded) pad_cells(session, s, a, kCells);
    const int d = s.head_size, rows = s.rows * kHeads;
    const int64_t blocks_a_row = d / ggml_block_size(s.type);
    const ConstantMap constants = {{400, true},
                                   {401, !s.causal},
                                   {402, false},
                                   {403, false},
                                   {404, padded},
                                   {405, false},
                                   {420, blocks_a_row},
                                   {421, blocks_a_row},
                                   {422, int64_t{simdgroups}},
                                   {423, int64_t{workgroups}}};
    const int padded_size = (d + 127) / 128 * 128, halves = (3 * padded_size + 4 * kCells) * simdgroups;
    // Of each row and workgroup the result, the sum and the largest score.
    Array parts(kF32, size_t(rows) * workgroups * (d + 2));
    session.kernel(vector_attention_kernel(s), constants)
        .add(attention_arguments("flash_attn_ext_vec", s, a))
        .add(a.q)
        .add(a.k.blocks)
        .add(a.v.blocks)
        .add(a.mask)
        .add(a.sinks)
        .add(a.pad)
        .add(workgroups == 1 ? a.out : parts)
        .add(a.q)
        .threadgroup(0, uint32_t(halves * 2 + 15) / 16 * 16)
        .groups({uint32_t(s.rows), kHeads, uint32_t(workgroups)}, {32, uint32_t(simdgroups), 1});
    if (workgroups == 1) return;
    session.kernel("fa_aux/kernel_flash_attn_ext_vec_reduce", {{500, int64_t{d}}, {501, int64_t{workgroups}}})
        .add(ggml_arguments("flash_attn_ext_vec_reduce", {{"nrows", rows}}))
        .add(parts)
        .add(a.out)
        .groups({uint32_t(rows), 1, 1}, {32 * uint32_t(workgroups), 1, 1});
}

Cases ggml_attention_cases() {
    Cases cases;
    const auto add = [&](const std::string& kernel, const AttentionShape& s, auto run) {
        cases.push_back({"attention", kernel, "", [=](Session& session) {
                             AttentionData a(s);
                             run(session, s, a);
                             session.near(a.out, attention_reference(s, a), attention_tolerance(s));
                         }});
    };
    for (const char* type : {"f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0"}) {
        const bool every_size = std::string(type) == "f16" || std::string(type) == "q8_0";
        for (const int d : {64, 96, 128, 256}) {
            if (!every_size && d % 128 != 0 && std::string(type) != "q4_0") continue;
            // The most usual sizes with cells and rows that fill no block.
            const bool ragged = d == 64 || d == 128;
            const int cells = ragged ? 197 : 320;
            const AttentionShape many{type, d, ragged ? 11 : 16, cells}, few{type, d, 2, cells};
            add(matrix_attention_kernel(many), many, run_matrix_attention);
            add(vector_attention_kernel(few), few,
                [](Session& session, const AttentionShape& s, AttentionData& a) {
                    run_vector_attention(session, s, a, 1);
                });
        }
    }
    return cases;
}

}  // namespace ingot::metal::conformance

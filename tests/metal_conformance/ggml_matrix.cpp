// ggml's matrix products for every storage type, and its copies of rows. Names are FILE/KERNEL, FILE being a
// source of the package.
#include "metal_conformance/ggml_support.h"
#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using enum Type;

constexpr double kProductTolerance = 1e-5;
// mul_mm multiplies halves.
constexpr double kHalfTolerance = 3e-3;

struct MatrixRow {
    const char* type;
    int rows_a_simdgroup, simdgroups;  // of the vector kernel
    uint32_t vector_memory;
    int split_rows = 0;  // rows a simdgroup takes when a row has fewer than 32 groups of 32
};

constexpr MatrixRow kMatrixRows[] = {
    {"f32", 2, 4, 256},    {"f16", 2, 4, 256},         {"bf16", 2, 4, 256},        {"q1_0", 8, 2, 0},
    {"q2_0", 8, 2, 0},     {"q4_0", 4, 2, 0},          {"q4_1", 4, 2, 0},          {"q5_0", 4, 2, 0},
    {"q5_1", 4, 2, 0},     {"q8_0", 2, 4, 256},        {"mxfp4", 2, 2, 128},       {"q2_K", 4, 2, 0},
    {"q3_K", 2, 2, 0},     {"q4_K", 2, 2, 0},          {"q5_K", 1, 2, 0},          {"q6_K", 2, 2, 0},
    {"iq1_s", 4, 2, 0, 8}, {"iq1_m", 4, 2, 0, 8},      {"iq2_xxs", 4, 2, 2176, 8}, {"iq2_xs", 4, 2, 4224, 8},
    {"iq2_s", 4, 2, 0, 8}, {"iq3_xxs", 4, 2, 1152, 8}, {"iq3_s", 4, 2, 2048, 8},   {"iq4_nl", 2, 2, 128},
    {"iq4_xs", 2, 2, 128}, {"tq2_0", 4, 2, 0},
};

bool is_plain(const std::string& type) {
    return ggml_block_size(type) == 1;
}

// out[n][m] = x[n][k] * w[m][k].
std::vector<double> ggml_product(const Array& x, const QuantRows& w, int m, int n, int k) {
    std::vector<double> out(size_t(n) * m);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < m; ++j) {
            for (int p = 0; p < k; ++p)
                out[size_t(i) * m + j] += x.get(size_t(i) * k + p) * w.values[size_t(j) * k + p];
        }
    }
    return out;
}

void add_vector_product(Cases& cases, const MatrixRow& row, int k) {
    const bool plain = is_plain(row.type), split = row.split_rows != 0 && k < 1024;
    const std::string name = std::string("mul_mv/kernel_mul_mv_") + row.type + "_f32" + (plain ? "_4" : "");
    cases.push_back({"mul_mv", name, std::to_string(k), [=](Session& session) {
                         const int m = 66, n = 2, rows = split ? row.split_rows : row.rows_a_simdgroup;
                         QuantRows w(row.type, m, k, 1);
                         Array x = random_array(kF32, n * k, 2), y(kF32, n * m);
                         const double nb1 = double(w.row_bytes), all = nb1 * m;
                         const auto arguments =
                             ggml_arguments("mul_mv", {{"ne00", k},
                                                       {"ne01", m},
                                                       {"ne02", 1},
                                                       {"nb00", ggml_block_bytes(row.type)},
                                                       {"nb01", nb1},
                                                       {"nb02", all},
                                                       {"nb03", all},
                                                       {"ne10", k},
                                                       {"ne11", n},
                                                       {"ne12", 1},
                                                       {"nb10", 4},
                                                       {"nb11", 4 * k},
                                                       {"nb12", 4 * k * n},
                                                       {"nb13", 4 * k * n},
                                                       {"ne0", m},
                                                       {"ne1", n},
                                                       {"nr0", rows},
                                                       {"r2", 1},
                                                       {"r3", 1}});
                         // f32, f16, bf16 and q8_0 share rows between their simdgroups; the others have rows
                         // each.
                         const bool shared = plain || std::string(row.type) == "q8_0";
                         const int rows_a_group = rows * (shared ? 1 : row.simdgroups);
                         session
                             .kernel(name, {{600, int64_t(row.simdgroups)},
                                            {601, int64_t{4}},
                                            {602, int64_t{1}},
                                            {603, int64_t{1}},
                                            {604, int64_t{1}},
                                            {605, split}})
                             .add(arguments)
                             .add(w.blocks)
                             .add(x)
                             .add(y)
                             .threadgroup(0, row.vector_memory + 16)
                             .groups({uint32_t((m + rows_a_group - 1) / rows_a_group), n, 1},
                                     {32, uint32_t(row.simdgroups), 1});
                         session.near(y, ggml_product(x, w, m, n, k), kProductTolerance);
                     }});
}

void add_matrix_product(Cases& cases, const MatrixRow& row) {
    const std::string name = std::string("mul_mm/kernel_mul_mm_") + row.type + "_f32";
    cases.push_back({"mul_mm", name, "", [=](Session& session) {
                         const int m = 70, k = 256, n = 33;
                         QuantRows w(row.type, m, k, 3);
                         Array x = random_array(kF32, n * k, 4), y(kF32, n * m);
                         const double nb1 = double(w.row_bytes), all = nb1 * m;
                         const auto arguments = ggml_arguments("mul_mm", {{"ne00", k},
                                                                          {"ne02", 1},
                                                                          {"nb01", nb1},
                                                                          {"nb02", all},
                                                                          {"nb03", all},
                                                                          {"ne12", 1},
                                                                          {"nb10", 4},
                                                                          {"nb11", 4 * k},
                                                                          {"nb12", 4 * k * n},
                                                                          {"nb13", 4 * k * n},
                                                                          {"ne0", m},
                                                                          {"ne1", n},
                                                                          {"r2", 1},
                                                                          {"r3", 1}});
                         session
                             .kernel(name, {{700, false},
                                            {701, true},
                                            {702, int64_t{1}},
                                            {703, int64_t{1}},
                                            {704, int64_t{1}},
                                            {705, int64_t{1}},
                                            {706, false}})
                             .add(arguments)
                             .add(w.blocks)
                             .add(x)
                             .add(y)
                             .threadgroup(0, 8192)
                             .groups({(n + 31) / 32, (m + 63) / 64, 1}, {128, 1, 1});
                         session.near(y, ggml_product(x, w, m, n, k), kHalfTolerance);
                     }});
}

void add_get_rows(Cases& cases, const std::string& type) {
    const std::string name = "quantize/kernel_get_rows_" + type;
    cases.push_back({"get_rows", name, "", [=](Session& session) {
                         const int rows = 9, columns = 512, picks = 5;
                         QuantRows w(type, rows, columns, 5);
                         Array ids = array_of(kI32, std::vector<int>{8, 0, 3, 3, 7}),
                               y(kF32, picks * columns);
                         std::vector<double> expected(y.size());
                         for (int i = 0; i < picks * columns; ++i) {
                             expected[i] = w.values[size_t(ids.get(i / columns)) * columns + i % columns];
                         }
                         // A thread takes one element of a plain type, 16 of a quantized one.
                         const int units = is_plain(type) ? columns : columns / 16;
                         const double nb1 = double(w.row_bytes);
                         session.kernel(name)
                             .add(ggml_arguments("get_rows", {{"ne00t", units},
                                                              {"ne00", columns},
                                                              {"nb01", nb1},
                                                              {"nb02", nb1 * rows},
                                                              {"nb03", nb1 * rows},
                                                              {"ne10", picks},
                                                              {"nb10", 4},
                                                              {"nb11", 4 * picks},
                                                              {"nb12", 4 * picks},
                                                              {"nb1", 4 * columns},
                                                              {"nb2", 4 * columns * picks},
                                                              {"nb3", 4 * columns * picks}}))
                             .add(w.blocks)
                             .add(ids)
                             .add(y)
                             .groups({picks, 1, 1}, {uint32_t(units), 1, 1});
                         session.near(y, expected, 1e-6);
                     }});
}

}  // namespace

Cases ggml_matrix_cases() {
    Cases cases;
    for (const MatrixRow& row : kMatrixRows) {
        add_vector_product(cases, row, 512);
        if (row.split_rows != 0) add_vector_product(cases, row, 1024);
        add_matrix_product(cases, row);
        add_get_rows(cases, row.type);
    }
    return cases;
}

}  // namespace ingot::metal::conformance

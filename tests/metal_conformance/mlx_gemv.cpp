// MLX's products of matrix and vector, of a few rows and a matrix, and of two vectors.
#include "metal_conformance/mlx_products.h"
#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using enum Type;

struct VectorRow {
    const char* name;
    bool transposed;  // the matrix is stored [inputs][outputs]
    Type type;
    int outputs_a_group;
    Size3 threads;
};

void add_vectors(Cases& cases) {
    static const VectorRow rows[] = {
        {"gemv_float32_bm4_bn1_sm1_sn32_tm4_tn4_nc0_axpby0", false, kF32, 16, {32, 1, 4}},
        {"gemv_float16_bm4_bn1_sm1_sn32_tm4_tn4_nc0_axpby0", false, kF16, 16, {32, 1, 4}},
        {"gemv_bfloat16_bm8_bn1_sm1_sn32_tm4_tn4_nc0_axpby0", false, kBf16, 32, {32, 1, 8}},
        {"gemv_float32_bm1_bn8_sm1_sn32_tm4_tn4_nc0_axpby1", false, kF32, 4, {32, 8, 1}},
        {"gemv_t_float32_bm1_bn2_sm8_sn4_tm4_tn4_nc0_axpby0", true, kF32, 32, {32, 2, 1}},
        {"gemv_t_float16_bm1_bn4_sm8_sn4_tm4_tn4_nc0_axpby0", true, kF16, 64, {32, 4, 1}},
        {"gemv_t_bfloat16_bm1_bn16_sm4_sn8_tm4_tn4_nc0_axpby1", true, kBf16, 512, {32, 16, 1}},
    };
    for (const VectorRow& row : rows) {
        cases.push_back({"gemv", row.name, "", [=](Session& session) {
                             const int inputs = 515, outputs = 133;
                             const bool axpby = std::string(row.name).ends_with("axpby1");
                             Array m = random_array(row.type, size_t(inputs) * outputs, 18),
                                   v = random_array(row.type, inputs, 19),
                                   c = random_array(row.type, outputs, 20), y(row.type, outputs);
                             std::vector<double> expected(outputs);
                             multiply({v, false}, {m, !row.transposed}, {1, outputs, inputs},
                                      expected.data());
                             for (int i = 0; i < outputs && axpby; ++i)
                                 expected[i] = 0.5 * expected[i] + 2 * c.get(i);
                             session.kernel(row.name)
                                 .buffer(0, m)
                                 .buffer(1, v)
                                 .buffer(2, c)
                                 .buffer(3, y)
                                 .value(4, inputs)
                                 .value(5, outputs)
                                 .value(6, row.transposed ? outputs : inputs)
                                 .value(7, 0.5f)
                                 .value(8, 2.0f)
                                 .value(9, 0)
                                 .value(10, 1)
                                 .value(11, int64_t{0})
                                 .value(12, int64_t{0})
                                 .value(13, int64_t{0})
                                 .value(14, 1)
                                 .groups({uint32_t(tiles(outputs, row.outputs_a_group)), 1, 1}, row.threads);
                             session.near(y, expected, tolerance(row.type));
                         }});
    }
    for (const bool transposed : {false, true}) {
        const std::string name = transposed ? "gemv_t_gather_float32_bm1_bn2_sm8_sn4_tm4_tn4"
                                            : "gemv_gather_float32_bm4_bn1_sm1_sn32_tm4_tn4";
        cases.push_back({"gemv", name, "", [=](Session& session) {
                             const int inputs = 259, outputs = 70;
                             const uint32_t picks = 4;
                             const size_t size = size_t(inputs) * outputs;
                             Array m = random_array(kF32, 3 * size, 21),
                                   v = random_array(kF32, 2 * inputs, 22), y(kF32, picks * outputs);
                             Array which_v = array_of(kU32, std::vector<int>{0, 1, 1, 0}),
                                   which_m = array_of(kU32, std::vector<int>{2, 0, 1, 2});
                             std::vector<double> expected(picks * outputs);
                             for (uint32_t i = 0; i < picks; ++i) {
                                 multiply({v, false, size_t(which_v.get(i)) * inputs},
                                          {m, !transposed, size_t(which_m.get(i)) * size},
                                          {1, outputs, inputs}, &expected[i * outputs]);
                             }
                             session.kernel(name)
                                 .buffer(0, m)
                                 .buffer(1, v)
                                 .buffer(3, y)
                                 .value(4, inputs)
                                 .value(5, outputs)
                                 .value(6, transposed ? outputs : inputs)
                                 .value(9, 1)
                                 .value(10, int(picks))
                                 .values(11, std::vector<int64_t>{1, 1})
                                 .value(12, 1)
                                 .values(13, std::vector<int>{2, 1, inputs})
                                 .values(14, std::vector<int64_t>{inputs, inputs, 1})
                                 .value(15, 1)
                                 .values(16, std::vector<int>{3, outputs, inputs})
                                 .values(17, std::vector<int64_t>{int64_t(size), inputs, 1})
                                 .buffer(18, which_v)
                                 .buffer(19, which_m)
                                 .groups({uint32_t(tiles(outputs, transposed ? 32 : 16)), 1, picks},
                                         transposed ? Size3{32, 2, 1} : Size3{32, 1, 4});
                             session.near(y, expected, tolerance(kF32));
                         }});
    }
}

// A few rows times a matrix stored [outputs][inputs].
void add_wide(Cases& cases, Type type, int vectors, int lanes) {
    const std::string name = "gemv_wide_" + std::string(mlx_name(type)) + "_nv" + std::to_string(vectors) +
                             "_kl" + std::to_string(lanes);
    cases.push_back({"gemv", name, "", [=](Session& session) {
                         const int passes = 2;
                         const Shape s{vectors * passes - 1, 71, 512};
                         Array mat = random_array(type, size_t(s.n) * s.k, 23),
                               rows = random_array(type, size_t(s.m) * s.k, 24), y(type, size_t(s.m) * s.n);
                         std::vector<double> expected(y.size());
                         multiply({rows, false}, {mat, true}, s, expected.data());
                         session.kernel(name, {{0, false}, {1, false}})
                             .buffer(0, mat)
                             .buffer(1, rows)
                             .buffer(3, y)
                             .value(4, s.k)
                             .value(5, s.n)
                             .value(6, s.m)
                             .value(7, s.k)
                             .value(8, s.k)
                             .value(11, 1)
                             .value(12, 1)
                             .value(13, int64_t{0})
                             .value(14, int64_t{0})
                             .groups({passes, uint32_t(tiles(s.n, 4)), 1}, {32, uint32_t(lanes / 8), 1});
                         session.near(y, expected, tolerance(type));
                     }});
}

void add_dot(Cases& cases, Type type) {
    const std::string name = "dot_product_" + std::string(mlx_name(type)) + "_it32_tg512_sg16";
    cases.push_back({"gemv", name, "", [=](Session& session) {
                         const int n = 40001, blocks = tiles(tiles(n, 32), 512);
                         Array a = random_array(type, n, 25), b = random_array(type, n, 26),
                               partial(kF32, blocks), sum(kF32, 1);
                         double expected = 0, total = 0;
                         for (int i = 0; i < n; ++i) expected += a.get(i) * b.get(i);
                         session.kernel(name)
                             .buffer(0, a)
                             .buffer(1, b)
                             .buffer(2, partial)
                             .value(3, n)
                             .groups({uint32_t(blocks), 1, 1}, {512, 1, 1});
                         for (int i = 0; i < blocks; ++i) total += partial.get(i);
                         sum.set(0, total);
                         session.near(sum, {expected}, 1e-4);
                     }});
}

}  // namespace

Cases mlx_gemv_cases() {
    Cases cases;
    add_vectors(cases);
    for (int vectors = 2; vectors <= 5; ++vectors) {
        add_wide(cases, kF16, vectors, 16);
        add_wide(cases, kBf16, vectors, 32);
    }
    for (const Type type : {kF32, kF16, kBf16}) add_dot(cases, type);
    return cases;
}

}  // namespace ingot::metal::conformance

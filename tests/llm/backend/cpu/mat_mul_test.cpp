#include "llm/backend/cpu/kernels/mat_mul.h"

#include <cmath>
#include <cstring>
#include <tuple>

#include "llm/backend/cpu/kernel_test.h"

namespace ingot::cpu {
namespace {

// What a result may differ from the scalar product by, in units of the length of the summed products,
// sqrt(sum (w x)^2): rounding of float sums for float weights, and of activations to 8 bits (a step is 1/127
// of the block's largest, about 3 deviations; its error 1/sqrt(12) of that) for the others; some five
// deviations each.
constexpr double kFloatTolerance = 2e-5;
constexpr double kQuantizedTolerance = 0.06;

bool is_float(QuantType type) {
    return type == QuantType::kF32 || type == QuantType::kF16 || type == QuantType::kBF16;
}

struct Expected {
    std::vector<double> value, scale;  // [tokens, rows]
};

// The scalar reference: double sums over dequantized weights.
Expected multiply_in_double(const std::vector<float>& w, const std::vector<float>& x, size_t rows,
                            size_t cols, size_t tokens) {
    Expected expected{std::vector<double>(tokens * rows), std::vector<double>(tokens * rows)};
    for (size_t t = 0; t < tokens; ++t) {
        for (size_t r = 0; r < rows; ++r) {
            double sum = 0, squares = 0;
            for (size_t k = 0; k < cols; ++k) {
                const double product = double(w[r * cols + k]) * x[t * cols + k];
                sum += product;
                squares += product * product;
            }
            expected.value[t * rows + r] = sum;
            expected.scale[t * rows + r] = std::sqrt(squares);
        }
    }
    return expected;
}

// Of the matrices of all tests.
PackedStorage& test_storage() {
    static PackedStorage storage;
    return storage;
}

PackedMatrix prepared(const KernelTable& kernels, QuantType type, uint32_t rows, uint32_t cols,
                      std::span<const std::byte> bytes) {
    auto matrix = PackedMatrix::prepare(kernels, type, rows, cols, bytes, {test_storage()});
    EXPECT_TRUE(matrix.has_value()) << matrix.error().describe();
    return *std::move(matrix);
}

// Random weights and their matrix, which may be a view of them.
struct Weights {
    std::vector<std::byte> bytes;
    PackedMatrix matrix;

    Weights(const KernelTable& kernels, QuantType type, uint32_t rows, uint32_t cols, uint32_t seed)
        : bytes(random_weights(type, rows, cols, seed)), matrix(prepared(kernels, type, rows, cols, bytes)) {}
};

// y = [tokens, rows], a sentinel column behind each row of y.
std::vector<float> multiply(ThreadPool& pool, const PackedMatrix& matrix, const std::vector<float>& x,
                            uint32_t tokens) {
    const size_t stride = matrix.rows() + 1;
    std::vector<float> padded(tokens * stride, 12345.0f);
    const MatMulOutput output{.weights = &matrix, .y = padded.data(), .y_stride = stride};
    Workspace workspace(mat_mul_workspace_bytes({&output, 1}, tokens, pool.num_threads()));
    pool.run([&](Worker& worker) {
        mat_mul(worker, {&output, 1}, x.data(), matrix.cols(), tokens, workspace.data());
    });
    std::vector<float> y;
    for (uint32_t t = 0; t < tokens; ++t) {
        EXPECT_EQ(12345.0f, padded[t * stride + matrix.rows()]) << "wrote behind the row of token " << t;
        y.insert(y.end(), padded.begin() + t * stride, padded.begin() + t * stride + matrix.rows());
    }
    return y;
}

class MatMul : public testing::TestWithParam<std::tuple<TestedTable, QuantType>> {
  protected:
    const KernelTable& kernels() const { return *std::get<0>(GetParam()).kernels; }
    QuantType type() const { return std::get<1>(GetParam()); }
    double tolerance() const { return is_float(type()) ? kFloatTolerance : kQuantizedTolerance; }

    void check(uint32_t rows, uint32_t cols, uint32_t tokens, uint32_t threads) {
        SCOPED_TRACE(fmt::format("{} rows, {} columns, {} tokens, {} threads", rows, cols, tokens, threads));
        const auto bytes = random_weights(type(), rows, cols, rows + cols);
        const auto x = random_floats(size_t(tokens) * cols, tokens);
        const PackedMatrix matrix = prepared(kernels(), type(), rows, cols, bytes);
        ThreadPool pool(threads);
        const auto y = multiply(pool, matrix, x, tokens);
        const auto expected =
            multiply_in_double(dequantized(type(), bytes, size_t(rows) * cols), x, rows, cols, tokens);
        for (size_t i = 0; i < y.size(); ++i) {
            ASSERT_NEAR(expected.value[i], y[i], tolerance() * expected.scale[i])
                << "token " << i / rows << ", row " << i % rows;
        }
    }
    uint32_t block() const { return std::max(32u, traits(type()).block_size); }
};

std::vector<QuantType> every_type() {
    std::vector<QuantType> types;
    for (const QuantTraits& row : all_quant_types()) types.push_back(row.type);
    return types;
}

INSTANTIATE_TEST_SUITE_P(
    All, MatMul, testing::Combine(testing::ValuesIn(tested_tables()), testing::ValuesIn(every_type())),
    [](const auto& test) {
        return std::get<0>(test.param).name + "_" + std::string(traits(std::get<1>(test.param)).name);
    });

TEST_P(MatMul, KernelIsTheTypesOwn) {
    const auto bytes = random_weights(type(), 16, block(), 1);
    const PackedMatrix matrix = prepared(kernels(), type(), 16, block(), bytes);
    EXPECT_EQ(type(), matrix.kernel().type);
    // Products of floats are avx2's where byte products are all that an instruction set adds.
    const bool floats = !matrix.is_packed() && kernels().isa == Isa::kAvxVnni;
    EXPECT_EQ(
        std::string(to_string(floats ? Isa::kAvx2 : kernels().isa)) + " " + std::string(traits(type()).name),
        matrix.kernel().name);
}

TEST_P(MatMul, EveryBatchSizeAroundTheTilesAgreesWithTheScalarProduct) {
    for (const uint32_t tokens : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 25, 33}) {
        check(48, 2 * block(), tokens, 1);
    }
}

TEST_P(MatMul, RowsThatFillNoGroupAgreeWithTheScalarProduct) {
    for (const uint32_t rows : {1, 15, 16, 17, 31, 32, 33, 130}) {
        for (const uint32_t tokens : {1, 3, 19}) check(rows, block(), tokens, 1);
    }
}

TEST_P(MatMul, ColumnCountsAgreeWithTheScalarProduct) {
    for (const uint32_t blocks : {1, 2, 3, 4, 5, 7, 9, 17}) {
        for (const uint32_t tokens : {1, 13}) check(34, blocks * block(), tokens, 1);
    }
}

TEST_P(MatMul, LongBatchesAndRowsAgreeWithTheScalarProduct) {
    check(80, 5 * block(), 245, 2);                    // more tokens than a task has
    check(32, (6144 / block() + 1) * block(), 19, 2);  // more columns than any slice
}

// Whole numbers up to 127 are their own 8-bit codes, so only the rounding of float sums is left: an error in
// a code, scale, minimum or offset shows at once.
TEST_P(MatMul, ActivationsThatAreTheirOwnCodesGiveFloatAccuracy) {
    const uint32_t rows = 33, cols = 5 * block();
    const Weights weights(kernels(), type(), rows, cols, 11);
    ThreadPool pool(1);
    for (const uint32_t tokens : {1, 2, 3, 4, 5, 6, 7, 14, 26}) {
        std::mt19937 generator(tokens);
        std::vector<float> x(size_t(tokens) * cols);
        for (size_t i = 0; i < x.size(); ++i)
            x[i] = i % 32 == 7 ? 127.0f : float(int(generator() % 255) - 127);
        const auto y = multiply(pool, weights.matrix, x, tokens);
        const auto expected = multiply_in_double(dequantized(type(), weights.bytes, size_t(rows) * cols), x,
                                                 rows, cols, tokens);
        for (size_t i = 0; i < y.size(); ++i) {
            ASSERT_NEAR(expected.value[i], y[i], kFloatTolerance * expected.scale[i])
                << tokens << " tokens, token " << i / rows << ", row " << i % rows;
        }
    }
}

// A NaN must reach the logits, where the engine looks for it.
TEST_P(MatMul, NanActivationsGiveNan) {
    const uint32_t cols = 2 * block();
    const Weights weights(kernels(), type(), 20, cols, 5);
    ThreadPool pool(1);
    for (const uint32_t tokens : {1, 14}) {
        std::vector<float> x(tokens * cols, 1.0f);
        x[5] = std::nanf("");
        const auto y = multiply(pool, weights.matrix, x, tokens);
        for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(i < 20, std::isnan(y[i])) << i;
    }
}

TEST_P(MatMul, ThreadCountDoesNotChangeABit) {
    const uint32_t rows = 200, cols = 2 * block();
    const auto bytes = random_weights(type(), rows, cols, 3);
    const PackedMatrix matrix = prepared(kernels(), type(), rows, cols, bytes);
    for (const uint32_t tokens : {1, 4, 31}) {
        const auto x = random_floats(size_t(tokens) * cols, 4);
        ThreadPool one(1);
        const auto expected = multiply(one, matrix, x, tokens);
        for (const uint32_t threads : {2, 3, 5}) {
            ThreadPool pool(threads);
            EXPECT_EQ(expected, multiply(pool, matrix, x, tokens))
                << threads << " threads, " << tokens << " tokens";
        }
    }
}

TEST_P(MatMul, ZeroActivationsGiveZero) {
    const uint32_t cols = 2 * block();
    const Weights weights(kernels(), type(), 20, cols, 5);
    ThreadPool pool(1);
    for (const uint32_t tokens : {1, 14}) {
        for (const float y : multiply(pool, weights.matrix, std::vector<float>(tokens * cols, 0.0f), tokens))
            EXPECT_EQ(0, y);
    }
}

TEST_P(MatMul, DenormalAndHugeActivationsStayFinite) {
    const uint32_t cols = 2 * block();
    const Weights weights(kernels(), type(), 20, cols, 5);
    ThreadPool pool(1);
    for (const float value : {1e-42f, 1e-38f, 1e30f}) {
        for (const uint32_t tokens : {1, 14}) {
            for (const float y :
                 multiply(pool, weights.matrix, std::vector<float>(tokens * cols, value), tokens)) {
                EXPECT_TRUE(std::isfinite(y)) << value;
            }
        }
    }
}

// On both sides of where 127 over the largest of a block overflows: the product, or zero, and never its
// negative.
TEST_P(MatMul, TinyActivationsGiveTheirProductOrZero) {
    const uint32_t rows = 20, cols = 2 * block();
    const Weights weights(kernels(), type(), rows, cols, 5);
    const std::vector<float> w = dequantized(type(), weights.bytes, size_t(rows) * cols);
    ThreadPool pool(1);
    for (const float value : {0.9e-37f, 1.1e-37f, 2e-37f, 3.7e-37f, 3.8e-37f, 4.1e-37f, 1e-36f}) {
        for (const uint32_t tokens : {1u, 14u}) {
            const std::vector<float> x(size_t(tokens) * cols, value);
            const Expected expected = multiply_in_double(w, x, rows, cols, tokens);
            const std::vector<float> y = multiply(pool, weights.matrix, x, tokens);
            for (size_t i = 0; i < y.size(); ++i) {
                const double slack = 0.01 * expected.scale[i];
                if (y[i] == 0) continue;
                EXPECT_NEAR(y[i], expected.value[i], slack) << value << " at " << i;
            }
        }
    }
}

// Tensors of a GGUF file start at multiples of 32 bytes at best, rows anywhere.
TEST_P(MatMul, WeightsAndActivationsNeedNoAlignment) {
    const uint32_t rows = 20, cols = 3 * block(), tokens = 7;
    const auto bytes = random_weights(type(), rows, cols, 6);
    std::vector<std::byte> shifted(bytes.size() + 2);
    std::copy(bytes.begin(), bytes.end(), shifted.begin() + 2);
    const auto x = random_floats(size_t(tokens) * cols, 7);
    const PackedMatrix aligned = prepared(kernels(), type(), rows, cols, bytes);
    auto moved = PackedMatrix::prepare(kernels(), type(), rows, cols,
                                       std::span(shifted).subspan(2, bytes.size()), {test_storage()});
    ASSERT_TRUE(moved.has_value());
    ThreadPool pool(1);
    EXPECT_EQ(multiply(pool, aligned, x, tokens), multiply(pool, *moved, x, tokens));
}

TEST_P(MatMul, PackingWithThreadsGivesTheSameBytes) {
    const uint32_t rows = 150, cols = block();
    const auto bytes = random_weights(type(), rows, cols, 8);
    const PackedMatrix alone = prepared(kernels(), type(), rows, cols, bytes);
    ThreadPool pool(3);
    auto together = PackedMatrix::prepare(kernels(), type(), rows, cols, bytes, {test_storage(), &pool});
    ASSERT_TRUE(together.has_value());
    ASSERT_EQ(alone.storage_bytes(), together->storage_bytes());
    EXPECT_EQ(0, std::memcmp(alone.group(0), together->group(0), alone.storage_bytes()));
}

// More than a slab: every byte of the tensor is reported once, in order, and only if it was copied.
TEST_P(MatMul, PackingReportsWhatItHasCopied) {
    const uint32_t cols = 4 * block();
    const uint32_t rows =
        uint32_t((size_t(20) << 20) / (cols / traits(type()).block_size) / traits(type()).block_size_bytes) +
        3;
    const std::vector<std::byte> bytes(size_t(rows) * cols / traits(type()).block_size *
                                       traits(type()).block_size_bytes);
    PackedStorage storage;
    size_t parts = 0, copied = 0;
    const auto matrix =
        PackedMatrix::prepare(kernels(), type(), rows, cols, bytes,
                              {.storage = storage, .copied = [&](std::span<const std::byte> part) {
                                   EXPECT_EQ(bytes.data() + copied, part.data());
                                   copied += part.size();
                                   ++parts;
                               }});
    ASSERT_TRUE(matrix) << matrix.error().describe();
    EXPECT_EQ(matrix->is_packed() ? bytes.size() : 0, copied);
    EXPECT_EQ(matrix->is_packed(), parts > 1);
}

TEST(PackedStorage, MatricesLieOneBehindTheOtherUntilABlockIsFull) {
    PackedStorage storage(1 << 20);
    std::byte* first = storage.take(100);
    std::byte* second = storage.take(64);
    EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(first) % 64);
    EXPECT_EQ(first + 128, second);
    std::byte* large = storage.take(5 << 20);  // more than a block
    ASSERT_NE(nullptr, large);
    std::fill(large, large + (5 << 20), std::byte(1));
    EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(storage.take(1)) % 64);
}

TEST_P(MatMul, ColumnsThatAreNoWholeBlocksAreRefused) {
    const uint32_t block_size = traits(type()).block_size;
    if (block_size == 1) {  // every count is whole
        EXPECT_TRUE(PackedMatrix::prepare(kernels(), type(), 16, 33, random_weights(type(), 16, 33, 1),
                                          {test_storage()}));
        return;
    }
    const std::vector<std::byte> bytes(4096);
    auto matrix = PackedMatrix::prepare(kernels(), type(), 16, block_size + 1, bytes, {test_storage()});
    ASSERT_FALSE(matrix.has_value());
    EXPECT_EQ(ErrorKind::kUnsupported, matrix.error().kind);
    EXPECT_THAT(matrix.error().message, testing::HasSubstr(fmt::format("a multiple of {}", block_size)));
}

class MatMulOn : public testing::TestWithParam<TestedTable> {};
INSTANTIATE_TEST_SUITE_P(Isas, MatMulOn, testing::ValuesIn(tested_tables()),
                         [](const auto& test) { return test.param.name; });

// QKV in one op: three products, three types, one input, biases on some.
TEST_P(MatMulOn, ProductsOfOneOpEqualTheSameProductsAlone) {
    const uint32_t cols = 512;
    const Weights q(*GetParam().kernels, QuantType::kQ4_0, 96, cols, 1);
    const Weights k(*GetParam().kernels, QuantType::kQ6_K, 40, cols, 2);
    const Weights v(*GetParam().kernels, QuantType::kF16, 40, cols, 3);
    const auto bias = random_floats(40, 9);
    for (const uint32_t tokens : {1, 3, 50}) {
        const auto x = random_floats(size_t(tokens) * cols, 4);
        for (const uint32_t threads : {1, 3}) {
            ThreadPool pool(threads);
            std::vector<float> yq(tokens * 96), yk(tokens * 40), yv(tokens * 40);
            const MatMulOutput outputs[] = {{&q.matrix, yq.data(), 96},
                                            {&k.matrix, yk.data(), 40, bias.data()},
                                            {&v.matrix, yv.data(), 40}};
            Workspace workspace(mat_mul_workspace_bytes(outputs, tokens, threads));
            pool.run(
                [&](Worker& worker) { mat_mul(worker, outputs, x.data(), cols, tokens, workspace.data()); });
            EXPECT_EQ(multiply(pool, q.matrix, x, tokens), yq);
            EXPECT_EQ(multiply(pool, v.matrix, x, tokens), yv);
            auto with_bias = multiply(pool, k.matrix, x, tokens);
            for (size_t i = 0; i < with_bias.size(); ++i) with_bias[i] += bias[i % 40];
            EXPECT_EQ(with_bias, yk);
        }
    }
}

TEST_P(MatMulOn, DataOfAnotherSizeIsRefused) {
    const auto bytes = random_weights(QuantType::kQ4_0, 16, 64, 1);
    auto matrix =
        PackedMatrix::prepare(*GetParam().kernels, QuantType::kQ4_0, 17, 64, bytes, {test_storage()});
    ASSERT_FALSE(matrix.has_value());
    EXPECT_EQ(ErrorKind::kInvalidArgument, matrix.error().kind);
    EXPECT_THAT(matrix.error().message, testing::HasSubstr("576 bytes"));
    EXPECT_THAT(matrix.error().message, testing::HasSubstr("takes 612"));
}

TEST(IsaChoice, NamesAreThoseOfTheTable) {
    EXPECT_EQ(Isa::kPlain, available_isas().front());
    EXPECT_EQ(Isa::kPlain, choose_isa("plain").value());
    for (const Isa isa : available_isas()) EXPECT_EQ(isa, choose_isa(to_string(isa)).value());
}

TEST(IsaChoice, UnknownNameIsAnErrorThatListsWhatTheMachineRuns) {
    auto isa = choose_isa("sse9");
    ASSERT_FALSE(isa.has_value());
    EXPECT_EQ(ErrorKind::kInvalidArgument, isa.error().kind);
    EXPECT_THAT(isa.error().message, testing::HasSubstr("sse9"));
    EXPECT_THAT(isa.error().message, testing::HasSubstr("plain"));
}

TEST(IsaChoice, EnvironmentOverridesTheBestOne) {
    setenv("INGOT_ISA", "plain", 1);
    EXPECT_EQ(Isa::kPlain, choose_isa().value());
    setenv("INGOT_ISA", "nonsense", 1);
    EXPECT_FALSE(choose_isa().has_value());
    unsetenv("INGOT_ISA");
    EXPECT_EQ(available_isas().back(), choose_isa().value());
}

}  // namespace
}  // namespace ingot::cpu

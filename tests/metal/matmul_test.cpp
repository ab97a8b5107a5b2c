// matmul2d on the fibers executor through AIR's functions, for every scope, mode, transposition, pair of
// element types and layout of cooperative tensors, against a double loop; cooperative layouts; reductions.
#include <array>

#include "metal/exec/fibers/cooperative_layout.h"
#include "metal/exec/fibers/tensor_types.h"
#include "metal/ir_text.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

using fibers::CooperativeShape;
using fibers::TensorType;

constexpr int kPitchMargin = 5;  // of every operand in memory, columns beyond its extents
constexpr double kSentinel = 77;

constexpr CooperativeLayout kLayouts[] = {CooperativeLayout::kNax, CooperativeLayout::kRowMajor,
                                          CooperativeLayout::kScrambled};

uint32_t type_code(TensorType type) {
    switch (type) {
#define X(enumerator, name, code, bytes) \
    case TensorType::enumerator:         \
        return code;
        INGOT_METAL_TENSOR_TYPES(X)
#undef X
    }
    return 0;
}

// Elements of one type, written and read as doubles.
class Elements {
  public:
    Elements(TensorType type, size_t count) : type_(type), bytes_(count * fibers::bytes_of(type)) {}

    void set(size_t i, double value) {
        switch (type_) {
            case TensorType::kF32:
                return put(i, float(value));
            case TensorType::kF16:
                return put(i, float_to_half(float(value)));
            case TensorType::kBF16:
                return put(i, float_to_bfloat16(float(value)));
            case TensorType::kI32:
                return put(i, int32_t(value));
            case TensorType::kI8:
                return put(i, int8_t(value));
            case TensorType::kU8:
                return put(i, uint8_t(value));
        }
    }
    double get(size_t i) const {
        switch (type_) {
            case TensorType::kF16:
                return half_to_float(take<uint16_t>(i));
            case TensorType::kBF16:
                return bfloat16_to_float(take<uint16_t>(i));
            case TensorType::kI32:
                return take<int32_t>(i);
            case TensorType::kI8:
                return take<int8_t>(i);
            case TensorType::kU8:
                return take<uint8_t>(i);
            case TensorType::kF32:
                break;
        }
        return take<float>(i);
    }
    std::vector<uint8_t>& bytes() { return bytes_; }

  private:
    template <typename T>
    void put(size_t i, T value) {
        std::memcpy(bytes_.data() + i * sizeof value, &value, sizeof value);
    }
    template <typename T>
    T take(size_t i) const {
        T value;
        std::memcpy(&value, bytes_.data() + i * sizeof value, sizeof value);
        return value;
    }

    TensorType type_;
    std::vector<uint8_t> bytes_;
};

// An operand in memory, with room on the right.
struct Matrix {
    int rows, columns;
    TensorType type;
    Elements elements{type, size_t(rows) * pitch()};

    int pitch() const { return columns + kPitchMargin; }
    size_t at(int row, int column) const { return size_t(row) * pitch() + column; }
};

struct MatmulCase {
    int m, n, k;
    bool transpose_left = false, transpose_right = false, accumulate = false, dynamic_k = false;
    TensorType left = TensorType::kF16, right = TensorType::kF16, destination = TensorType::kF32;
    uint32_t threads = 32;
    bool left_cooperative = false, right_cooperative = false, destination_cooperative = false;
    CooperativeLayout layout = CooperativeLayout::kNax;
    int cut = 0;  // how much shorter than the descriptor says all extents are

    std::string describe() const {
        return fmt::format(
            "{}x{}x{}{} {}{} {}, types {} {} {}, {} threads, cooperative {}{}{}, layout {}, cut {}", m, n, k,
            dynamic_k ? " (dynamic)" : "", transpose_left ? 't' : 'n', transpose_right ? 't' : 'n',
            accumulate ? "accumulate" : "multiply", uint32_t(left), uint32_t(right), uint32_t(destination),
            threads, left_cooperative ? 'l' : '-', right_cooperative ? 'r' : '-',
            destination_cooperative ? 'd' : '-', uint32_t(layout), cut);
    }
};

const char* const kDeclarations = R"(
declare void @air.init_strided_private_tensor.i32.global(ptr, i16, ptr addrspace(1), ptr, ptr, i8)
declare void @__tensorops_impl_matmul2d_op_run_any(ptr, ptr, i32, ptr, i32, ptr, i32, i32) convergent
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_init(i32, i32, i32, i32, i8, i8, i8, i32, ptr, i32, i32, i32, i32)
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_load_any(i32, i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32, i32, i32)
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_store_any(i32, i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32, i32, i32)
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_reduce_rows_any(i32, i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32, i32) convergent
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_reduce_columns_any(i32, i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32, i32) convergent
)";

// IR that works on up to three operands in device memory: views %v0..., elements %e0....
class KernelText {
  public:
    explicit KernelText(const MatmulCase& c) : case_(c) {
        head_ = fmt::format("i32 {}, i32 {}, i32 {}, i8 {}, i8 {}, i8 0, i32 {}", c.m, c.n,
                            c.dynamic_k ? -1 : c.k, int(c.transpose_left), int(c.transpose_right),
                            int(c.accumulate));
        body_ += "%d = alloca [20 x i8], align 4\n";
        const int fields[] = {c.m, c.n, c.dynamic_k ? -1 : c.k,
                              int(c.transpose_left) | int(c.transpose_right) << 8, int(c.accumulate)};
        for (int i = 0; i < 5; ++i) store_int("d", i, fields[i]);
    }

    void view(int operand, const Matrix& matrix) {
        const std::string n = std::to_string(operand);
        body_ += "%v" + n + " = alloca [32 x i8], align 8\n";
        body_ += "%x" + n + " = alloca [8 x i8], align 4\n%s" + n + " = alloca [8 x i8], align 4\n";
        store_int("x" + n, 0, matrix.columns);
        store_int("x" + n, 1, matrix.rows);
        store_int("s" + n, 0, 1);
        store_int("s" + n, 1, matrix.pitch());
        body_ += fmt::format(
            "call void @air.init_strided_private_tensor.i32.global(ptr %v{0}, i16 2, ptr addrspace(1) %b{0}, "
            "ptr %x{0}, ptr %s{0}, i8 {1})\n",
            operand, uint32_t(matrix.type));
    }
    // Elements of the operand; loaded if `load`.
    void elements(int operand, TensorType type, bool load, int id) {
        body_ += fmt::format("%e{} = alloca [16384 x i8], align 16\n", id);
        body_ += fmt::format(
            "call void @__tensorops_impl_matmul2d_op_cooperative_tensor_init(i32 {0}, {1}, ptr %e{2}, i32 "
            "{3}, i32 {3}, i32 {3}, i32 {4})\n",
            operand, head_, id, int32_t(type_code(type)), case_.threads);
        if (load) copy("load", operand, type, id, operand);
    }
    void copy(const char* direction, int operand, TensorType type, int id, int view) {
        body_ += fmt::format(
            "call void @__tensorops_impl_matmul2d_op_cooperative_tensor_{}_any(i32 {}, {}, ptr %e{}, ptr "
            "%v{}, i32 {}, i32 {}, i32 {}, i32 {}, i32 {})\n",
            direction, operand, head_, id, view, uint32_t(type), int32_t(type_code(type)),
            int32_t(type_code(type)), int32_t(type_code(type)), case_.threads);
    }
    void line(const std::string& text) { body_ += text + "\n"; }
    std::string operand(int index, TensorType type, bool cooperative) const {
        return fmt::format("ptr %{}{}, i32 {}", cooperative ? 'e' : 'v', index,
                           fibers::operand_code(type, !cooperative));
    }
    const std::string& head() const { return head_; }
    std::shared_ptr<const Kernel> compile(int buffers) const {
        CompileOptions options;
        options.layout = case_.layout;
        return text_kernel(kernel_ir(buffers, {}, body_ + "ret void", kDeclarations), options);
    }

  private:
    void store_int(const std::string& to, int index, int value) {
        const int id = next_++;
        body_ += fmt::format("%p{} = getelementptr i32, ptr %{}, i64 {}\nstore i32 {}, ptr %p{}, align 4\n",
                             id, to, index, value, id);
    }

    const MatmulCase& case_;
    std::string head_, body_;
    int next_ = 0;
};

// Values whose products and sums are exact in float.
void fill(Matrix& matrix, uint32_t seed) {
    std::mt19937 generator(seed);
    const bool is_float = !fibers::is_integer(matrix.type), is_signed = matrix.type != TensorType::kU8;
    for (int r = 0; r < matrix.rows; ++r) {
        for (int c = 0; c < matrix.pitch(); ++c) {
            const int value = int(generator() % 9) - (is_signed ? 4 : 0);
            // Beyond the extents lies what must never be read.
            const double outside = is_float ? std::numeric_limits<double>::quiet_NaN() : 100;
            matrix.elements.set(matrix.at(r, c),
                                c < matrix.columns ? is_float ? value / 4.0 : value : outside);
        }
    }
}

Matrix stored(int rows, int columns, bool transposed, TensorType type) {
    return transposed ? Matrix{columns, rows, type} : Matrix{rows, columns, type};
}

double tolerance(TensorType type) {
    return type == TensorType::kF16 ? 2e-3 : type == TensorType::kBF16 ? 1e-2 : 1e-6;
}

void expect_product(const MatmulCase& c) {
    const int m = c.m - c.cut, n = c.n - c.cut, k = c.k - c.cut;
    Matrix left = stored(m, k, c.transpose_left, c.left), right = stored(k, n, c.transpose_right, c.right);
    Matrix destination{m, n, c.destination};
    fill(left, 1);
    fill(right, 2);
    std::vector<double> expected(size_t(m) * destination.pitch(), kSentinel);
    for (size_t i = 0; i < expected.size(); ++i) destination.elements.set(i, kSentinel);
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
            double sum = c.accumulate ? kSentinel : 0;
            for (int p = 0; p < k; ++p) {
                sum += left.elements.get(c.transpose_left ? left.at(p, i) : left.at(i, p)) *
                       right.elements.get(c.transpose_right ? right.at(j, p) : right.at(p, j));
            }
            expected[destination.at(i, j)] = sum;
        }
    }
    KernelText text(c);
    text.view(0, left);
    text.view(1, right);
    text.view(2, destination);
    if (c.left_cooperative) text.elements(0, c.left, true, 0);
    if (c.right_cooperative) text.elements(1, c.right, true, 1);
    if (c.destination_cooperative) text.elements(2, c.destination, c.accumulate, 2);
    text.line(fmt::format("call void @__tensorops_impl_matmul2d_op_run_any(ptr %d, {}, {}, {}, i32 {})",
                          text.operand(0, c.left, c.left_cooperative),
                          text.operand(1, c.right, c.right_cooperative),
                          text.operand(2, c.destination, c.destination_cooperative), c.threads));
    if (c.destination_cooperative) text.copy("store", 2, c.destination, 2, 2);
    const auto report = Dispatch(text.compile(3))
                            .buffer(0, left.elements.bytes())
                            .buffer(1, right.elements.bytes())
                            .buffer(2, destination.elements.bytes())
                            .groups({1, 1, 1}, {c.threads, 1, 1});
    ASSERT_EQ(LaunchStatus::kDone, report.status) << report.message << " " << c.describe();
    for (size_t i = 0; i < expected.size(); ++i) {
        const double actual = destination.elements.get(i);
        ASSERT_NEAR(expected[i], actual, tolerance(c.destination) * (1 + std::fabs(expected[i])))
            << "element " << i / destination.pitch() << ", " << i % destination.pitch() << " of "
            << c.describe();
    }
}

TEST(MatMul2d, EveryTransposeModeAndLayoutOfCooperativeOperands) {
    for (const CooperativeLayout layout : kLayouts) {
        for (int bits = 0; bits < 8; ++bits) {
            MatmulCase c{.m = 16, .n = 32, .k = 16, .layout = layout};
            c.transpose_left = bits & 1;
            c.transpose_right = bits & 2;
            c.accumulate = bits & 4;
            c.left_cooperative = c.right_cooperative = c.destination_cooperative = true;
            expect_product(c);
        }
    }
}

TEST(MatMul2d, EveryScopeFromMemoryToMemoryAndToRegisters) {
    for (const uint32_t threads : {1u, 32u, 64u, 128u}) {
        for (int bits = 0; bits < 16; ++bits) {
            MatmulCase c{.m = 64, .n = 32, .k = 48, .threads = threads};
            c.transpose_left = bits & 1;
            c.transpose_right = bits & 2;
            c.accumulate = bits & 4;
            c.destination_cooperative = bits & 8;
            c.dynamic_k = bits & 1;
            expect_product(c);
        }
    }
}

TEST(MatMul2d, ExtentsThatEndInsideATileMaskRowsColumnsAndTheTailOfK) {
    for (const CooperativeLayout layout : kLayouts) {
        for (const uint32_t threads : {32u, 128u}) {
            for (int bits = 0; bits < 4; ++bits) {
                MatmulCase c{.m = 32, .n = 64, .k = 32, .threads = threads, .layout = layout, .cut = 3};
                c.accumulate = bits & 1;
                c.destination_cooperative = bits & 2;
                c.transpose_right = bits & 1;
                expect_product(c);
            }
        }
    }
}

TEST(MatMul2d, EveryPairOfElementTypes) {
    using enum TensorType;
    for (const TensorType left : {kF32, kF16, kBF16, kI8, kU8}) {
        for (const TensorType right : {kF32, kF16, kBF16, kI8, kU8}) {
            const bool integers = fibers::is_integer(left) && fibers::is_integer(right);
            for (const bool cooperative : {false, true}) {
                MatmulCase c{.m = 16, .n = 16, .k = 32, .left = left, .right = right};
                c.destination = integers ? kI32 : kF32;
                c.left_cooperative = c.right_cooperative = c.destination_cooperative = cooperative;
                expect_product(c);
                if (integers || left == kF32 || right == kF32) continue;
                c.destination = kF16;
                expect_product(c);
                c.destination = kBF16;
                expect_product(c);
            }
        }
    }
}

TEST(MatMul2d, OneCooperativeAndOneOperandInMemory) {
    for (const bool left : {false, true}) {
        MatmulCase c{.m = 32, .n = 16, .k = 16};
        c.left_cooperative = left;
        c.right_cooperative = !left;
        c.destination_cooperative = true;
        expect_product(c);
    }
}

TEST(MatMul2d, LongSumsAreTakenInBlocks) {
    MatmulCase c{.m = 16, .n = 24, .k = 400, .dynamic_k = true};
    expect_product(c);
    c.transpose_left = c.transpose_right = true;
    expect_product(c);
}

TEST(MatMul2d, InfinityBeyondTheShorterOperandsDepthDoesNotMeetAPaddingZero) {
    MatmulCase c{.m = 16, .n = 16, .k = 32};
    Matrix left{16, 20, TensorType::kF16}, right{32, 16, TensorType::kF16}, out{16, 16, TensorType::kF32};
    fill(left, 3);
    fill(right, 4);
    for (int row = 20; row < 32; ++row) {
        for (int column = 0; column < 16; ++column)
            right.elements.set(right.at(row, column), std::numeric_limits<double>::infinity());
    }
    KernelText text(c);
    text.view(0, left);
    text.view(1, right);
    text.view(2, out);
    text.line(fmt::format("call void @__tensorops_impl_matmul2d_op_run_any(ptr %d, {}, {}, {}, i32 32)",
                          text.operand(0, c.left, false), text.operand(1, c.right, false),
                          text.operand(2, c.destination, false)));
    Dispatch(text.compile(3))
        .buffer(0, left.elements.bytes())
        .buffer(1, right.elements.bytes())
        .buffer(2, out.elements.bytes())
        .groups({1, 1, 1}, {32, 1, 1});
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 16; ++j) EXPECT_TRUE(std::isfinite(out.elements.get(out.at(i, j))));
    }
}

TEST(CooperativeLayouts, HoldEveryElementOfAnOperandOnce) {
    for (const CooperativeLayout layout : kLayouts) {
        for (const int threads : {1, 32, 64, 128, 256}) {
            for (const auto& [rows, columns] :
                 {std::pair{16, 16}, {16, 32}, {48, 32}, {8, 16}, {24, 40}, {64, 64}}) {
                const CooperativeShape shape{layout, threads, rows, columns};
                std::vector<int> seen(size_t(rows) * columns);
                for (int thread = 0; thread < threads; ++thread) {
                    for (int i = 0; i < shape.capacity(); ++i) {
                        const fibers::Place place = fibers::place_of(shape, thread, i);
                        if (place.row == rows) continue;
                        ASSERT_TRUE(place.row < rows && place.column < columns);
                        ++seen[size_t(place.row) * columns + place.column];
                        const fibers::Rectangle part = fibers::extent_of(shape, thread / 32);
                        EXPECT_TRUE(place.row >= part.row && place.row < part.row + part.rows);
                        EXPECT_TRUE(place.column >= part.column && place.column < part.column + part.columns);
                    }
                }
                EXPECT_EQ(std::vector<int>(seen.size(), 1), seen)
                    << rows << "x" << columns << " over " << threads << " threads, layout " << int(layout);
            }
        }
    }
}

TEST(CooperativeLayouts, ScrambledHasElementsThatStandForNothing) {
    const CooperativeShape shape{CooperativeLayout::kScrambled, 32, 16, 16};
    EXPECT_GT(shape.capacity() * 32, 16 * 16);
}

TEST(CooperativeReductions, OfRowsAndColumnsStartFromTheIdentity) {
    for (const CooperativeLayout layout : kLayouts) {
        for (const uint32_t operation : {0u, 1u, 2u}) {
            for (const bool by_columns : {false, true}) {
                const MatmulCase c{.m = 16, .n = 32, .k = 16, .layout = layout};
                Matrix in{16, 32, TensorType::kF32}, out{16, 32, TensorType::kF32};
                fill(in, 5);
                const float identity = operation == 2 ? -0.25f : 0.25f;
                KernelText text(c);
                text.view(0, in);
                text.view(1, out);
                text.elements(2, TensorType::kF32, false, 0);
                text.elements(2, TensorType::kF32, false, 1);
                text.copy("load", 2, TensorType::kF32, 0, 0);
                text.line(
                    fmt::format("call void @__tensorops_impl_matmul2d_op_cooperative_tensor_reduce_{}_any("
                                "i32 2, {}, ptr %e0, ptr %e1, i32 0, i32 {}, i32 {}, i32 32)",
                                by_columns ? "columns" : "rows", text.head(), operation,
                                std::bit_cast<int32_t>(identity)));
                text.copy("store", 2, TensorType::kF32, 1, 1);
                Dispatch(text.compile(2))
                    .buffer(0, in.elements.bytes())
                    .buffer(1, out.elements.bytes())
                    .groups({1, 1, 1}, {32, 1, 1});
                for (int row = 0; row < 16; ++row) {
                    for (int column = 0; column < 32; ++column) {
                        double expected = identity;
                        for (int i = 0; i < (by_columns ? 16 : 32); ++i) {
                            const double x = in.elements.get(by_columns ? in.at(i, column) : in.at(row, i));
                            expected = operation == 0   ? expected + x
                                       : operation == 1 ? std::min(expected, x)
                                                        : std::max(expected, x);
                        }
                        ASSERT_NEAR(expected, out.elements.get(out.at(row, column)), 1e-5)
                            << row << ", " << column << ", operation " << operation << ", layout "
                            << int(layout);
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace ingot::metal::testing

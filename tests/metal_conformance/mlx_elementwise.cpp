// MLX's elementwise kernels: one row an operation, each run over the types and forms that have a kernel of
// it. Forms: contiguous, several elements a thread, scalars broadcast, strided in 1 to 4 dimensions.
#include <cmath>

#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using enum Type;

constexpr int kCount = 3001;  // no multiple of any group

double sign_of(double x) {
    return double(x > 0) - double(x < 0);
}

struct UnaryRow {
    const char* name;
    double (*reference)(double);
    double low, high;      // where inputs lie
    double tolerance = 0;  // of the largest result, on top of the type's rounding; float only
    std::vector<Type> types = {kF32, kF16, kBf16};
};

const std::vector<UnaryRow>& unary_rows() {
    static const std::vector<UnaryRow> rows = {
        {"Abs", [](double x) { return std::fabs(x); }, -9, 9, 0, {kF32, kF16, kBf16, kI8, kI32, kI64}},
        {"ArcCos", [](double x) { return std::acos(x); }, -1, 1, 1e-6},
        {"ArcCosh", [](double x) { return std::acosh(x); }, 1.1, 30, 1e-6},
        {"ArcSin", [](double x) { return std::asin(x); }, -1, 1, 1e-6},
        {"ArcSinh", [](double x) { return std::asinh(x); }, -30, 30, 1e-6},
        {"ArcTan", [](double x) { return std::atan(x); }, -30, 30, 1e-6},
        {"ArcTanh", [](double x) { return std::atanh(x); }, -0.9, 0.9, 1e-6},
        {"BitwiseInvert", [](double x) { return -x - 1; }, -90, 90, 0, {kI8, kI16, kI32, kI64}},
        {"Ceil", [](double x) { return std::ceil(x); }, -9, 9, 0, {kF32, kF16, kBf16}},
        {"Cos", [](double x) { return std::cos(x); }, -9, 9, 1e-6},
        {"Cosh", [](double x) { return std::cosh(x); }, -5, 5, 1e-6},
        {"Erf", [](double x) { return std::erf(x); }, -4, 4, 1e-6},
        {"Exp", [](double x) { return std::exp(x); }, -9, 6, 1e-6},
        // MLX takes log(2) with the bits of one float, which costs 1.4e-6 a power of two.
        {"Expm1", [](double x) { return std::expm1(x); }, -5, 5, 1.1e-5},
        {"Floor", [](double x) { return std::floor(x); }, -9, 9, 0, {kF32, kF16, kBf16}},
        {"Log", [](double x) { return std::log(x); }, 0.01, 90, 1e-6},
        {"Log2", [](double x) { return std::log2(x); }, 0.01, 90, 1e-6},
        {"Log10", [](double x) { return std::log10(x); }, 0.01, 90, 1e-6},
        {"Log1p", [](double x) { return std::log1p(x); }, -0.9, 9, 1e-6},
        {"LogicalNot", [](double x) { return double(x == 0); }, 0, 2, 0, {kBool}},
        {"Negative", [](double x) { return -x; }, -90, 90, 0, {kF32, kF16, kBf16, kI16, kI32, kI64}},
        {"Round", [](double x) { return std::nearbyint(x); }, -9, 9, 0, {kF32, kF16, kBf16}},
        {"Rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0.1, 90, 1e-6},
        {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -20, 20, 1e-6},
        {"Sign", sign_of, -9, 9, 0, {kF32, kF16, kBf16, kI8, kI32, kU8}},
        {"Sin", [](double x) { return std::sin(x); }, -9, 9, 1e-6},
        {"Sinh", [](double x) { return std::sinh(x); }, -5, 5, 1e-6},
        {"Sqrt", [](double x) { return std::sqrt(x); }, 0, 90, 1e-6},
        {"Square", [](double x) { return x * x; }, -9, 9, 0, {kF32, kF16, kBf16, kI32}},
        {"Tan", [](double x) { return std::tan(x); }, -1.4, 1.4, 2e-6},
        {"Tanh", [](double x) { return std::tanh(x); }, -5, 5, 1e-6},
    };
    return rows;
}

std::vector<double> map1(const Array& x, double (*f)(double)) {
    std::vector<double> out(x.size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = f(x.get(i));
    return out;
}

void add_unary(Cases& cases) {
    for (const UnaryRow& row : unary_rows()) {
        for (const Type type : row.types) {
            const std::string types = std::string(mlx_name(type)) + std::string(mlx_name(type));
            for (const bool wide : {false, true}) {
                // Types of eight bytes have no kernel with several elements a thread.
                if (wide && (type != kF32 && type != kF16)) continue;
                const std::string name = (wide ? "vn_" : "v_") + std::string(row.name) + types;
                cases.push_back({"unary", name, "", [=, &row](Session& session) {
                                     Array x = uniform_array(type, kCount, 1, row.low, row.high),
                                           y(type, kCount);
                                     const uint32_t each = wide ? 8 / uint32_t(size_bytes(type)) : 1;
                                     session.kernel(name).buffer(0, x).buffer(1, y).value(2, kCount).threads(
                                         {(kCount + each - 1) / each, 1, 1}, {256, 1, 1});
                                     session.near(y, map1(x, row.reference), row.tolerance + rounding(type));
                                 }});
            }
        }
    }
    // Strided: a transposed matrix, through the form for any number of dimensions.
    for (const char* op : {"Exp", "Negative"}) {
        const std::string name = std::string("gn1_") + op + "float32float32";
        cases.push_back({"unary", name, "transposed", [=](Session& session) {
                             const int rows = 37, columns = 53;
                             Array x = random_array(kF32, rows * columns, 2), y(kF32, rows * columns);
                             std::vector<double> expected(rows * columns);
                             for (int c = 0; c < columns; ++c) {
                                 for (int r = 0; r < rows; ++r) {
                                     const double v = x.get(r * columns + c);
                                     expected[c * rows + r] = op[0] == 'E' ? std::exp(v) : -v;
                                 }
                             }
                             session.kernel(name)
                                 .buffer(0, x)
                                 .buffer(1, y)
                                 .values(2, std::vector<int>{columns, rows})
                                 .values(3, std::vector<int64_t>{1, columns})
                                 .value(4, 2)
                                 .threads({rows, columns, 1}, {32, 32, 1});
                             session.near(y, expected, 1e-6);
                         }});
    }
}

struct BinaryRow {
    const char* name;
    double (*reference)(double, double);
    bool compares = false;  // the result is a bool
    bool positive = false;  // operands above 0
    std::vector<Type> types = {kF32, kF16, kBf16, kI32};
    double tolerance = 0;
};

double log_add_exp(double a, double b) {
    return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}
// Python's: the sign of the divisor.
double remainder_like_python(double a, double b) {
    const double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

const std::vector<BinaryRow>& binary_rows() {
    static const std::vector<Type> whole = {kI32, kU8, kU32, kI64};
    static const std::vector<BinaryRow> rows = {
        {"Add", [](double a, double b) { return a + b; }, false, false, {kF32, kF16, kBf16, kI8, kI32, kI64}},
        {"Subtract",
         [](double a, double b) { return a - b; },
         false,
         false,
         {kF32, kF16, kBf16, kI16, kI32, kI64}},
        {"Multiply", [](double a, double b) { return a * b; }},
        {"Divide", [](double a, double b) { return a / b; }, false, true, {kF32, kF16, kBf16}},
        {"Remainder", remainder_like_python, false, true, {kF32, kI32, kU32}, 1e-6},
        {"Maximum", [](double a, double b) { return std::max(a, b); }},
        {"Minimum", [](double a, double b) { return std::min(a, b); }},
        {"Power", [](double a, double b) { return std::pow(a, b); }, false, true, {kF32, kF16}, 3e-6},
        {"ArcTan2",
         [](double a, double b) { return std::atan2(a, b); },
         false,
         false,
         {kF32, kF16, kBf16},
         1e-6},
        {"LogAddExp", log_add_exp, false, false, {kF32, kF16, kBf16}, 1e-6},
        {"Equal", [](double a, double b) { return double(a == b); }, true},
        {"NotEqual", [](double a, double b) { return double(a != b); }, true},
        {"Greater", [](double a, double b) { return double(a > b); }, true},
        {"GreaterEqual", [](double a, double b) { return double(a >= b); }, true},
        {"Less", [](double a, double b) { return double(a < b); }, true},
        {"LessEqual", [](double a, double b) { return double(a <= b); }, true},
        {"BitwiseAnd", [](double a, double b) { return double(int64_t(a) & int64_t(b)); }, false, false,
         whole},
        {"BitwiseOr", [](double a, double b) { return double(int64_t(a) | int64_t(b)); }, false, false,
         whole},
        {"BitwiseXor", [](double a, double b) { return double(int64_t(a) ^ int64_t(b)); }, false, false,
         whole},
        {"LeftShift", [](double a, double b) { return double(uint32_t(a) << int(b)); }, false, true, {kU32}},
        {"RightShift",
         [](double a, double b) { return double(int64_t(a) >> int64_t(b)); },
         false,
         true,
         {kI32, kU32}},
        {"LogicalAnd", [](double a, double b) { return double(a != 0 && b != 0); }, true, false, {kBool}},
        {"LogicalOr", [](double a, double b) { return double(a != 0 || b != 0); }, true, false, {kBool}},
    };
    return rows;
}

Array binary_operand(const BinaryRow& row, Type type, size_t count, uint32_t seed) {
    if (row.name[0] == 'P') return uniform_array(type, count, seed, 0.3, 3);
    // Shift counts and divisors stay small and away from 0.
    if (row.positive) return uniform_array(type, count, seed, 1, 9);
    return random_array(type, count, seed);
}

// vv: element with element; sv, vs: one side a scalar; ss: both.
void add_flat_binary(Cases& cases, const BinaryRow& row, Type type, const std::string& form) {
    const std::string name = form + "_" + row.name + std::string(mlx_name(type));
    cases.push_back(
        {"binary", name, "", [=, &row](Session& session) {
             const bool many = form.size() == 3;  // "vvn": several elements a thread
             const int count = form == "ss" ? 1 : kCount;
             Array a = binary_operand(row, type, count, 3), b = binary_operand(row, type, count, 4);
             Array y(row.compares ? kBool : type, count);
             std::vector<double> expected(count);
             for (int i = 0; i < count; ++i) {
                 expected[i] = row.reference(a.get(form[0] == 's' ? 0 : i), b.get(form[1] == 's' ? 0 : i));
             }
             const uint32_t each = many ? std::max<uint32_t>(1, 8 / uint32_t(size_bytes(type))) : 1;
             auto dispatch = session.kernel(name);
             dispatch.buffer(0, a).buffer(1, b).buffer(2, y).value(3, count);
             dispatch.threads({(uint32_t(count) + each - 1) / each, 1, 1}, {256, 1, 1});
             session.near(y, expected, row.tolerance + (row.compares ? 0 : rounding(type)));
         }});
}

// a is transposed, b broadcast along its rows.
void add_strided_binary(Cases& cases, int dimensions) {
    const std::string name = (dimensions > 3 ? "gn2" : "g" + std::to_string(dimensions)) + "_Subtractfloat32";
    cases.push_back(
        {"binary", name, "strided", [=](Session& session) {
             std::vector<int> shape = {3, 2, 7, 33};
             shape.erase(shape.begin(), shape.end() - dimensions);
             std::vector<int64_t> a_strides(dimensions), b_strides(dimensions);
             int64_t stride = 1;
             for (int i = 0; i < dimensions; ++i)
                 a_strides[i] = stride, stride *= shape[i];  // the first is innermost
             b_strides[dimensions - 1] = 1;
             const int64_t count = stride;
             Array a = random_array(kF32, count, 5), b = random_array(kF32, 33, 6), y(kF32, count);
             std::vector<double> expected(count);
             for (int64_t i = 0; i < count; ++i) {
                 int64_t rest = i, at_a = 0, at_b = 0;
                 for (int axis = dimensions - 1; axis >= 0; --axis) {
                     at_a += rest % shape[axis] * a_strides[axis];
                     at_b += rest % shape[axis] * b_strides[axis];
                     rest /= shape[axis];
                 }
                 expected[i] = a.get(at_a) - b.get(at_b);
             }
             auto dispatch = session.kernel(name);
             dispatch.buffer(0, a).buffer(1, b).buffer(2, y);
             uint32_t x_threads = 33;
             if (dimensions > 3) {
                 dispatch.values(3, shape).values(4, a_strides).values(5, b_strides).value(6, dimensions);
                 x_threads = 17;
             } else if (dimensions == 1) {
                 dispatch.value(3, a_strides[0]).value(4, b_strides[0]);
             } else {
                 dispatch.values(3, a_strides).values(4, b_strides);
             }
             const uint32_t y_threads = dimensions > 1 ? 7 : 1, rest = uint32_t(count) / 33 / y_threads;
             dispatch.threads({x_threads, y_threads, rest}, {32, y_threads, 1});
             session.near(y, expected, rounding(kF32));
         }});
}

void add_binary(Cases& cases) {
    for (const BinaryRow& row : binary_rows()) {
        for (const Type type : row.types) add_flat_binary(cases, row, type, "vv");
        add_flat_binary(cases, row, row.types[0], row.types[0] == kBool ? "vs" : "vvn");
    }
    for (const char* form : {"sv", "vs", "ss", "svn", "vsn"}) {
        add_flat_binary(cases, binary_rows()[1], kF32, form);
        add_flat_binary(cases, binary_rows()[1], kI32, form);
    }
    for (int dimensions = 1; dimensions <= 4; ++dimensions) add_strided_binary(cases, dimensions);
    cases.push_back({"binary", "vv_DivModint32", "", [](Session& session) {
                         Array a = random_array(kI32, kCount, 7), b = uniform_array(kI32, kCount, 8, 1, 9);
                         Array quotient(kI32, kCount), rest(kI32, kCount);
                         std::vector<double> quotients(kCount), rests(kCount);
                         for (int i = 0; i < kCount; ++i) {
                             quotients[i] = std::floor(a.get(i) / b.get(i));
                             rests[i] = remainder_like_python(a.get(i), b.get(i));
                         }
                         session.kernel("vv_DivModint32")
                             .buffer(0, a)
                             .buffer(1, b)
                             .buffer(2, quotient)
                             .buffer(3, rest)
                             .value(4, kCount)
                             .threads({kCount, 1, 1}, {256, 1, 1});
                         session.same(quotient, quotients);
                         session.same(rest, rests);
                     }});
    for (const Type type : {kF32, kF16, kI64, kU8}) {
        const std::string name = "v_Select" + std::string(mlx_name(type));
        cases.push_back({"ternary", name, "", [=](Session& session) {
                             Array c = random_array(kBool, kCount, 9), a = random_array(type, kCount, 10),
                                   b = random_array(type, kCount, 11), y(type, kCount);
                             std::vector<double> expected(kCount);
                             for (int i = 0; i < kCount; ++i)
                                 expected[i] = c.get(i) != 0 ? a.get(i) : b.get(i);
                             session.kernel(name)
                                 .buffer(0, c)
                                 .buffer(1, a)
                                 .buffer(2, b)
                                 .buffer(3, y)
                                 .value(4, kCount)
                                 .threads({kCount, 1, 1}, {256, 1, 1});
                             session.same(y, expected);
                         }});
    }
}

// What a conversion of `value` gives: floats round, integers truncate (inputs are in range), bool is "not 0".
double converted(Type to, double value) {
    if (to == kBool) return value != 0;
    if (!is_float(to)) return std::trunc(value);
    Array one(to, 1);
    one.set(0, value);
    return one.get(0);
}

void add_copies(Cases& cases) {
    const std::vector<Type> types = {kF32, kF16, kBf16, kBool, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64};
    for (const Type from : types) {
        for (const Type to : types) {
            const std::string name = "v_copy" + std::string(mlx_name(from)) + std::string(mlx_name(to));
            cases.push_back({"copy", name, "", [=](Session& session) {
                                 const double low = is_signed(from) && is_signed(to) ? -100 : 0;
                                 Array x = uniform_array(from, kCount, 12, low, 100), y(to, kCount);
                                 std::vector<double> expected(kCount);
                                 for (int i = 0; i < kCount; ++i) expected[i] = converted(to, x.get(i));
                                 session.kernel(name).buffer(0, x).buffer(1, y).value(2, kCount).threads(
                                     {kCount, 1, 1}, {256, 1, 1});
                                 session.same(y, expected);
                             }});
        }
    }
    // A transposed matrix made contiguous, and written into every second column of a larger one.
    for (const bool both : {false, true}) {
        const std::string name = both ? "gg2_copyfloat16float16" : "g2_copyfloat16float32";
        cases.push_back({"copy", name, "transposed", [=](Session& session) {
                             const int rows = 41, columns = 29, gap = both ? 2 : 1;
                             Array x = random_array(kF16, rows * columns, 13);
                             Array y = constant_array(both ? kF16 : kF32, rows * columns * gap, 77);
                             std::vector<double> expected(rows * columns * gap, 77);
                             for (int c = 0; c < columns; ++c) {
                                 for (int r = 0; r < rows; ++r)
                                     expected[(c * rows + r) * gap] = x.get(r * columns + c);
                             }
                             auto dispatch = session.kernel(name);
                             dispatch.buffer(0, x).buffer(1, y).values(3, std::vector<int64_t>{1, columns});
                             if (both) dispatch.values(4, std::vector<int64_t>{rows * gap, gap});
                             dispatch.threads({rows, columns, 1}, {32, 32, 1});
                             session.same(y, expected);
                         }});
    }
    for (const Type type : {kF32, kF16, kI32, kU8}) {
        const std::string name = "arange" + std::string(mlx_name(type));
        cases.push_back({"copy", name, "", [=](Session& session) {
                             Array start = constant_array(type, 1, 3), step = constant_array(type, 1, 2),
                                   y(type, 100);
                             std::vector<double> expected(100);
                             for (int i = 0; i < 100; ++i) expected[i] = 3 + 2 * i;
                             session.kernel(name).buffer(0, start).buffer(1, step).buffer(2, y).threads(
                                 {100, 1, 1}, {64, 1, 1});
                             session.same(y, expected);
                         }});
    }
}

}  // namespace

Cases mlx_elementwise_cases() {
    Cases cases;
    add_unary(cases);
    add_binary(cases);
    add_copies(cases);
    return cases;
}

}  // namespace ingot::metal::conformance

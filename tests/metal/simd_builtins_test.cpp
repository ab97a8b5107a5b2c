// Every simdgroup and quadgroup function of the list, called as AIR on every type, whole and partial groups,
// and from divergent code, against a computation over the lanes.
#include "metal/ir_text.h"
#include "metal/simd_cases.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

struct ElementType {
    std::string suffix, llvm;
    int bytes;
    bool is_float;
};
const std::vector<ElementType> kTypes{
    {"f32", "float", 4, true},  {"f16", "half", 2, true},   {"bf16", "bfloat", 2, true},
    {"s.i8", "i8", 1, false},   {"u.i8", "i8", 1, false},   {"s.i16", "i16", 2, false},
    {"u.i16", "i16", 2, false}, {"s.i32", "i32", 4, false}, {"u.i32", "i32", 4, false},
    {"s.i64", "i64", 8, false}, {"u.i64", "i64", 8, false},
};

// "s.i32" and 2 -> "s.v2i32"
std::string vector_suffix(const std::string& suffix, int lanes) {
    const std::string v = "v" + std::to_string(lanes);
    const size_t dot = suffix.find('.');
    return dot == std::string::npos ? v + suffix : suffix.substr(0, dot + 1) + v + suffix.substr(dot + 1);
}

bool is_vote(SimdShape shape) {
    return shape == SimdShape::VOTE || shape == SimdShape::BALLOT || shape == SimdShape::IS_FIRST ||
           shape == SimdShape::MASK;
}

// A function with what it is called with: shuffles by `amount`.
struct Row {
    SimdListed function;
    bool is_quad;
    uint32_t amount() const { return is_quad ? 1 : 5; }
    uint32_t width() const { return is_quad ? 4 : 32; }
    std::string name() const { return (is_quad ? "quad_" : "simd_") + function.name; }
};

// What serves a type: votes are called with one alone, bitwise functions with integers.
std::vector<Row> rows_for(const ElementType& type, uint32_t lanes) {
    std::vector<Row> rows;
    for (const SimdListed& function : simd_functions()) {
        if (function.shape == SimdShape::BITS && type.is_float) continue;
        if (is_vote(function.shape) && (type.suffix != "s.i32" || lanes != 1)) continue;
        for (const bool is_quad : {false, true}) rows.push_back({function, is_quad});
    }
    return rows;
}

// The call of row `r` on %v (and %f to fill with) as %r<r>, an i32 for votes.
std::string call_ir(const Row& row, size_t r, const std::string& suffix, const std::string& type,
                    std::string& declarations) {
    const std::string stem = "@air." + row.name(), amount = "i16 " + std::to_string(row.amount());
    std::string name = stem + "." + suffix, out = type, arguments = type + " %v", types = type;
    switch (row.function.shape) {
        case SimdShape::SHUFFLE:
            arguments += ", " + amount;
            types += ", i16";
            break;
        case SimdShape::FILL:
            arguments += ", " + type + " %f, " + amount + ", i16 " + std::to_string(row.width());
            types += ", " + type + ", i16, i16";
            break;
        case SimdShape::VOTE:
        case SimdShape::IS_FIRST:
            name = stem;
            out = "i1";
            break;
        case SimdShape::BALLOT:
        case SimdShape::MASK:
            name = stem + ".i64";
            out = "i64";
            break;
        default:
            break;
    }
    if (row.function.shape == SimdShape::IS_FIRST || row.function.shape == SimdShape::MASK)
        arguments = types = "";
    if (row.function.shape == SimdShape::VOTE || row.function.shape == SimdShape::BALLOT) {
        arguments = "i1 %t";
        types = "i1";
    }
    declarations += "declare " + out + " " + name + "(" + types + ") convergent\n";
    const std::string n = std::to_string(r), call = " = call " + out + " " + name + "(" + arguments + ")\n";
    if (!is_vote(row.function.shape)) return "%r" + n + call;
    return "%c" + n + call + "%r" + n + " = " + (out == "i1" ? "zext" : "trunc") + " " + out + " %c" + n +
           " to i32\n";
}

// One kernel for all of `rows`: row r writes its result of b1[i] to b0 at r * `threads` + i; b2[i] is what
// fills are made of. Only threads with i % `every` != 0 take part if `every` isn't 0.
std::string simd_ir(const std::vector<Row>& rows, const std::string& suffix, const std::string& type,
                    uint32_t threads, uint32_t every) {
    const std::string load = "load " + type + ", ptr addrspace(1) ";
    std::string body = "%i = zext i32 %thread_position_in_grid to i64\n", declarations;
    body += "%p = getelementptr " + type + ", ptr addrspace(1) %b1, i64 %i\n%v = " + load + "%p, align 1\n";
    body += "%pf = getelementptr " + type + ", ptr addrspace(1) %b2, i64 %i\n%f = " + load + "%pf, align 1\n";
    if (type == "i32") body += "%t = icmp ne i32 %v, 0\n";
    if (every != 0) {
        body += "%rest = urem i32 %thread_position_in_grid, " + std::to_string(every) +
                "\n%no = icmp eq i32 %rest, 0\nbr i1 %no, label %end, label %on\non:\n";
    }
    for (size_t r = 0; r < rows.size(); ++r) {
        const std::string n = std::to_string(r);
        body += call_ir(rows[r], r, suffix, type, declarations) + "%at" + n + " = add i64 %i, " +
                std::to_string(r * threads) + "\n%q" + n + " = getelementptr " + type +
                ", ptr addrspace(1) %b0, i64 %at" + n + "\nstore " + type + " %r" + n +
                ", ptr addrspace(1) %q" + n + ", align 1\n";
    }
    if (every != 0) body += "br label %end\nend:\n";
    return kernel_ir(3, {"thread_position_in_grid"}, body + "ret void", declarations);
}

// One element of `type` from and to a small whole number.
void put(std::vector<uint8_t>& bytes, size_t i, const ElementType& type, double value) {
    uint64_t raw = uint64_t(int64_t(value));
    if (type.suffix == "f32") {
        const float f = float(value);
        std::memcpy(&raw, &f, 4);
    } else if (type.is_float) {
        raw = type.suffix == "f16" ? Half(float(value)).bits : Bfloat(float(value)).bits;
    }
    std::memcpy(&bytes[i * size_t(type.bytes)], &raw, size_t(type.bytes));
}
double get(const std::vector<uint8_t>& bytes, size_t i, const ElementType& type) {
    uint64_t raw = 0;
    std::memcpy(&raw, &bytes[i * size_t(type.bytes)], size_t(type.bytes));
    if (type.suffix == "f32") {
        float f;
        std::memcpy(&f, &raw, 4);
        return double(f);
    }
    if (type.is_float)
        return double(type.suffix == "f16" ? half_to_float(uint16_t(raw)) : bfloat16_to_float(uint16_t(raw)));
    return double(raw);  // of the type's own bits
}
// What `value` is modulo the type's bits.
double wrapped(double value, const ElementType& type) {
    if (type.is_float || type.bytes == 8) return type.is_float ? value : double(uint64_t(int64_t(value)));
    return double(uint64_t(int64_t(value)) & ((uint64_t{1} << (8 * type.bytes)) - 1));
}

// Small enough that products of 32 lanes are exact everywhere: mostly ones, some twos, zeros and a few -1.
double input_value(uint32_t i, const ElementType& type, bool is_product) {
    if (is_product) return i % 11 == 3 ? 2 : type.suffix[0] != 'u' && i % 17 == 5 ? -1 : 1;
    return type.suffix[0] == 'u' ? double(i % 7) : double(i % 7) - 3;
}

// What row r of simd_ir gives for element e of thread i; false if Metal doesn't say.
bool expected_value(const Row& row, const ElementType& type, uint32_t threads, uint32_t every, uint32_t i,
                    uint32_t e, double& expected) {
    const bool is_product = row.function.name.find("product") != std::string::npos;
    const uint32_t base = i / 32 * 32;
    std::vector<double> values(32);
    std::vector<bool> active(32);
    for (uint32_t k = 0; k < 32; ++k) {
        values[k] = input_value(base + k + e, type, is_product);
        active[k] = base + k < threads && (every == 0 || (base + k) % every != 0);
    }
    return reference_simd(row.function.name, values, std::vector<double>(32, 9), active, row.width(),
                          i - base, row.amount(), expected);
}

// Products get other inputs than the rest, so that they don't overflow.
void expect_agreement(const ElementType& type, uint32_t lanes, uint32_t every, bool products) {
    const uint32_t n = 80;  // the third simdgroup has 16 lanes
    std::vector<Row> rows = rows_for(type, lanes);
    std::erase_if(rows, [&](const Row& row) {
        return (row.function.name.find("product") != std::string::npos) != products;
    });
    const std::string llvm = lanes == 1 ? type.llvm : "<" + std::to_string(lanes) + " x " + type.llvm + ">";
    const std::string suffix = lanes == 1 ? type.suffix : vector_suffix(type.suffix, int(lanes));
    const uint32_t stride = lanes == 3 ? 4 : lanes;  // vectors of three take the space of four
    std::vector<uint8_t> in(size_t{n} * stride * size_t(type.bytes)), fill(in.size()),
        out(rows.size() * in.size());
    for (uint32_t i = 0; i < n * stride; ++i) {
        put(in, i, type, input_value(i / stride + i % stride, type, products));
        put(fill, i, type, 9);
    }
    Dispatch(text_kernel(simd_ir(rows, suffix, llvm, n, every)))
        .buffer(0, out)
        .buffer(1, in)
        .buffer(2, fill)
        .threads_of_grid({n, 1, 1}, {n, 1, 1});
    for (size_t r = 0; r < rows.size(); ++r) {
        for (uint32_t i = 0; i < n; ++i) {
            if (every != 0 && i % every == 0) continue;
            for (uint32_t e = 0; e < lanes; ++e) {
                double expected = 0;
                if (!expected_value(rows[r], type, n, every, i, e, expected)) continue;
                const double actual = get(out, (r * n + i) * stride + e, type);
                EXPECT_EQ(wrapped(expected, type), actual)
                    << rows[r].name() << "." << suffix << " thread " << i << " element " << e;
            }
        }
    }
}

TEST(SimdBuiltins, AgreeOnEveryTypeInWholeAndPartialGroups) {
    for (const ElementType& type : kTypes) {
        for (const bool products : {false, true}) expect_agreement(type, 1, 0, products);
    }
}

TEST(SimdBuiltins, AgreeOnVectors) {
    expect_agreement(kTypes[0], 4, 0, false);
    expect_agreement(kTypes[1], 3, 0, false);
    expect_agreement(kTypes[2], 4, 0, true);
    expect_agreement(kTypes[4], 2, 0, false);
    expect_agreement(kTypes[7], 2, 0, false);
    expect_agreement(kTypes[10], 3, 0, true);
}

TEST(SimdBuiltins, CoverTheActiveLanesOfDivergentCode) {
    for (const bool products : {false, true}) expect_agreement(kTypes[7], 1, 3, products);
    expect_agreement(kTypes[0], 2, 3, false);
}

}  // namespace
}  // namespace ingot::metal::testing

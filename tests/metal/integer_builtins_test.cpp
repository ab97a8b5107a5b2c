// Every integer function of the lists and every pack and unpack, called as AIR, against arithmetic in 128
// bits and in double precision.
#include "metal/builtin_cases.h"
#include "metal/ir_text.h"
#include "metal/msl/include/ingot_msl/builtins.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

enum class IntegerShape { UNARY, BINARY, TERNARY, DIFFERENCE, PLAIN, COUNT, ROTATE, EXTRACT, INSERT };

struct ListedInteger {
    std::string name;
    IntegerShape shape;
};
const std::vector<ListedInteger> kListedIntegers{
#define X(name, metal_name, shape) {#name, IntegerShape::shape},
    INGOT_INTEGER_BUILTINS(X) INGOT_SHARED_INTEGER_BUILTINS(X)
#undef X
};

int num_values(IntegerShape shape) {
    switch (shape) {
        case IntegerShape::UNARY:
        case IntegerShape::PLAIN:
        case IntegerShape::COUNT:
        case IntegerShape::EXTRACT:
            return 1;
        case IntegerShape::TERNARY:
            return 3;
        default:
            return 2;
    }
}

std::string suffix_of(const ListedInteger& listed, const IntegerType& type, const std::string& lanes) {
    const std::string width = lanes + "i" + std::to_string(type.bits);
    const bool is_plain = listed.shape == IntegerShape::PLAIN || listed.shape == IntegerShape::COUNT ||
                          listed.shape == IntegerShape::ROTATE;
    return is_plain ? width : (type.is_signed ? "s." : "u.") + width;
}

// One kernel for all functions on LLVM's `type`: function f writes its result of (b1[i], b2[i], b3[i]) to b0
// at f * `calls` + i. Offsets and lengths of fields are the i32 values b4[i] and b5[i].
std::string integers_ir(const IntegerType& element, const std::string& lanes, const std::string& type,
                        size_t calls) {
    std::string body = "%i = zext i32 %thread_position_in_grid to i64\n", declarations;
    const auto load = [&](const std::string& name, const std::string& of, int buffer) {
        body += "%p" + name + " = getelementptr " + of + ", ptr addrspace(1) %b" + std::to_string(buffer) +
                ", i64 %i\n%" + name + " = load " + of + ", ptr addrspace(1) %p" + name + ", align 1\n";
    };
    for (int a = 0; a < 3; ++a) load("v" + std::to_string(a), type, a + 1);
    load("offset", "i32", 4);
    load("count", "i32", 5);
    for (size_t f = 0; f < kListedIntegers.size(); ++f) {
        const std::string id = std::to_string(f);
        const std::string function =
            "@air." + kListedIntegers[f].name + "." + suffix_of(kListedIntegers[f], element, lanes);
        std::string values, types;
        for (int a = 0; a < num_values(kListedIntegers[f].shape); ++a) {
            values += (a ? ", " : "") + type + " %v" + std::to_string(a);
            types += (a ? ", " : "") + type;
        }
        if (kListedIntegers[f].shape == IntegerShape::COUNT) {
            values += ", i1 false";
            types += ", i1";
        }
        if (kListedIntegers[f].shape == IntegerShape::EXTRACT ||
            kListedIntegers[f].shape == IntegerShape::INSERT) {
            values += ", i32 %offset, i32 %count";
            types += ", i32, i32";
        }
        body += "%r" + id + " = call " + type + " " + function + "(" + values + ")\n%at" + id +
                " = add i64 %i, " + std::to_string(f * calls) + "\n%q" + id + " = getelementptr " + type +
                ", ptr addrspace(1) %b0, i64 %at" + id + "\nstore " + type + " %r" + id +
                ", ptr addrspace(1) %q" + id + ", align 1\n";
        declarations += "declare " + type + " " + function + "(" + types + ")\n";
    }
    return kernel_ir(6, {"thread_position_in_grid"}, body + "ret void", declarations);
}

struct Operands {
    std::vector<uint64_t> values[3];
    std::vector<uint32_t> offsets, counts;
};

Operands operands_for(const IntegerType& type, size_t n) {
    Operands operands;
    for (uint32_t a = 0; a < 3; ++a) operands.values[a] = integer_operands(type, n, a + 1);
    std::mt19937 generator(9);
    for (size_t i = 0; i < n; ++i) {
        const uint32_t offset = generator() % uint32_t(type.bits);
        operands.offsets.push_back(offset);
        operands.counts.push_back(generator() % (uint32_t(type.bits) - offset + 1));
    }
    return operands;
}

// The low bytes of each value, as the device sees them.
std::vector<uint8_t> bytes_of(const std::vector<uint64_t>& values, const IntegerType& type) {
    std::vector<uint8_t> bytes;
    for (const uint64_t value : values) {
        for (int i = 0; i < type.bits / 8; ++i) bytes.push_back(uint8_t(value >> (8 * i)));
    }
    return bytes;
}

uint64_t expected(const ListedInteger& listed, const Operands& operands, size_t i, const IntegerType& type) {
    const auto value = [&](int a) { return type.value(operands.values[a][i]); };
    Wide result = 0;
    if (listed.shape == IntegerShape::EXTRACT) {
        result = reference_extract_bits(value(0), operands.offsets[i], operands.counts[i], type);
    } else if (listed.shape == IntegerShape::INSERT) {
        result = reference_insert_bits(value(0), value(1), operands.offsets[i], operands.counts[i], type);
    } else {
        for (const IntegerCase& c : integer_cases()) {
            if (listed.name == c.name) result = c.reference(value(0), value(1), value(2), type);
        }
    }
    return uint64_t(result) & type.mask();
}

TEST(IntegerBuiltins, EveryFunctionHasAReference) {
    for (const ListedInteger& listed : kListedIntegers) {
        if (listed.shape == IntegerShape::EXTRACT || listed.shape == IntegerShape::INSERT) continue;
        const auto& cases = integer_cases();
        EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const IntegerCase& c) {
            return listed.name == c.name;
        })) << listed.name;
    }
}

void expect_agreement(const IntegerType& type, uint32_t lanes) {
    const size_t n = 2048, size = size_t(type.bits) / 8;
    const Operands operands = operands_for(type, n);
    std::vector<uint8_t> in[3], out(kListedIntegers.size() * n * size);
    for (int a = 0; a < 3; ++a) in[a] = bytes_of(operands.values[a], type);
    // The elements of a vector have one offset and length.
    Operands used = operands;
    std::vector<uint32_t> offsets(n / lanes), counts(n / lanes);
    for (size_t i = 0; i < n; ++i) {
        used.offsets[i] = offsets[i / lanes] = operands.offsets[i / lanes];
        used.counts[i] = counts[i / lanes] = operands.counts[i / lanes];
    }
    const std::string prefix = lanes == 1 ? "" : "v" + std::to_string(lanes);
    const std::string element = "i" + std::to_string(type.bits);
    const std::string llvm_type = lanes == 1 ? element : "<" + std::to_string(lanes) + " x " + element + ">";
    Dispatch dispatch(text_kernel(integers_ir(type, prefix, llvm_type, n / lanes)));
    dispatch.buffer(0, out)
        .buffer(1, in[0])
        .buffer(2, in[1])
        .buffer(3, in[2])
        .buffer(4, offsets)
        .buffer(5, counts);
    dispatch.threads_of_grid({uint32_t(n) / lanes, 1, 1}, {64, 1, 1});
    for (size_t f = 0; f < kListedIntegers.size(); ++f) {
        for (size_t i = 0; i < n; ++i) {
            uint64_t actual = 0;
            std::memcpy(&actual, &out[(f * n + i) * size], size);
            ASSERT_EQ(expected(kListedIntegers[f], used, i, type), actual)
                << kListedIntegers[f].name << "." << type.suffix << " x " << lanes << " of "
                << operands.values[0][i] << ", " << operands.values[1][i] << ", " << operands.values[2][i]
                << " field " << used.offsets[i] << " + " << used.counts[i];
        }
    }
}

TEST(IntegerBuiltins, AgreeWithWideArithmeticOnEveryType) {
    for (const IntegerType& type : integer_types()) expect_agreement(type, 1);
}

TEST(IntegerBuiltins, WorkOnVectors) {
    expect_agreement(integer_types()[4], 4);
    expect_agreement(integer_types()[1], 2);
}

struct PackFormat {
    std::string name;
    uint32_t count;
    bool is_signed, is_srgb;
    int bits[4];
};
const std::vector<PackFormat> kFormats{
#define X(name, count, word, unpack, pack, is_signed, is_srgb, b0, b1, b2, b3) \
    {name, count, is_signed, is_srgb, {b0, b1, b2, b3}},
    INGOT_PACK_BUILTINS(X)
#undef X
};

double field_max(const PackFormat& format, uint32_t i) {
    return std::ldexp(1, format.bits[i] - (format.is_signed ? 1 : 0)) - 1;
}

uint32_t reference_pack(const PackFormat& format, const float* values) {
    uint64_t word = 0;
    for (uint32_t i = 0, at = 0; i < format.count; at += uint32_t(format.bits[i++])) {
        double x =
            std::isnan(values[i]) ? 0 : std::clamp(double(values[i]), format.is_signed ? -1.0 : 0.0, 1.0);
        if (format.is_srgb && i < 3) x = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
        const auto field = int64_t(std::nearbyint(x * field_max(format, i)));
        word |= (uint64_t(field) & ((uint64_t{1} << format.bits[i]) - 1)) << at;
    }
    return uint32_t(word);
}

double reference_unpack(const PackFormat& format, uint32_t word, uint32_t i) {
    uint32_t at = 0;
    for (uint32_t k = 0; k < i; ++k) at += uint32_t(format.bits[k]);
    auto field = int64_t((uint64_t(word) >> at) & ((uint64_t{1} << format.bits[i]) - 1));
    if (format.is_signed && field > int64_t(field_max(format, i))) field -= int64_t{1} << format.bits[i];
    double x = std::max(double(field) / field_max(format, i), -1.0);
    if (!format.is_srgb || i >= 3) return x;
    x = x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
    return std::nearbyint(x * 4095) / 4095;
}

std::string pack_ir(const PackFormat& format, bool packs) {
    const std::string vector = "<" + std::to_string(format.count) + " x float>";
    const std::string word = format.count == 3 ? "i16" : "i32";
    const std::string in = packs ? vector : word, out = packs ? word : vector;
    const std::string function = std::string("air.") + (packs ? "pack." : "unpack.") + format.name + ".v" +
                                 std::to_string(format.count) + "f32";
    // Elements lie 4 bytes apart: vectors of three would take 16.
    const std::string stride_in = packs ? "[" + std::to_string(format.count) + " x float]" : word;
    const std::string stride_out = packs ? word : "[" + std::to_string(format.count) + " x float]";
    std::string store = "store " + out + " %r, ptr addrspace(1) %q, align 1\n";
    std::string load = "%v = load " + in + ", ptr addrspace(1) %p, align 1\n";
    return kernel_ir(2, {"thread_position_in_grid"},
                     "%i = zext i32 %thread_position_in_grid to i64\n%p = getelementptr " + stride_in +
                         ", ptr addrspace(1) %b1, i64 %i\n" + load + "%r = call " + out + " @" + function +
                         "(" + in + " %v)\n%q = getelementptr " + stride_out +
                         ", ptr addrspace(1) %b0, i64 %i\n" + store + "ret void",
                     "declare " + out + " @" + function + "(" + in + ")\n");
}

TEST(PackBuiltins, PackingRoundsToNearestEvenClampsAndTakesNanForZero) {
    for (const PackFormat& format : kFormats) {
        const uint32_t n = 4096;
        auto in = normal_values<float>(size_t{n} * format.count, 5, 0.8f);
        in[0] = std::nanf("");
        in[1] = 1e30f;
        in[format.count] = -1e30f;
        std::vector<uint8_t> out(n * (format.count == 3 ? 2 : 4));
        Dispatch(text_kernel(pack_ir(format, true)))
            .buffer(0, out)
            .buffer(1, in)
            .threads_of_grid({n, 1, 1}, {64, 1, 1});
        int differences = 0;
        for (uint32_t i = 0; i < n; ++i) {
            uint32_t word = 0;
            const size_t size = format.count == 3 ? 2 : 4;
            std::memcpy(&word, &out[i * size], size);
            differences += word != reference_pack(format, &in[size_t{i} * format.count]);
        }
        // The power function of the sRGB curve may round a field to its neighbour.
        EXPECT_LE(differences, format.is_srgb ? 2 : 0) << format.name;
    }
}

TEST(PackBuiltins, UnpackingGivesTheFieldsValues) {
    for (const PackFormat& format : kFormats) {
        const uint32_t n = 4096;
        const auto words = integer_operands(integer_types()[5], n, 3);
        std::vector<uint32_t> in32(words.begin(), words.end());
        std::vector<uint16_t> in16(words.begin(), words.end());
        std::vector<float> out(size_t{n} * format.count);
        Dispatch dispatch(text_kernel(pack_ir(format, false)));
        if (format.count == 3) {
            dispatch.buffer(1, in16);
        } else {
            dispatch.buffer(1, in32);
        }
        dispatch.buffer(0, out).threads_of_grid({n, 1, 1}, {64, 1, 1});
        for (uint32_t i = 0; i < n; ++i) {
            for (uint32_t c = 0; c < format.count; ++c) {
                const uint32_t word = format.count == 3 ? in16[i] : in32[i];
                ASSERT_NEAR(reference_unpack(format, word, c), out[size_t{i} * format.count + c], 6e-8)
                    << format.name;
            }
        }
    }
}

}  // namespace
}  // namespace ingot::metal::testing

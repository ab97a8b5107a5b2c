// `ingot metal`: Metal kernels on this machine, compiled ones and source.
#include "cli/metal.h"

#include <algorithm>
#include <charconv>

#include "cli/parts.h"
#include "metal/exec/launch.h"

namespace ingot::cli {
namespace {

constexpr Part kMetalCommands[] = {
    {"list", "List a library's kernels and what they take", add_metal_list},
    {"dis", "Print a kernel's LLVM IR", add_metal_dis},
    {"check", "Find what is wrong with a kernel, or what this device doesn't serve of a library",
     add_metal_check},
    {"compile", "Compile Metal source", add_metal_compile},
    {"run", "Run a kernel on buffers from files or flags", add_metal_run},
    {"devices", "Describe the virtual device", add_metal_devices},
    {"cache", "Show or clear the kernels kept on disk", add_metal_cache},
};

template <typename T>
Result<T> number_of(std::string_view text, std::string_view flag) {
    T value{};
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
        return fail(ErrorKind::kInvalidArgument, "'{}': '{}' is no number", flag, text);
    }
    return value;
}

struct IntegerType {
    std::string_view name;
    unsigned bits;
    bool is_signed;
};
constexpr IntegerType kIntegers[] = {{"char", 8, true},     {"uchar", 8, false}, {"short", 16, true},
                                     {"ushort", 16, false}, {"int", 32, true},   {"uint", 32, false},
                                     {"long", 64, true},    {"ulong", 64, false}};

Result<metal::ConstantValue> integer_of(const IntegerType& type, std::string_view text,
                                        std::string_view flag) {
    int64_t value = 0;
    if (type.bits == 64 && !type.is_signed) {
        INGOT_ASSIGN(const uint64_t natural, number_of<uint64_t>(text, flag));
        return metal::ConstantValue(int64_t(natural));
    }
    INGOT_ASSIGN(value, number_of<int64_t>(text, flag));
    const unsigned unused = 64 - type.bits;
    const int64_t kept = type.is_signed ? int64_t(uint64_t(value) << unused) >> unused
                                        : int64_t(uint64_t(value) << unused >> unused);
    if (kept == value) return metal::ConstantValue(value);
    return fail(ErrorKind::kInvalidArgument, "'{}': '{}' doesn't fit {}", flag, text, type.name);
}

Result<metal::ConstantValue> parse_scalar(std::string_view type, std::string_view text,
                                          std::string_view flag) {
    if (type == "bool") {
        if (text == "true" || text == "1") return metal::ConstantValue(true);
        if (text == "false" || text == "0") return metal::ConstantValue(false);
        return fail(ErrorKind::kInvalidArgument, "'{}': a bool is true or false", flag);
    }
    if (type == "float" || type == "half" || type == "bfloat") {
        INGOT_ASSIGN(const float value, number_of<float>(text, flag));
        return metal::ConstantValue(value);
    }
    const auto known = std::ranges::find(kIntegers, type, &IntegerType::name);
    if (known != std::end(kIntegers)) return integer_of(*known, text, flag);
    return fail(ErrorKind::kInvalidArgument,
                "'{}': no type '{}'; there are bool, char, uchar, short, ushort, int, uint, long, ulong, "
                "float, half, bfloat, and vectors like float4 (x=float4:1,2,3,4)",
                flag, type);
}

Result<metal::ConstantValue> parse_value(std::string_view type, std::string_view text,
                                         std::string_view flag) {
    if (type.size() < 2 || type.back() < '2' || type.back() > '4') return parse_scalar(type, text, flag);
    std::vector<int64_t> integers;
    std::vector<float> floats;
    size_t count = 0;
    for (bool more = true; more;) {
        const size_t comma = text.find(',');
        more = comma != std::string_view::npos;
        INGOT_ASSIGN(const metal::ConstantValue value,
                     parse_scalar(type.substr(0, type.size() - 1), text.substr(0, comma), flag));
        text.remove_prefix(more ? comma + 1 : text.size());
        if (const float* number = std::get_if<float>(&value)) floats.push_back(*number);
        if (const bool* truth = std::get_if<bool>(&value)) integers.push_back(*truth);
        if (const int64_t* number = std::get_if<int64_t>(&value)) integers.push_back(*number);
        ++count;
    }
    if (count != size_t(type.back() - '0')) {
        return fail(ErrorKind::kInvalidArgument, "'{}': {} elements given, {} has {}", flag, count, type,
                    type.back());
    }
    if (!floats.empty()) return floats;
    return integers;
}

}  // namespace

void add_trust_flag(CLI::App& app, bool& trust) {
    trust = metal::trusts_files();
    app.add_flag("--trust", trust,
                 "The file comes from a trusted source: no child process reads its modules first");
}

Result<metal::Constants> parse_constants(const std::vector<std::string>& flags) {
    metal::Constants constants;
    for (const std::string& flag : flags) {
        const size_t equals = flag.find('='),
                     colon = flag.find(':', equals == std::string::npos ? 0 : equals);
        if (equals == std::string::npos || colon == std::string::npos || equals == 0) {
            return fail(ErrorKind::kInvalidArgument, "'{}' is no constant; one looks like 200=bool:true",
                        flag);
        }
        const std::string_view text = flag;
        INGOT_ASSIGN(const metal::ConstantValue value,
                     parse_value(text.substr(equals + 1, colon - equals - 1), text.substr(colon + 1), flag));
        const std::string key = flag.substr(0, equals);
        if (key.find_first_not_of("0123456789") == std::string::npos) {
            INGOT_ASSIGN(const uint32_t index, number_of<uint32_t>(key, flag));
            constants.by_index[index] = value;
        } else {
            constants.by_name[key] = value;
        }
    }
    return constants;
}

bool matches_glob(std::string_view text, std::string_view pattern) {
    size_t t = 0, p = 0, star = std::string_view::npos, mark = 0;
    while (t < text.size()) {
        if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] == text[t] && pattern[p] != '*'))) {
            ++t, ++p;
        } else if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            mark = t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

Action add_metal(CLI::App& app) {
    return add_parts(app, kMetalCommands);
}

}  // namespace ingot::cli

#include "metal/exec/kernel_log.h"

#include <cstdio>
#include <cstring>
#include <optional>

#include <unistd.h>

namespace ingot::metal {
namespace {

class Arguments {
  public:
    explicit Arguments(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <typename T>
    std::optional<T> next() {
        const size_t begin = (used_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        if (begin + sizeof(T) > bytes_.size()) return std::nullopt;
        T value;
        std::memcpy(&value, bytes_.data() + begin, sizeof(T));
        used_ = begin + sizeof(T);
        return value;
    }

  private:
    std::span<const std::byte> bytes_;
    size_t used_ = 0;
};

// "%-08.3lf": the text up to the length, how many l's, the conversion.
struct Conversion {
    std::string flags;
    int num_longs = 0;
    char kind = 0;
    size_t length = 0;
};

Conversion parse_conversion(const char* text) {
    Conversion conversion;
    const char* at = text + 1;
    const size_t flags = std::strspn(at, "-+ #0123456789.");
    conversion.flags = "%" + std::string(at, flags);
    at += flags;
    // h and hh say nothing: the argument is an int.
    for (; *at == 'l' || *at == 'h' || *at == 'z' || *at == 'j' || *at == 't'; ++at) {
        conversion.num_longs += *at != 'h';
    }
    conversion.kind = *at;
    conversion.length = size_t(at - text) + (*at != 0 ? 1 : 0);
    return conversion;
}

template <typename T>
bool append(std::string& out, const Conversion& conversion, const char* length, std::optional<T> value) {
    if (!value) return false;
    char text[512];
    const std::string format = conversion.flags + length + conversion.kind;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    const int written = std::snprintf(text, sizeof text, format.c_str(), *value);
#pragma GCC diagnostic pop
    if (written < 0) return false;
    out += text;
    return true;
}

bool append_argument(std::string& out, const Conversion& conversion, Arguments& arguments) {
    switch (conversion.kind) {
        case 'd':
        case 'i':
        case 'u':
        case 'x':
        case 'X':
        case 'o':
        case 'c':
            return conversion.num_longs > 0 ? append(out, conversion, "l", arguments.next<long>())
                                            : append(out, conversion, "", arguments.next<int>());
        case 'f':
        case 'F':
        case 'e':
        case 'E':
        case 'g':
        case 'G':
        case 'a':
        case 'A':
            return append(out, conversion, "", arguments.next<double>());
        case 's':
            return append(out, conversion, "", arguments.next<const char*>());
        case 'p':
            return append(out, conversion, "", arguments.next<const void*>());
        default:
            return false;
    }
}

const char* type_name(uint32_t type) {
    switch (type) {
        case 1:
            return "info";
        case 2:
            return "debug";
        case 16:
            return "error";
        case 17:
            return "fault";
        default:
            return "log";
    }
}

}  // namespace

std::string format_log(const char* format, std::span<const std::byte> bytes) {
    Arguments arguments(bytes);
    std::string out;
    for (const char* at = format; *at != 0 && out.size() < kMaxLogBytes;) {
        if (at[0] != '%' || at[1] == '%') {
            out += *at;
            at += at[0] == '%' ? 2 : 1;
            continue;
        }
        const Conversion conversion = parse_conversion(at);
        if (!append_argument(out, conversion, arguments)) out.append(at, conversion.length);
        at += conversion.length;
    }
    if (out.size() > kMaxLogBytes) out.resize(kMaxLogBytes);
    return out;
}

}  // namespace ingot::metal

void ingot_os_log(const char* subsystem, const char* category, uint32_t type, const char* format,
                  const void* arguments, uint64_t size) {
    using namespace ingot::metal;
    const std::string message = format_log(format, {static_cast<const std::byte*>(arguments), size});
    std::string line = "metal ";
    line += type_name(type);
    if (subsystem[0] != 0) line += std::string(" ") + subsystem + ":" + category;
    line += ": " + message + "\n";
    // One call, and no lock of the C library that a kernel's fault could leave behind.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

#include "llm/text/jinja/string_literal.h"

#include <algorithm>
#include <iterator>

#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

struct SimpleEscape {
    char name;
    const char* text;
};
constexpr SimpleEscape kSimple[] = {{'\n', ""},  {'\\', "\\"}, {'\'', "'"}, {'"', "\""},
                                    {'a', "\a"}, {'b', "\b"},  {'f', "\f"}, {'n', "\n"},
                                    {'r', "\r"}, {'t', "\t"},  {'v', "\v"}};

int digit_value(char c, int radix) {
    int value = 99;
    if (c >= '0' && c <= '9') value = c - '0';
    if (c >= 'a' && c <= 'f') value = c - 'a' + 10;
    if (c >= 'A' && c <= 'F') value = c - 'A' + 10;
    return value < radix ? value : -1;
}

Result<void> append_code(std::string& out, char32_t code, std::string_view escape) {
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
        return fail(ErrorKind::kCorrupt, "{} isn't a character of its own", escape);
    }
    append_char(out, code);
    return {};
}

}  // namespace

Result<std::string> unescape(std::string_view body) {
    std::string out;
    out.reserve(body.size());
    for (size_t i = 0; i < body.size();) {
        const size_t start = i;
        if (body[i] != '\\' || i + 1 >= body.size()) {
            out += body[i++];
            continue;
        }
        const char kind = body[i + 1];
        i += 2;
        const auto* const simple =
            std::find_if(std::begin(kSimple), std::end(kSimple),
                         [&](const SimpleEscape& escape) { return escape.name == kind; });
        if (simple != std::end(kSimple)) {
            out += simple->text;
            continue;
        }
        const bool octal = digit_value(kind, 8) >= 0;
        const size_t wanted = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
        if (octal || wanted > 0) {
            if (octal) --i;
            char32_t code = 0;
            size_t digits = 0;
            for (; digits < (octal ? 3 : wanted) && i < body.size(); ++digits, ++i) {
                const int value = digit_value(body[i], octal ? 8 : 16);
                if (value < 0) break;
                code = code * (octal ? 8 : 16) + static_cast<char32_t>(value);
            }
            if (!octal && digits < wanted) {
                return fail(ErrorKind::kCorrupt, "truncated \\{} escape: {} hexadecimal digits expected",
                            kind, wanted);
            }
            INGOT_TRY(append_code(out, code, body.substr(start, i - start)));
        } else if (kind == 'N') {
            return fail(ErrorKind::kUnsupported, "\\N{{...}} escapes aren't supported");
        } else {
            out += body.substr(start, 2);
        }
    }
    return out;
}

}  // namespace ingot::jinja

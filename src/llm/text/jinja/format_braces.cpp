// Python's "{} is {name}".format(...).
#include <algorithm>

#include "llm/text/jinja/attributes.h"
#include "llm/text/jinja/format.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

class BraceFormatter {
  public:
    BraceFormatter(Heap& heap, const Arguments& arguments) : heap_(heap), arguments_(arguments) {}

    Result<std::string> run(std::string_view pattern, int depth) {
        if (depth > 2) return fail(ErrorKind::kInvalidArgument, "max string recursion exceeded");
        std::string out;
        for (size_t pos = 0; pos < pattern.size();) {
            const char c = pattern[pos++];
            if (c != '{' && c != '}') {
                out += c;
                continue;
            }
            if (pos < pattern.size() && pattern[pos] == c) {
                out += c;
                ++pos;
                continue;
            }
            if (c == '}')
                return fail(ErrorKind::kInvalidArgument, "Single '}}' encountered in format string");
            INGOT_TRY(heap_.step());
            size_t end = pos;
            for (int open = 1; end < pattern.size(); ++end) {
                if (pattern[end] == '{') ++open;
                if (pattern[end] == '}' && --open == 0) break;
            }
            if (end >= pattern.size()) {
                return fail(ErrorKind::kInvalidArgument, "expected '}}' before end of string");
            }
            INGOT_ASSIGN(const std::string text, field(pattern.substr(pos, end - pos), depth));
            out += text;
            INGOT_TRY(heap_.claim(out.size()));
            pos = end + 1;
        }
        return out;
    }

  private:
    Result<std::string> field(std::string_view body, int depth) {
        const size_t colon = body.find(':');
        std::string_view name = body.substr(0, colon);
        const std::string_view raw_spec = colon == body.npos ? std::string_view() : body.substr(colon + 1);
        char conversion = 0;
        if (const size_t mark = name.find('!'); mark != name.npos) {
            if (mark + 2 != name.size()) {
                return fail(ErrorKind::kInvalidArgument, "expected ':' after conversion specifier");
            }
            conversion = name[mark + 1];
            name = name.substr(0, mark);
        }
        INGOT_ASSIGN(Value value, lookup(name));
        if (conversion == 'r' || conversion == 's') {
            INGOT_ASSIGN(const std::string text,
                         conversion == 'r' ? repr(heap_, value) : to_text(heap_, value));
            value = heap_.text(text);
        } else if (conversion == 'a') {
            return fail(ErrorKind::kUnsupported, "the conversion !a isn't supported");
        } else if (conversion != 0) {
            return fail(ErrorKind::kInvalidArgument, "Unknown conversion specifier {}", conversion);
        }
        INGOT_ASSIGN(const std::string spec_text, run(raw_spec, depth + 1));
        INGOT_ASSIGN(const FormatSpec spec, parse_format_spec(spec_text));
        return format_value(heap_, spec, value);
    }

    Result<Value> lookup(std::string_view name) {
        const size_t end = std::min(name.find_first_of(".["), name.size());
        INGOT_ASSIGN(Value value, first(name.substr(0, end)));
        for (size_t pos = end; pos < name.size();) {
            if (name[pos] == '.') {
                const size_t stop = std::min(name.find_first_of(".[", pos + 1), name.size());
                INGOT_ASSIGN(value, get_attribute(heap_, value, name.substr(pos + 1, stop - pos - 1)));
                pos = stop;
                continue;
            }
            const size_t close = name.find(']', pos);
            if (name[pos] != '[' || close == name.npos) {
                return fail(ErrorKind::kInvalidArgument, "Missing ']' in format string");
            }
            const std::string_view key = name.substr(pos + 1, close - pos - 1);
            size_t digits = 0;
            INGOT_ASSIGN(const int64_t index, read_format_number(key, digits));
            const Value item = digits == key.size() && digits > 0 ? Value::integer(index) : heap_.text(key);
            INGOT_ASSIGN(value, get_item(heap_, value, item));
            pos = close + 1;
        }
        return value;
    }

    Result<Value> first(std::string_view name) {
        size_t digits = 0;
        INGOT_ASSIGN(int64_t index, read_format_number(name, digits));
        if (digits != name.size()) {
            for (const NamedValue& argument : arguments_.named) {
                if (argument.name == name) return argument.value;
            }
            return fail(ErrorKind::kInvalidArgument, "KeyError: {}", repr_text(name));
        }
        const bool automatic = name.empty();
        if ((automatic && numbering_ == Numbering::kManual) ||
            (!automatic && numbering_ == Numbering::kAutomatic)) {
            return fail(ErrorKind::kInvalidArgument, "cannot mix automatic and manual field numbering");
        }
        numbering_ = automatic ? Numbering::kAutomatic : Numbering::kManual;
        if (automatic) index = next_++;
        if (static_cast<size_t>(index) >= arguments_.positional.size()) {
            return fail(ErrorKind::kInvalidArgument, "Replacement index {} out of range", index);
        }
        return arguments_.positional[static_cast<size_t>(index)];
    }

    enum class Numbering { kUnknown, kAutomatic, kManual };

    Heap& heap_;
    const Arguments& arguments_;
    Numbering numbering_ = Numbering::kUnknown;
    int64_t next_ = 0;
};

}  // namespace

Result<Value> format_braces(Interpreter&, Heap& heap, const Value& pattern, const Arguments& arguments) {
    INGOT_TRY(refuse_markup_format(pattern));
    INGOT_ASSIGN(const std::string text, BraceFormatter(heap, arguments).run(pattern.bytes(), 0));
    return heap.text(text);
}

}  // namespace ingot::jinja

#include "llm/text/jinja/format.h"

#include <cmath>

#include "llm/text/jinja/attributes.h"
#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

Result<void> refuse_markup(const Value& pattern) {
    if (!pattern.text().markup) return {};
    return fail(ErrorKind::kUnsupported, "formatting escaped text isn't supported");
}

// Reads digits from `pos` on; at most seven, which is wider than any output may be.
Result<int64_t> read_number(std::string_view text, size_t& pos) {
    int64_t number = 0;
    for (size_t digits = 0; pos < text.size() && is_digit(text[pos]); ++pos, ++digits) {
        if (digits == 7) return fail(ErrorKind::kLimit, "a width or precision of more than 7 digits");
        number = number * 10 + (text[pos] - '0');
    }
    return number;
}

class PercentFormatter {
  public:
    PercentFormatter(Heap& heap, std::string_view pattern, const Value& values)
        : heap_(heap), pattern_(pattern), values_(values) {}

    Result<std::string> run() {
        while (pos_ < pattern_.size()) {
            const size_t percent = pattern_.find('%', pos_);
            out_ += pattern_.substr(pos_, percent - pos_);
            if (percent == pattern_.npos) break;
            pos_ = percent + 1;
            INGOT_TRY(conversion());
            INGOT_TRY(heap_.step());
        }
        const size_t given = values_.is(Kind::kTuple) ? values_.sequence().items.size() : 1;
        if (!values_.is(Kind::kDict) && used_ < given &&
            !(values_.is(Kind::kList) && used_ == 0 && mapped_)) {
            return fail(ErrorKind::kInvalidArgument, "not all arguments converted during string formatting");
        }
        return std::move(out_);
    }

  private:
    Result<Value> next_value() {
        if (values_.is(Kind::kTuple)) {
            if (used_ < values_.sequence().items.size()) return values_.sequence().items[used_++];
        } else if (used_ == 0) {
            ++used_;
            return values_;
        }
        return fail(ErrorKind::kInvalidArgument, "not enough arguments for format string");
    }

    Result<Value> mapped_value() {
        const size_t close = pattern_.find(')', pos_);
        if (close == pattern_.npos) return fail(ErrorKind::kInvalidArgument, "incomplete format key");
        const std::string_view key = pattern_.substr(pos_ + 1, close - pos_ - 1);
        pos_ = close + 1;
        mapped_ = true;
        if (!values_.is(Kind::kDict)) return fail(ErrorKind::kInvalidArgument, "format requires a mapping");
        if (const Value* value = find_key(values_.dict(), key)) return *value;
        return fail(ErrorKind::kInvalidArgument, "KeyError: {}", repr_text(key));
    }

    Result<int64_t> star_or_number() {
        if (pos_ < pattern_.size() && pattern_[pos_] == '*') {
            ++pos_;
            INGOT_ASSIGN(const Value value, next_value());
            return integer_argument(value, "* of a format");
        }
        return read_number(pattern_, pos_);
    }

    Result<void> conversion() {
        std::optional<Value> mapped;
        if (pos_ < pattern_.size() && pattern_[pos_] == '(') {
            INGOT_ASSIGN(mapped, mapped_value());
        }
        FormatSpec spec;
        spec.align = '>';
        for (; pos_ < pattern_.size(); ++pos_) {
            const char c = pattern_[pos_];
            if (c == '-')
                spec.align = '<';
            else if (c == '+' || (c == ' ' && spec.sign != '+'))
                spec.sign = c;
            else if (c == '0')
                spec.zero = true;
            else if (c == '#')
                spec.alternate = true;
            else if (c != ' ')
                break;
        }
        INGOT_ASSIGN(spec.width, star_or_number());
        if (spec.width < 0) {
            spec.align = '<';
            spec.width = -spec.width;
        }
        if (pos_ < pattern_.size() && pattern_[pos_] == '.') {
            ++pos_;
            INGOT_ASSIGN(spec.precision, star_or_number());
        }
        if (pos_ >= pattern_.size()) return fail(ErrorKind::kInvalidArgument, "incomplete format");
        spec.type = pattern_[pos_++];
        if (spec.type == '%') {
            out_ += '%';
            return {};
        }
        Value value;
        if (mapped) {
            value = *mapped;
        } else {
            INGOT_ASSIGN(value, next_value());
        }
        return append(spec, value);
    }

    Result<void> append(FormatSpec spec, Value value) {
        switch (spec.type) {
            case 's':
            case 'r': {
                INGOT_ASSIGN(const std::string text,
                             spec.type == 's' ? to_text(heap_, value) : repr(heap_, value));
                value = heap_.text(text);
                spec.type = 's';
                spec.zero = false;
                break;
            }
            case 'i':
            case 'u':
                spec.type = 'd';
                [[fallthrough]];
            case 'd':
                if (value.is(Kind::kFloat)) {
                    if (!(std::abs(value.as_real()) < 9e18)) {
                        return fail(ErrorKind::kInvalidArgument, "%d format: {} doesn't fit an integer",
                                    format_float(value.as_real()));
                    }
                    value = Value::integer(static_cast<int64_t>(value.as_real()));
                }
                break;
            case 'x':
            case 'X':
            case 'o':
            case 'c':
            case 'f':
            case 'F':
            case 'e':
            case 'E':
            case 'g':
            case 'G':
                break;
            default:
                return fail(ErrorKind::kInvalidArgument, "unsupported format character '{}'", spec.type);
        }
        if (spec.type != 's' && !value.is_number()) {
            if (value.is_undefined()) return undefined_error(value);
            return fail(ErrorKind::kInvalidArgument, "%{} format: a real number is required, not {}",
                        spec.type, type_name(value));
        }
        if (spec.align == '<') spec.zero = false;
        if (spec.zero) spec.align = 0;
        INGOT_ASSIGN(const std::string text, format_value(heap_, spec, value));
        out_ += text;
        return {};
    }

    Heap& heap_;
    std::string_view pattern_;
    const Value& values_;
    std::string out_;
    size_t pos_ = 0;
    size_t used_ = 0;
    bool mapped_ = false;
};

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
            INGOT_ASSIGN(const int64_t index, read_number(key, digits));
            const Value item = digits == key.size() && digits > 0 ? Value::integer(index) : heap_.text(key);
            INGOT_ASSIGN(value, get_item(heap_, value, item));
            pos = close + 1;
        }
        return value;
    }

    Result<Value> first(std::string_view name) {
        size_t digits = 0;
        INGOT_ASSIGN(int64_t index, read_number(name, digits));
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

Result<Value> format_percent(Heap& heap, const Value& pattern, const Value& values) {
    INGOT_TRY(refuse_markup(pattern));
    INGOT_ASSIGN(const std::string text, PercentFormatter(heap, pattern.bytes(), values).run());
    INGOT_TRY(heap.claim(text.size()));
    return heap.text(text);
}

Result<Value> format_braces(Interpreter&, Heap& heap, const Value& pattern, const Arguments& arguments) {
    INGOT_TRY(refuse_markup(pattern));
    INGOT_ASSIGN(const std::string text, BraceFormatter(heap, arguments).run(pattern.bytes(), 0));
    return heap.text(text);
}

}  // namespace ingot::jinja

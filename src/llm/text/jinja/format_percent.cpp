// Python's "%s is %d" % values.
#include <algorithm>
#include <cmath>
#include <utility>

#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/format.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

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
            INGOT_ASSIGN(const int64_t number, integer_argument(value, "* of a format"));
            if (number > kMostFormatNumber || number < -kMostFormatNumber) return too_wide_format();
            return number;
        }
        return read_format_number(pattern_, pos_);
    }

    Result<void> conversion() {
        if (pos_ < pattern_.size() && pattern_[pos_] == '%') {
            ++pos_;
            out_ += '%';
            return {};
        }
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
            spec.precision = std::max<int64_t>(spec.precision, 0);
        }
        // C's sizes of integers mean nothing here.
        if (pos_ < pattern_.size() && std::string_view("hlL").find(pattern_[pos_]) != std::string_view::npos)
            ++pos_;
        if (pos_ >= pattern_.size()) return fail(ErrorKind::kInvalidArgument, "incomplete format");
        spec.type = pattern_[pos_++];
        Value value;
        if (mapped) {
            value = *mapped;
        } else {
            INGOT_ASSIGN(value, next_value());
        }
        return append(spec, value);
    }

    Result<void> append(FormatSpec spec, const Value& value) {
        INGOT_ASSIGN(const std::string text, converted(spec, value));
        INGOT_TRY(heap_.claim(out_.size() + text.size()));
        out_ += text;
        return {};
    }

    Result<std::string> converted(FormatSpec spec, const Value& value) {
        switch (spec.type) {
            case 's':
            case 'r': {
                INGOT_ASSIGN(const std::string text,
                             spec.type == 's' ? to_text(heap_, value) : repr(heap_, value));
                return as_text(spec, text);
            }
            case 'c': {
                if (value.is_text() && count_chars(value.bytes()) == 1)
                    return as_text(spec, std::string(value.bytes()));
                if (!value.is_integral()) return fail(ErrorKind::kInvalidArgument, "%c requires int or char");
                INGOT_ASSIGN(const std::string text, character_text(value.as_int()));
                spec.precision = -1;
                return as_text(spec, text);
            }
            case 'i':
            case 'u':
            case 'd':
                spec.type = 'd';
                return as_integer(spec, value);
            case 'x':
            case 'X':
            case 'o':
                if (value.is_integral()) return as_integer(spec, value);
                return not_a_number(spec, value, "an integer");
            case 'f':
            case 'F':
            case 'e':
            case 'E':
            case 'g':
            case 'G':
                if (value.is_number()) return as_number(spec, value);
                return not_a_number(spec, value, "a real number");
            case 'a':
                return fail(ErrorKind::kUnsupported, "the conversion %a isn't supported");
            default:
                return fail(ErrorKind::kInvalidArgument, "unsupported format character '{}'", spec.type);
        }
    }

    // Only width, precision and '-' mean something to text.
    Result<std::string> as_text(const FormatSpec& spec, const std::string& text) {
        FormatSpec plain;
        plain.align = spec.align;
        plain.width = spec.width;
        plain.precision = spec.precision;
        return format_value(heap_, plain, heap_.text(text));
    }

    Result<std::string> as_integer(FormatSpec spec, Value value) {
        if (!value.is_number()) return not_a_number(spec, value, "a real number");
        if (value.is(Kind::kFloat)) {
            if (!(std::abs(value.as_real()) < 9e18)) {
                return fail(ErrorKind::kInvalidArgument, "%d format: {} doesn't fit an integer",
                            format_float(value.as_real()));
            }
            value = Value::integer(static_cast<int64_t>(value.as_real()));
        }
        spec.min_digits = std::exchange(spec.precision, -1);
        return as_number(spec, value);
    }

    Result<std::string> as_number(FormatSpec spec, const Value& value) {
        if (spec.align == '<') spec.zero = false;
        if (spec.zero) spec.align = 0;
        return format_number(heap_, spec, value);
    }

    static Failure not_a_number(const FormatSpec& spec, const Value& value, std::string_view required) {
        if (value.is_undefined()) return undefined_error(value);
        return fail(ErrorKind::kInvalidArgument, "%{} format: {} is required, not {}", spec.type, required,
                    type_name(value));
    }

    Heap& heap_;
    std::string_view pattern_;
    const Value& values_;
    std::string out_;
    size_t pos_ = 0;
    size_t used_ = 0;
    bool mapped_ = false;
};

}  // namespace

Result<Value> format_percent(Heap& heap, const Value& pattern, const Value& values) {
    INGOT_TRY(refuse_markup_format(pattern));
    INGOT_ASSIGN(const std::string text, PercentFormatter(heap, pattern.bytes(), values).run());
    INGOT_TRY(heap.claim(text.size()));
    return heap.text(text);
}

}  // namespace ingot::jinja

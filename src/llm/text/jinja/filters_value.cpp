// Filters on single values: defaults, numbers, JSON.
#include <charconv>
#include <cmath>

#include "llm/text/jinja/attributes.h"
#include "llm/text/jinja/builtin.h"
#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/json.h"
#include "llm/text/jinja/numbers.h"
#include "llm/text/jinja/operators.h"
#include "llm/text/jinja/print.h"

namespace ingot::jinja {
namespace {

Result<Value> default_value(Call& call) {
    if (!call.self.is_undefined() && (!truthy(call.args[1]) || truthy(call.self))) return call.self;
    return call.args.has(0) ? call.args[0] : call.heap.borrowed({});
}

Result<Value> to_integer(Call& call) {
    int64_t base = 10;
    if (call.args.has(1)) {
        INGOT_ASSIGN(base, integer_argument(call.args[1], "int: base"));
    }
    const Value fallback = call.args.has(0) ? call.args[0] : Value::integer(0);
    if (call.self.is_undefined()) return undefined_error(call.self);
    std::optional<double> real;
    if (call.self.is_text()) {
        INGOT_ASSIGN(const std::optional<int64_t> whole, parse_integer(call.self.bytes(), base));
        if (whole) return Value::integer(*whole);
        real = parse_real(call.self.bytes());
    } else if (call.self.is_integral()) {
        return Value::integer(call.self.as_int());
    } else if (call.self.is(Kind::kFloat)) {
        real = call.self.as_real();
        if (std::isinf(*real))
            return fail(ErrorKind::kInvalidArgument, "cannot convert float infinity to integer");
    }
    if (!real || !std::isfinite(*real)) return fallback;
    if (std::abs(*real) >= 9.2e18) {
        return fail(ErrorKind::kUnsupported, "{} doesn't fit a 64-bit integer", format_float(*real));
    }
    return Value::integer(static_cast<int64_t>(*real));
}

Result<Value> to_real(Call& call) {
    if (call.self.is_undefined()) return undefined_error(call.self);
    if (call.self.is_number()) return Value::real(call.self.as_real());
    if (call.self.is_text()) {
        if (const auto real = parse_real(call.self.bytes())) return Value::real(*real);
    }
    return call.args.has(0) ? call.args[0] : Value::real(0);
}

Failure not_a_number(const Call& call, std::string_view what) {
    if (call.self.is_undefined()) return undefined_error(call.self);
    return fail(ErrorKind::kInvalidArgument, "bad operand type for {}: '{}'", what, type_name(call.self));
}

Result<Value> absolute(Call& call) {
    if (!call.self.is_number()) return not_a_number(call, "abs()");
    if (call.self.is(Kind::kFloat)) return Value::real(std::abs(call.self.as_real()));
    return call.self.as_int() < 0 ? negate(call.self, true) : Value::integer(call.self.as_int());
}

Result<Value> round(Call& call) {
    if (!call.self.is_number()) return not_a_number(call, "round()");
    int64_t precision = 0;
    std::string_view method = "common";
    if (call.args.has(0)) {
        INGOT_ASSIGN(precision, integer_argument(call.args[0], "round: precision"));
    }
    if (call.args.has(1)) {
        INGOT_ASSIGN(method, text_argument(call.args[1], "round: method"));
    }
    const double value = call.self.as_real();
    if (method == "common") {
        if (call.self.is_integral() && precision >= 0) return Value::integer(call.self.as_int());
        if (call.self.is_integral()) {
            return fail(ErrorKind::kUnsupported, "round: a negative precision of an integer isn't supported");
        }
        return Value::real(round_half_even(value, precision));
    }
    if (method != "ceil" && method != "floor") {
        return fail(ErrorKind::kInvalidArgument, "method must be common, ceil or floor");
    }
    const double scale = std::pow(10.0, static_cast<double>(precision));
    return Value::real((method == "ceil" ? std::ceil(value * scale) : std::floor(value * scale)) / scale);
}

Result<std::optional<std::string>> json_indent(Heap& heap, const Value& indent) {
    if (indent.missing() || indent.is(Kind::kNone)) return std::nullopt;
    if (indent.is_text()) return std::string(indent.bytes());
    INGOT_ASSIGN(const int64_t width, integer_argument(indent, "tojson: indent"));
    INGOT_TRY(heap.claim(static_cast<uint64_t>(std::max<int64_t>(width, 0)), 64));
    return std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
}

Result<Value> to_json_filter(Call& call) {
    JsonOptions options;
    options.ensure_ascii = truthy(call.args[0]);
    options.sort_keys = truthy(call.args[3]);
    INGOT_ASSIGN(options.indent, json_indent(call.heap, call.args[1]));
    if (options.indent) options.item_separator.pop_back();  // no blank before a line end
    if (call.args.has(2) && !call.args[2].is(Kind::kNone)) {
        INGOT_ASSIGN(const std::span<const Value> separators, items_of(call.heap, call.args[2]));
        if (separators.size() != 2) {
            return fail(ErrorKind::kInvalidArgument, "tojson: separators must be two texts, {} given",
                        separators.size());
        }
        INGOT_ASSIGN(options.item_separator, text_argument(separators[0], "tojson: a separator"));
        INGOT_ASSIGN(options.key_separator, text_argument(separators[1], "tojson: a separator"));
    }
    INGOT_ASSIGN(const std::string text, to_json(call.heap, call.self, options));
    return call.heap.text(text);
}

Result<Value> attribute(Call& call) {
    INGOT_ASSIGN(const std::string_view name, text_argument(call.args[0], "attr: name"));
    INGOT_ASSIGN(const Value found, get_attribute(call.heap, call.self, call.heap.keep(name)));
    // Unlike value.name, the filter looks at no items.
    if (call.self.is(Kind::kDict) && !found.is(Kind::kFunction)) {
        return call.heap.undefined_element(call.self, call.args[0]);
    }
    return found;
}

Result<Value> pretty_print(Call& call) {
    return fail(ErrorKind::kUnsupported, "the filter 'pprint' isn't supported (given a '{}')",
                type_name(call.self));
}

// Filters that Jinja has and no chat template uses.
Result<Value> refused(Call&) {
    return fail(ErrorKind::kUnsupported, "this filter isn't supported in a chat template");
}

constexpr Builtin kFilters[] = {
    builtin("default", default_value, 0, {"default_value", "boolean"}),
    builtin("d", default_value, 0, {"default_value", "boolean"}),
    builtin("int", to_integer, 0, {"default", "base"}),
    builtin("float", to_real, 0, {"default"}),
    builtin("abs", absolute),
    builtin("round", round, 0, {"precision", "method"}),
    builtin("tojson", to_json_filter, 0, {"ensure_ascii", "indent", "separators", "sort_keys"}),
    builtin("attr", attribute, 1, {"name"}),
    builtin("pprint", pretty_print),
    variadic("filesizeformat", refused),
    variadic("random", refused),
    variadic("urlize", refused),
    variadic("wordwrap", refused),
    variadic("xmlattr", refused),
};

}  // namespace

std::span<const Builtin> value_filters() {
    return kFilters;
}

}  // namespace ingot::jinja

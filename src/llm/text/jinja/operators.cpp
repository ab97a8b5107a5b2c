#include "llm/text/jinja/operators.h"

#include <cmath>

#include "llm/text/jinja/format.h"
#include "llm/text/jinja/print.h"

namespace ingot::jinja {
namespace {

constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

Failure unsupported_operands(BinaryOp op, const Value& a, const Value& b) {
    if (a.is_undefined()) return undefined_error(a);
    if (b.is_undefined()) return undefined_error(b);
    return fail(ErrorKind::kInvalidArgument, "unsupported operand type(s) for {}: '{}' and '{}'", symbol(op),
                type_name(a), type_name(b));
}

Failure too_large(BinaryOp op, int64_t a, int64_t b) {
    return fail(ErrorKind::kUnsupported, "{} {} {} doesn't fit 64 bits", a,
                op == BinaryOp::kPow ? "**" : symbol(op), b);
}

Failure zero_division() {
    return fail(ErrorKind::kInvalidArgument, "division by zero");
}

double floor_mod(double a, double b) {
    double rest = std::fmod(a, b);
    if (rest == 0) return std::copysign(0.0, b);
    if ((rest < 0) != (b < 0)) rest += b;
    return rest;
}

double floor_div(double a, double b) {
    const double rest = floor_mod(a, b);
    const double quotient = (a - rest) / b;
    const double whole = std::floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

Result<Value> integer_power(int64_t base, int64_t exponent) {
    if (exponent < 0) {
        if (base == 0) return fail(ErrorKind::kInvalidArgument, "0.0 cannot be raised to a negative power");
        return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
    }
    int64_t result = 1;
    int64_t square = base;
    for (int64_t rest = exponent; rest > 0; rest >>= 1) {
        if ((rest & 1) && __builtin_mul_overflow(result, square, &result)) {
            return too_large(BinaryOp::kPow, base, exponent);
        }
        if (rest > 1 && __builtin_mul_overflow(square, square, &square)) {
            return too_large(BinaryOp::kPow, base, exponent);
        }
    }
    return Value::integer(result);
}

Result<Value> integer_arithmetic(BinaryOp op, int64_t a, int64_t b) {
    int64_t result = 0;
    switch (op) {
        case BinaryOp::kAdd:
            if (__builtin_add_overflow(a, b, &result)) return too_large(op, a, b);
            return Value::integer(result);
        case BinaryOp::kSub:
            if (__builtin_sub_overflow(a, b, &result)) return too_large(op, a, b);
            return Value::integer(result);
        case BinaryOp::kMul:
            if (__builtin_mul_overflow(a, b, &result)) return too_large(op, a, b);
            return Value::integer(result);
        case BinaryOp::kDiv:
            if (b == 0) return zero_division();
            return Value::real(static_cast<double>(a) / static_cast<double>(b));
        case BinaryOp::kFloorDiv:
        case BinaryOp::kMod: {
            if (b == 0) return zero_division();
            if (b == -1) {  // INT64_MIN / -1 has no 64-bit result
                return op == BinaryOp::kMod ? Value::integer(0) : integer_arithmetic(BinaryOp::kSub, 0, a);
            }
            const int64_t rest = a % b;
            const bool adjust = rest != 0 && (rest < 0) != (b < 0);
            if (op == BinaryOp::kMod) return Value::integer(adjust ? rest + b : rest);
            return Value::integer(a / b - (adjust ? 1 : 0));
        }
        case BinaryOp::kPow:
            return integer_power(a, b);
    }
    return Value::integer(result);
}

Result<Value> real_arithmetic(BinaryOp op, double a, double b) {
    switch (op) {
        case BinaryOp::kAdd:
            return Value::real(a + b);
        case BinaryOp::kSub:
            return Value::real(a - b);
        case BinaryOp::kMul:
            return Value::real(a * b);
        case BinaryOp::kDiv:
            if (b == 0) return zero_division();
            return Value::real(a / b);
        case BinaryOp::kFloorDiv:
            if (b == 0) return zero_division();
            return Value::real(floor_div(a, b));
        case BinaryOp::kMod:
            if (b == 0) return zero_division();
            return Value::real(floor_mod(a, b));
        case BinaryOp::kPow:
            if (a < 0 && b != std::floor(b)) {
                return fail(ErrorKind::kUnsupported, "complex numbers aren't supported: {} ** {}", a, b);
            }
            if (a == 0 && b < 0) {
                return fail(ErrorKind::kInvalidArgument, "0.0 cannot be raised to a negative power");
            }
            return Value::real(std::pow(a, b));
    }
    return Value::real(0);
}

Result<Value> repeat(Heap& heap, const Value& value, int64_t times) {
    const auto count = static_cast<uint64_t>(std::max<int64_t>(times, 0));
    const uint64_t size =
        value.is_text() ? value.bytes().size() : value.sequence().items.size() * sizeof(Value);
    uint64_t total = 0;
    if (__builtin_mul_overflow(size, count, &total)) total = UINT64_MAX;
    INGOT_TRY(heap.claim(total));
    if (value.is_text()) {
        std::string text;
        text.reserve(total);
        if (size > 0) {
            for (uint64_t i = 0; i < count; ++i) text += value.bytes();
        }
        return heap.text(text, value.text().markup);
    }
    Values items = heap.values();
    const Values& source = value.sequence().items;
    if (!source.empty()) {
        items.reserve(source.size() * count);
        for (uint64_t i = 0; i < count; ++i) items.insert(items.end(), source.begin(), source.end());
    }
    return value.is(Kind::kList) ? heap.list(std::move(items)) : heap.tuple(std::move(items));
}

Result<Value> join_sequences(Heap& heap, const Value& a, const Value& b) {
    const Values& first = a.sequence().items;
    const Values& second = b.sequence().items;
    INGOT_TRY(heap.claim((first.size() + second.size()) * sizeof(Value)));
    Values items = heap.values();
    items.reserve(first.size() + second.size());
    items.insert(items.end(), first.begin(), first.end());
    items.insert(items.end(), second.begin(), second.end());
    return a.is(Kind::kList) ? heap.list(std::move(items)) : heap.tuple(std::move(items));
}

bool repeats(const Value& a, const Value& b) {
    return (a.is_text() || a.is_sequence()) && b.is_integral();
}

}  // namespace

std::string_view symbol(BinaryOp op) {
    return kSymbols[static_cast<size_t>(op)];
}

Result<Value> binary(Heap& heap, BinaryOp op, const Value& a, const Value& b) {
    if (a.is_integral() && b.is_integral()) return integer_arithmetic(op, a.as_int(), b.as_int());
    if (a.is_number() && b.is_number()) return real_arithmetic(op, a.as_real(), b.as_real());
    if (op == BinaryOp::kAdd && a.is_text() && b.is_text()) return join_text(heap, a, b);
    if (op == BinaryOp::kAdd && a.is_sequence() && a.kind() == b.kind()) return join_sequences(heap, a, b);
    if (op == BinaryOp::kMul && repeats(a, b)) return repeat(heap, a, b.as_int());
    if (op == BinaryOp::kMul && repeats(b, a)) return repeat(heap, b, a.as_int());
    if (op == BinaryOp::kMod && a.is_text()) return format_percent(heap, a, b);
    if (op == BinaryOp::kAdd && a.is_text() && !b.is_undefined()) {
        return fail(ErrorKind::kInvalidArgument, "can only concatenate str (not \"{}\") to str",
                    type_name(b));
    }
    return unsupported_operands(op, a, b);
}

Result<Value> negate(const Value& value, bool minus) {
    if (value.is_undefined()) return undefined_error(value);
    if (value.is(Kind::kFloat)) return Value::real(minus ? -value.as_real() : value.as_real());
    if (value.is_integral())
        return integer_arithmetic(minus ? BinaryOp::kSub : BinaryOp::kAdd, 0, value.as_int());
    return fail(ErrorKind::kInvalidArgument, "bad operand type for unary {}: '{}'", minus ? '-' : '+',
                type_name(value));
}

Result<Value> join_text(Heap& heap, const Value& a, const Value& b) {
    const bool markup = a.text().markup || b.text().markup;
    INGOT_TRY(heap.claim(a.bytes().size() + b.bytes().size()));
    std::string joined;
    joined.reserve(a.bytes().size() + b.bytes().size());
    for (const Value* part : {&a, &b}) {
        if (markup && !part->text().markup) {
            joined += escape_html(part->bytes());
        } else {
            joined += part->bytes();
        }
    }
    return heap.text(joined, markup);
}

std::string escape_html(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&#34;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

}  // namespace ingot::jinja

// The tests of `is`.
#include "llm/text/jinja/builtin.h"
#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/operators.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

template <bool (*Holds)(const Value&)>
Result<Value> test(Call& call) {
    return Value::boolean(Holds(call.self));
}

bool defined(const Value& value) {
    return !value.is_undefined();
}
bool undefined(const Value& value) {
    return value.is_undefined();
}
bool none(const Value& value) {
    return value.is(Kind::kNone);
}
bool boolean(const Value& value) {
    return value.is(Kind::kBool);
}
bool is_true(const Value& value) {
    return value.is(Kind::kBool) && value.as_int() != 0;
}
bool is_false(const Value& value) {
    return value.is(Kind::kBool) && value.as_int() == 0;
}
bool integer(const Value& value) {
    return value.is(Kind::kInt);
}
bool real(const Value& value) {
    return value.is(Kind::kFloat);
}
bool number(const Value& value) {
    return value.is_number();
}
bool string(const Value& value) {
    return value.is_text();
}
bool mapping(const Value& value) {
    return value.is(Kind::kDict);
}
// Whatever has a length and can be indexed, so an undefined value too.
bool sequence(const Value& value) {
    return value.is_text() || value.is_sequence() || value.is(Kind::kDict) || value.is(Kind::kRange) ||
           value.is_undefined();
}
bool callable(const Value& value) {
    return value.is(Kind::kFunction) || value.is(Kind::kMacro) || value.is(Kind::kLoop) ||
           value.is(Kind::kJoiner) || value.is_undefined();
}
bool escaped(const Value& value) {
    return value.is_text() && value.text().markup;
}

Result<Value> is_lower(Call& call) {
    INGOT_ASSIGN(const std::string text, to_text(call.heap, call.self));
    return Value::boolean(to_lower(text) == text && to_upper(text) != text);
}

Result<Value> is_upper(Call& call) {
    INGOT_ASSIGN(const std::string text, to_text(call.heap, call.self));
    return Value::boolean(to_upper(text) == text && to_lower(text) != text);
}

Result<Value> remainder_is(Call& call, const Value& divisor, int64_t rest) {
    INGOT_ASSIGN(const Value remainder, binary(call.heap, BinaryOp::kMod, call.self, divisor));
    INGOT_ASSIGN(const bool same, equal(call.heap, remainder, Value::integer(rest)));
    return Value::boolean(same);
}

Result<Value> odd(Call& call) {
    return remainder_is(call, Value::integer(2), 1);
}
Result<Value> even(Call& call) {
    return remainder_is(call, Value::integer(2), 0);
}
Result<Value> divisible_by(Call& call) {
    return remainder_is(call, call.args[0], 0);
}

Result<Value> same_as(Call& call) {
    if (call.self.is_text()) INGOT_TRY(call.heap.step(call.self.bytes().size() / 64));
    return Value::boolean(identical(call.self, call.args[0]));
}

Result<Value> in(Call& call) {
    INGOT_ASSIGN(const bool found, contains(call.heap, call.args[0], call.self));
    return Value::boolean(found);
}

Result<Value> eq(Call& call) {
    INGOT_ASSIGN(const bool same, equal(call.heap, call.self, call.args[0]));
    return Value::boolean(same);
}

Result<Value> ne(Call& call) {
    INGOT_ASSIGN(const bool same, equal(call.heap, call.self, call.args[0]));
    return Value::boolean(!same);
}

Result<Value> ordered(Call& call, bool swapped, bool or_equal) {
    const Value& a = swapped ? call.args[0] : call.self;
    const Value& b = swapped ? call.self : call.args[0];
    INGOT_ASSIGN(const bool strict, less(call.heap, a, b));
    if (strict || !or_equal) return Value::boolean(strict);
    return eq(call);
}

Result<Value> lt(Call& call) {
    return ordered(call, false, false);
}
Result<Value> le(Call& call) {
    return ordered(call, false, true);
}
Result<Value> gt(Call& call) {
    return ordered(call, true, false);
}
Result<Value> ge(Call& call) {
    return ordered(call, true, true);
}

template <const Builtin* (*Find)(std::string_view)>
Result<Value> exists(Call& call) {
    return Value::boolean(call.self.is_text() && Find(call.self.bytes()) != nullptr);
}

constexpr Builtin kTests[] = {
    builtin("defined", test<defined>),
    builtin("undefined", test<undefined>),
    builtin("none", test<none>),
    builtin("boolean", test<boolean>),
    builtin("true", test<is_true>),
    builtin("false", test<is_false>),
    builtin("integer", test<integer>),
    builtin("float", test<real>),
    builtin("number", test<number>),
    builtin("string", test<string>),
    builtin("mapping", test<mapping>),
    builtin("sequence", test<sequence>),
    builtin("iterable", test<is_iterable>),
    builtin("callable", test<callable>),
    builtin("escaped", test<escaped>),
    builtin("lower", is_lower),
    builtin("upper", is_upper),
    builtin("odd", odd),
    builtin("even", even),
    builtin("divisibleby", divisible_by, 1, {"num"}),
    builtin("sameas", same_as, 1, {"other"}),
    builtin("in", in, 1, {"seq"}),
    builtin("eq", eq, 1, {""}),
    builtin("equalto", eq, 1, {""}),
    builtin("==", eq, 1, {""}),
    builtin("ne", ne, 1, {""}),
    builtin("!=", ne, 1, {""}),
    builtin("lt", lt, 1, {""}),
    builtin("lessthan", lt, 1, {""}),
    builtin("<", lt, 1, {""}),
    builtin("le", le, 1, {""}),
    builtin("<=", le, 1, {""}),
    builtin("gt", gt, 1, {""}),
    builtin("greaterthan", gt, 1, {""}),
    builtin(">", gt, 1, {""}),
    builtin("ge", ge, 1, {""}),
    builtin(">=", ge, 1, {""}),
    builtin("filter", exists<find_filter>),
    builtin("test", exists<find_test>),
};

}  // namespace

std::span<const Builtin> tests() {
    return kTests;
}

}  // namespace ingot::jinja

// What filters, tests, methods and global functions have in common: a row of a table with a name, parameters
// as Python binds them, and a function. The tables are in filters_*.cpp, predicates.cpp, methods_*.cpp and
// globals.cpp.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "llm/text/jinja/heap.h"
#include "llm/text/jinja/value.h"

namespace ingot::jinja {

struct NamedValue {
    std::string_view name;
    Value value;
};

struct Arguments {
    std::span<const Value> positional;
    std::span<const NamedValue> named;
};

class Interpreter;

constexpr size_t kMaxParameters = 6;

// Arguments matched to the parameters of a Builtin. What wasn't passed is missing().
struct Bound {
    std::array<Value, kMaxParameters> values;
    Arguments rest;  // of a variadic builtin

    const Value& operator[](size_t i) const { return values[i]; }
    bool has(size_t i) const { return !values[i].missing(); }
};

// What a builtin may use.
struct Call {
    Interpreter& interpreter;
    Heap& heap;
    Value self;  // the filtered or tested value, the object of a method
    Bound args;
};

struct Builtin {
    std::string_view name;
    Result<Value> (*run)(Call& call);
    uint8_t required = 0;
    // "sep" can be passed by position or name, "" by position alone.
    std::array<std::string_view, kMaxParameters> parameters{};
    uint8_t num_parameters = 0;
    bool variadic = false;  // what is left over goes to Bound::rest
};

// A table row's parameters, written as {"sep", "maxsplit"}.
template <size_t N>
constexpr Builtin builtin(std::string_view name, Result<Value> (*run)(Call&), uint8_t required,
                          const std::string_view (&parameters)[N], bool variadic = false) {
    static_assert(N <= kMaxParameters);
    Builtin row{name, run, required, {}, N, variadic};
    for (size_t i = 0; i < N; ++i) row.parameters[i] = parameters[i];
    return row;
}
constexpr Builtin builtin(std::string_view name, Result<Value> (*run)(Call&)) {
    return {name, run, 0, {}, 0, false};
}
constexpr Builtin variadic(std::string_view name, Result<Value> (*run)(Call&)) {
    return {name, run, 0, {}, 0, true};
}

// Runs the builtin; errors name it and what was passed wrongly.
Result<Value> invoke(Interpreter& interpreter, Heap& heap, const Builtin& builtin, const Value& self,
                     const Arguments& arguments);

const Builtin* find_builtin(std::span<const Builtin> table, std::string_view name);

// nullptr if there is none.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_global(std::string_view name);
// A method of the value's type. Names that exist in Python but aren't served are rows that refuse by name.
const Builtin* find_method(const Value& value, std::string_view name);

// The tables, for lookup and for the tests that walk them.
std::span<const Builtin> text_filters();
std::span<const Builtin> sequence_filters();
std::span<const Builtin> selection_filters();
std::span<const Builtin> value_filters();
std::span<const Builtin> tests();
std::span<const Builtin> text_methods();
std::span<const Builtin> text_search_methods();
std::span<const Builtin> globals();

// Argument readers: the value as the type, or an Error that says what was passed.
Result<int64_t> integer_argument(const Value& value, std::string_view what);
Result<std::string_view> text_argument(const Value& value, std::string_view what);

}  // namespace ingot::jinja

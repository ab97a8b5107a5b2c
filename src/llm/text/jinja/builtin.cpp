#include "llm/text/jinja/builtin.h"

#include "llm/text/jinja/print.h"

namespace ingot::jinja {
namespace {

Result<void> bind_named(const Builtin& builtin, const NamedValue& argument, Bound& bound) {
    for (size_t i = 0; i < builtin.num_parameters; ++i) {
        if (builtin.parameters[i].empty() || builtin.parameters[i] != argument.name) continue;
        if (bound.has(i)) {
            return fail(ErrorKind::kInvalidArgument, "{}() got multiple values for argument '{}'",
                        builtin.name, argument.name);
        }
        bound.values[i] = argument.value;
        return {};
    }
    return fail(ErrorKind::kInvalidArgument, "{}() got an unexpected keyword argument '{}'", builtin.name,
                argument.name);
}

Result<Bound> bind(const Builtin& builtin, const Arguments& arguments) {
    Bound bound;
    const size_t direct = std::min<size_t>(arguments.positional.size(), builtin.num_parameters);
    for (size_t i = 0; i < direct; ++i) bound.values[i] = arguments.positional[i];
    if (builtin.variadic) {
        bound.rest = {arguments.positional.subspan(direct), arguments.named};
        return bound;
    }
    if (arguments.positional.size() > builtin.num_parameters) {
        return fail(ErrorKind::kInvalidArgument, "{}() takes at most {} arguments ({} given)", builtin.name,
                    builtin.num_parameters, arguments.positional.size());
    }
    for (const NamedValue& argument : arguments.named) INGOT_TRY(bind_named(builtin, argument, bound));
    for (size_t i = 0; i < builtin.required; ++i) {
        if (!bound.has(i)) {
            return fail(ErrorKind::kInvalidArgument, "{}() is missing its argument {} of {}", builtin.name,
                        i + 1, builtin.required);
        }
    }
    return bound;
}

}  // namespace

Result<Value> invoke(Interpreter& interpreter, Heap& heap, const Builtin& builtin, const Value& self,
                     const Arguments& arguments) {
    INGOT_ASSIGN(Bound bound, bind(builtin, arguments));
    Call call{interpreter, heap, self, std::move(bound)};
    return builtin.run(call);
}

const Builtin* find_builtin(std::span<const Builtin> table, std::string_view name) {
    for (const Builtin& row : table) {
        if (row.name == name) return &row;
    }
    return nullptr;
}

const Builtin* find_filter(std::string_view name) {
    for (const auto table : {text_filters(), sequence_filters(), selection_filters(), value_filters()}) {
        if (const Builtin* row = find_builtin(table, name)) return row;
    }
    return nullptr;
}

const Builtin* find_test(std::string_view name) {
    return find_builtin(tests(), name);
}
const Builtin* find_global(std::string_view name) {
    return find_builtin(globals(), name);
}

Result<int64_t> integer_argument(const Value& value, std::string_view what) {
    if (value.is_integral()) return value.as_int();
    if (value.is_undefined()) return undefined_error(value);
    return fail(ErrorKind::kInvalidArgument, "{} must be an integer, not '{}'", what, type_name(value));
}

Result<std::string_view> text_argument(const Value& value, std::string_view what) {
    if (value.is_text()) return value.bytes();
    if (value.is_undefined()) return undefined_error(value);
    return fail(ErrorKind::kInvalidArgument, "{} must be a string, not '{}'", what, type_name(value));
}

}  // namespace ingot::jinja

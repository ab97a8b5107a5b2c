// Filters that apply something to every item: map, select and reject, and what picks an attribute for them.
#include "llm/text/jinja/attributes.h"
#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/interpreter.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/selection.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

Result<Value> pick_part(Heap& heap, const Value& item, std::string_view part) {
    // A part like "0" is an index; a longer one than any list has is nobody's.
    if (part.size() < 10 && all_chars_are(part, CharClass::kDecimal) &&
        static_cast<unsigned char>(part[0]) < 0x80) {
        int64_t index = 0;
        for (const char c : part) index = index * 10 + (c - '0');
        return get_item(heap, item, Value::integer(index));
    }
    return get_item(heap, item, heap.borrowed(part));
}

// Runs `step` on every item. An error is kept until the reader of the iterator gets to it.
template <typename Step>
Result<Value> over_items(Call& call, Step step) {
    Values out = call.heap.values();
    if (!truthy(call.self)) return call.heap.iterator(std::move(out));
    auto items = items_of(call.heap, call.self);
    if (!items) return call.heap.iterator(std::move(out), &items.error());
    for (const Value& item : *items) {
        Result<void> done = call.heap.step();
        if (!done) return Failure(std::move(done).error());
        done = step(item, out);
        if (!done && done.error().kind == ErrorKind::kLimit) return Failure(std::move(done).error());
        if (!done) return call.heap.iterator(std::move(out), &done.error());
    }
    return call.heap.iterator(std::move(out));
}

const Value* named(const Arguments& arguments, std::string_view name) {
    for (const NamedValue& argument : arguments.named) {
        if (argument.name == name) return &argument.value;
    }
    return nullptr;
}

Result<Value> map_attribute(Call& call, const Value& attribute) {
    const Value* fallback = named(call.args.rest, "default");
    for (const NamedValue& argument : call.args.rest.named) {
        if (argument.name == "attribute" || argument.name == "default") continue;
        return fail(ErrorKind::kInvalidArgument, "Unexpected keyword argument '{}'", argument.name);
    }
    return over_items(call, [&](const Value& item, Values& out) -> Result<void> {
        INGOT_ASSIGN(const Value picked, pick(call.heap, item, attribute, fallback ? *fallback : Value()));
        out.push_back(picked);
        return {};
    });
}

Result<Value> map(Call& call) {
    const Arguments& arguments = call.args.rest;
    const Value* attribute = named(arguments, "attribute");
    if (arguments.positional.empty() && attribute) return map_attribute(call, *attribute);
    return over_items(call, [&](const Value& item, Values& out) -> Result<void> {
        if (arguments.positional.empty()) {
            return fail(ErrorKind::kInvalidArgument, "map requires a filter argument");
        }
        INGOT_ASSIGN(const std::string_view name, text_argument(arguments.positional[0], "map: the filter"));
        INGOT_ASSIGN(const Value mapped, call.interpreter.apply_filter(
                                             name, item, {arguments.positional.subspan(1), arguments.named}));
        out.push_back(mapped);
        return {};
    });
}

Result<Value> select_or_reject(Call& call, bool by_attribute, bool keep) {
    const Arguments& arguments = call.args.rest;
    const size_t test_at = by_attribute ? 1 : 0;
    return over_items(call, [&](const Value& item, Values& out) -> Result<void> {
        Value tested = item;
        if (by_attribute) {
            if (arguments.positional.empty()) {
                return fail(ErrorKind::kInvalidArgument, "Missing parameter for attribute name");
            }
            INGOT_ASSIGN(tested, pick(call.heap, item, arguments.positional[0]));
        }
        if (arguments.positional.size() > test_at) {
            INGOT_ASSIGN(const std::string_view name,
                         text_argument(arguments.positional[test_at], "the test"));
            INGOT_ASSIGN(tested,
                         call.interpreter.apply_test(
                             name, tested, {arguments.positional.subspan(test_at + 1), arguments.named}));
        }
        if (truthy(tested) == keep) out.push_back(item);
        return {};
    });
}

Result<Value> select(Call& call) {
    return select_or_reject(call, false, true);
}
Result<Value> reject(Call& call) {
    return select_or_reject(call, false, false);
}
Result<Value> select_attribute(Call& call) {
    return select_or_reject(call, true, true);
}
Result<Value> reject_attribute(Call& call) {
    return select_or_reject(call, true, false);
}

constexpr Builtin kFilters[] = {
    variadic("map", map),
    variadic("select", select),
    variadic("reject", reject),
    variadic("selectattr", select_attribute),
    variadic("rejectattr", reject_attribute),
};

}  // namespace

Result<Value> pick(Heap& heap, const Value& item, const Value& attribute, const Value& fallback) {
    const auto or_fallback = [&](const Value& value) {
        return value.is_undefined() && !fallback.missing() && !fallback.is(Kind::kNone) ? fallback : value;
    };
    if (attribute.missing() || attribute.is(Kind::kNone)) return item;
    if (!attribute.is_text()) {
        INGOT_ASSIGN(const Value picked, get_item(heap, item, attribute));
        return or_fallback(picked);
    }
    Value picked = item;
    std::string_view path = attribute.bytes();
    for (bool more = true; more;) {
        const size_t dot = path.find('.');
        more = dot != path.npos;
        INGOT_ASSIGN(picked, pick_part(heap, picked, path.substr(0, dot)));
        picked = or_fallback(picked);
        if (more) path.remove_prefix(dot + 1);
    }
    return picked;
}

Value fold_case(Heap& heap, const Value& value, bool case_sensitive) {
    return value.is_text() && !case_sensitive ? heap.text(to_lower(value.bytes())) : value;
}

std::span<const Builtin> selection_filters() {
    return kFilters;
}

}  // namespace ingot::jinja

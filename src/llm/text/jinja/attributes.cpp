#include "llm/text/jinja/attributes.h"

#include <algorithm>

#include "llm/text/jinja/builtin.h"
#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/interpreter.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

// Methods that change a list or dict exist, but the sandbox gives them to no template.
bool is_unsafe(const Value& value, std::string_view name) {
    static constexpr std::string_view kList[] = {"append", "clear", "pop",    "reverse",
                                                 "insert", "sort",  "extend", "remove"};
    static constexpr std::string_view kDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
    const auto among = [&](const auto& names) {
        return std::find(std::begin(names), std::end(names), name) != std::end(names);
    };
    if (value.is(Kind::kList)) return among(kList);
    if (value.is(Kind::kDict)) return among(kDict);
    return false;
}

bool is_object_attribute(std::string_view name) {
    static constexpr std::string_view kNames[] = {
        "__class__",        "__init__",    "__doc__",     "__dir__",           "__eq__",
        "__hash__",         "__repr__",    "__str__",     "__new__",           "__reduce__",
        "__getattribute__", "__setattr__", "__delattr__", "__init_subclass__", "__subclasshook__"};
    return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Result<std::optional<Value>> loop_attribute(Heap& heap, const Loop& loop, std::string_view name) {
    const auto index = static_cast<int64_t>(loop.index);
    const auto length = static_cast<int64_t>(loop.items.size());
    if (name == "index") return Value::integer(index + 1);
    if (name == "index0") return Value::integer(index);
    if (name == "first") return Value::boolean(index == 0);
    if (name == "last") return Value::boolean(index + 1 >= length);
    if (name == "length") return Value::integer(length);
    if (name == "revindex") return Value::integer(length - index);
    if (name == "revindex0") return Value::integer(length - index - 1);
    if (name == "depth") return Value::integer(loop.depth + 1);
    if (name == "depth0") return Value::integer(loop.depth);
    if (name == "previtem") {
        return index > 0 ? loop.items[loop.index - 1] : heap.undefined_hint("there is no previous item");
    }
    if (name == "nextitem") {
        return index + 1 < length ? loop.items[loop.index + 1] : heap.undefined_hint("there is no next item");
    }
    return std::nullopt;
}

// What getattr() would find, items left aside.
Result<std::optional<Value>> python_attribute(Heap& heap, const Value& value, std::string_view name) {
    if (value.is(Kind::kNamespace)) {
        INGOT_TRY(heap.step(value.name_space().names.size() / 16));
        for (const auto& [key, item] : value.name_space().names) {
            if (key == name) return item;
        }
    }
    if (value.is(Kind::kLoop)) {
        INGOT_ASSIGN(const std::optional<Value> found, loop_attribute(heap, value.loop(), name));
        if (found) return found;
    }
    if (value.is(Kind::kRange)) {
        if (name == "start") return Value::integer(value.range().start);
        if (name == "stop") return Value::integer(value.range().stop);
        if (name == "step") return Value::integer(value.range().step);
    }
    if (value.is(Kind::kMacro) && name == "name") return heap.borrowed(value.macro().declaration->name);
    if (value.is(Kind::kCycler) && name == "current") {
        return value.cycler().items[value.cycler().next];
    }
    if (is_unsafe(value, name) || is_object_attribute(name)) {
        return heap.undefined_hint(fmt::format("access to attribute {} of '{}' object is unsafe.",
                                               repr_text(name), type_name(value)));
    }
    if (const Builtin* method = find_method(value, name)) {
        return Value(Kind::kFunction, heap.make(Function{method, value}));
    }
    return std::nullopt;
}

Result<std::optional<Value>> indexed(Heap& heap, const Value& value, int64_t index) {
    INGOT_ASSIGN(const int64_t length, length_of(heap, value));
    if (index < 0) index += length;
    if (index < 0 || index >= length) return std::nullopt;
    if (value.is_sequence()) return value.sequence().items[static_cast<size_t>(index)];
    if (value.is(Kind::kRange)) return value.range().at(index);
    const std::string_view bytes = value.bytes();
    INGOT_TRY(heap.step(bytes.size() / 64));
    const size_t start = byte_offset(bytes, static_cast<size_t>(index));
    size_t end = start;
    next_char(bytes, end);
    return heap.borrowed(bytes.substr(start, end - start), value.text().markup);
}

// What value[key] finds.
Result<std::optional<Value>> python_item(Heap& heap, const Value& value, const Value& key) {
    if (value.is(Kind::kDict)) {
        if (key.is(Kind::kList) || key.is(Kind::kDict)) return std::nullopt;
        INGOT_ASSIGN(const Value* const found, find_key(heap, value.dict(), key));
        if (found) return *found;
        return std::nullopt;
    }
    if ((value.is_text() || value.is_sequence() || value.is(Kind::kRange)) && key.is_integral()) {
        return indexed(heap, value, key.as_int());
    }
    return std::nullopt;
}

bool is_slice_bound(const Value& value) {
    return value.missing() || value.is(Kind::kNone) || value.is_integral();
}

int64_t slice_bound(const Value& value, int64_t fallback, int64_t length, bool forward) {
    if (!value.is_integral()) return fallback;
    const int64_t bound = value.as_int() < 0 ? value.as_int() + length : value.as_int();
    return std::clamp<int64_t>(bound, forward ? 0 : -1, forward ? length : length - 1);
}

Result<Value> slice_of_range(Heap& heap, const Range& range, int64_t from, int64_t to, int64_t by) {
    Range part{};
    int64_t begin = 0, end = 0;
    const bool fits = !__builtin_mul_overflow(from, range.step, &begin) &&
                      !__builtin_add_overflow(begin, range.start, &part.start) &&
                      !__builtin_mul_overflow(to, range.step, &end) &&
                      !__builtin_add_overflow(end, range.start, &part.stop) &&
                      !__builtin_mul_overflow(range.step, by, &part.step);
    if (!fits) return fail(ErrorKind::kUnsupported, "the bounds of a slice of a range don't fit 64 bits");
    return Value(Kind::kRange, heap.make(part));
}

}  // namespace

Result<Value> get_attribute(Heap& heap, const Value& value, std::string_view name) {
    if (value.is_undefined()) return undefined_error(value);
    INGOT_TRY(heap.step());
    INGOT_ASSIGN(const std::optional<Value> attribute, python_attribute(heap, value, name));
    if (attribute) return *attribute;
    const Value key = heap.borrowed(name);
    INGOT_ASSIGN(const std::optional<Value> item, python_item(heap, value, key));
    if (item) return *item;
    return heap.undefined_element(value, key);
}

Result<Value> get_item(Heap& heap, const Value& value, const Value& key) {
    if (value.is_undefined()) return undefined_error(value);
    INGOT_TRY(heap.step());
    INGOT_ASSIGN(const std::optional<Value> item, python_item(heap, value, key));
    if (item) return *item;
    if (key.is_text()) {
        INGOT_ASSIGN(const std::optional<Value> attribute, python_attribute(heap, value, key.bytes()));
        if (attribute) return *attribute;
    }
    return heap.undefined_element(value, key);
}

Result<Value> get_slice(Heap& heap, const Value& value, const Value& start, const Value& stop,
                        const Value& step) {
    if (value.is_undefined()) return undefined_error(value);
    if (value.is(Kind::kDict)) return fail(ErrorKind::kInvalidArgument, "unhashable type: 'slice'");
    if (!value.is_text() && !value.is_sequence() && !value.is(Kind::kRange)) {
        return fail(ErrorKind::kInvalidArgument, "'{}' object is not subscriptable", type_name(value));
    }
    if (!is_slice_bound(start) || !is_slice_bound(stop) || !is_slice_bound(step)) {
        return fail(ErrorKind::kInvalidArgument,
                    "slice indices must be integers or None or have an __index__ method");
    }
    constexpr int64_t kLargestStep = int64_t{1} << 40;
    const int64_t by = std::clamp(step.is_integral() ? step.as_int() : 1, -kLargestStep, kLargestStep);
    if (by == 0) return fail(ErrorKind::kInvalidArgument, "slice step cannot be zero");
    INGOT_ASSIGN(const int64_t length, length_of(heap, value));
    const int64_t from = slice_bound(start, by > 0 ? 0 : length - 1, length, by > 0);
    const int64_t to = slice_bound(stop, by > 0 ? length : -1, length, by > 0);
    if (value.is(Kind::kRange)) {
        return slice_of_range(heap, value.range(), from, to, step.is_integral() ? step.as_int() : 1);
    }
    INGOT_TRY(heap.step(1 + static_cast<uint64_t>(length) / 64));
    if (value.is_sequence()) {
        Values items = heap.values();
        const Values& source = value.sequence().items;
        for (int64_t i = from; by > 0 ? i < to : i > to; i += by)
            items.push_back(source[static_cast<size_t>(i)]);
        return value.is(Kind::kList) ? heap.list(std::move(items)) : heap.tuple(std::move(items));
    }
    if (by == 1) {
        if (from >= to) return heap.borrowed({}, value.text().markup);
        const size_t first = byte_offset(value.bytes(), static_cast<size_t>(from));
        const size_t last = byte_offset(value.bytes(), static_cast<size_t>(to));
        return heap.borrowed(value.bytes().substr(first, last - first), value.text().markup);
    }
    const std::vector<std::string_view> chars = split_chars(value.bytes());
    std::string text;
    for (int64_t i = from; by > 0 ? i < to : i > to; i += by) text += chars[static_cast<size_t>(i)];
    return heap.text(text, value.text().markup);
}

}  // namespace ingot::jinja

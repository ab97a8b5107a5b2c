// Walking over values: what a for loop, a filter or list() sees.
#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/interpreter.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

Value view_item(Heap& heap, View::Part part, const Entry& entry) {
    switch (part) {
        case View::Part::kKeys:
            return entry.key;
        case View::Part::kValues:
            return entry.value;
        case View::Part::kItems:
            return heap.pair(entry.key, entry.value);
    }
    return entry.key;
}

Result<std::span<const Value>> drain(Iterator& iterator) {
    const std::span<const Value> rest = std::span<const Value>(iterator.items).subspan(iterator.next);
    iterator.next = iterator.items.size();
    if (iterator.failure) {
        const KeptError& failure = *iterator.failure;
        return Failure(Error{failure.kind, std::string(failure.message), std::string(failure.where)});
    }
    return rest;
}

}  // namespace

bool is_iterable(const Value& value) {
    switch (value.kind()) {
        case Kind::kUndefined:
        case Kind::kText:
        case Kind::kList:
        case Kind::kTuple:
        case Kind::kDict:
        case Kind::kRange:
        case Kind::kView:
        case Kind::kIterator:
        case Kind::kLoop:
            return true;
        default:
            return false;
    }
}

Result<std::span<const Value>> items_of(Heap& heap, const Value& value) {
    if (value.is_sequence()) return std::span<const Value>(value.sequence().items);
    if (value.is(Kind::kIterator)) return drain(value.iterator());
    if (value.is_undefined()) return std::span<const Value>();
    Values* items = heap.make(heap.values());
    switch (value.kind()) {
        case Kind::kText:
            INGOT_TRY(heap.claim(value.bytes().size(), sizeof(Value) + sizeof(Text)));
            for (const std::string_view c : split_chars(value.bytes())) {
                items->push_back(heap.borrowed(c, value.text().markup));
            }
            break;
        case Kind::kDict:
            INGOT_TRY(heap.claim(value.dict().entries.size(), sizeof(Value)));
            for (const Entry& entry : value.dict().entries) items->push_back(entry.key);
            break;
        case Kind::kRange: {
            const int64_t length = value.range().length();
            INGOT_TRY(heap.claim(static_cast<uint64_t>(length), sizeof(Value)));
            for (int64_t i = 0; i < length; ++i) items->push_back(value.range().at(i));
            break;
        }
        case Kind::kView:
            INGOT_TRY(heap.claim(value.view().dict->entries.size(), sizeof(Value)));
            for (const Entry& entry : value.view().dict->entries) {
                items->push_back(view_item(heap, value.view().part, entry));
            }
            break;
        case Kind::kLoop:
            return fail(ErrorKind::kUnsupported, "iterating over the loop variable isn't supported");
        default:
            return fail(ErrorKind::kInvalidArgument, "'{}' object is not iterable", type_name(value));
    }
    return std::span<const Value>(*items);
}

Result<int64_t> length_of(Heap& heap, const Value& value) {
    switch (value.kind()) {
        case Kind::kUndefined:
            return 0;
        case Kind::kText:
            INGOT_TRY(heap.step(value.bytes().size() / 64));
            return static_cast<int64_t>(count_chars(value.bytes()));
        case Kind::kList:
        case Kind::kTuple:
            return static_cast<int64_t>(value.sequence().items.size());
        case Kind::kDict:
            return static_cast<int64_t>(value.dict().entries.size());
        case Kind::kView:
            return static_cast<int64_t>(value.view().dict->entries.size());
        case Kind::kRange:
            return value.range().length();
        case Kind::kLoop:
            return static_cast<int64_t>(value.loop().items.size());
        default:
            return fail(ErrorKind::kInvalidArgument, "object of type '{}' has no len()", type_name(value));
    }
}

}  // namespace ingot::jinja

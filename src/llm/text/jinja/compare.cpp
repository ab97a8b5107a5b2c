#include "llm/text/jinja/compare.h"

#include <algorithm>
#include <numeric>

#include "llm/text/jinja/print.h"

namespace ingot::jinja {
namespace {

int compare_integer_with_real(int64_t a, double b) {
    // The caller has seen to NaN, which has no place in this order.
    if (b >= 9223372036854775808.0) return -1;
    if (b < -9223372036854775808.0) return 1;
    const auto whole = static_cast<int64_t>(b);
    if (a != whole) return a < whole ? -1 : 1;
    const double rest = b - static_cast<double>(whole);
    return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

bool equal_numbers(const Value& a, const Value& b) {
    if (a.is_integral() && b.is_integral()) return a.as_int() == b.as_int();
    if (a.is_integral())
        return b.as_real() == b.as_real() && compare_integer_with_real(a.as_int(), b.as_real()) == 0;
    if (b.is_integral()) return equal_numbers(b, a);
    return a.as_real() == b.as_real();
}

bool less_number(const Value& a, const Value& b) {
    if (a.is_integral() && b.is_integral()) return a.as_int() < b.as_int();
    if (a.as_real() != a.as_real() || b.as_real() != b.as_real()) return false;  // NaN
    if (a.is_integral()) return compare_integer_with_real(a.as_int(), b.as_real()) < 0;
    if (b.is_integral()) return compare_integer_with_real(b.as_int(), a.as_real()) > 0;
    return a.as_real() < b.as_real();
}

// What makes two values equal without a look into them.
bool same_object(const Value& a, const Value& b) {
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
        case Kind::kNone:
            return true;
        case Kind::kBool:
        case Kind::kInt:
            return a.as_int() == b.as_int();
        case Kind::kFloat:
            return false;
        default:
            return a.object() == b.object();
    }
}

class Comparer {
  public:
    explicit Comparer(Heap& heap) : heap_(heap) {}

    Result<bool> equal(const Value& a, const Value& b) {
        INGOT_TRY(heap_.step());
        if (a.is_number() && b.is_number()) return equal_numbers(a, b);
        if (a.kind() != b.kind()) return false;
        switch (a.kind()) {
            case Kind::kMissing:
            case Kind::kUndefined:
            case Kind::kNone:
                return true;
            case Kind::kText:
                if (a.bytes().size() != b.bytes().size()) return false;
                INGOT_TRY(heap_.step(a.bytes().size() / 64));
                return a.bytes() == b.bytes();
            case Kind::kList:
            case Kind::kTuple:
                return equal_items(a.sequence().items, b.sequence().items);
            case Kind::kDict:
                return equal_dicts(a.dict(), b.dict());
            case Kind::kRange:
                return equal_ranges(a.range(), b.range());
            default:
                return a.object() == b.object();
        }
    }

    Result<bool> less(const Value& a, const Value& b, std::string_view operation) {
        INGOT_TRY(heap_.step());
        if (a.is_number() && b.is_number()) return less_number(a, b);
        if (a.is_text() && b.is_text()) {
            INGOT_TRY(heap_.step(std::min(a.bytes().size(), b.bytes().size()) / 64));
            return a.bytes() < b.bytes();  // UTF-8 sorts as code points do
        }
        if (a.is_undefined()) return undefined_error(a);
        if (b.is_undefined()) return undefined_error(b);
        if (a.is_sequence() && a.kind() == b.kind()) {
            return less_items(a.sequence().items, b.sequence().items, operation);
        }
        return fail(ErrorKind::kInvalidArgument, "'{}' not supported between instances of '{}' and '{}'",
                    operation, type_name(a), type_name(b));
    }

  private:
    Result<bool> equal_items(const Values& a, const Values& b) {
        if (a.size() != b.size()) return false;
        const Nesting nesting(depth_, heap_.limits().max_depth, "a compared value is");
        INGOT_TRY(nesting.ok);
        for (size_t i = 0; i < a.size(); ++i) {
            if (same_object(a[i], b[i])) continue;
            INGOT_ASSIGN(const bool same, equal(a[i], b[i]));
            if (!same) return false;
        }
        return true;
    }

    Result<bool> equal_dicts(const Dict& a, const Dict& b) {
        if (a.entries.size() != b.entries.size()) return false;
        const Nesting nesting(depth_, heap_.limits().max_depth, "a compared value is");
        INGOT_TRY(nesting.ok);
        for (const Entry& entry : a.entries) {
            INGOT_ASSIGN(const Value* const other, find_key(heap_, b, entry.key));
            if (!other) return false;
            if (same_object(entry.value, *other)) continue;
            INGOT_ASSIGN(const bool same, equal(entry.value, *other));
            if (!same) return false;
        }
        return true;
    }

    static bool equal_ranges(const Range& a, const Range& b) {
        const int64_t length = a.length();
        if (length != b.length()) return false;
        if (length == 0) return true;
        return a.start == b.start && (length == 1 || a.step == b.step);
    }

    Result<bool> less_items(const Values& a, const Values& b, std::string_view operation) {
        const Nesting nesting(depth_, heap_.limits().max_depth, "a compared value is");
        INGOT_TRY(nesting.ok);
        for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
            if (same_object(a[i], b[i])) continue;
            INGOT_ASSIGN(const bool same, equal(a[i], b[i]));
            if (!same) return less(a[i], b[i], operation);
        }
        return a.size() < b.size();
    }

    Heap& heap_;
    uint32_t depth_ = 0;
};

// Keys are compared one after the other.
uint64_t lookup_cost(size_t entries, const Value& key) {
    return 1 + entries / 16 + (key.is_text() ? entries * (key.bytes().size() / 64) : 0);
}

Result<void> check_hashable(const Value& key, uint32_t depth = 0) {
    if (key.is(Kind::kList) || key.is(Kind::kDict) || key.is(Kind::kView)) {
        return fail(ErrorKind::kInvalidArgument, "unhashable type: '{}'", type_name(key));
    }
    if (key.is(Kind::kTuple)) {
        if (depth > 64) return fail(ErrorKind::kLimit, "a key nested more than 64 deep");
        for (const Value& item : key.sequence().items) INGOT_TRY(check_hashable(item, depth + 1));
    }
    return {};
}

}  // namespace

bool truthy(const Value& value) {
    switch (value.kind()) {
        case Kind::kMissing:
        case Kind::kUndefined:
        case Kind::kNone:
            return false;
        case Kind::kBool:
        case Kind::kInt:
            return value.as_int() != 0;
        case Kind::kFloat:
            return value.as_real() != 0;
        case Kind::kText:
            return !value.bytes().empty();
        case Kind::kList:
        case Kind::kTuple:
            return !value.sequence().items.empty();
        case Kind::kDict:
            return !value.dict().entries.empty();
        case Kind::kRange:
            return value.range().length() > 0;
        case Kind::kView:
            return !value.view().dict->entries.empty();
        default:
            return true;
    }
}

// Whether equal texts are one object is chance in Python; short literals usually are.
bool identical(const Value& a, const Value& b) {
    return same_object(a, b) || (a.is_text() && b.is_text() && a.bytes() == b.bytes());
}

Result<bool> equal(Heap& heap, const Value& a, const Value& b) {
    return Comparer(heap).equal(a, b);
}

Result<bool> less(Heap& heap, const Value& a, const Value& b, std::string_view operation) {
    return Comparer(heap).less(a, b, operation);
}

const Value* find_key(const Dict& dict, std::string_view key) {
    for (const Entry& entry : dict.entries) {
        if (entry.key.is_text() && entry.key.bytes() == key) return &entry.value;
    }
    return nullptr;
}

Result<const Value*> find_key(Heap& heap, const Dict& dict, const Value& key) {
    INGOT_TRY(heap.step(lookup_cost(dict.entries.size(), key)));
    if (key.is_text()) return find_key(dict, key.bytes());
    INGOT_TRY(check_hashable(key));
    for (const Entry& entry : dict.entries) {
        INGOT_ASSIGN(const bool same, equal(heap, entry.key, key));
        if (same) return &entry.value;
    }
    return nullptr;
}

Result<void> set_key(Heap& heap, std::pmr::vector<Entry>& entries, const Value& key, const Value& value) {
    INGOT_TRY(check_hashable(key));
    INGOT_TRY(heap.step(lookup_cost(entries.size(), key)));
    for (Entry& entry : entries) {
        bool same = false;
        if (entry.key.is_text() && key.is_text()) {
            same = entry.key.bytes() == key.bytes();
        } else {
            INGOT_ASSIGN(same, equal(heap, entry.key, key));
        }
        if (!same) continue;
        entry.value = value;
        return {};
    }
    entries.push_back({key, value});
    return {};
}

Result<bool> contains(Heap& heap, const Value& haystack, const Value& needle) {
    if (haystack.is_text()) {
        if (!needle.is_text()) {
            if (needle.is_undefined()) return undefined_error(needle);
            return fail(ErrorKind::kInvalidArgument, "'in <string>' requires string as left operand, not {}",
                        type_name(needle));
        }
        INGOT_TRY(heap.search(haystack.bytes().size(), needle.bytes().size()));
        return haystack.bytes().find(needle.bytes()) != std::string_view::npos;
    }
    if (haystack.is(Kind::kDict)) {
        INGOT_ASSIGN(const Value* const found, find_key(heap, haystack.dict(), needle));
        return found != nullptr;
    }
    if (!is_iterable(haystack)) {
        return fail(ErrorKind::kInvalidArgument, "argument of type '{}' is not iterable",
                    type_name(haystack));
    }
    INGOT_ASSIGN(const std::span<const Value> items, items_of(heap, haystack));
    for (const Value& item : items) {
        if (same_object(item, needle)) return true;
        INGOT_ASSIGN(const bool same, equal(heap, item, needle));
        if (same) return true;
    }
    return false;
}

Result<std::vector<size_t>> sorted_order(Heap& heap, std::span<const Value> keys, bool reverse) {
    std::vector<size_t> order(keys.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::optional<Error> failure;
    const auto before = [&](size_t a, size_t b) {
        if (failure) return false;
        auto result = reverse ? less(heap, keys[b], keys[a]) : less(heap, keys[a], keys[b]);
        if (!result) failure = std::move(result).error();
        return result.has_value() && *result;
    };
    std::stable_sort(order.begin(), order.end(), before);
    if (failure) return Failure(std::move(*failure));
    return order;
}

}  // namespace ingot::jinja

// Filters on sequences and dicts: ordering, grouping, picking single items, joining.
#include <algorithm>

#include "llm/text/jinja/builtin.h"
#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/operators.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/selection.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

Values copy(Heap& heap, std::span<const Value> items) {
    Values out = heap.values();
    out.assign(items.begin(), items.end());
    return out;
}

Result<Value> length(Call& call) {
    INGOT_ASSIGN(const int64_t count, length_of(call.heap, call.self));
    return Value::integer(count);
}

Result<Value> list(Call& call) {
    INGOT_ASSIGN(const std::span<const Value> items, items_of(call.heap, call.self));
    INGOT_TRY(call.heap.claim(items.size() * sizeof(Value)));
    return call.heap.list(copy(call.heap, items));
}

Result<Value> first(Call& call) {
    if (call.self.is(Kind::kIterator)) {  // takes one item and leaves the rest
        Iterator& iterator = call.self.iterator();
        if (iterator.next < iterator.items.size()) return iterator.items[iterator.next++];
    }
    INGOT_ASSIGN(const std::span<const Value> items, items_of(call.heap, call.self));
    return items.empty() ? call.heap.undefined_hint("No first item, sequence was empty.") : items.front();
}

Failure not_reversible(const Value& value) {
    return fail(ErrorKind::kInvalidArgument, "'{}' object is not reversible", type_name(value));
}

Result<Value> last(Call& call) {
    if (call.self.is(Kind::kIterator)) return not_reversible(call.self);
    INGOT_ASSIGN(const std::span<const Value> items, items_of(call.heap, call.self));
    return items.empty() ? call.heap.undefined_hint("No last item, sequence was empty.") : items.back();
}

Result<Value> reverse(Call& call) {
    if (call.self.is_text()) {
        std::string out;
        const auto chars = split_chars(call.self.bytes());
        for (auto it = chars.rbegin(); it != chars.rend(); ++it) out += *it;
        return call.heap.text(out, call.self.text().markup);
    }
    INGOT_ASSIGN(const std::span<const Value> items, items_of(call.heap, call.self));
    Values out = copy(call.heap, items);
    std::reverse(out.begin(), out.end());
    return call.self.is(Kind::kIterator) ? call.heap.list(std::move(out))
                                         : call.heap.iterator(std::move(out));
}

Result<Value> join(Call& call) {
    INGOT_ASSIGN(const std::span<const Value> items, items_of(call.heap, call.self));
    std::string separator;
    if (call.args.has(0)) {
        INGOT_ASSIGN(separator, to_text(call.heap, call.args[0]));
    }
    std::string out;
    for (size_t i = 0; i < items.size(); ++i) {
        INGOT_ASSIGN(const Value item, pick(call.heap, items[i], call.args[1]));
        INGOT_ASSIGN(const std::string text, to_text(call.heap, item));
        if (i > 0) out += separator;
        out += text;
        INGOT_TRY(call.heap.step(1 + text.size() / 64));
        if (out.size() > call.heap.limits().max_output_bytes) INGOT_TRY(call.heap.claim(out.size()));
    }
    return call.heap.text(out);
}

Result<Value> items(Call& call) {
    if (call.self.is_undefined()) return call.heap.iterator(call.heap.values());
    if (!call.self.is(Kind::kDict)) {
        const Error error{ErrorKind::kInvalidArgument, "Can only get item pairs from a mapping.", {}};
        return call.heap.iterator(call.heap.values(), &error);
    }
    const View view{&call.self.dict(), View::Part::kItems};
    INGOT_ASSIGN(const std::span<const Value> pairs, items_of(call.heap, Value(Kind::kView, &view)));
    return call.heap.iterator(copy(call.heap, pairs));
}

Result<Value> ordered(Call& call, std::span<const Value> items, std::span<const Value> keys, bool reverse) {
    INGOT_ASSIGN(const std::vector<size_t> order, sorted_order(call.heap, keys, reverse));
    Values out = call.heap.values();
    for (const size_t index : order) out.push_back(items[index]);
    return call.heap.list(std::move(out));
}

Result<Value> dict_sort(Call& call) {
    if (!call.self.is(Kind::kDict)) {
        if (call.self.is_undefined()) return undefined_error(call.self);
        return fail(ErrorKind::kInvalidArgument, "'{}' object has no attribute 'items'",
                    type_name(call.self));
    }
    std::string_view by = "key";
    if (call.args.has(1)) {
        INGOT_ASSIGN(by, text_argument(call.args[1], "dictsort: by"));
    }
    if (by != "key" && by != "value") {
        return fail(ErrorKind::kInvalidArgument, "You can only sort by either \"key\" or \"value\"");
    }
    Values pairs = call.heap.values();
    Values keys = call.heap.values();
    for (const Entry& entry : call.self.dict().entries) {
        pairs.push_back(call.heap.pair(entry.key, entry.value));
        keys.push_back(fold_case(call.heap, by == "key" ? entry.key : entry.value, truthy(call.args[0])));
    }
    return ordered(call, pairs, keys, truthy(call.args[2]));
}

// sort by several attributes separated by commas compares tuples of them.
Result<Value> sort_key(Call& call, const Value& item, const Value& attribute, bool case_sensitive) {
    if (!attribute.is_text()) {
        INGOT_ASSIGN(const Value picked, pick(call.heap, item, attribute));
        return fold_case(call.heap, picked, case_sensitive);
    }
    Values parts = call.heap.values();
    std::string_view rest = attribute.bytes();
    for (bool more = true; more;) {
        const size_t comma = rest.find(',');
        more = comma != rest.npos;
        INGOT_ASSIGN(const Value picked, pick(call.heap, item, call.heap.borrowed(rest.substr(0, comma))));
        parts.push_back(fold_case(call.heap, picked, case_sensitive));
        if (more) rest.remove_prefix(comma + 1);
    }
    return call.heap.tuple(std::move(parts));
}

Result<Value> sort(Call& call) {
    INGOT_ASSIGN(const std::span<const Value> items, items_of(call.heap, call.self));
    Values keys = call.heap.values();
    for (const Value& item : items) {
        INGOT_ASSIGN(const Value key, sort_key(call, item, call.args[2], truthy(call.args[1])));
        keys.push_back(key);
    }
    return ordered(call, items, keys, truthy(call.args[0]));
}

Result<Value> unique(Call& call) {
    INGOT_ASSIGN(const std::span<const Value> items, items_of(call.heap, call.self));
    std::pmr::vector<Entry> seen(call.heap.arena());
    Values out = call.heap.values();
    for (const Value& item : items) {
        INGOT_ASSIGN(const Value picked, pick(call.heap, item, call.args[1]));
        const size_t before = seen.size();
        INGOT_TRY(set_key(call.heap, seen, fold_case(call.heap, picked, truthy(call.args[0])), item));
        if (seen.size() > before) out.push_back(item);
    }
    return call.heap.iterator(std::move(out));
}

Result<Value> extreme(Call& call, bool largest) {
    INGOT_ASSIGN(const std::span<const Value> items, items_of(call.heap, call.self));
    if (items.empty()) return call.heap.undefined_hint("No aggregated item, sequence was empty.");
    Value best;
    Value best_key;
    for (const Value& item : items) {
        INGOT_ASSIGN(const Value picked, pick(call.heap, item, call.args[1]));
        const Value key = fold_case(call.heap, picked, truthy(call.args[0]));
        bool better = best.missing();
        if (!better) {
            INGOT_ASSIGN(better,
                         largest ? less(call.heap, best_key, key, ">") : less(call.heap, key, best_key));
        }
        if (better) best = item, best_key = key;
    }
    return best;
}

Result<Value> min(Call& call) {
    return extreme(call, false);
}
Result<Value> max(Call& call) {
    return extreme(call, true);
}

Result<Value> sum(Call& call) {
    INGOT_ASSIGN(const std::span<const Value> items, items_of(call.heap, call.self));
    Value total = call.args.has(1) ? call.args[1] : Value::integer(0);
    if (total.is_text())
        return fail(ErrorKind::kInvalidArgument, "sum() can't sum strings [use ''.join(seq) instead]");
    for (const Value& item : items) {
        INGOT_ASSIGN(const Value picked, pick(call.heap, item, call.args[0]));
        INGOT_ASSIGN(total, binary(call.heap, BinaryOp::kAdd, total, picked));
    }
    return total;
}

Result<Value> batch(Call& call) {
    INGOT_ASSIGN(const std::span<const Value> items, items_of(call.heap, call.self));
    INGOT_ASSIGN(const int64_t size, integer_argument(call.args[0], "batch: linecount"));
    Values out = call.heap.values();
    Values row = call.heap.values();
    for (const Value& item : items) {
        if (static_cast<int64_t>(row.size()) == size)
            out.push_back(call.heap.list(std::exchange(row, call.heap.values())));
        row.push_back(item);
    }
    if (!row.empty()) {
        if (call.args.has(1) && !call.args[1].is(Kind::kNone) && size > static_cast<int64_t>(row.size())) {
            INGOT_TRY(call.heap.claim(static_cast<uint64_t>(size), sizeof(Value)));
            row.resize(static_cast<size_t>(size), call.args[1]);
        }
        out.push_back(call.heap.list(std::move(row)));
    }
    return call.heap.iterator(std::move(out));
}

Result<Value> slice(Call& call) {
    INGOT_ASSIGN(const std::span<const Value> items, items_of(call.heap, call.self));
    INGOT_ASSIGN(const int64_t slices, integer_argument(call.args[0], "slice: slices"));
    if (slices == 0) return fail(ErrorKind::kInvalidArgument, "integer division or modulo by zero");
    Values out = call.heap.values();
    if (slices < 0) return call.heap.iterator(std::move(out));
    INGOT_TRY(call.heap.claim(static_cast<uint64_t>(slices), 64));
    const auto count = static_cast<size_t>(slices);
    const size_t longer = items.size() % count;
    size_t start = 0;
    for (size_t i = 0; i < count; ++i) {
        const size_t size = items.size() / count + (i < longer ? 1 : 0);
        Values row = copy(call.heap, items.subspan(start, size));
        start += size;
        if (call.args.has(1) && !call.args[1].is(Kind::kNone) && i >= longer) row.push_back(call.args[1]);
        out.push_back(call.heap.list(std::move(row)));
    }
    return call.heap.iterator(std::move(out));
}

Result<Value> group_by(Call& call) {
    INGOT_ASSIGN(const std::span<const Value> items, items_of(call.heap, call.self));
    Values keys = call.heap.values();
    Values shown = call.heap.values();
    for (const Value& item : items) {
        INGOT_ASSIGN(const Value picked, pick(call.heap, item, call.args[0], call.args[1]));
        shown.push_back(picked);
        keys.push_back(fold_case(call.heap, picked, truthy(call.args[2])));
    }
    INGOT_ASSIGN(const std::vector<size_t> order, sorted_order(call.heap, keys, false));
    Values out = call.heap.values();
    for (size_t i = 0; i < order.size();) {
        const Value& key = keys[order[i]];
        const Value& grouper = shown[order[i]];
        Values group = call.heap.values();
        for (; i < order.size(); ++i) {
            INGOT_ASSIGN(const bool same, equal(call.heap, key, keys[order[i]]));
            if (!same) break;
            group.push_back(items[order[i]]);
        }
        out.push_back(call.heap.pair(grouper, call.heap.list(std::move(group))));
    }
    return call.heap.list(std::move(out));
}

constexpr Builtin kFilters[] = {
    builtin("length", length),
    builtin("count", length),
    builtin("list", list),
    builtin("first", first),
    builtin("last", last),
    builtin("reverse", reverse),
    builtin("join", join, 0, {"d", "attribute"}),
    builtin("items", items),
    builtin("dictsort", dict_sort, 0, {"case_sensitive", "by", "reverse"}),
    builtin("sort", sort, 0, {"reverse", "case_sensitive", "attribute"}),
    builtin("unique", unique, 0, {"case_sensitive", "attribute"}),
    builtin("min", min, 0, {"case_sensitive", "attribute"}),
    builtin("max", max, 0, {"case_sensitive", "attribute"}),
    builtin("sum", sum, 0, {"attribute", "start"}),
    builtin("batch", batch, 1, {"linecount", "fill_with"}),
    builtin("slice", slice, 1, {"slices", "fill_with"}),
    builtin("groupby", group_by, 1, {"attribute", "default", "case_sensitive"}),
};

}  // namespace

std::span<const Builtin> sequence_filters() {
    return kFilters;
}

}  // namespace ingot::jinja

// Truth, equality, order and membership as Python defines them for these types.
#pragma once

#include <span>

#include "llm/text/jinja/heap.h"
#include "llm/text/jinja/value.h"

namespace ingot::jinja {

bool truthy(const Value& value);
Result<bool> equal(Heap& heap, const Value& a, const Value& b);
// a < b. Error where Python raises TypeError.
Result<bool> less(Heap& heap, const Value& a, const Value& b, std::string_view operation = "<");
bool identical(const Value& a, const Value& b);  // Python's `is`
// `needle in haystack`
Result<bool> contains(Heap& heap, const Value& haystack, const Value& needle);
// The value under the key, or nullptr. Error if the key can't be one (a list, a dict).
Result<const Value*> find_key(Heap& heap, const Dict& dict, const Value& key);
const Value* find_key(const Dict& dict, std::string_view key);
// Adds or replaces.
Result<void> set_key(Heap& heap, std::pmr::vector<Entry>& entries, const Value& key, const Value& value);
// Stable, by `keys`; gives the order as indices. Error if two keys don't compare.
Result<std::vector<size_t>> sorted_order(Heap& heap, std::span<const Value> keys, bool reverse);

// What a for loop walks over: a list's own items, or a copy of what the iterable yields. Drains an iterator.
Result<std::span<const Value>> items_of(Heap& heap, const Value& value);
bool is_iterable(const Value& value);
// len(); Error where Python has none.
Result<int64_t> length_of(Heap& heap, const Value& value);

}  // namespace ingot::jinja

// What `value.name`, `value[key]` and `value[a:b:c]` give: methods, items, characters, or an undefined value
// that says what isn't there.
#pragma once

#include <string_view>

#include "llm/text/jinja/heap.h"
#include "llm/text/jinja/value.h"

namespace ingot::jinja {

// Attribute first, then item, as the sandbox of Jinja does: on a dict, `.items` is the method even if there
// is such a key.
Result<Value> get_attribute(Heap& heap, const Value& value, std::string_view name);
// Item first, then attribute.
Result<Value> get_item(Heap& heap, const Value& value, const Value& key);
// Bounds are integers, none or missing.
Result<Value> get_slice(Heap& heap, const Value& value, const Value& start, const Value& stop,
                        const Value& step);

}  // namespace ingot::jinja

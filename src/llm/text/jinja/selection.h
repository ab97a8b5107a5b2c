// Picking a part out of an item, as the `attribute` argument of filters does it: "a.b.0".
#pragma once

#include "llm/text/jinja/builtin.h"

namespace ingot::jinja {

// Follows the dotted path; `attribute` none or missing gives the item itself. With `fallback` present, it
// stands in for what is undefined.
Result<Value> pick(Heap& heap, const Value& item, const Value& attribute, const Value& fallback = {});
// Lower case for text unless `case_sensitive`: how filters compare by default.
Value fold_case(Heap& heap, const Value& value, bool case_sensitive);

}  // namespace ingot::jinja

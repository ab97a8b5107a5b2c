// Values as text: Python's str() and repr(), and the names of types in messages.
#pragma once

#include <string>
#include <string_view>

#include "llm/text/jinja/heap.h"
#include "llm/text/jinja/value.h"

namespace ingot::jinja {

// str(): what {{ value }} prints.
Result<std::string> to_text(Heap& heap, const Value& value);
// The same as a text value; a text is returned as it is (markup kept).
Result<Value> to_text_value(Heap& heap, const Value& value);
Result<std::string> repr(Heap& heap, const Value& value);
std::string repr_text(std::string_view text);
std::string format_float(double value);

std::string_view type_name(const Value& value);    // "str"
std::string_view object_type(const Value& value);  // "str object", as messages about missing attributes say
std::string undefined_message(const Undefined& undefined);
// What using an undefined value fails with.
Failure undefined_error(const Value& value);

}  // namespace ingot::jinja

// The escapes of a string literal in a template: those of Python's str.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ingot::jinja {

// `body` is what stands between the quotes. An unknown escape stays as it is, as in Python.
Result<std::string> unescape(std::string_view body);

}  // namespace ingot::jinja

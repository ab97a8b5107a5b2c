// What is valid UTF-8; the one place that knows it.
#pragma once

#include <cstddef>
#include <string_view>

namespace ingot {

// Bytes of the well-formed UTF-8 character at the start of `text` (Unicode, table 3-7: no overlong forms, no
// surrogates), 0 if there is none.
size_t utf8_character_bytes(std::string_view text);

}  // namespace ingot

// Operations on text that filters and methods share.
#pragma once

#include <string>
#include <string_view>

#include "llm/text/jinja/heap.h"
#include "llm/text/jinja/operators.h"

namespace ingot::jinja {

enum class Padding { kLeft, kRight, kBoth };
// As str.rjust, ljust and center: on an odd rest, center puts the extra character where Python does.
Result<std::string> pad_text(Heap& heap, std::string_view text, int64_t width, char32_t fill, Padding side);

// At most `count` replacements from the left; all if negative. An empty `from` stands between all characters.
Result<std::string> replace_text(Heap& heap, std::string_view text, std::string_view from,
                                 std::string_view to, int64_t count);
// Each word's first letter upper case, the rest lower case; words begin where Jinja's `title` sees them.
std::string title_words(std::string_view text);

}  // namespace ingot::jinja

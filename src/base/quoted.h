// Text from outside on its way into a message or onto a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot {

// Control characters and bytes that aren't UTF-8 as \n, \t or \x1b, so that text can't steer a terminal. At
// most `max_bytes` of the text are shown, cut between characters; "..." marks what is left out.
std::string printable(std::string_view text, size_t max_bytes);

// The same in single quotes, with its length if some of it is left out: 'abc...' (1000 bytes).
std::string quoted(std::string_view text, size_t max_bytes = 64);

}  // namespace ingot

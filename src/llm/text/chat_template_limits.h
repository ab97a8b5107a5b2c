// What bounds the rendering of a chat template. Apart from chat_template.h, so that the interpreter need not
// know how variables come in.
#pragma once

#include <cstdint>

namespace ingot {

struct ChatTemplateLimits {
    uint64_t max_steps = 10'000'000;          // operations, and one more for each 64 bytes of text built
    uint32_t max_depth = 128;                 // of blocks, expressions, macro calls and values
    uint64_t max_output_bytes = 64ull << 20;  // of the result, and of each text on the way to it
    uint64_t max_heap_bytes = 256ull << 20;   // of all values together
};

}  // namespace ingot

#include "llm/text/tokenizer.h"

namespace ingot {
namespace {

// Length of the character that starts with this byte; 0 for a byte that can't start one.
size_t expected_length(unsigned char lead) {
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return 2;
    if (lead >= 0xE0 && lead <= 0xEF) return 3;
    if (lead >= 0xF0 && lead <= 0xF4) return 4;
    return 0;
}

// Length of the incomplete character that `bytes` ends with; 0 if it ends at a boundary.
size_t incomplete_tail(std::string_view bytes) {
    for (size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
        const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
        if ((byte & 0xC0) == 0x80) continue;
        return expected_length(byte) > back ? back : 0;
    }
    return 0;
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
    held_ += bytes;
    const size_t tail = incomplete_tail(held_);
    std::string whole = held_.substr(0, held_.size() - tail);
    held_.erase(0, whole.size());
    return whole;
}

std::string Utf8Stream::flush() {
    return std::exchange(held_, {});
}

}  // namespace ingot

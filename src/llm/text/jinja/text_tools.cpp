#include "llm/text/jinja/text_tools.h"

#include <algorithm>

#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {

Result<std::string> pad_text(Heap& heap, std::string_view text, int64_t width, char32_t fill, Padding side) {
    const auto length = static_cast<int64_t>(count_chars(text));
    const int64_t missing = width > length ? width - length : 0;
    INGOT_TRY(heap.claim(static_cast<uint64_t>(missing), 4));
    INGOT_TRY(heap.claim(text.size()));
    int64_t left = missing;
    if (side == Padding::kRight) left = 0;
    if (side == Padding::kBoth) left = missing / 2 + (missing & width & 1);
    std::string out;
    for (int64_t i = 0; i < left; ++i) append_char(out, fill);
    out += text;
    for (int64_t i = left; i < missing; ++i) append_char(out, fill);
    return out;
}

Result<std::string> replace_text(Heap& heap, std::string_view text, std::string_view from,
                                 std::string_view to, int64_t count) {
    std::string out;
    const auto budget = [&]() -> Result<void> { return heap.claim(out.size()); };
    size_t pos = 0;
    INGOT_TRY(heap.search(text.size(), from.size()));
    for (uint64_t done = 0; count < 0 || done < static_cast<uint64_t>(count); ++done) {
        size_t found = from.empty() ? pos : text.find(from, pos);
        if (found == text.npos) break;
        if (done % 64 == 0 || to.size() > 64) INGOT_TRY(budget());
        out += text.substr(pos, found - pos);
        out += to;
        pos = found + from.size();
        if (!from.empty()) continue;
        if (pos >= text.size()) return out;
        size_t next = pos;
        next_char(text, next);
        out += text.substr(pos, next - pos);
        pos = next;
    }
    out += text.substr(std::min(pos, text.size()));
    INGOT_TRY(budget());
    return out;
}

std::string title_words(std::string_view text) {
    const auto breaks = [](char32_t c) {
        return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || char_is(c, CharClass::kSpace);
    };
    std::string out;
    for (size_t i = 0; i < text.size();) {
        size_t end = i;
        while (end < text.size()) {
            size_t next = end;
            if (breaks(next_char(text, next))) break;
            end = next;
        }
        if (end == i) {
            const size_t start = i;
            next_char(text, i);
            out += text.substr(start, i - start);
            continue;
        }
        size_t first_end = i;
        next_char(text, first_end);
        out += to_upper(text.substr(i, first_end - i)) + to_lower(text.substr(first_end, end - first_end));
        i = end;
    }
    return out;
}

}  // namespace ingot::jinja

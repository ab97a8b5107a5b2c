#include "llm/backend/cell_spans.h"

#include <algorithm>

#include "llm/graph/params.h"

namespace ingot {

using graph::kMaxMapRuns;

uint32_t spans_per_token(size_t window_size, uint32_t tokens) {
    return window_size == size_t(tokens) * kMaxMapRuns * 2 ? kMaxMapRuns : 1;
}

namespace {

// Run `r` of token t as [begin, end), before any check.
std::pair<int64_t, int64_t> run_of(std::span<const int32_t> window, uint32_t tokens, uint32_t t, uint32_t r) {
    if (window.size() == tokens) return {0, int64_t(window[t]) + 1};
    if (window.size() == 2 * size_t(tokens)) return {window[t], window[tokens + t]};
    const size_t at = (size_t(t) * kMaxMapRuns + r) * 2;
    return {window[at], int64_t(window[at]) + window[at + 1]};
}

// Keeps the last `limit` cells.
void keep_last(std::span<CellSpan> spans, uint32_t limit) {
    for (size_t r = spans.size(); r-- > 0;) {
        const uint32_t length = spans[r].end - spans[r].begin;
        spans[r].begin = spans[r].end - std::min(length, limit);
        limit -= std::min(length, limit);
    }
}

}  // namespace

Result<void> make_cell_spans(std::span<const int32_t> window, uint32_t tokens, uint32_t limit,
                             uint32_t num_cells, std::span<CellSpan> spans) {
    const uint32_t per_token = spans_per_token(window.size(), tokens);
    for (uint32_t t = 0; t < tokens; ++t) {
        bool any = false;
        for (uint32_t r = 0; r < per_token; ++r) {
            const auto [begin, end] = run_of(window, tokens, t, r);
            if (begin < 0 || end < begin || end > int64_t(num_cells)) {
                return fail(ErrorKind::kInvalidArgument,
                            "token {} sees the KV cells {} to {}; inside 0 to {} is accepted", t, begin, end,
                            num_cells);
            }
            any |= begin < end;
            spans[t * per_token + r] = {uint32_t(begin), uint32_t(end)};
        }
        if (!any) return fail(ErrorKind::kInvalidArgument, "token {} sees no KV cell", t);
        const std::span<CellSpan> own = spans.subspan(t * per_token, per_token);
        if (limit != 0) keep_last(own, limit);
        std::ranges::stable_partition(own, [](const CellSpan& s) { return s.begin < s.end; });
    }
    return {};
}

}  // namespace ingot

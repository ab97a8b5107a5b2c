// Turns an attention node's window input into the cells that each token sees: what the attention kernels of
// all backends read, whatever the window mode.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace ingot {

// Cells [begin, end).
struct CellSpan {
    uint32_t begin, end;
};

// Runs of cells a token, by the size of the window input (graph::WindowMode).
uint32_t spans_per_token(size_t window_size, uint32_t tokens);

// Fills `spans` [tokens, spans_per_token], with empty ones last. limit: only the last so many cells of each
// token count, 0 for all. A cell outside [0, num_cells), or a token without cells, is an Error.
Result<void> make_cell_spans(std::span<const int32_t> window, uint32_t tokens, uint32_t limit,
                             uint32_t num_cells, std::span<CellSpan> spans);

}  // namespace ingot

// What happens to rows that are in KV cells: moved, turned to other positions, taken out and put back. It
// goes through the backends' read_kv and write_kv, so it is one code for all of them. Which rows is cells.h's
// business.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "llm/backend/backend.h"
#include "llm/graph/rope.h"
#include "llm/kv/cells.h"

namespace ingot::kv {

// One layer's cells, and how its keys are turned by position.
struct LayerCells {
    KvLayer layer;
    Backend* backend = nullptr;
    bool turns = false;
    graph::RopeParams rope;
    std::vector<float> factors;  // rope_table()
};

// The cells that a compiled graph stores to, by layer.
std::vector<LayerCells> cells_of(const graph::Graph& graph, std::span<Backend* const> backends);

// Rows as they are; a move may overlap itself in either direction.
Result<void> move_rows(std::span<const LayerCells> layers, Format format, std::span<const RowMove> moves);
// The same all at once: every row is read before one is written.
Result<void> rearrange_rows(std::span<const LayerCells> layers, Format format,
                            std::span<const RowMove> moves);
// Turns the keys in `cells` by `positions` more. Packed and half keys are decoded, turned and stored once.
Result<void> turn_keys(std::span<const LayerCells> layers, Format format, std::span<const Run> cells,
                       int32_t positions);

}  // namespace ingot::kv

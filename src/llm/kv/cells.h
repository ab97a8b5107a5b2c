// Which KV cell holds which position of which sequence. Owns the bookkeeping only; the regions belong to a
// backend (backend.h). A sequence's cells are runs in position order; while only one sequence lives in the
// cache, position and cell are the same number.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/result.h"
#include "llm/graph/params.h"

namespace ingot::kv {

using SequenceId = uint32_t;

struct Run {
    uint32_t cell = 0;
    uint32_t length = 0;
    bool operator==(const Run&) const = default;
};

// `count` tokens that continue `sequence`.
struct Continuation {
    SequenceId sequence = 0;
    uint32_t count = 0;
};

// Input data for the graph that runs the placed tokens, in the order of the continuations.
struct Placement {
    graph::WindowMode window = graph::WindowMode::kCausal;
    std::vector<int32_t> positions;    // [tokens]
    std::vector<int32_t> cells;        // [tokens]
    std::vector<int32_t> window_data;  // what the `span` or `map` input wants; empty for kCausal
};

class Cells {
  public:
    explicit Cells(uint32_t num_cells) : num_cells_(num_cells) {}

    // Gives cells to new tokens. kLimit, with nothing changed, if they don't fit or a sequence would lie in
    // more runs than a map can say.
    Result<Placement> append(std::span<const Continuation> batch);
    // Frees the cells of a sequence from position `length` on; no effect if it is not longer.
    void truncate(SequenceId sequence, uint32_t length);
    void clear() { runs_.clear(); }

    uint32_t num_cells() const { return num_cells_; }
    uint32_t num_used() const;
    uint32_t length(SequenceId sequence) const;  // tokens cached; the next token's position
    std::span<const Run> runs(SequenceId sequence) const;

  private:
    bool is_free(uint32_t cell) const;
    Result<void> extend(SequenceId sequence, uint32_t count, std::vector<int32_t>& cells);

    uint32_t num_cells_;
    std::map<SequenceId, std::vector<Run>> runs_;
};

}  // namespace ingot::kv

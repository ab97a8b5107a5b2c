// Which KV cell holds which position of which sequence. Owns the bookkeeping only; the regions belong to a
// backend (backend.h), and rows.h does to them what is said here. A sequence's cells are runs in position
// order; while only one sequence lives in the cache, position and cell are the same number. Others begin
// where they leave room for each to grow. A cell may belong to several sequences, at the same position in
// each: it is never written again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

// `length` cells' rows are to be copied, of all layers, keys and values.
struct RowMove {
    uint32_t from = 0, to = 0;
    uint32_t length = 0;
    bool operator==(const RowMove&) const = default;
};

// What is left to do to the regions after positions were removed: first the copies, in order, then the keys
// in the cells `turned` belong to positions that are smaller by the number of those removed.
struct Removal {
    std::vector<RowMove> copies;
    std::vector<Run> turned;
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
    // Takes positions [begin, end) out of a sequence; those behind move down. What it shares with others is
    // copied first, since the others keep their positions. kInvalidArgument if there is nothing to remove,
    // kLimit if no cell is free for a copy or the rest would lie in too many runs; then nothing is changed.
    Result<Removal> remove(SequenceId sequence, uint32_t begin, uint32_t end);
    // Lets `target`, which must be empty, begin with the first `length` tokens of `source`, in the same
    // cells.
    Result<void> share(SequenceId source, SequenceId target, uint32_t length);
    // Moves all cells to the front, in the order in which they lie; the moves are to be made in order.
    std::vector<RowMove> compact();
    // Lays every sequence out in as few runs as can be: one, and one for each beginning that it shares.
    // Behind them is room for what `batch` adds, and what else is free is shared out evenly. The moves are to
    // be made all at once (rearrange_rows()).
    std::vector<RowMove> rearrange(std::span<const Continuation> batch = {});

    uint32_t num_cells() const { return num_cells_; }
    uint32_t num_used() const;                   // each counted once
    uint32_t length(SequenceId sequence) const;  // tokens cached; the next token's position
    std::span<const Run> runs(SequenceId sequence) const;

  private:
    bool is_free(uint32_t cell) const;
    std::vector<bool> used_cells() const;
    bool is_held_by_others(SequenceId sequence, uint32_t cell) const;
    // Where a new run of `count` cells begins: in the widest gap, in its middle, so that the run in front of
    // it can grow too. None if no cell is free.
    std::optional<uint32_t> place(uint32_t count) const;
    Result<void> extend(SequenceId sequence, uint32_t count, std::vector<int32_t>& cells);

    uint32_t num_cells_;
    std::map<SequenceId, std::vector<Run>> runs_;
};

}  // namespace ingot::kv

#include "llm/kv/cells.h"

#include <algorithm>
#include <set>

namespace ingot::kv {
namespace {

// The window data of WindowMode::kSpan: all lo, then all hi.
std::vector<int32_t> span_data(const std::vector<std::vector<Run>>& seen) {
    const size_t tokens = seen.size();
    std::vector<int32_t> data(2 * tokens);
    for (size_t t = 0; t < tokens; ++t) {
        data[t] = int32_t(seen[t][0].cell);
        data[tokens + t] = int32_t(seen[t][0].cell + seen[t][0].length);
    }
    return data;
}

std::vector<int32_t> map_data(const std::vector<std::vector<Run>>& seen) {
    std::vector<int32_t> data(seen.size() * graph::kMaxMapRuns * 2, 0);
    for (size_t t = 0; t < seen.size(); ++t) {
        for (size_t r = 0; r < seen[t].size(); ++r) {
            data[(t * graph::kMaxMapRuns + r) * 2] = int32_t(seen[t][r].cell);
            data[(t * graph::kMaxMapRuns + r) * 2 + 1] = int32_t(seen[t][r].length);
        }
    }
    return data;
}

// The first `length` positions of a sequence.
std::vector<Run> prefix(std::span<const Run> runs, uint32_t length) {
    std::vector<Run> out;
    for (const Run& run : runs) {
        if (length == 0) break;
        out.push_back({run.cell, std::min(run.length, length)});
        length -= out.back().length;
    }
    return out;
}

// All but the first `length` positions.
std::vector<Run> suffix(std::span<const Run> runs, uint32_t length) {
    std::vector<Run> out;
    for (Run run : runs) {
        const uint32_t skipped = std::min(length, run.length);
        length -= skipped;
        if (run.length > skipped) out.push_back({run.cell + skipped, run.length - skipped});
    }
    return out;
}

// Adds a run behind others, as part of the last one where it follows it.
void add_run(std::vector<Run>& runs, Run run) {
    if (run.length == 0) return;
    if (!runs.empty() && runs.back().cell + runs.back().length == run.cell) {
        runs.back().length += run.length;
    } else {
        runs.push_back(run);
    }
}

// Adds a cell's move behind others, as part of the last one where it goes on.
void add_move(std::vector<RowMove>& moves, uint32_t from, uint32_t to) {
    if (from == to) return;
    const bool goes_on = !moves.empty() && moves.back().from + moves.back().length == from &&
                         moves.back().to + moves.back().length == to;
    if (goes_on) {
        ++moves.back().length;
    } else {
        moves.push_back({from, to, 1});
    }
}

}  // namespace

std::vector<bool> Cells::used_cells() const {
    std::vector<bool> used(num_cells_);
    for (const auto& [sequence, runs] : runs_) {
        for (const Run& run : runs) std::fill_n(used.begin() + run.cell, run.length, true);
    }
    return used;
}

uint32_t Cells::num_used() const {
    // Sequences may share cells; a step costs what the runs are, not what the context is.
    std::vector<Run> all;
    for (const auto& [sequence, runs] : runs_) all.insert(all.end(), runs.begin(), runs.end());
    std::ranges::sort(all, {}, &Run::cell);
    uint32_t used = 0, end = 0;
    for (const Run& run : all) {
        const uint32_t stop = run.cell + run.length;
        used += stop - std::min(stop, std::max(end, run.cell));
        end = std::max(end, stop);
    }
    return used;
}

uint32_t Cells::length(SequenceId sequence) const {
    uint32_t sum = 0;
    for (const Run& run : runs(sequence)) sum += run.length;
    return sum;
}

std::span<const Run> Cells::runs(SequenceId sequence) const {
    const auto found = runs_.find(sequence);
    return found == runs_.end() ? std::span<const Run>() : found->second;
}

bool Cells::is_free(uint32_t cell) const {
    if (cell >= num_cells_) return false;
    for (const auto& [sequence, runs] : runs_) {
        for (const Run& run : runs) {
            if (cell >= run.cell && cell < run.cell + run.length) return false;
        }
    }
    return true;
}

std::optional<uint32_t> Cells::place(uint32_t count) const {
    const std::vector<bool> used = used_cells();
    Run widest;
    for (uint32_t cell = 0; cell < num_cells_; ++cell) {
        if (used[cell]) continue;
        Run gap{cell, 0};
        for (; cell < num_cells_ && !used[cell]; ++cell) ++gap.length;
        if (gap.length > widest.length) widest = gap;
    }
    if (widest.length == 0) return std::nullopt;
    // Before cell 0 no one wants to grow; elsewhere a run ends in front of the gap.
    const uint32_t rest = widest.length - std::min(widest.length, count);
    return widest.cell == 0 ? 0 : widest.cell + rest / 2;
}

Result<void> Cells::extend(SequenceId sequence, uint32_t count, std::vector<int32_t>& cells) {
    std::vector<Run>& runs = runs_[sequence];
    while (count > 0) {
        std::optional<uint32_t> cell;
        if (!runs.empty()) cell = runs.back().cell + runs.back().length;
        if (!cell || !is_free(*cell)) {
            cell = place(count);
            if (!cell) return fail(ErrorKind::kLimit, "no free KV cell of {} left", num_cells_);
            if (runs.size() == graph::kMaxMapRuns) {
                return fail(ErrorKind::kLimit, "sequence {} would lie in more than {} runs of KV cells",
                            sequence, graph::kMaxMapRuns);
            }
            runs.push_back({*cell, 0});
        }
        for (; count > 0 && is_free(*cell); ++*cell, --count) {
            ++runs.back().length;
            cells.push_back(int32_t(*cell));
        }
    }
    return {};
}

Result<Placement> Cells::append(std::span<const Continuation> batch) {
    uint32_t total = 0;
    std::set<SequenceId> distinct;
    for (const Continuation& c : batch) {
        total += c.count;
        if (c.count == 0 || !distinct.insert(c.sequence).second) {
            return fail(ErrorKind::kInvalidArgument,
                        "sequence {} continues by {} tokens, once or again; each sequence once, by one or "
                        "more, is accepted",
                        c.sequence, c.count);
        }
    }
    if (total > num_cells_ - num_used()) {
        return fail(ErrorKind::kLimit, "{} tokens need as many KV cells; {} of {} are free", total,
                    num_cells_ - num_used(), num_cells_);
    }
    const auto before = runs_;
    Placement placement;
    std::vector<std::vector<Run>> seen;  // what each token may look at
    for (const Continuation& c : batch) {
        const uint32_t first = length(c.sequence);
        if (auto extended = extend(c.sequence, c.count, placement.cells); !extended) {
            runs_ = before;
            return Failure(extended.error());
        }
        for (uint32_t i = 0; i < c.count; ++i) {
            placement.positions.push_back(int32_t(first + i));
            seen.push_back(prefix(runs(c.sequence), first + i + 1));
        }
    }
    const bool single_runs = std::ranges::all_of(seen, [](const auto& runs) { return runs.size() == 1; });
    const bool from_zero = single_runs && seen[0][0].cell == 0;
    if (batch.size() == 1 && from_zero) return placement;
    placement.window = single_runs ? graph::WindowMode::kSpan : graph::WindowMode::kMap;
    placement.window_data = single_runs ? span_data(seen) : map_data(seen);
    return placement;
}

void Cells::truncate(SequenceId sequence, uint32_t length) {
    const auto found = runs_.find(sequence);
    if (found == runs_.end()) return;
    found->second = prefix(found->second, length);
    if (found->second.empty()) runs_.erase(found);
}

bool Cells::is_held_by_others(SequenceId sequence, uint32_t cell) const {
    for (const auto& [other, runs] : runs_) {
        if (other == sequence) continue;
        for (const Run& run : runs) {
            if (cell >= run.cell && cell < run.cell + run.length) return true;
        }
    }
    return false;
}

Result<void> Cells::share(SequenceId source, SequenceId target, uint32_t length) {
    if (source == target || this->length(target) != 0 || length == 0 || length > this->length(source)) {
        return fail(ErrorKind::kInvalidArgument,
                    "sequence {} of {} tokens can't begin with {} of the {} tokens of sequence {}; an empty "
                    "one with 1 or more that are there is accepted",
                    target, this->length(target), length, this->length(source), source);
    }
    runs_[target] = prefix(runs(source), length);
    return {};
}

Result<Removal> Cells::remove(SequenceId sequence, uint32_t begin, uint32_t end) {
    const uint32_t count = length(sequence);
    if (begin >= end || end > count) {
        return fail(ErrorKind::kInvalidArgument,
                    "positions {} to {} of a sequence of {} tokens; one or more that are there are accepted",
                    begin, end, count);
    }
    const auto before = runs_;
    std::vector<Run> kept = prefix(runs(sequence), begin);
    const std::vector<Run> tail = suffix(runs(sequence), end);
    // The removed cells are free, those of the tail aren't yet.
    std::vector<Run>& held = runs_[sequence] = kept;
    held.insert(held.end(), tail.begin(), tail.end());
    std::vector<bool> used = used_cells();
    auto free = used.begin();
    Removal removal;
    for (const Run& run : tail) {
        for (uint32_t cell = run.cell; cell < run.cell + run.length; ++cell) {
            uint32_t to = cell;
            if (is_held_by_others(sequence, cell)) {
                free = std::find(free, used.end(), false);
                to = uint32_t(free - used.begin());
                if (to == num_cells_) {
                    runs_ = before;
                    return fail(ErrorKind::kLimit, "no KV cell of {} is free for a copy of a shared one",
                                num_cells_);
                }
                used[to] = true;
                removal.copies.push_back({cell, to, 1});
            }
            add_run(removal.turned, {to, 1});
        }
    }
    for (const Run& run : removal.turned) add_run(kept, run);
    if (kept.size() > graph::kMaxMapRuns) {
        runs_ = before;
        return fail(ErrorKind::kLimit, "sequence {} would lie in more than {} runs of KV cells", sequence,
                    graph::kMaxMapRuns);
    }
    runs_[sequence] = kept;
    if (kept.empty()) runs_.erase(sequence);
    return removal;
}

std::vector<RowMove> Cells::compact() {
    const std::vector<bool> used = used_cells();
    std::vector<uint32_t> place(num_cells_);  // of used cells
    std::vector<RowMove> moves;
    uint32_t next = 0;
    for (uint32_t cell = 0; cell < num_cells_; ++cell) {
        if (!used[cell]) continue;
        place[cell] = next++;
        add_move(moves, cell, place[cell]);
    }
    for (auto& [sequence, runs] : runs_) {
        std::vector<Run> moved;
        for (const Run& run : runs) add_run(moved, {place[run.cell], run.length});
        runs = std::move(moved);
    }
    return moves;
}

std::vector<RowMove> Cells::rearrange(std::span<const Continuation> batch) {
    std::map<SequenceId, uint32_t> added;
    for (const auto& [sequence, runs] : runs_) added[sequence] = 0;
    uint32_t free = num_cells_ - num_used();
    for (const Continuation& c : batch) {
        added[c.sequence] = std::min(c.count, free);
        free -= added[c.sequence];
    }
    const uint32_t share = free / std::max<uint32_t>(1, uint32_t(added.size()));
    std::vector<std::optional<uint32_t>> place(num_cells_);
    std::vector<RowMove> moves;
    uint32_t next = 0;
    for (auto& [sequence, runs] : runs_) {
        std::vector<Run> laid_out;
        for (const Run& run : runs) {
            for (uint32_t cell = run.cell; cell < run.cell + run.length; ++cell) {
                if (!place[cell]) {
                    place[cell] = next++;
                    add_move(moves, cell, *place[cell]);
                }
                add_run(laid_out, {*place[cell], 1});
            }
        }
        runs = std::move(laid_out);
        next += added[sequence] + share;
    }
    return moves;
}

}  // namespace ingot::kv

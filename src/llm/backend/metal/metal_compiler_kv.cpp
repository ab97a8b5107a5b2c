#include <algorithm>
#include <cmath>

#include "llm/backend/metal/metal_compiler.h"
#include "llm/graph/rope.h"

namespace ingot::mtl {

namespace {

// Cells that a group of the decode kernel takes before another one is worth joining in (or joins in if it was
// asked to), and the most groups that share a token's cells.
constexpr uint32_t kCellsPerChunk = 128, kCellsPerSplit = 32, kMaxChunks = 16;
// The tiles of kernels/attention_tile.metal.
constexpr uint32_t kAttnTileTokens = 8, kAttnTilesOfGroup = 4;
constexpr uint32_t kCellsOfScores = 32;  // a simdgroup of attention_scores

// 0: as many as the cells are worth.
uint32_t chunks_asked(AttnChunksChoice choice) {
    constexpr uint32_t kChunks[] = {0, 1, 2, 4, 8, kMaxChunks};
    return kChunks[size_t(choice)];
}

// How many heads of a KV head kernels/attention.metal takes together, at most 4.
uint32_t heads_together(const AttentionArgs& args) {
    uint32_t together = 4;
    while (args.heads / args.kv_heads % together != 0) --together;
    return together;
}

}  // namespace

Result<const KvRegion*> Compiler::region(uint32_t layer, uint32_t kv_heads, uint32_t head_dim) const {
    const KvRegion* found = backend_.kv_region(layer);
    if (found == nullptr) return fail(ErrorKind::kNotFound, "layer {} has no KV cells on metal", layer);
    if (found->layer.kv_heads != kv_heads || found->layer.head_dim != head_dim) {
        return fail(ErrorKind::kInvalidArgument, "layer {} has KV cells of {} x {}; {} x {} are accepted",
                    layer, found->layer.kv_heads, found->layer.head_dim, kv_heads, head_dim);
    }
    return found;
}

Result<void> Compiler::kv_store(const KvRegion& region, Bound k, Bound v, size_t cells_role,
                                uint32_t tokens) {
    check_range(cells_role, region.num_cells, "KV cell");
    const uint32_t width = region.width();
    INGOT_TRY(dispatch({Family::kKvStore, kv::traits(region.format).name},
                       {k, v, in(cells_role), {region.side[0].get(), 0}, {region.side[1].get(), 0}},
                       KvStoreArgs{uint32_t(region.row_bytes()), width}, threads(width, tokens)));
    return {};
}

Result<void> Compiler::rope(const graph::RopeParams& params, graph::WeightId factors, size_t positions_role,
                            Bound x, Bound y, uint32_t tokens, uint32_t heads, uint32_t head_dim) {
    INGOT_ASSIGN(const Bound table, rope_table_for(params, factors, positions_role));
    const uint32_t half = params.dims / 2;
    const bool interleaved = params.style == graph::RopeStyle::kInterleaved;
    INGOT_TRY(dispatch({Family::kRope}, {x, table, y}, RopeArgs{half, heads, head_dim, interleaved},
                       threads(head_dim - half, heads, tokens)));
    return {};
}

Result<MTL::Buffer*> Compiler::new_table(size_t size_bytes) {
    INGOT_ASSIGN(auto buffer, backend_.program_buffer(size_bytes, "a table of angles or cells"));
    program_->tables_.push_back(std::move(buffer));
    return program_->tables_.back().get();
}

// The cosines and sines of these positions, written by the prologue: positions are host data, and the host
// computes angles in double (at position 100,000 a float angle is wrong in its third decimal).
Result<Bound> Compiler::rope_table_for(const graph::RopeParams& params, graph::WeightId factors,
                                       size_t positions_role) {
    const std::span<const int32_t> positions = ints(positions_role);
    const TableKey key{positions.data(), positions.size(), factors, params};
    for (const auto& [known, table] : tables_) {
        if (known == key) return table;
    }
    const uint32_t half = params.dims / 2;
    std::vector<float> divisors;
    if (factors.valid()) {
        divisors.resize(half);
        std::memcpy(divisors.data(), graph_.weights()[factors].data.data(), half * sizeof(float));
    }
    INGOT_ASSIGN(MTL::Buffer* const buffer, new_table(positions.size() * 2 * half * sizeof(float)));
    program_->prologue_.push_back([positions, half, made = graph::rope_table(params, divisors),
                                   table = static_cast<float*>(buffer->contents())]() -> Result<void> {
        for (size_t t = 0; t < positions.size(); ++t) {
            float* row = table + t * 2 * half;
            for (uint32_t i = 0; i < half; ++i) {
                const double angle = double(positions[t]) * made.frequencies[i];
                row[i] = float(std::cos(angle)) * made.magnitude;
                row[half + i] = float(std::sin(angle)) * made.magnitude;
            }
        }
        return {};
    });
    const Bound place{buffer, 0};
    tables_.emplace_back(key, place);
    return place;
}

Result<Compiler::Spans> Compiler::spans_for(size_t window_role, uint32_t tokens, uint32_t limit,
                                            uint32_t num_cells) {
    const std::span<const int32_t> window = ints(window_role);
    Spans& found = spans_[{window.data(), window.size(), limit}];
    if (found.place.buffer != nullptr) return found;
    const size_t count = tokens * size_t(spans_per_token(window.size(), tokens));
    INGOT_ASSIGN(MTL::Buffer* const buffer, new_table(count * sizeof(CellSpan)));
    const std::span<CellSpan> spans(static_cast<CellSpan*>(buffer->contents()), count);
    program_->prologue_.push_back([window, tokens, limit, num_cells, spans] {
        return make_cell_spans(window, tokens, limit, num_cells, spans);
    });
    return found = {{buffer, 0}, spans};
}

Result<void> Compiler::attention() {
    const auto& p = node_->as<graph::AttnParams>();
    const uint32_t tokens = node_->shape[0];
    const uint32_t layer = graph_[node_->inputs[1]].as<graph::KvAttrs>().layer;
    INGOT_ASSIGN(const KvRegion* const cells, region(layer, p.kv_heads, p.head_dim));
    INGOT_ASSIGN(const Spans seen, spans_for(2, tokens, p.window, cells->num_cells));
    const std::string_view format = kv::traits(cells->format).name;
    const std::vector<Bound> buffers = {
        in(0), {cells->side[0].get(), 0}, {cells->side[1].get(), 0}, seen.place, out()};
    AttentionArgs args{.heads = p.heads,
                       .kv_heads = p.kv_heads,
                       .scale = p.scale,
                       .softcap = p.softcap,
                       .spans_per_token = uint32_t(seen.spans.size() / tokens),
                       .cell_bytes = uint32_t(cells->row_bytes()),
                       .tokens = tokens,
                       .chunks = 1};
    switch (attention_route(tokens, backend_.options())) {
        case AttentionRoute::kTile: {
            const uint32_t tiles = (tokens + kAttnTileTokens - 1) / kAttnTileTokens * (p.heads / p.kv_heads);
            INGOT_TRY(dispatch({Family::kAttnTile, format, p.head_dim}, buffers, args,
                               groups((tiles + kAttnTilesOfGroup - 1) / kAttnTilesOfGroup, p.kv_heads)));
            return {};
        }
        case AttentionRoute::kClassic: {
            const uint32_t together = heads_together(args);
            INGOT_TRY(dispatch({Family::kAttnClassic, format, p.head_dim, together}, buffers, args,
                               groups(p.heads / together, tokens)));
            return {};
        }
        case AttentionRoute::kDecode:
            return decode_attention(buffers, args, seen, format, p.head_dim);
        case AttentionRoute::kPasses:
            break;
    }
    return attention_passes(buffers, args, seen, format, p.head_dim, cells->num_cells);
}

Result<void> Compiler::decode_attention(const std::vector<Bound>& buffers, AttentionArgs args, Spans seen,
                                        std::string_view format, uint32_t head_dim) {
    // How many groups share the cells is decided for each execution: a short context is one group's work, and
    // there is nothing to join.
    std::vector<Bound> chunked = buffers;
    const Bound partials = scratch(size_t(args.heads) * kMaxChunks * (head_dim + 2));
    chunked.back() = partials;
    const uint32_t together = heads_together(args);
    const KernelId decode{Family::kAttnDecode, format, head_dim, together};
    INGOT_ASSIGN(const size_t whole, dispatch(decode, buffers, args, groups(0)));
    INGOT_ASSIGN(const size_t shared, dispatch(decode, chunked, args, groups(0)));
    INGOT_ASSIGN(const size_t combine,
                 dispatch({Family::kAttnCombine, {}, head_dim}, {partials, out()}, args, groups(0)));
    const bool split = backend_.options().attn_decode == AttnDecodeChoice::kSplit;
    const uint32_t cells_of_chunk = split ? kCellsPerSplit : kCellsPerChunk;
    const uint32_t asked = chunks_asked(backend_.options().attn_chunks);
    const uint32_t fewest = asked != 0 ? asked : split ? 2 : 1, most = asked != 0 ? asked : kMaxChunks;
    program_->prologue_.push_back([&steps = program_->steps_, whole, shared, combine, args, seen, fewest,
                                   most, cells_of_chunk, together]() mutable -> Result<void> {
        uint32_t cells_seen = 0;
        for (const CellSpan& span : seen.spans) cells_seen += span.end - span.begin;
        args.chunks = std::clamp((cells_seen + cells_of_chunk - 1) / cells_of_chunk, fewest, most);
        const bool one = args.chunks == 1;
        const uint32_t head_groups = args.heads / together;
        steps[whole].dispatch.grid = MTL::Size(one ? head_groups : 0, 1, 1);
        steps[shared].dispatch.grid = MTL::Size(one ? 0 : head_groups, 1, args.chunks);
        steps[combine].dispatch.grid = MTL::Size(one ? 0 : args.heads, 1, 1);
        for (const size_t step : {shared, combine}) {
            std::memcpy(steps[step].dispatch.bytes.data(), &args, sizeof args);
        }
        return {};
    });
    return {};
}

// Three passes with all scores in memory between them, [tokens, heads, cells]: of cells from the first to the
// last that any token sees.
Result<void> Compiler::attention_passes(const std::vector<Bound>& buffers, const AttentionArgs& from,
                                        Spans seen, std::string_view format, uint32_t head_dim,
                                        uint32_t num_cells) {
    const Bound q = buffers[0], k = buffers[1], v = buffers[2], spans = buffers[3], result = buffers[4];
    const uint32_t tokens = from.tokens;
    const Bound scores = scratch(size_t(from.heads) * tokens * num_cells);
    AttentionPassesArgs args{from.heads,           from.kv_heads,   from.scale, from.softcap,
                             from.spans_per_token, from.cell_bytes, 0,          0};
    const Grid rows = groups(from.heads, tokens);
    INGOT_ASSIGN(const size_t first,
                 dispatch({Family::kAttnScores, format, head_dim}, {q, k, spans, scores}, args, groups(0)));
    INGOT_ASSIGN(const size_t second, dispatch({Family::kAttnWeights, {}, head_dim}, {scores}, args, rows));
    INGOT_ASSIGN(const size_t third,
                 dispatch({Family::kAttnSums, format, head_dim}, {scores, v, result}, args, rows));
    program_->prologue_.push_back(
        [&steps = program_->steps_, first, second, third, args, seen, tokens]() mutable -> Result<void> {
            uint32_t low = UINT32_MAX, high = 0;
            for (const CellSpan& span : seen.spans) {
                if (span.begin == span.end) continue;
                low = std::min(low, span.begin);
                high = std::max(high, span.end);
            }
            args.first_cell = low;
            args.cells = high - low;
            steps[first].dispatch.grid =
                MTL::Size((args.cells + kCellsOfScores - 1) / kCellsOfScores, args.heads, tokens);
            for (const size_t step : {first, second, third})
                std::memcpy(steps[step].dispatch.bytes.data(), &args, sizeof args);
            return {};
        });
    return {};
}

}  // namespace ingot::mtl

#include "llm/kv/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "llm/quant/quant.h"

namespace ingot::kv {

using graph::Node;
using graph::NodeId;
using graph::Op;

namespace {

// Cells whose rows are on the host at a time.
constexpr uint32_t kCellsAtOnce = 256;

// The type whose rows a format's cells are.
const QuantTraits& row_type(Format format) {
    switch (format) {
        case Format::kF32:
            return traits(QuantType::kF32);
        case Format::kF16:
            return traits(QuantType::kF16);
        case Format::kQ8_0:
            break;
    }
    return traits(QuantType::kQ8_0);
}

uint32_t width_of(const LayerCells& layer) {
    return layer.layer.kv_heads * layer.layer.head_dim;
}

void set_rope(const graph::Graph& graph, const graph::RopeParams& rope, graph::WeightId factors,
              LayerCells& made) {
    made.turns = true;
    made.rope = rope;
    if (!factors.valid()) return;
    made.factors.resize(rope.dims / 2);
    std::memcpy(made.factors.data(), graph.weights()[factors].data.data(),
                made.factors.size() * sizeof(float));
}

// The rotation that a value went through on its way from `id`, if any.
void find_rope(const graph::Graph& graph, NodeId id, LayerCells& made) {
    while (graph::is_alias(graph[id].op)) id = graph[id].inputs[0];
    const Node& node = graph[id];
    if (node.op == Op::kRoPE) set_rope(graph, node.as<graph::RopeParams>(), node.weights[0], made);
}

void turn_head(float* head, const graph::RopeParams& rope, std::span<const float> turns) {
    const uint32_t half = rope.dims / 2;
    for (uint32_t i = 0; i < half; ++i) {
        const bool interleaved = rope.style == graph::RopeStyle::kInterleaved;
        float& a = head[interleaved ? 2 * i : i];
        float& b = head[interleaved ? 2 * i + 1 : i + half];
        const float cosine = turns[i], sine = turns[half + i], before = a;
        a = before * cosine - b * sine;
        b = before * sine + b * cosine;
    }
}

Result<void> move_in_layer(const LayerCells& layer, Format format, const RowMove& move,
                           std::vector<std::byte>& rows) {
    const size_t row = row_bytes(format, width_of(layer));
    for (uint32_t done = 0; done < move.length;) {
        const uint32_t count = std::min(kCellsAtOnce, move.length - done);
        // From the end on which nothing unread lies.
        const uint32_t first = move.to < move.from ? done : move.length - done - count;
        rows.resize(count * row);
        for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
            INGOT_TRY(layer.backend->read_kv(layer.layer.layer, side, move.from + first, rows));
            INGOT_TRY(layer.backend->write_kv(layer.layer.layer, side, move.to + first, rows));
        }
        done += count;
    }
    return {};
}

// Cosines, then sines, of a turn by so many positions. The magnitude is in the keys already.
std::vector<float> turns_of(const LayerCells& layer, int32_t positions) {
    const std::vector<float> frequencies = graph::rope_table(layer.rope, layer.factors).frequencies;
    std::vector<float> turns(2 * frequencies.size());
    for (size_t i = 0; i < frequencies.size(); ++i) {
        turns[i] = float(std::cos(double(positions) * frequencies[i]));
        turns[frequencies.size() + i] = float(std::sin(double(positions) * frequencies[i]));
    }
    return turns;
}

}  // namespace

std::vector<LayerCells> cells_of(const graph::Graph& graph, std::span<Backend* const> backends) {
    std::vector<LayerCells> layers;
    for (const Node& node : graph.nodes()) {
        LayerCells made;
        if (node.op == Op::kKvcacheStore) {
            const auto& a = node.as<graph::KvAttrs>();
            made.layer = {a.layer, a.kv_heads, a.head_dim};
            find_rope(graph, node.inputs[0], made);
        } else if (node.op == Op::kFusedQKV || node.op == Op::kFusedQkvNorm) {
            const auto& a = node.as<graph::QkvAttrs>();
            made.layer = {a.layer, a.kv_heads, a.head_dim};
            set_rope(graph, a.rope, node.weights[6], made);
        } else {
            continue;
        }
        made.backend = backends[node.backend.index()];
        layers.push_back(std::move(made));
    }
    return layers;
}

Result<void> move_rows(std::span<const LayerCells> layers, Format format, std::span<const RowMove> moves) {
    std::vector<std::byte> rows;
    for (const LayerCells& layer : layers) {
        for (const RowMove& move : moves) INGOT_TRY(move_in_layer(layer, format, move, rows));
    }
    return {};
}

Result<void> rearrange_rows(std::span<const LayerCells> layers, Format format,
                            std::span<const RowMove> moves) {
    size_t cells = 0;
    for (const RowMove& move : moves) cells += move.length;
    std::vector<std::byte> rows;
    for (const LayerCells& layer : layers) {
        const size_t row = row_bytes(format, width_of(layer));
        rows.resize(cells * row);
        for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
            std::span<std::byte> rest = rows;
            for (const RowMove& move : moves) {
                INGOT_TRY(layer.backend->read_kv(layer.layer.layer, side, move.from,
                                                 rest.first(move.length * row)));
                rest = rest.subspan(move.length * row);
            }
            rest = rows;
            for (const RowMove& move : moves) {
                INGOT_TRY(
                    layer.backend->write_kv(layer.layer.layer, side, move.to, rest.first(move.length * row)));
                rest = rest.subspan(move.length * row);
            }
        }
    }
    return {};
}

Result<void> turn_keys(std::span<const LayerCells> layers, Format format, std::span<const Run> cells,
                       int32_t positions) {
    const QuantTraits& type = row_type(format);
    for (const LayerCells& layer : layers) {
        if (!layer.turns) continue;
        const std::vector<float> turns = turns_of(layer, positions);
        const uint32_t width = width_of(layer);
        std::vector<std::byte> row(row_bytes(format, width));
        std::vector<float> values(width);
        for (const Run& run : cells) {
            for (uint32_t cell = run.cell; cell < run.cell + run.length; ++cell) {
                INGOT_TRY(layer.backend->read_kv(layer.layer.layer, KvSide::kKey, cell, row));
                type.dequantize(row.data(), values.data(), width);
                for (uint32_t head = 0; head < layer.layer.kv_heads; ++head)
                    turn_head(&values[size_t(head) * layer.layer.head_dim], layer.rope, turns);
                type.quantize(values.data(), row.data(), width);
                INGOT_TRY(layer.backend->write_kv(layer.layer.layer, KvSide::kKey, cell, row));
            }
        }
    }
    return {};
}

}  // namespace ingot::kv

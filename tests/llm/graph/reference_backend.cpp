#include "llm/graph/reference_backend.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "base/check.h"
#include "base/half.h"

namespace ingot::tests {

using namespace graph;

std::vector<float> weight_values(const Weight& weight) {
    std::vector<float> values(size_t(weight.rows) * weight.cols);
    ingot::traits(weight.type).dequantize(weight.data.data(), values.data(), values.size());
    return values;
}

namespace {

double silu(double x) {
    return x / (1 + std::exp(-x));
}
double gelu(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

std::vector<float> normed(std::span<const float> x, std::span<const float> gain, double epsilon) {
    std::vector<float> y(x.size());
    for (size_t row = 0; row < x.size(); row += gain.size()) {
        double sum = 0;
        for (size_t i = 0; i < gain.size(); ++i) sum += double(x[row + i]) * x[row + i];
        const double factor = 1 / std::sqrt(sum / double(gain.size()) + epsilon);
        for (size_t i = 0; i < gain.size(); ++i) y[row + i] = float(x[row + i] * factor * gain[i]);
    }
    return y;
}

std::vector<float> multiplied(std::span<const float> x, const Weight& matrix, std::span<const float> bias) {
    const std::vector<float> w = weight_values(matrix);
    const size_t k = matrix.cols, n = matrix.rows, tokens = x.size() / k;
    std::vector<float> y(tokens * n);
    for (size_t t = 0; t < tokens; ++t) {
        for (size_t r = 0; r < n; ++r) {
            double sum = bias.empty() ? 0 : bias[r];
            for (size_t i = 0; i < k; ++i) sum += double(x[t * k + i]) * w[r * k + i];
            y[t * n + r] = float(sum);
        }
    }
    return y;
}

// No YaRN: its table has golden values of its own.
std::vector<float> rotated(std::vector<float> x, const Shape& shape, const int32_t* positions,
                           const RopeParams& p, std::span<const float> factors) {
    INGOT_CHECK(p.scaling != RopeScaling::kYarn);
    const size_t heads = shape[1], dim = shape[2], half = p.dims / 2;
    for (size_t t = 0; t < shape[0]; ++t) {
        for (size_t h = 0; h < heads; ++h) {
            float* head = x.data() + (t * heads + h) * dim;
            for (size_t i = 0; i < half; ++i) {
                double angle = positions[t] / std::pow(double(p.base), 2.0 * double(i) / p.dims);
                if (!factors.empty()) angle /= factors[i];
                if (p.scaling == RopeScaling::kLinear) angle /= p.factor;
                const bool neox = p.style == RopeStyle::kNeox;
                float& a = head[neox ? i : 2 * i];
                float& b = head[neox ? i + half : 2 * i + 1];
                const double x0 = a, x1 = b;
                a = float(x0 * std::cos(angle) - x1 * std::sin(angle));
                b = float(x0 * std::sin(angle) + x1 * std::cos(angle));
            }
        }
    }
    return x;
}

// The cells that row t may read, in position order.
std::vector<uint32_t> cells_of(size_t t, size_t tokens, const int32_t* window, size_t size, uint32_t limit) {
    std::vector<uint32_t> cells;
    const auto run = [&](int32_t first, int32_t count) {
        for (int32_t i = 0; i < count; ++i) cells.push_back(uint32_t(first + i));
    };
    if (size == tokens) run(0, window[t] + 1);
    if (size == 2 * tokens) run(window[t], window[tokens + t] - window[t]);
    if (size == tokens * kMaxMapRuns * 2) {
        for (size_t r = 0; r < kMaxMapRuns; ++r) {
            run(window[(t * kMaxMapRuns + r) * 2], window[(t * kMaxMapRuns + r) * 2 + 1]);
        }
    }
    if (limit != 0 && cells.size() > limit) cells.erase(cells.begin(), cells.end() - limit);
    return cells;
}

}  // namespace

struct ReferenceBackend::Recorded final : Program {
    Recorded(const Graph& g, std::vector<BoundNode> n) : graph(g), nodes(std::move(n)) {}
    const Graph& graph;
    std::vector<BoundNode> nodes;
};

Result<void> ReferenceBackend::supports_op(const Graph&, const Node& node) const {
    if (refused_.contains(node.op))
        return fail(ErrorKind::kUnsupported, "told to refuse {}", to_string(node.op));
    return {};
}

Result<BufferId> ReferenceBackend::alloc_buffer(size_t size_bytes) {
    buffers_.emplace_back(size_bytes, std::byte{0xA5});  // garbage that is not a plausible number
    return BufferId(uint32_t(buffers_.size() - 1));
}

float* ReferenceBackend::floats(const BufferRef& ref) {
    return reinterpret_cast<float*>(buffers_[ref.buffer.index()].data() + ref.offset_bytes);
}

Result<void> ReferenceBackend::write(BufferId buffer, size_t offset, std::span<const std::byte> data) {
    log.push_back(fmt::format("write {}", buffer.index()));
    std::memcpy(buffers_[buffer.index()].data() + offset, data.data(), data.size());
    return {};
}

Result<void> ReferenceBackend::read(BufferId buffer, size_t offset, std::span<std::byte> data) {
    if (!forget_to_wait) INGOT_TRY(synchronize());
    log.push_back(fmt::format("read {}", buffer.index()));
    std::memcpy(data.data(), buffers_[buffer.index()].data() + offset, data.size());
    return {};
}

Result<void> ReferenceBackend::ensure_kv(std::span<const KvLayer> layers, kv::Format format,
                                         uint32_t num_cells) {
    format_ = format;
    for (const KvLayer& layer : layers) {
        if (kv_.contains(layer.layer)) continue;
        const std::vector<float> zeros(size_t(num_cells) * layer.kv_heads * layer.head_dim);
        kv_[layer.layer] = {layer, {zeros, zeros}};
    }
    return {};
}

// Always as f32: tests of formats compare values, not bytes.
Result<void> ReferenceBackend::read_kv(uint32_t layer, KvSide side, uint32_t first_cell,
                                       std::span<std::byte> rows) {
    INGOT_TRY(synchronize());
    const Region& region = kv_.at(layer);
    const size_t width = size_t(region.layer.kv_heads) * region.layer.head_dim;
    std::memcpy(rows.data(), region.side[size_t(side)].data() + first_cell * width, rows.size());
    return {};
}

Result<void> ReferenceBackend::write_kv(uint32_t layer, KvSide side, uint32_t first_cell,
                                        std::span<const std::byte> rows) {
    Region& region = kv_.at(layer);
    const size_t width = size_t(region.layer.kv_heads) * region.layer.head_dim;
    std::memcpy(region.side[size_t(side)].data() + first_cell * width, rows.data(), rows.size());
    return {};
}

Result<std::unique_ptr<Program>> ReferenceBackend::prepare(const Graph& graph, std::vector<BoundNode> nodes) {
    return std::make_unique<Recorded>(graph, std::move(nodes));
}

Result<void> ReferenceBackend::execute(Program& program, const NodeObserver* observer) {
    const auto& recorded = static_cast<const Recorded&>(program);
    for (const BoundNode& bound : recorded.nodes) {
        log.push_back(fmt::format("execute {}", to_string(recorded.graph[bound.id].op)));
        pending_.emplace_back(&recorded, bound);
        if (observer == nullptr) continue;
        INGOT_TRY(synchronize());
        (*observer)(bound.id, 0.001,
                    bound.out.buffer.valid() ? std::span<const float>(floats(bound.out), bound.out.length)
                                             : std::span<const float>());
    }
    return {};
}

Result<void> ReferenceBackend::synchronize() {
    if (pending_.empty()) return {};
    log.push_back("wait");
    for (const auto& [program, bound] : std::exchange(pending_, {})) run_node(*program, bound);
    return {};
}

namespace {

// What a cell's row holds once it was stored in a format.
std::vector<float> as_stored(kv::Format format, std::vector<float> row) {
    if (format == kv::Format::kF16) {
        for (float& value : row) value = half_to_float(float_to_half(value));
    }
    for (size_t first = 0; format == kv::Format::kQ8_0 && first < row.size(); first += 32) {
        float largest = 0;
        for (size_t i = first; i < first + 32; ++i) largest = std::max(largest, std::abs(row[i]));
        const float scale = largest / 127, inverse = scale == 0 ? 0 : 1 / scale;
        for (size_t i = first; i < first + 32; ++i)
            row[i] = std::round(row[i] * inverse) * half_to_float(float_to_half(scale));
    }
    return row;
}

}  // namespace

void ReferenceBackend::store(uint32_t layer, const float* k, const float* v, const int32_t* cells,
                             uint32_t tokens) {
    Region& region = kv_.at(layer);
    const size_t width = size_t(region.layer.kv_heads) * region.layer.head_dim;
    for (uint32_t t = 0; t < tokens; ++t) {
        for (const auto& [side, values] : {std::pair(0, k), {1, v}}) {
            const float* row = values + t * width;
            std::ranges::copy(as_stored(format_, {row, row + width}),
                              region.side[side].begin() + ptrdiff_t(size_t(cells[t]) * width));
        }
    }
}

std::vector<float> ReferenceBackend::attend(const Graph& graph, const Node& node, const float* q,
                                            const int32_t* window, size_t window_size) {
    const auto& p = node.as<AttnParams>();
    const Region& region = kv_.at(graph[node.inputs[1]].as<KvAttrs>().layer);
    const uint32_t tokens = node.shape[0], dim = p.head_dim;
    std::vector<float> out(node.shape.count());
    for (uint32_t t = 0; t < tokens; ++t) {
        const std::vector<uint32_t> cells = cells_of(t, tokens, window, window_size, p.window);
        for (uint32_t h = 0; h < p.heads; ++h) {
            const float* query = q + (size_t(t) * p.heads + h) * dim;
            const uint32_t kv_head = h / (p.heads / p.kv_heads);
            const auto row = [&](size_t side, uint32_t cell) {
                return region.side[side].data() + (size_t(cell) * p.kv_heads + kv_head) * dim;
            };
            std::vector<double> scores;
            double max = -INFINITY, sum = 0;
            for (uint32_t cell : cells) {
                double dot = 0;
                for (uint32_t i = 0; i < dim; ++i) dot += double(query[i]) * row(0, cell)[i];
                dot *= p.scale;
                if (p.softcap != 0) dot = p.softcap * std::tanh(dot / p.softcap);
                scores.push_back(dot);
                max = std::max(max, dot);
            }
            std::vector<double> mixed(dim);
            for (size_t c = 0; c < cells.size(); ++c) {
                const double weight = std::exp(scores[c] - max);
                sum += weight;
                for (uint32_t i = 0; i < dim; ++i) mixed[i] += weight * row(1, cells[c])[i];
            }
            for (uint32_t i = 0; i < dim; ++i)
                out[(size_t(t) * p.heads + h) * dim + i] = float(mixed[i] / sum);
        }
    }
    return out;
}

void ReferenceBackend::run_node(const Recorded& program, const BoundNode& bound) {
    const Graph& graph = program.graph;
    const Node& node = graph[bound.id];
    const auto in = [&](size_t i) {
        return std::span<const float>(floats(bound.inputs[i]), bound.inputs[i].length);
    };
    const auto ints = [&](size_t i) { return reinterpret_cast<const int32_t*>(floats(bound.inputs[i])); };
    const auto weight = [&](size_t i) {
        return node.weights[i].valid() ? weight_values(graph.weights()[node.weights[i]])
                                       : std::vector<float>();
    };
    const auto matrix = [&](size_t i) -> const Weight& { return graph.weights()[node.weights[i]]; };
    const size_t count = node.shape.count();
    std::vector<float> out(node.type == DType::kKv ? 0 : count);
    const auto each = [&](auto f) {
        for (size_t i = 0; i < count; ++i) out[i] = float(f(i));
    };
    switch (node.op) {
        case Op::kAdd:
            each([&](size_t i) { return double(in(0)[i]) + in(1)[i]; });
            break;
        case Op::kMul:
            each([&](size_t i) { return double(in(0)[i]) * in(1)[i]; });
            break;
        case Op::kScale:
            each([&](size_t i) { return double(in(0)[i]) * node.as<ScaleAttrs>().factor; });
            break;
        case Op::kSilu:
            each([&](size_t i) { return silu(in(0)[i]); });
            break;
        case Op::kGelu:
            each([&](size_t i) { return gelu(in(0)[i]); });
            break;
        case Op::kSwiGLU:
            each([&](size_t i) { return silu(in(0)[i]) * in(1)[i]; });
            break;
        case Op::kGeGLU:
            each([&](size_t i) { return gelu(in(0)[i]) * in(1)[i]; });
            break;
        case Op::kSoftmax: {
            const size_t n = node.shape.last();
            for (size_t row = 0; row < count; row += n) {
                double sum = 0;
                for (size_t i = 0; i < n; ++i) sum += std::exp(double(in(0)[row + i]));
                for (size_t i = 0; i < n; ++i) out[row + i] = float(std::exp(double(in(0)[row + i])) / sum);
            }
            break;
        }
        case Op::kRmsNorm:
        case Op::kQkNorm:
            out = normed(in(0), weight(0), node.as<NormAttrs>().epsilon);
            break;
        case Op::kMatMul:
            out = multiplied(in(0), matrix(0), weight(1));
            break;
        case Op::kGetRows: {
            const std::vector<float> table =
                node.weights[0].valid() ? weight(0) : std::vector(in(1).begin(), in(1).end());
            const size_t n = node.shape[1];
            each([&](size_t i) { return table[size_t(ints(0)[i / n]) * n + i % n]; });
            break;
        }
        case Op::kRoPE:
            out =
                rotated({in(0).begin(), in(0).end()}, node.shape, ints(1), node.as<RopeParams>(), weight(0));
            break;
        case Op::kKvcacheStore:
            store(node.as<KvAttrs>().layer, in(0).data(), in(1).data(), ints(2),
                  graph[node.inputs[0]].shape[0]);
            break;
        case Op::kKvcacheLoad:
            break;
        case Op::kAttn:
            out = attend(graph, node, in(0).data(), ints(2), bound.inputs[2].length);
            break;
        case Op::kPermute: {
            const Shape& from = graph[node.inputs[0]].shape;
            const auto& axes = node.as<PermuteAttrs>().axes;
            const size_t strides[3] = {size_t(from[1]) * from[2], from[2], 1};
            each([&](size_t i) {
                const size_t c = i % node.shape[2], b = i / node.shape[2] % node.shape[1];
                const size_t a = i / node.shape[2] / node.shape[1];
                return in(0)[a * strides[axes[0]] + b * strides[axes[1]] + c * strides[axes[2]]];
            });
            break;
        }
        case Op::kFusedQKV:
        case Op::kFusedQkvNorm: {
            const auto& p = node.as<QkvAttrs>();
            const uint32_t tokens = node.shape[0];
            const Shape kv_shape{tokens, p.kv_heads, p.head_dim};
            std::vector<float> q = multiplied(in(0), matrix(0), weight(3)),
                               k = multiplied(in(0), matrix(1), weight(4));
            const std::vector<float> v = multiplied(in(0), matrix(2), weight(5));
            if (node.op == Op::kFusedQkvNorm) {
                q = normed(q, weight(7), p.epsilon);
                k = normed(k, weight(8), p.epsilon);
            }
            out = rotated(std::move(q), node.shape, ints(1), p.rope, weight(6));
            k = rotated(std::move(k), kv_shape, ints(1), p.rope, weight(6));
            store(p.layer, k.data(), v.data(), ints(2), tokens);
            break;
        }
        case Op::kFusedFFN: {
            const std::vector<float> gate = multiplied(in(0), matrix(0), {}),
                                     up = multiplied(in(0), matrix(1), {});
            const bool is_silu = node.as<FfnAttrs>().activation == Activation::kSilu;
            each([&](size_t i) { return (is_silu ? silu(gate[i]) : gelu(gate[i])) * up[i]; });
            break;
        }
        case Op::kInput:
        case Op::kView:
        case Op::kReshape:
            INGOT_CHECK(false, "{} is not executed", to_string(node.op));
    }
    if (!out.empty()) std::memcpy(floats(bound.out), out.data(), out.size() * sizeof(float));
}

}  // namespace ingot::tests

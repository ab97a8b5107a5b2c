#include "llm/backend/cpu/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "llm/backend/cpu/kernels/plain/plain.h"

namespace ingot::cpu {
namespace {

// KV rows as floats, whatever their storage.
struct HalfRows {
    const uint16_t* data;
    float at(size_t i) const { return half_to_float(data[i]); }
};
struct FloatRows {
    const float* data;
    float at(size_t i) const { return data[i]; }
};

// Online softmax of one query head, a cell at a time.
struct State {
    float maximum = -std::numeric_limits<float>::infinity();
    float total = 0;
    float* sum;  // [head_dim]
};

template <typename KvRows>
void attend_cells(const AttentionArgs& args, const float* q, KvRows k, KvRows v, uint32_t kv_head,
                  uint32_t begin, uint32_t end, State& state) {
    for (uint32_t cell = begin; cell < end; ++cell) {
        const size_t row = (size_t(cell) * args.num_kv_heads + kv_head) * args.head_dim;
        float dot = 0;
        for (uint32_t i = 0; i < args.head_dim; ++i) dot += q[i] * k.at(row + i);
        dot *= args.scale;
        if (args.softcap != 0) dot = args.softcap * std::tanh(dot / args.softcap);
        if (dot > state.maximum) {
            const float correction = std::exp(state.maximum - dot);
            state.total *= correction;
            for (uint32_t i = 0; i < args.head_dim; ++i) state.sum[i] *= correction;
            state.maximum = dot;
        }
        const float weight = std::exp(dot - state.maximum);
        state.total += weight;
        for (uint32_t i = 0; i < args.head_dim; ++i) state.sum[i] += weight * v.at(row + i);
    }
}

template <typename KvRows>
void attend_rows(const AttendTask& task, KvRows k, KvRows v) {
    const AttentionArgs& args = *task.args;
    const uint32_t group = args.num_heads / args.num_kv_heads;
    for (uint32_t t = 0; t < task.num_tokens; ++t) {
        const uint32_t token = task.first_token + t;
        const CellSpan* spans = args.spans + size_t(token) * args.spans_per_token;
        for (uint32_t h = 0; h < group; ++h) {
            const size_t head = size_t(task.kv_head) * group + h;
            State state{.sum = reinterpret_cast<float*>(task.scratch)};
            std::fill(state.sum, state.sum + args.head_dim, 0.0f);
            for (uint32_t s = 0; s < args.spans_per_token; ++s) {
                attend_cells(args, args.q + token * args.q_stride + head * args.head_dim, k, v, task.kv_head,
                             std::max(spans[s].begin, task.first_cell), std::min(spans[s].end, task.end_cell),
                             state);
            }
            if (task.part != nullptr) {
                const size_t index = size_t(t) * group + h;
                std::copy(state.sum, state.sum + args.head_dim, task.part + index * args.head_dim);
                task.part_max_sum[index * 2] = state.maximum;
                task.part_max_sum[index * 2 + 1] = state.total;
                continue;
            }
            float* out = args.out + token * args.out_stride + head * args.head_dim;
            for (uint32_t i = 0; i < args.head_dim; ++i) out[i] = state.sum[i] / state.total;
        }
    }
}

}  // namespace

void plain_attend(const AttendTask& task) {
    const AttentionArgs& args = *task.args;
    if (args.format == kv::Format::kF16) {
        attend_rows(task, HalfRows{static_cast<const uint16_t*>(args.k)},
                    HalfRows{static_cast<const uint16_t*>(args.v)});
    } else {
        attend_rows(task, FloatRows{static_cast<const float*>(args.k)},
                    FloatRows{static_cast<const float*>(args.v)});
    }
}

}  // namespace ingot::cpu

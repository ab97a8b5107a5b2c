#include "llm/backend/cpu/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "llm/backend/cpu/kernels/plain/plain.h"

namespace ingot::cpu {
namespace {

// Elements of a cell's row as floats, whatever their storage.
struct HalfCells {
    static float at(const std::byte* row, size_t i) {
        return half_to_float(reinterpret_cast<const uint16_t*>(row)[i]);
    }
};
struct FloatCells {
    static float at(const std::byte* row, size_t i) { return reinterpret_cast<const float*>(row)[i]; }
};
struct BlockCells {
    static float at(const std::byte* row, size_t i) {
        const std::byte* block = row + i / 32 * 34;
        uint16_t scale;
        std::memcpy(&scale, block, sizeof scale);
        return float(int8_t(block[2 + i % 32])) * half_to_float(scale);
    }
};

// Online softmax of one query head, a cell at a time.
struct State {
    float maximum = -std::numeric_limits<float>::infinity();
    float total = 0;
    float* sum;  // [head_dim]
};

template <typename Cells>
void attend_cells(const AttentionArgs& args, const float* q, uint32_t kv_head, uint32_t begin, uint32_t end,
                  State& state) {
    const size_t first = size_t(kv_head) * args.head_dim;
    for (uint32_t cell = begin; cell < end; ++cell) {
        const std::byte* k = static_cast<const std::byte*>(args.k) + cell * args.cell_bytes;
        const std::byte* v = static_cast<const std::byte*>(args.v) + cell * args.cell_bytes;
        float dot = 0;
        for (uint32_t i = 0; i < args.head_dim; ++i) dot += q[i] * Cells::at(k, first + i);
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
        for (uint32_t i = 0; i < args.head_dim; ++i) state.sum[i] += weight * Cells::at(v, first + i);
    }
}

template <typename Cells>
void attend_rows(const AttendTask& task) {
    const AttentionArgs& args = *task.args;
    const uint32_t group = args.num_heads / args.num_kv_heads;
    for (uint32_t row = 0; row < task.num_kv_heads * task.num_tokens; ++row) {
        const uint32_t kv_head = task.kv_head + row / task.num_tokens;
        const uint32_t token = task.first_token + row % task.num_tokens;
        const CellSpan* spans = args.spans + size_t(token) * args.spans_per_token;
        for (uint32_t h = 0; h < group; ++h) {
            const size_t head = size_t(kv_head) * group + h;
            State state{.sum = reinterpret_cast<float*>(task.scratch)};
            std::fill(state.sum, state.sum + args.head_dim, 0.0f);
            for (uint32_t s = 0; s < args.spans_per_token; ++s) {
                attend_cells<Cells>(args, args.q + token * args.q_stride + head * args.head_dim, kv_head,
                                    std::max(spans[s].begin, task.first_cell),
                                    std::min(spans[s].end, task.end_cell), state);
            }
            const size_t index = size_t(row) * group + h;
            std::copy(state.sum, state.sum + args.head_dim, task.part + index * args.head_dim);
            task.part_max_sum[index * 2] = state.maximum;
            task.part_max_sum[index * 2 + 1] = state.total;
        }
    }
}

}  // namespace

void plain_attend(const AttendTask& task) {
    switch (task.args->format) {
        case kv::Format::kF32:
            return attend_rows<FloatCells>(task);
        case kv::Format::kF16:
            return attend_rows<HalfCells>(task);
        case kv::Format::kQ8_0:
            return attend_rows<BlockCells>(task);
    }
}

}  // namespace ingot::cpu

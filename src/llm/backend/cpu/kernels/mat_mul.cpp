#include "llm/backend/cpu/kernels/mat_mul.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/round_up.h"

namespace ingot::cpu {
namespace {

constexpr size_t kMaxOutputs = 8;
// What a worker takes at a time: long enough for the prefetchers, short enough to share the tail.
constexpr size_t kPieceBytes = 128 << 10;
constexpr uint32_t kTokensPerTask = 240;  // prefill: a multiple of every kernel's tile

// Where things lie in the workspace: a scratch area a worker, then the quantized activations, one set for
// each activation format that the outputs need (batches that are multiplied directly: one set a worker and
// format).
struct Plan {
    size_t scratch_bytes = 0;     // a worker
    size_t activation_bytes = 0;  // a format; 0: no output needs any
    uint32_t num_formats = 0;
    uint32_t tile_tokens = 1;                     // one for all quantized kernels of an instruction set
    std::array<uint32_t, kMaxOutputs> formats{};  // activation_format of each set
    std::array<const MatMulKernel*, kMaxOutputs> kernel{};
    bool direct = true;

    uint32_t format_index(const MatMulKernel& k) const {
        for (uint32_t i = 0; i < num_formats; ++i) {
            if (formats[i] == k.activation_format) return i;
        }
        return num_formats;
    }
    size_t worker_bytes() const { return scratch_bytes + (direct ? activation_bytes * num_formats : 0); }
    size_t total_bytes(uint32_t num_threads) const {
        return worker_bytes() * num_threads + (direct ? 0 : activation_bytes * num_formats);
    }
};

Plan make_plan(std::span<const MatMulOutput> outputs, uint32_t num_tokens) {
    INGOT_CHECK(!outputs.empty() && outputs.size() <= kMaxOutputs, "{} outputs", outputs.size());
    Plan plan;
    for (const MatMulOutput& output : outputs) {
        const MatMulKernel& kernel = output.weights->kernel();
        const uint32_t cols = output.weights->cols();
        INGOT_CHECK(cols == outputs[0].weights->cols(), "outputs of one op share their input");
        plan.scratch_bytes = std::max(plan.scratch_bytes, round_up(kernel.scratch_bytes(cols), 64));
        plan.direct = plan.direct && num_tokens <= kernel.max_direct_tokens;
        if (kernel.quantize == nullptr) continue;
        plan.activation_bytes =
            std::max(plan.activation_bytes, round_up(kernel.activation_bytes(cols) * num_tokens, 64));
        if (plan.format_index(kernel) == plan.num_formats) {
            plan.kernel[plan.num_formats] = &kernel;
            plan.formats[plan.num_formats++] = kernel.activation_format;
        }
    }
    if (plan.num_formats > 0)
        plan.tile_tokens = plan.direct ? plan.kernel[0]->direct_tile_tokens : plan.kernel[0]->tile_tokens;
    return plan;
}

MultiplyArgs arguments(const MatMulOutput& output, uint32_t first_group, uint32_t end_group) {
    const uint32_t first_row = first_group * kGroupRows;
    return {.weights = output.weights->group(first_group),
            .num_rows = std::min(output.weights->rows(), end_group * kGroupRows) - first_row,
            .cols = output.weights->cols(),
            .activations = nullptr,
            .activation_stride = 0,
            .num_tokens = 0,
            .direct = false,
            .y = output.y + first_row,
            .y_stride = output.y_stride,
            .scratch = nullptr};
}

struct Call {
    Worker& worker;
    std::span<const MatMulOutput> outputs;
    const float* x;
    size_t x_stride;
    uint32_t num_tokens;
    const Plan& plan;
    std::byte* scratch;      // this worker's
    std::byte* activations;  // [format] sets that this worker reads

    // Writes the activations of these tokens in every format; begin is a multiple of tile_tokens.
    void quantize(Range tokens) const {
        const uint32_t cols = outputs[0].weights->cols();
        for (uint32_t i = 0; i < plan.num_formats; ++i) {
            const MatMulKernel& kernel = *plan.kernel[i];
            for (size_t t = tokens.begin; t < tokens.end; t += plan.tile_tokens) {
                kernel.quantize(x + t * x_stride, x_stride, cols,
                                uint32_t(std::min<size_t>(plan.tile_tokens, tokens.end - t)),
                                activations + i * plan.activation_bytes + t * kernel.activation_bytes(cols));
            }
        }
    }
    // Multiplies groups [first, end) of an output with tokens [token, token + count); token is a multiple of
    // tile_tokens, or 0.
    void multiply(const MatMulOutput& output, uint32_t first, uint32_t end, uint32_t token,
                  uint32_t count) const {
        const MatMulKernel& kernel = output.weights->kernel();
        MultiplyArgs args = arguments(output, first, end);
        args.num_tokens = count;
        args.direct = plan.direct;
        args.y += token * output.y_stride;
        args.scratch = scratch;
        if (kernel.quantize != nullptr) {
            args.activations = activations + plan.format_index(kernel) * plan.activation_bytes +
                               token * kernel.activation_bytes(args.cols);
        } else {
            args.activations = reinterpret_cast<const std::byte*>(x + token * x_stride);
            args.activation_stride = x_stride;
        }
        kernel.multiply(args);
        if (output.bias == nullptr) return;
        const float* bias = output.bias + first * kGroupRows;
        for (uint32_t t = 0; t < count; ++t) {
            float* y = args.y + t * output.y_stride;
            for (uint32_t r = 0; r < args.num_rows; ++r) y[r] += bias[r];
        }
    }
};

// A batch small enough that its cost is reading the weights: each worker quantizes the tokens for itself and
// takes pieces of its own contiguous share of the rows, then of the others' shares.
void multiply_direct(const Call& call) {
    call.quantize({0, call.num_tokens});
    uint32_t num_groups = 0;
    for (const MatMulOutput& output : call.outputs) num_groups += output.weights->num_groups();
    const uint32_t workers = call.worker.count();
    for (uint32_t i = 0; i < workers; ++i) {
        const uint32_t owner = (call.worker.index() + i) % workers;
        const uint32_t begin = uint32_t(uint64_t(num_groups) * owner / workers);
        const uint32_t end = uint32_t(uint64_t(num_groups) * (owner + 1) / workers);
        const uint32_t piece = std::max<uint32_t>(
            1, uint32_t(kPieceBytes / std::max<size_t>(1, call.outputs[0].weights->group_bytes())));
        for (uint32_t taken; (taken = call.worker.claim(owner, piece)) < end - begin;) {
            const uint32_t first = begin + taken, last = std::min(end, first + piece);
            uint32_t base = 0;
            for (const MatMulOutput& output : call.outputs) {
                const uint32_t a = std::max(first, base),
                               b = std::min(last, base + output.weights->num_groups());
                if (a < b) call.multiply(output, a - base, b - base, 0, call.num_tokens);
                base += output.weights->num_groups();
            }
        }
    }
}

// A large batch: the workers quantize all tokens, then take tasks of some tokens by some rows.
void multiply_batch(const Call& call) {
    if (call.plan.num_formats > 0) {
        call.quantize(split_evenly(call.num_tokens, call.worker, call.plan.tile_tokens));
        call.worker.barrier();
    }

    // Rows in the inner loop of the numbering: a worker stays with its tokens while weights stream past.
    constexpr uint32_t kGroupsPerTask = 8;
    const uint32_t token_tasks = (call.num_tokens + kTokensPerTask - 1) / kTokensPerTask;
    uint32_t row_tasks = 0;
    for (const MatMulOutput& output : call.outputs) {
        row_tasks += (output.weights->num_groups() + kGroupsPerTask - 1) / kGroupsPerTask;
    }
    for (uint32_t task; (task = call.worker.claim(0, 1)) < token_tasks * row_tasks;) {
        const uint32_t token = task / row_tasks * kTokensPerTask;
        uint32_t row_task = task % row_tasks;
        for (const MatMulOutput& output : call.outputs) {
            const uint32_t groups = output.weights->num_groups();
            const uint32_t tasks = (groups + kGroupsPerTask - 1) / kGroupsPerTask;
            if (row_task < tasks) {
                call.multiply(output, row_task * kGroupsPerTask,
                              std::min(groups, (row_task + 1) * kGroupsPerTask), token,
                              std::min(kTokensPerTask, call.num_tokens - token));
                break;
            }
            row_task -= tasks;
        }
    }
}

}  // namespace

size_t PackedMatrix::storage_bytes() const {
    if (is_packed()) return group_bytes_ * num_groups();
    return group_bytes_ / kGroupRows * rows_;
}

Result<PackedMatrix> PackedMatrix::prepare(const KernelTable& kernels, QuantType type, uint32_t rows,
                                           uint32_t cols, std::span<const std::byte> data,
                                           const Packing& packing) {
    const MatMulKernel* kernel = kernels.mat_mul(type);
    if (kernel == nullptr) {
        return fail(ErrorKind::kUnsupported, "weights of type {} (GGUF id {}) have no {} matrix kernel",
                    traits(type).name, uint32_t(type), to_string(kernels.isa));
    }
    const QuantTraits& quant = traits(type);
    if (cols == 0 || cols % quant.block_size != 0) {
        return fail(ErrorKind::kUnsupported, "{} columns in a {} matrix; a multiple of {} is accepted", cols,
                    quant.name, quant.block_size);
    }
    const size_t row_bytes = size_t(cols) / quant.block_size * quant.block_size_bytes;
    if (rows == 0 || data.size() != rows * row_bytes) {
        return fail(ErrorKind::kInvalidArgument,
                    "{} bytes of data for a {} matrix of {} x {}, which takes {}", data.size(), quant.name,
                    rows, cols, rows * row_bytes);
    }
    PackedMatrix matrix;
    matrix.kernel_ = kernel;
    matrix.rows_ = rows;
    matrix.cols_ = cols;
    if (kernel->pack_group == nullptr) {
        matrix.group_bytes_ = row_bytes * kGroupRows;
        matrix.groups_ = data.data();
        return matrix;
    }
    matrix.group_bytes_ = kernel->group_bytes(cols);
    const size_t size_bytes = matrix.group_bytes_ * matrix.num_groups();
    std::byte* groups = packing.storage.take(size_bytes);
    if (groups == nullptr)
        return fail(ErrorKind::kLimit, "no memory for {} bytes of packed weights", size_bytes);
    matrix.pack(data, groups, packing);
    matrix.groups_ = groups;
    return matrix;
}

// Slab by slab, so that hardly more than one copy of the tensor is in memory at a time.
void PackedMatrix::pack(std::span<const std::byte> data, std::byte* groups, const Packing& packing) const {
    constexpr size_t kSlabBytes = size_t(8) << 20;
    const size_t row_bytes = data.size() / rows_;
    const auto pack_one = [&](uint32_t group) {
        const uint32_t first = group * kGroupRows;
        kernel_->pack_group(data.data() + first * row_bytes, std::min(kGroupRows, rows_ - first), cols_,
                            groups + group * group_bytes_);
    };
    const auto slab = uint32_t(std::max<size_t>(1, kSlabBytes / group_bytes_));
    for (uint32_t begin = 0; begin < num_groups(); begin += slab) {
        const uint32_t end = std::min(num_groups(), begin + slab);
        if (packing.pool == nullptr) {
            for (uint32_t group = begin; group < end; ++group) pack_one(group);
        } else {
            packing.pool->run([&](Worker& worker) {
                constexpr uint32_t kGroupsAtOnce = 8;
                for (uint32_t taken; (taken = worker.claim(0, kGroupsAtOnce)) < end - begin;) {
                    const uint32_t last = std::min(end, begin + taken + kGroupsAtOnce);
                    for (uint32_t group = begin + taken; group < last; ++group) pack_one(group);
                }
            });
        }
        if (!packing.copied) continue;
        const size_t first_byte = begin * kGroupRows * row_bytes;
        packing.copied(
            data.subspan(first_byte, std::min(data.size(), end * kGroupRows * row_bytes) - first_byte));
    }
}

size_t mat_mul_workspace_bytes(std::span<const MatMulOutput> outputs, uint32_t num_tokens,
                               uint32_t num_threads) {
    return make_plan(outputs, num_tokens).total_bytes(num_threads);
}

void mat_mul(Worker& worker, std::span<const MatMulOutput> outputs, const float* x, size_t x_stride,
             uint32_t num_tokens, std::byte* workspace) {
    if (num_tokens == 0) return;
    const Plan plan = make_plan(outputs, num_tokens);
    std::byte* own = workspace + worker.index() * plan.worker_bytes();
    const Call call{.worker = worker,
                    .outputs = outputs,
                    .x = x,
                    .x_stride = x_stride,
                    .num_tokens = num_tokens,
                    .plan = plan,
                    .scratch = own,
                    .activations = plan.direct ? own + plan.scratch_bytes
                                               : workspace + worker.count() * plan.worker_bytes()};
    if (plan.direct) {
        multiply_direct(call);
    } else {
        multiply_batch(call);
    }
}

}  // namespace ingot::cpu

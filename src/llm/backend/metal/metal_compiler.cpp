#include "llm/backend/metal/metal_compiler.h"

#include <algorithm>

#include "base/check.h"
#include "llm/backend/index_check.h"
#include "llm/backend/metal/generated.h"

namespace ingot::mtl {

using graph::Op;
using graph::Shape;

namespace {

// Rows that a group of a single-token kernel takes, rows and tokens of a multi-token one
// (kernels/mat_mul.metal).
constexpr uint32_t kSimdgroupRows = 4, kGroupRows = 8;
constexpr uint32_t kMultiRows = 4, kMultiTokens = 4;
// The tile of kernels/mat_mul_tile.metal, and from how many rows or tokens on it is worth its staging.
constexpr uint32_t kTileRows = 64, kTileTokens = 32;
constexpr uint32_t kManyRows = 2048, kManyTokens = 9;
// From this width on a row is worth eight simdgroups.
constexpr uint32_t kWideRow = 1024;

uint32_t tiles(uint32_t size, uint32_t tile) {
    return (size + tile - 1) / tile;
}

uint32_t row_bytes(const graph::Weight& weight) {
    const QuantTraits& type = ingot::traits(weight.type);
    return weight.cols / type.block_size * type.block_size_bytes;
}

std::string_view type_name(const graph::Weight& weight) {
    return weight_format(weight.type)->name;
}

}  // namespace

Result<void> Compiler::node(const BoundNode& bound) {
    bound_ = &bound;
    node_ = &graph_[bound.id];
    node_scratch_bytes_ = 0;
    if (bound.out.buffer.valid()) {
        const std::byte* data = backend_.buffer_data(bound.out.buffer) + bound.out.offset_bytes;
        program_->values_[bound.id] = {reinterpret_cast<const float*>(data), bound.out.length};
    }
    switch (node_->op) {
        case Op::kAdd:
            return binary(Family::kAdd);
        case Op::kMul:
            return binary(Family::kMul);
        case Op::kSwiGLU:
            return binary(Family::kSwiGLU);
        case Op::kGeGLU:
            return binary(Family::kGeGLU);
        case Op::kSilu:
            return unary(Family::kSilu);
        case Op::kGelu:
            return unary(Family::kGelu);
        case Op::kScale:
            return unary(Family::kScale, node_->as<graph::ScaleAttrs>().factor);
        case Op::kSoftmax:
            return softmax();
        case Op::kRmsNorm:
            return rms_norm(in(0), 0, out(), node_->shape[0], node_->shape[1],
                            node_->as<graph::NormAttrs>().epsilon);
        case Op::kQkNorm:
            return rms_norm(in(0), 0, out(), node_->shape[0] * node_->shape[1], node_->shape[2],
                            node_->as<graph::NormAttrs>().epsilon);
        case Op::kMatMul:
            return mat_mul();
        case Op::kGetRows:
            return get_rows();
        case Op::kRoPE:
            return rope(node_->as<graph::RopeParams>(), node_->weights[0], 1, in(0), out(), node_->shape[0],
                        node_->shape[1], node_->shape[2]);
        case Op::kAttn:
            return attention();
        case Op::kKvcacheStore: {
            const auto& p = node_->as<graph::KvAttrs>();
            INGOT_ASSIGN(const KvRegion* const cells, region(p.layer, p.kv_heads, p.head_dim));
            return kv_store(*cells, in(0), in(1), 2, shape_of(0)[0]);
        }
        case Op::kKvcacheLoad:
            return {};
        case Op::kPermute:
            return permute();
        case Op::kFusedQKV:
        case Op::kFusedQkvNorm:
            return fused_qkv();
        case Op::kFusedFFN:
            return fused_ffn();
        case Op::kInput:
        case Op::kView:
        case Op::kReshape:
            break;
    }
    return fail(ErrorKind::kUnsupported, "nothing to execute");
}

Result<std::unique_ptr<MetalProgram>> Compiler::finish() {
    if (max_scratch_bytes_ == 0) return std::move(program_);
    INGOT_ASSIGN(program_->scratch_, backend_.scratch(max_scratch_bytes_));
    for (Step& step : program_->steps_) {
        for (Bound& bound : step.dispatch.buffers) {
            if (bound.buffer == nullptr) bound.buffer = program_->scratch_.get();
        }
    }
    return std::move(program_);
}

Result<size_t> Compiler::dispatch(const KernelId& kernel, std::vector<Bound> buffers,
                                  std::span<const std::byte> bytes, Grid grid) {
    INGOT_ASSIGN(const Pipeline* const pipeline, backend_.device().pipeline(kernel));
    Dispatch made{.pipeline = pipeline,
                  .label = fmt::format("{} {}", pipeline->name, graph_.label(bound_->id)),
                  .buffers = std::move(buffers),
                  .bytes = {bytes.begin(), bytes.end()},
                  .grid = MTL::Size(grid.x, grid.y, grid.z),
                  .grid_is_threads = grid.threads};
    program_->steps_.push_back({bound_->id, std::move(made)});
    return program_->steps_.size() - 1;
}

Bound Compiler::scratch(size_t floats) {
    constexpr size_t kAlignment = 256;
    const size_t offset = node_scratch_bytes_;
    node_scratch_bytes_ += (floats * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
    max_scratch_bytes_ = std::max(max_scratch_bytes_, node_scratch_bytes_);
    return {nullptr, offset};
}

std::span<const int32_t> Compiler::ints(size_t role) const {
    const BufferRef& ref = bound_->inputs[role];
    const std::byte* data = backend_.buffer_data(ref.buffer) + ref.offset_bytes;
    return {reinterpret_cast<const int32_t*>(data), ref.length};
}

Result<Bound> Compiler::weight(size_t role) const {
    const Bound found = backend_.weights().find(node_->weights[role]);
    if (found.buffer != nullptr) return found;
    return fail(ErrorKind::kNotFound, "the weight '{}' is not on the Metal device", matrix(role).name);
}

Result<Bound> Compiler::optional_weight(size_t role, Bound instead) const {
    if (!has_weight(role)) return instead;
    return weight(role);
}

Result<void> Compiler::is_decode() const {
    if (node_->shape[0] == 1) return {};
    return fail(ErrorKind::kInvalidArgument, "{} tokens in a fused node; 1 is accepted", node_->shape[0]);
}

Result<void> Compiler::binary(Family family) {
    INGOT_TRY(dispatch({family}, {in(0), in(1), out()}, threads(count())));
    return {};
}

Result<void> Compiler::unary(Family family, float parameter) {
    INGOT_TRY(dispatch({family}, {in(0), out()}, parameter, threads(count())));
    return {};
}

Result<void> Compiler::mat_mul() {
    const graph::Weight& w = matrix(0);
    const uint32_t tokens = node_->shape[0];
    INGOT_ASSIGN(const Bound weights, weight(0));
    INGOT_ASSIGN(const Bound bias, optional_weight(1, in(0)));
    const MatMulArgs args{w.rows, w.cols, tokens, row_bytes(w), has_weight(1)};
    std::vector<Bound> buffers = {weights, in(0), bias, out()};
    Family family = Family::kMatMulMulti;
    Grid grid = groups(tiles(w.rows, kMultiRows), tiles(tokens, kMultiTokens));
    if (tokens == 1) {
        family = Family::kMatMulOne;
        grid = groups(tiles(w.rows, kGroupRows));
    } else if (backend_.options().mat_mul == MatMulChoice::kTile ||
               (backend_.options().mat_mul == MatMulChoice::kAuto &&
                (tokens >= kManyTokens || w.rows >= kManyRows))) {
        family = Family::kMatMulTile;
        grid = groups(tiles(w.rows, kTileRows), tiles(tokens, kTileTokens));
    }
    const KernelId kernel{family, type_name(w)};
    if (kernel.is_generated()) return generated_mat_mul(kernel, std::move(buffers), tokens);
    INGOT_TRY(dispatch(kernel, std::move(buffers), args, grid));
    return {};
}

Result<void> Compiler::generated_mat_mul(const KernelId& kernel, std::vector<Bound> buffers,
                                         uint32_t tokens) {
    const graph::Weight& w = matrix(0);
    const tile::CompiledKernel& made = generated_kernel(kernel);
    const std::map<std::string, int64_t> dims = {
        {"rows", w.rows}, {"cols", w.cols}, {"tokens", tokens}, {"biases", has_weight(1) ? w.rows : 0}};
    INGOT_ASSIGN(const tile::Launch launch, made.launch(dims));
    INGOT_ASSIGN(const std::vector<std::byte> packed, made.pack(dims, {}));
    INGOT_TRY(dispatch(kernel, std::move(buffers), std::span<const std::byte>(packed),
                       groups(launch.groups[0], launch.groups[1])));
    return {};
}

Result<void> Compiler::fused_ffn() {
    INGOT_TRY(is_decode());
    const graph::Weight& w = matrix(0);
    INGOT_ASSIGN(const Bound gate, weight(0));
    INGOT_ASSIGN(const Bound up, weight(1));
    const bool gelu = node_->as<graph::FfnAttrs>().activation == graph::Activation::kGelu;
    INGOT_TRY(dispatch({Family::kFfnOne, type_name(w)}, {gate, up, in(0), out()},
                       FfnArgs{w.rows, w.cols, row_bytes(w), gelu}, groups(tiles(w.rows, kGroupRows))));
    return {};
}

// q goes to the result's memory, k and v to scratch memory and from there to the cells.
Result<void> Compiler::fused_qkv() {
    INGOT_TRY(is_decode());
    const auto& p = node_->as<graph::QkvAttrs>();
    const uint32_t q_width = p.heads * p.head_dim, kv_width = p.kv_heads * p.head_dim;
    INGOT_ASSIGN(const KvRegion* const cells, region(p.layer, p.kv_heads, p.head_dim));
    std::vector<Bound> buffers;
    for (size_t role : {0, 1, 2}) {
        INGOT_ASSIGN(const Bound w, weight(role));
        buffers.push_back(w);
    }
    buffers.push_back(in(0));
    for (size_t role : {3, 4, 5}) {
        INGOT_CHECK(has_weight(role) == has_weight(3), "supports_op took a node with some biases");
        INGOT_ASSIGN(const Bound bias, optional_weight(role, in(0)));
        buffers.push_back(bias);
    }
    const Bound k = scratch(kv_width), v = scratch(kv_width);
    buffers.insert(buffers.end(), {out(), k, v});
    const graph::Weight& w = matrix(0);
    const uint32_t simdgroups = tiles(q_width, kSimdgroupRows) + 2 * tiles(kv_width, kSimdgroupRows);
    INGOT_TRY(dispatch({Family::kQkvOne, type_name(w)}, std::move(buffers),
                       QkvArgs{q_width, kv_width, w.cols, row_bytes(w), has_weight(3)},
                       groups(tiles(simdgroups, kGroupRows / kSimdgroupRows))));
    if (node_->op == Op::kFusedQkvNorm) {
        INGOT_TRY(rms_norm(out(), 7, out(), p.heads, p.head_dim, p.epsilon));
        INGOT_TRY(rms_norm(k, 8, k, p.kv_heads, p.head_dim, p.epsilon));
    }
    INGOT_TRY(rope(p.rope, node_->weights[6], 1, out(), out(), 1, p.heads, p.head_dim));
    INGOT_TRY(rope(p.rope, node_->weights[6], 1, k, k, 1, p.kv_heads, p.head_dim));
    return kv_store(*cells, k, v, 2, 1);
}

// Before each execution: every index in the input lies in [0, limit).
void Compiler::check_range(size_t role, uint32_t limit, std::string_view what) {
    const std::span<const int32_t> values = ints(role);
    if (!checked_.emplace(values.data(), values.size(), limit).second) return;
    program_->prologue_.push_back([values, limit, what, label = graph_.label(bound_->id)] {
        return check_indices(values, limit, label, what);
    });
}

Result<void> Compiler::get_rows() {
    const uint32_t rows = node_->shape[0], cols = node_->shape[1];
    if (!has_weight(0)) {
        check_range(0, shape_of(1)[0], "row");
        INGOT_TRY(dispatch({Family::kGetRows, "f32"}, {in(1), in(0), out()},
                           GetRowsArgs{cols, uint32_t(cols * sizeof(float))}, threads(cols / 4, rows)));
        return {};
    }
    const graph::Weight& table = matrix(0);
    check_range(0, table.rows, "row");
    INGOT_ASSIGN(const Bound data, weight(0));
    INGOT_TRY(dispatch({Family::kGetRows, type_name(table)}, {data, in(0), out()},
                       GetRowsArgs{cols, row_bytes(table)},
                       threads(cols / weight_format(table.type)->unit, rows)));
    return {};
}

Result<void> Compiler::rms_norm(Bound x, size_t gain_role, Bound y, uint32_t rows, uint32_t width,
                                float epsilon) {
    INGOT_ASSIGN(const Bound gain, weight(gain_role));
    INGOT_TRY(dispatch({width >= kWideRow ? Family::kRmsNormWide : Family::kRmsNorm}, {x, gain, y},
                       RowArgs{width, epsilon}, groups(rows)));
    return {};
}

Result<void> Compiler::softmax() {
    const uint32_t width = node_->shape.last();
    INGOT_TRY(dispatch({Family::kSoftmax}, {in(0), out()}, RowArgs{width, 0.0f}, groups(count() / width)));
    return {};
}

Result<void> Compiler::permute() {
    const Shape &from = shape_of(0), &to = node_->shape;
    const auto& axes = node_->as<graph::PermuteAttrs>().axes;
    const std::array<uint32_t, 3> strides = {from[1] * from[2], from[2], 1};
    INGOT_TRY(dispatch({Family::kPermute}, {in(0), out()},
                       PermuteArgs{to[1], to[2], {strides[axes[0]], strides[axes[1]], strides[axes[2]]}},
                       threads(to[2], to[1], to[0])));
    return {};
}

}  // namespace ingot::mtl

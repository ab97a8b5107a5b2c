#include "metal/exec/fibers/tensor_operations.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/half.h"
#include "metal/exec/fibers/scheduler.h"

#if defined(__x86_64__) && !defined(__clang__)
#define INGOT_METAL_VECTOR_CLONES \
    __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define INGOT_METAL_VECTOR_CLONES
#endif

namespace ingot::metal::fibers {
namespace {

constexpr int kFragment = 16;         // rows and columns of a NAX fragment
constexpr int kFragmentElements = 8;  // of one lane

int element_bytes(TensorType type) {
    return type == TensorType::kF32 || type == TensorType::kI32 ? 4 : type == TensorType::kI8 ? 1 : 2;
}

float load_element(const char* at, TensorType type) {
    uint16_t bits;
    switch (type) {
        case TensorType::kF16:
            std::memcpy(&bits, at, 2);
            return half_to_float(bits);
        case TensorType::kBF16:
            std::memcpy(&bits, at, 2);
            return bfloat16_to_float(bits);
        case TensorType::kI32: {
            int32_t value;
            std::memcpy(&value, at, 4);
            return float(value);
        }
        case TensorType::kI8:
            return float(*reinterpret_cast<const int8_t*>(at));
        case TensorType::kF32:
            break;
    }
    float value;
    std::memcpy(&value, at, 4);
    return value;
}

// Operands of one product as row-major floats; reused by each worker.
struct Scratch {
    std::vector<float> left, right, destination, stored;
};

float* sized(std::vector<float>& buffer, size_t count) {
    if (buffer.size() < count) buffer.resize(count);
    return buffer.data();
}

// One lane's elements to their places in `out`, or back.
template <typename Visit>
void for_each_element(CooperativeLayout layout, int lane, int rows, int columns, Visit visit) {
    const int count = rows * columns / int(kSimdWidth);
    for (int i = 0; i < count; ++i) {
        const Place place = place_of(layout, lane, i, rows, columns);
        visit(i, size_t(place.row) * columns + place.column);
    }
}

void gather_lanes(float* out, const uint64_t* elements, uint32_t mask, int rows, int columns, TensorType type,
                  CooperativeLayout layout) {
    const int bytes = element_bytes(type);
    for (; mask != 0; mask &= mask - 1) {
        const int lane = std::countr_zero(mask);
        const char* from = reinterpret_cast<const char*>(elements[lane]);
        for_each_element(layout, lane, rows, columns,
                         [&](int i, size_t at) { out[at] = load_element(from + i * bytes, type); });
    }
}

void gather_view(float* out, const TensorView& view, int rows, int columns, TensorType type) {
    const int bytes = element_bytes(type);
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) {
            const bool inside = r < view.extent(1) && c < view.extent(0);
            const int64_t at = r * view.stride(1) + c * view.stride(0);
            out[size_t(r) * columns + c] = inside ? load_element(view.data + at * bytes, type) : 0.0f;
        }
    }
}

// The operand as rows x columns of its logical shape, whichever way it is stored.
void gather(float* out, Scratch& scratch, const uint64_t* pointers, uint32_t mask, int rows, int columns,
            bool transposed, uint32_t code, CooperativeLayout layout) {
    const int stored_rows = transposed ? columns : rows, stored_columns = transposed ? rows : columns;
    float* stored = transposed ? sized(scratch.stored, size_t(rows) * columns) : out;
    const auto type = TensorType(code & 0xFF);
    if (code & 0x100) {
        const auto* view = reinterpret_cast<const TensorView*>(pointers[std::countr_zero(mask)]);
        gather_view(stored, *view, stored_rows, stored_columns, type);
    } else {
        gather_lanes(stored, pointers, mask, stored_rows, stored_columns, type, layout);
    }
    if (!transposed) return;
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) out[size_t(r) * columns + c] = stored[size_t(c) * rows + r];
    }
}

typedef float Block __attribute__((vector_size(64)));  // 16 floats

// c[m, n] += a[m, k] * b[k, n]; tiles of 2 x 16 in registers where n allows it.
INGOT_METAL_VECTOR_CLONES
void multiply(float* c, const float* a, const float* b, int m, int n, int k) {
    const int wide = n / kFragment * kFragment;
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < wide; j += kFragment) {
            Block sum;
            std::memcpy(&sum, c + size_t(i) * n + j, sizeof sum);
            for (int p = 0; p < k; ++p) {
                Block row;
                std::memcpy(&row, b + size_t(p) * n + j, sizeof row);
                sum += a[size_t(i) * k + p] * row;
            }
            std::memcpy(c + size_t(i) * n + j, &sum, sizeof sum);
        }
        for (int j = wide; j < n; ++j) {
            float sum = c[size_t(i) * n + j];
            for (int p = 0; p < k; ++p) sum += a[size_t(i) * k + p] * b[size_t(p) * n + j];
            c[size_t(i) * n + j] = sum;
        }
    }
}

struct MatmulCall {
    const MatmulDescriptor* descriptor;
    uint32_t left_code, right_code;
    CooperativeLayout layout;
};

void run_matmul(Simdgroup* s, uint32_t mask, uint32_t parity, const void* argument) {
    static thread_local Scratch scratch;
    const auto& call = *static_cast<const MatmulCall*>(argument);
    const MatmulDescriptor& d = *call.descriptor;
    float* a = sized(scratch.left, size_t(d.m) * d.k);
    float* b = sized(scratch.right, size_t(d.k) * d.n);
    float* c = sized(scratch.destination, size_t(d.m) * d.n);
    gather(a, scratch, s->in[parity], mask, d.m, d.k, d.transpose_left, call.left_code, call.layout);
    gather(b, scratch, s->in2[parity], mask, d.k, d.n, d.transpose_right, call.right_code, call.layout);
    if (d.mode == 1) {
        gather_lanes(c, s->out[parity], mask, d.m, d.n, TensorType::kF32, call.layout);
    } else {
        std::fill_n(c, size_t(d.m) * d.n, 0.0f);
    }
    multiply(c, a, b, d.m, d.n, d.k);
    for (; mask != 0; mask &= mask - 1) {
        const int lane = std::countr_zero(mask);
        float* to = reinterpret_cast<float*>(s->out[parity][lane]);
        for_each_element(call.layout, lane, d.m, d.n, [&](int i, size_t at) { to[i] = c[at]; });
    }
}

}  // namespace

Place place_of(CooperativeLayout layout, int lane, int element, int rows, int columns) {
    if (layout == CooperativeLayout::kNax && rows % kFragment == 0 && columns % kFragment == 0) {
        const int fragment = element / kFragmentElements, i = element % kFragmentElements, quad = lane >> 2;
        const int across = columns / kFragment;
        return {fragment / across * kFragment + ((quad & 4) | ((lane >> 1) & 3)) + 8 * (i >> 2),
                fragment % across * kFragment + ((quad & 2) | (lane & 1)) * 4 + (i & 3)};
    }
    const int count = rows * columns;
    int index = element * int(kSimdWidth) + lane;
    // Any multiplier without a common factor permutes the elements.
    if (layout == CooperativeLayout::kScrambled && std::gcd(37, count) == 1)
        index = int(int64_t{37} * index % count);
    return {index / columns, index % columns};
}

}  // namespace ingot::metal::fibers

using namespace ingot::metal::fibers;
using ingot::metal::CooperativeLayout;

extern "C" void ingot_tensor_init(TensorView* view, uint32_t rank, char* data, const int32_t* extents,
                                  const int32_t* strides, uint32_t type) {
    view->data = data;
    view->type = int32_t(type);
    view->rank = int32_t(rank);
    std::copy_n(extents, rank, view->sizes);
    std::copy_n(strides, rank, view->sizes + rank);
}

extern "C" void ingot_tensor_slice(TensorView* to, const TensorView* from, uint32_t rank,
                                   const int32_t* origin, const int32_t* extents) {
    to->data = from->data;
    to->type = from->type;
    to->rank = int32_t(rank);
    const int bytes = element_bytes(TensorType(from->type));
    for (int i = 0; i < int(rank); ++i) {
        to->data += origin[i] * from->stride(i) * bytes;
        to->sizes[i] = std::min(extents[i], from->extent(i) - origin[i]);
        to->sizes[int(rank) + i] = int32_t(from->stride(i));
    }
}

extern "C" void ingot_matmul2d(Lane* me, const MatmulDescriptor* descriptor, const void* left,
                               uint32_t left_code, const void* right, uint32_t right_code, float* destination,
                               uint32_t layout) {
    Simdgroup* s = me->simdgroup;
    const uint32_t parity = s->epoch & 1;
    s->in[parity][me->lane] = reinterpret_cast<uint64_t>(left);
    s->in2[parity][me->lane] = reinterpret_cast<uint64_t>(right);
    s->out[parity][me->lane] = reinterpret_cast<uint64_t>(destination);
    const MatmulCall call{descriptor, left_code, right_code, CooperativeLayout(layout)};
    meet(me, run_matmul, &call);
}

extern "C" void ingot_cooperative_copy(Lane* me, char* elements, const TensorView* view, int32_t rows,
                                       int32_t columns, uint32_t bytes, uint32_t is_store, uint32_t layout) {
    const int count = rows * columns / int(ingot::metal::kSimdWidth);
    for (int i = 0; i < count; ++i) {
        const Place place = place_of(CooperativeLayout(layout), int(me->lane), i, rows, columns);
        const bool inside = place.column < view->extent(0) && place.row < view->extent(1);
        char* memory = view->data + (place.column * view->stride(0) + place.row * view->stride(1)) * bytes;
        char* element = elements + size_t(i) * bytes;
        if (is_store) {
            if (inside) std::memcpy(memory, element, bytes);
        } else if (inside) {
            std::memcpy(element, memory, bytes);
        } else {
            std::memset(element, 0, bytes);
        }
    }
}

extern "C" void ingot_cooperative_coordinate(Lane* me, int32_t element, int32_t rows, int32_t columns,
                                             int32_t* column_and_row, uint32_t layout) {
    const Place place = place_of(CooperativeLayout(layout), int(me->lane), element, rows, columns);
    column_and_row[0] = place.column;
    column_and_row[1] = place.row;
}

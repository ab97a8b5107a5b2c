#include "metal/exec/fibers/tensor_operations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "metal/exec/fibers/element_rows.h"
#include "metal/exec/fibers/operands.h"
#include "metal/exec/fibers/scheduler.h"
#include "metal/exec/monitor.h"

namespace ingot::metal::fibers {
namespace {

void move_element(char* to, TensorType to_type, const char* from, TensorType from_type) {
    if (to_type == from_type) {
        std::memcpy(to, from, size_t(bytes_of(to_type)));
    } else if (is_integer(to_type) && is_integer(from_type)) {
        int32_t value = 0;
        read_elements(&value, from, 1, from_type);
        write_elements(to, &value, 1, to_type);
    } else {
        float value = 0;
        read_elements(&value, from, 1, from_type);
        write_elements(to, &value, 1, to_type);
    }
}

// Tells who watches that an element is read, or written with what `brings` holds.
void watch_element(const char* memory, TensorType type, const char* brings, TensorType brings_type) {
    if (!is_tensor_watched()) return;
    char element[8] = {};
    if (brings != nullptr) move_element(element, type, brings, brings_type);
    watch_tensor_access({.address = memory,
                         .size_bytes = uint64_t(bytes_of(type)),
                         .writes = brings != nullptr,
                         .brings = brings != nullptr ? element : nullptr});
}

struct Reduction {
    CooperativeShape shape;
    TensorType type;
    bool by_columns;
    uint32_t operation, identity_bits;
};

template <typename Number>
Number combine(uint32_t operation, Number a, Number b) {
    constexpr uint32_t kSum = 0, kMin = 1;
    if (operation == kSum) return a + b;
    // As min and max have it, a NaN loses against a number.
    return operation == kMin ? (b < a || a != a ? b : a) : (a < b || a != a ? b : a);
}

template <typename Number>
void reduce(const Reduction& r, const Lanes& from, const Lanes& to) {
    static thread_local Scratch<Number> whole, results;
    const Rectangle all{0, 0, r.shape.rows, r.shape.columns};
    Number* data = whole.sized(size_t(all.rows) * all.columns);
    const Dense<Number> dense{data, all.columns, 1};
    read_lanes(dense, from, r.shape, all, r.type);
    Number identity = 0;
    read_elements(&identity, &r.identity_bits, 1, r.type);
    const int count = r.by_columns ? all.columns : all.rows, length = r.by_columns ? all.rows : all.columns;
    const ptrdiff_t next = r.by_columns ? 1 : all.columns, step = r.by_columns ? all.columns : 1;
    Number* reduced = results.sized(size_t(count));
    for (int i = 0; i < count; ++i) {
        reduced[i] = identity;
        for (int k = 0; k < length; ++k)
            reduced[i] = combine(r.operation, reduced[i], data[i * next + k * step]);
    }
    for (int row = 0; row < all.rows; ++row) {
        for (int c = 0; c < all.columns; ++c)
            data[row * dense.row_stride + c] = reduced[r.by_columns ? c : row];
    }
    write_lanes(to, Dense<const Number>{data, all.columns, 1}, r.shape, all, r.type);
}

void run_reduction(const Reduction& r, const Lanes& from, const Lanes& to) {
    if (is_integer(r.type)) {
        reduce<int32_t>(r, from, to);
    } else {
        reduce<float>(r, from, to);
    }
}

void reduce_for_simdgroup(Simdgroup* s, uint32_t mask, const void* argument) {
    run_reduction(*static_cast<const Reduction*>(argument), {s->in, mask, 0}, {s->out, mask, 0});
}

}  // namespace
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
    const int bytes = bytes_of(TensorType(from->type));
    for (int i = 0; i < int(rank); ++i) {
        to->data += origin[i] * from->stride(i) * bytes;
        to->sizes[i] = std::min(extents[i], from->extent(i) - origin[i]);
        to->sizes[int(rank) + i] = int32_t(from->stride(i));
    }
}

extern "C" void ingot_cooperative_copy(uint32_t thread, char* elements, uint32_t element_type,
                                       const TensorView* view, uint32_t view_type, int32_t rows,
                                       int32_t columns, uint32_t is_store, uint32_t threads,
                                       uint32_t layout) {
    const CooperativeShape shape{CooperativeLayout(layout), int(threads), rows, columns};
    const auto held = TensorType(element_type), stored = TensorType(view_type);
    const int capacity = shape.capacity();
    for (int i = 0; i < capacity; ++i) {
        const Place place = place_of(shape, int(thread % threads), i);
        if (place.row >= rows) continue;
        const bool inside = place.column < view->extent(0) && place.row < view->extent(1);
        char* memory =
            view->data + (place.column * view->stride(0) + place.row * view->stride(1)) * bytes_of(stored);
        char* element = elements + ptrdiff_t{i} * bytes_of(held);
        if (inside) watch_element(memory, stored, is_store != 0 ? element : nullptr, held);
        if (is_store) {
            if (inside) move_element(memory, stored, element, held);
        } else if (inside) {
            move_element(element, held, memory, stored);
        } else {
            std::memset(element, 0, size_t(bytes_of(held)));
        }
    }
}

extern "C" uint32_t ingot_cooperative_coordinate(uint32_t thread, int32_t element, int32_t rows,
                                                 int32_t columns, int32_t* column_and_row, uint32_t threads,
                                                 uint32_t layout) {
    const CooperativeShape shape{CooperativeLayout(layout), int(threads), rows, columns};
    const Place place = place_of(shape, int(thread % threads), element);
    column_and_row[0] = place.column;
    column_and_row[1] = place.row;
    return place.row < rows ? 1 : 0;
}

extern "C" void ingot_cooperative_spoil(char* elements, uint32_t count, uint32_t element_bytes) {
    // Little-endian 0x7FFF is a NaN of every float type.
    for (uint32_t i = 0; i < count; ++i) {
        std::memset(elements + size_t{i} * element_bytes, 0xFF, element_bytes);
        elements[size_t{i} * element_bytes + element_bytes - 1] = 0x7F;
    }
}

extern "C" void ingot_cooperative_reduce(Lane* me, uint32_t site, const char* from, char* to, uint32_t type,
                                         int32_t rows, int32_t columns, uint32_t by_columns,
                                         uint32_t operation, uint32_t identity_bits, uint32_t threads,
                                         uint32_t layout) {
    const Reduction reduction{{CooperativeLayout(layout), int(threads), rows, columns},
                              TensorType(type),
                              by_columns != 0,
                              operation,
                              identity_bits};
    const uint64_t pointers[2] = {reinterpret_cast<uint64_t>(from), reinterpret_cast<uint64_t>(to)};
    if (threads < ingot::metal::kSimdWidth) {
        return run_reduction(reduction, {&pointers[0], 1, 0}, {&pointers[1], 1, 0});
    }
    Simdgroup* s = me->simdgroup;
    s->in[me->lane] = pointers[0];
    s->out[me->lane] = pointers[1];
    meet(me, site, reduce_for_simdgroup, &reduction);
}

extern "C" void ingot_lanes_cooperative_reduce(uint32_t mask, const uint64_t* from, const uint64_t* to,
                                               uint32_t type, int32_t rows, int32_t columns,
                                               uint32_t by_columns, uint32_t operation,
                                               uint32_t identity_bits, uint32_t threads, uint32_t layout) {
    const Reduction reduction{{CooperativeLayout(layout), int(threads), rows, columns},
                              TensorType(type),
                              by_columns != 0,
                              operation,
                              identity_bits};
    if (threads >= ingot::metal::kSimdWidth) return run_reduction(reduction, {from, mask, 0}, {to, mask, 0});
    for_each_lane(mask,
                  [&](uint32_t lane) { run_reduction(reduction, {&from[lane], 1, 0}, {&to[lane], 1, 0}); });
}

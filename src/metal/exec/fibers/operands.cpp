#include "metal/exec/fibers/operands.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "metal/exec/fibers/element_rows.h"
#include "metal/exec/fibers/lane.h"
#include "metal/exec/monitor.h"

namespace ingot::metal::fibers {
namespace {

constexpr int kRun = 4;  // neighbours that a lane holds of a fragment's row

bool in_fragments(const CooperativeShape& shape) {
    return shape.layout == CooperativeLayout::kNax && shape.has_fragments();
}

constexpr auto kLanePlaces = [] {
    std::array<Place, kSimdWidth> places{};
    for (int lane = 0; lane < int(kSimdWidth); ++lane) places[size_t(lane)] = fragment_place(lane);
    return places;
}();

// visit(lane, element, offset in the dense matrix) for the first element of each run of kRun neighbours.
template <typename Visit>
void for_each_run(const Lanes& lanes, const CooperativeShape& shape, const Rectangle& part,
                  ptrdiff_t row_stride, Visit visit) {
    const int across = shape.columns / kFragment, down = shape.rows / kFragment;
    const int count = shape.fragments_per_simdgroup(), begin = lanes.simdgroup * count;
    const int end = std::min(begin + count, across * down);
    int row = begin / across, column = begin % across;
    for (int fragment = begin, element = 0; fragment < end; ++fragment, element += kFragmentElements) {
        const ptrdiff_t corner =
            (row * kFragment - part.row) * row_stride + (column * kFragment - part.column);
        for_each_lane(lanes.mask, [&](int lane) {
            const Place place = kLanePlaces[size_t(lane)];
            const ptrdiff_t at = corner + place.row * row_stride + place.column;
            visit(lane, element, at);
            visit(lane, element + kRun, at + kFragment / 2 * row_stride);
        });
        if (++column == across) {
            column = 0;
            ++row;
        }
    }
}

// Moves `T`-sized elements between lanes and a dense matrix of them.
template <typename T>
void runs_from_lanes(T* out, ptrdiff_t row_stride, const Lanes& lanes, const CooperativeShape& shape,
                     const Rectangle& part) {
    // By value: writes through pointers might change what lies behind a reference.
    for_each_run(
        lanes, shape, part, row_stride, [out, from = lanes.pointers](int lane, int element, ptrdiff_t at) {
            std::memcpy(out + at, reinterpret_cast<const T*>(from[lane]) + element, kRun * sizeof(T));
        });
}

template <typename T>
void runs_to_lanes(const Lanes& lanes, const T* from, ptrdiff_t row_stride, const CooperativeShape& shape,
                   const Rectangle& part) {
    for_each_run(lanes, shape, part, row_stride,
                 [from, to = lanes.pointers](int lane, int element, ptrdiff_t at) {
                     std::memcpy(reinterpret_cast<T*>(to[lane]) + element, from + at, kRun * sizeof(T));
                 });
}

template <typename T, typename Number>
void converted_runs(const Dense<Number>& out, const Lanes& lanes, const CooperativeShape& shape,
                    const Rectangle& part, TensorType type) {
    static thread_local Scratch<T> scratch;
    T* raw = scratch.sized(size_t(part.rows) * part.columns);
    runs_from_lanes(raw, part.columns, lanes, shape, part);
    if (out.row_stride == part.columns) {
        return read_elements(out.data, raw, size_t(part.rows) * part.columns, type);
    }
    for (int r = 0; r < part.rows; ++r) {
        read_elements(out.data + r * out.row_stride, raw + size_t(r) * part.columns, size_t(part.columns),
                      type);
    }
}

// visit(element's address, offset in the dense matrix) for every element of the lanes that stands for one.
template <typename Visit>
void for_each_element(const Lanes& lanes, const CooperativeShape& shape, const Rectangle& part,
                      ptrdiff_t row_stride, TensorType type, Visit visit) {
    const int bytes = bytes_of(type), capacity = shape.capacity();
    for_each_lane(lanes.mask, [&](int lane) {
        char* elements = reinterpret_cast<char*>(lanes.pointers[lane]);
        for (int i = 0; i < capacity; ++i) {
            const Place place = place_of(shape, lanes.simdgroup * int(kSimdWidth) + lane, i);
            if (place.row >= shape.rows) continue;
            visit(elements + ptrdiff_t{i} * bytes,
                  (place.row - part.row) * row_stride + (place.column - part.column));
        }
    });
}

int inside(int origin, int count, int extent) {
    return std::clamp(extent - origin, 0, count);
}

char* address(const TensorView& view, int row, int column, int bytes) {
    return view.data + (row * view.stride(1) + column * view.stride(0)) * bytes;
}

// Tells who watches about `count` elements of a row, and what they are to be if they are written.
void watch_row(const TensorView& view, int row, int column, int count, int bytes, const char* brings) {
    const bool dense = view.stride(0) == 1;
    for (int c = 0; c < (dense ? std::min(count, 1) : count); ++c)
        watch_tensor_access({.address = address(view, row, column + c, bytes),
                             .size_bytes = uint64_t(dense ? count : 1) * uint64_t(bytes),
                             .writes = brings != nullptr,
                             .brings = brings == nullptr ? nullptr : brings + ptrdiff_t{c} * bytes});
}

// The same for a row of numbers that are written as elements of a type.
template <typename Number>
void watch_written_row(const TensorView& view, int row, int column, const Number* numbers, int count,
                       TensorType type) {
    if (!is_tensor_watched()) return;
    std::vector<char> elements(size_t(count) * size_t(bytes_of(type)));
    write_elements(elements.data(), numbers, size_t(count), type);
    watch_row(view, row, column, count, bytes_of(type), elements.data());
}

}  // namespace

template <typename Number>
void read_view(const Dense<Number>& out, const TensorView& view, const Rectangle& part, TensorType type) {
    static thread_local Scratch<Number> scratch;
    const int bytes = bytes_of(type);
    const int rows = inside(part.row, part.rows, view.extent(1));
    const int columns = inside(part.column, part.columns, view.extent(0));
    for (int r = 0; r < part.rows; ++r) {
        Number* row =
            out.column_stride == 1 ? out.data + r * out.row_stride : scratch.sized(size_t(part.columns));
        const int count = r < rows ? columns : 0;
        watch_row(view, part.row + r, part.column, count, bytes, nullptr);
        if (view.stride(0) == 1) {
            if (count > 0)
                read_elements(row, address(view, part.row + r, part.column, bytes), size_t(count), type);
        } else {
            for (int c = 0; c < count; ++c)
                read_elements(row + c, address(view, part.row + r, part.column + c, bytes), 1, type);
        }
        std::fill(row + count, row + part.columns, Number(0));
        if (out.column_stride == 1) continue;
        Number* to = out.data + r * out.row_stride;
        for (int c = 0; c < part.columns; ++c) to[c * out.column_stride] = row[c];
    }
}

template <typename Number>
void write_view(const TensorView& view, const Dense<const Number>& from, const Rectangle& part,
                TensorType type) {
    const int bytes = bytes_of(type);
    const int rows = inside(part.row, part.rows, view.extent(1));
    const int columns = inside(part.column, part.columns, view.extent(0));
    for (int r = 0; r < rows; ++r) {
        const Number* row = from.data + r * from.row_stride;
        watch_written_row(view, part.row + r, part.column, row, columns, type);
        if (view.stride(0) == 1) {
            write_elements(address(view, part.row + r, part.column, bytes), row, size_t(columns), type);
            continue;
        }
        for (int c = 0; c < columns; ++c)
            write_elements(address(view, part.row + r, part.column + c, bytes), row + c, 1, type);
    }
}

template <typename Number>
void read_lanes(const Dense<Number>& out, const Lanes& lanes, const CooperativeShape& shape,
                const Rectangle& part, TensorType type) {
    if (in_fragments(shape)) {
        const bool as_is = type == TensorType::kF32
                               ? std::is_same_v<Number, float>
                               : type == TensorType::kI32 && std::is_same_v<Number, int32_t>;
        if (as_is) return runs_from_lanes(out.data, out.row_stride, lanes, shape, part);
        switch (bytes_of(type)) {
            case 1:
                return converted_runs<uint8_t>(out, lanes, shape, part, type);
            case 2:
                return converted_runs<uint16_t>(out, lanes, shape, part, type);
            default:
                return converted_runs<uint32_t>(out, lanes, shape, part, type);
        }
    }
    for_each_element(lanes, shape, part, out.row_stride, type, [&](const char* element, ptrdiff_t at) {
        read_elements(out.data + at, element, 1, type);
    });
}

template <typename Number>
void write_lanes(const Lanes& lanes, const Dense<const Number>& from, const CooperativeShape& shape,
                 const Rectangle& part, TensorType type) {
    const bool as_is = type == (std::is_same_v<Number, float> ? TensorType::kF32 : TensorType::kI32);
    if (as_is && in_fragments(shape)) return runs_to_lanes(lanes, from.data, from.row_stride, shape, part);
    for_each_element(lanes, shape, part, from.row_stride, type,
                     [&](char* element, ptrdiff_t at) { write_elements(element, from.data + at, 1, type); });
}

#define INGOT_METAL_INSTANTIATE(Number)                                                                     \
    template void read_view(const Dense<Number>&, const TensorView&, const Rectangle&, TensorType);         \
    template void write_view(const TensorView&, const Dense<const Number>&, const Rectangle&, TensorType);  \
    template void read_lanes(const Dense<Number>&, const Lanes&, const CooperativeShape&, const Rectangle&, \
                             TensorType);                                                                   \
    template void write_lanes(const Lanes&, const Dense<const Number>&, const CooperativeShape&,            \
                              const Rectangle&, TensorType);
INGOT_METAL_INSTANTIATE(float)
INGOT_METAL_INSTANTIATE(int32_t)
#undef INGOT_METAL_INSTANTIATE

}  // namespace ingot::metal::fibers

#include "metal/exec/fibers/matmul.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>

#include "metal/exec/fibers/operands.h"
#include "metal/exec/fibers/scheduler.h"
#include "metal/exec/fibers/vector_clones.h"
#include "metal/exec/monitor.h"

namespace ingot::metal::fibers {
namespace {

constexpr int kBlockColumns = 16;  // of the product, in registers
constexpr int kBlockRows = 4;
constexpr int kBlockK = 128;  // of operands in memory at a time
constexpr int kPartRows = 8;  // a part of a product in memory is a multiple of so many rows, or columns

// 8 numbers; two of them make the columns of a block.
template <typename Number>
struct Eight {
    typedef Number Vector
        __attribute__((vector_size(8 * sizeof(Number)), aligned(sizeof(Number)), may_alias));
};

// c[rows, columns] += a[rows, k] * b[k, columns]; columns is a multiple of kBlockColumns. Rows of b and c are
// dense, a lies as its strides say.
template <typename Number, int Rows>
[[gnu::always_inline]] inline void multiply_rows(Number* c, int columns, const Dense<const Number>& a,
                                                 const Number* b, int k) {
    using Vector = typename Eight<Number>::Vector;
    for (int j = 0; j < columns; j += kBlockColumns) {
        Vector low[Rows], high[Rows];
        for (int r = 0; r < Rows; ++r) {
            const auto* sums = reinterpret_cast<const Vector*>(c + r * ptrdiff_t{columns} + j);
            low[r] = sums[0];
            high[r] = sums[1];
        }
        const Number* left = a.data;
        const Number* right = b + j;
        for (int p = 0; p < k; ++p, left += a.column_stride, right += columns) {
            const Vector right_low = reinterpret_cast<const Vector*>(right)[0];
            const Vector right_high = reinterpret_cast<const Vector*>(right)[1];
            for (int r = 0; r < Rows; ++r) {
                low[r] += left[r * a.row_stride] * right_low;
                high[r] += left[r * a.row_stride] * right_high;
            }
        }
        for (int r = 0; r < Rows; ++r) {
            auto* sums = reinterpret_cast<Vector*>(c + r * ptrdiff_t{columns} + j);
            sums[0] = low[r];
            sums[1] = high[r];
        }
    }
}

template <typename Number>
[[gnu::always_inline]] inline void multiply(Number* c, int rows, int columns, Dense<const Number> a,
                                            const Number* b, int k) {
    int row = 0;
    for (; row + kBlockRows <= rows; row += kBlockRows) {
        multiply_rows<Number, kBlockRows>(c, columns, a, b, k);
        a.data += kBlockRows * a.row_stride;
        c += kBlockRows * ptrdiff_t{columns};
    }
    for (; row < rows; ++row) {
        multiply_rows<Number, 1>(c, columns, a, b, k);
        a.data += a.row_stride;
        c += columns;
    }
}

INGOT_METAL_VECTOR_CLONES
void multiply_floats(float* c, int rows, int columns, Dense<const float> a, const float* b, int k) {
    multiply(c, rows, columns, a, b, k);
}
INGOT_METAL_VECTOR_CLONES
void multiply_ints(int32_t* c, int rows, int columns, Dense<const int32_t> a, const int32_t* b, int k) {
    multiply(c, rows, columns, a, b, k);
}

struct Operand {
    TensorType type;
    bool is_view;

    explicit Operand(uint32_t code) : type(TensorType(code & 0xFF)), is_view((code & 0x100) != 0) {}
};

struct MatmulCall {
    // As generated code hands it over.
    MatmulCall(const MatmulDescriptor* what, uint32_t left_code, uint32_t right_code,
               uint32_t destination_code, uint32_t thread_count, uint32_t layout_code)
        : descriptor(what),
          left(left_code),
          right(right_code),
          destination(destination_code),
          layout(CooperativeLayout(layout_code)),
          threads(int(thread_count)) {}

    const MatmulDescriptor* descriptor;
    Operand left, right, destination;
    CooperativeLayout layout;
    int threads;
};

// Where the lanes have their operands.
struct Pointers {
    const uint64_t *left, *right, *destination;
    uint32_t mask;
    int simdgroup;
};

const TensorView& view_of(const uint64_t* pointers, uint32_t mask) {
    return *reinterpret_cast<const TensorView*>(pointers[std::countr_zero(mask)]);
}

// Length of the sums: no further than both operands reach, so that nothing meets a padding zero.
int depth(const MatmulCall& call, const Pointers& at) {
    const MatmulDescriptor& d = *call.descriptor;
    int k = d.k < 0 ? INT_MAX : d.k;
    if (call.left.is_view) k = std::min(k, view_of(at.left, at.mask).extent(d.transpose_left ? 1 : 0));
    if (call.right.is_view) k = std::min(k, view_of(at.right, at.mask).extent(d.transpose_right ? 0 : 1));
    return k;
}

void tell_monitor(const Lane& thread, const MatmulCall& call, const Pointers& at) {
    if (thread.group->monitor == nullptr) return;
    const MatmulDescriptor& d = *call.descriptor;
    thread.group->monitor->product(thread, {.m = d.m,
                                            .n = d.n,
                                            .k = d.k < 0 ? depth(call, at) : d.k,
                                            .left = call.left.type,
                                            .right = call.right.type,
                                            .destination = call.destination.type,
                                            .threads = uint32_t(call.threads)});
}

// Operands that `thread` holds elements of.
void tell_operands(const Lane& thread, const MatmulCall& call, const void* const (&operands)[3]) {
    const MatmulDescriptor& d = *call.descriptor;
    if (thread.group->monitor == nullptr) return;
    const auto tell = [&](uint32_t number, const Operand& operand, bool transposed, int32_t rows,
                          int32_t columns) {
        if (operand.is_view) return;
        thread.group->monitor->tensor(thread, {.what = TensorUse::kOperand,
                                               .elements = operands[number],
                                               .operand = number,
                                               .rows = transposed ? columns : rows,
                                               .columns = transposed ? rows : columns,
                                               .threads = uint32_t(call.threads),
                                               .layout = call.layout});
    };
    tell(0, call.left, d.transpose_left, d.m, d.k);
    tell(1, call.right, d.transpose_right, d.k, d.n);
    tell(2, call.destination, false, d.m, d.n);
}

// The product of one simdgroup or thread, in numbers of one type.
template <typename Number>
class Product {
  public:
    Product(const MatmulCall& call, const Pointers& at) : call_(call), d_(*call.descriptor), at_(at) {}
    void run();

  private:
    CooperativeShape shape(int rows, int columns) const {
        return {call_.layout, call_.threads, rows, columns};
    }
    CooperativeShape left_shape() const { return d_.transpose_left ? shape(d_.k, d_.m) : shape(d_.m, d_.k); }
    CooperativeShape right_shape() const {
        return d_.transpose_right ? shape(d_.n, d_.k) : shape(d_.k, d_.n);
    }
    // Lanes that don't take part contribute zeros.
    Number* cleared(Scratch<Number>& scratch, size_t count) const {
        Number* data = scratch.sized(count);
        if (call_.threads > 1 && at_.mask != ~0u) std::fill_n(data, count, Number(0));
        return data;
    }
    Lanes lanes(const uint64_t* pointers) const { return {pointers, at_.mask, at_.simdgroup}; }
    Rectangle part() const;
    Dense<const Number> left(int k, int count);
    const Number* right(int k, int count);

    const MatmulCall& call_;
    const MatmulDescriptor& d_;
    const Pointers& at_;
    Rectangle part_{};
    int columns_ = 0;  // of part_, rounded up to kBlockColumns
    struct Memory {
        Scratch<Number> left, right, stored, destination;
    };
    static Memory& memory() {
        static thread_local Memory memory;
        return memory;
    }
};

// Which part of the product this simdgroup computes.
template <typename Number>
Rectangle Product<Number>::part() const {
    if (!call_.destination.is_view) return extent_of(shape(d_.m, d_.n), at_.simdgroup);
    const int simdgroups = shape(d_.m, d_.n).simdgroups();
    const bool by_rows = d_.m >= kPartRows * simdgroups;
    const int length = by_rows ? d_.m : d_.n;
    const int share = (length + kPartRows * simdgroups - 1) / (kPartRows * simdgroups) * kPartRows;
    const int begin = std::min(at_.simdgroup * share, length), end = std::min(begin + share, length);
    return by_rows ? Rectangle{begin, 0, end - begin, d_.n} : Rectangle{0, begin, d_.m, end - begin};
}

// Rows part_.row... of the left operand, columns [k, k + count).
template <typename Number>
Dense<const Number> Product<Number>::left(int k, int count) {
    const bool transposed = d_.transpose_left;
    if (!call_.left.is_view) {
        const CooperativeShape whole = left_shape();
        Number* data = cleared(memory().left, size_t(whole.rows) * whole.columns);
        read_lanes(Dense<Number>{data, whole.columns, 1}, lanes(at_.left), whole,
                   {0, 0, whole.rows, whole.columns}, call_.left.type);
        return transposed
                   ? Dense<const Number>{data + part_.row, 1, whole.columns}
                   : Dense<const Number>{data + ptrdiff_t{part_.row} * whole.columns, whole.columns, 1};
    }
    Number* data = memory().left.sized(size_t(part_.rows) * count);
    const TensorView& view = view_of(at_.left, at_.mask);
    if (transposed) {
        read_view(Dense<Number>{data, part_.rows, 1}, view, {k, part_.row, count, part_.rows},
                  call_.left.type);
        return {data, 1, part_.rows};
    }
    read_view(Dense<Number>{data, count, 1}, view, {part_.row, k, part_.rows, count}, call_.left.type);
    return {data, count, 1};
}

// Rows [k, k + count) of the right operand, columns_ columns from part_.column on.
template <typename Number>
const Number* Product<Number>::right(int k, int count) {
    const bool transposed = d_.transpose_right;
    Number* data = cleared(memory().right, size_t(count) * columns_);
    if (call_.right.is_view) {
        const TensorView& view = view_of(at_.right, at_.mask);
        if (transposed) {
            read_view(Dense<Number>{data, 1, columns_}, view, {part_.column, k, columns_, count},
                      call_.right.type);
        } else {
            read_view(Dense<Number>{data, columns_, 1}, view, {k, part_.column, count, columns_},
                      call_.right.type);
        }
        return data;
    }
    const CooperativeShape whole = right_shape();
    const bool in_place = !transposed && columns_ == whole.columns;
    Number* stored = in_place ? data : cleared(memory().stored, size_t(whole.rows) * whole.columns);
    read_lanes(Dense<Number>{stored, whole.columns, 1}, lanes(at_.right), whole,
               {0, 0, whole.rows, whole.columns}, call_.right.type);
    if (in_place) return data;
    std::fill_n(data, size_t(count) * columns_, Number(0));
    for (int p = 0; p < count; ++p) {
        Number* row = data + ptrdiff_t{p} * columns_;
        for (int c = 0; c < part_.columns; ++c) {
            const ptrdiff_t column = part_.column + c;
            row[c] = transposed ? stored[column * whole.columns + p]
                                : stored[ptrdiff_t{p} * whole.columns + column];
        }
    }
    return data;
}

template <typename Number>
void Product<Number>::run() {
    part_ = part();
    if (part_.rows == 0 || part_.columns == 0) return;
    columns_ = (part_.columns + kBlockColumns - 1) / kBlockColumns * kBlockColumns;
    Number* c = memory().destination.sized(size_t(part_.rows) * columns_);
    const Dense<Number> destination{c, columns_, 1};
    const CooperativeShape whole = shape(d_.m, d_.n);
    std::fill_n(c, size_t(part_.rows) * columns_, Number(0));
    if (d_.mode == 1) {
        if (call_.destination.is_view) {
            read_view(destination, view_of(at_.destination, at_.mask), part_, call_.destination.type);
        } else {
            read_lanes(destination, lanes(at_.destination), whole, part_, call_.destination.type);
        }
    }
    const int k = depth(call_, at_), step = call_.left.is_view && call_.right.is_view ? kBlockK : k;
    for (int begin = 0; begin < k; begin += step) {
        const int count = std::min(step, k - begin);
        const Dense<const Number> a = left(begin, count);
        const Number* b = right(begin, count);
        if constexpr (std::is_same_v<Number, float>) {
            multiply_floats(c, part_.rows, columns_, a, b, count);
        } else {
            multiply_ints(c, part_.rows, columns_, a, b, count);
        }
    }
    const Dense<const Number> result{c, columns_, 1};
    if (call_.destination.is_view) {
        write_view(view_of(at_.destination, at_.mask), result, part_, call_.destination.type);
    } else {
        write_lanes(lanes(at_.destination), result, whole, part_, call_.destination.type);
    }
}

void run(const MatmulCall& call, const Pointers& at) {
    if (is_integer(call.left.type) && is_integer(call.right.type)) {
        Product<int32_t>(call, at).run();
    } else {
        Product<float>(call, at).run();
    }
}

void run_for_simdgroup(Simdgroup* s, uint32_t mask, const void* argument) {
    const MatmulCall& call = *static_cast<const MatmulCall*>(argument);
    const uint32_t simdgroups = uint32_t(call.threads) / kSimdWidth;
    const Pointers at{s->in, s->in2, s->out, mask, int(s->index % simdgroups)};
    tell_monitor(s->group->lanes[s->index * kSimdWidth + uint32_t(std::countr_zero(mask))], call, at);
    run(call, at);
}

}  // namespace
}  // namespace ingot::metal::fibers

extern "C" void ingot_matmul2d(ingot::metal::fibers::Lane* me, uint32_t site,
                               const ingot::metal::fibers::MatmulDescriptor* descriptor, const void* left,
                               uint32_t left_code, const void* right, uint32_t right_code, void* destination,
                               uint32_t destination_code, uint32_t threads, uint32_t layout) {
    using namespace ingot::metal::fibers;
    const MatmulCall call(descriptor, left_code, right_code, destination_code, threads, layout);
    const uint64_t pointers[3] = {reinterpret_cast<uint64_t>(left), reinterpret_cast<uint64_t>(right),
                                  reinterpret_cast<uint64_t>(destination)};
    tell_operands(*me, call, {left, right, destination});
    if (threads < ingot::metal::kSimdWidth) {
        const Pointers at{&pointers[0], &pointers[1], &pointers[2], 1, 0};
        tell_monitor(*me, call, at);
        return run(call, at);
    }
    Simdgroup* s = me->simdgroup;
    s->in[me->lane] = pointers[0];
    s->in2[me->lane] = pointers[1];
    s->out[me->lane] = pointers[2];
    meet(me, site, run_for_simdgroup, &call);
}

extern "C" void ingot_lanes_matmul2d(uint32_t mask, uint32_t simdgroup,
                                     const ingot::metal::fibers::MatmulDescriptor* descriptor,
                                     const uint64_t* left, uint32_t left_code, const uint64_t* right,
                                     uint32_t right_code, const uint64_t* destination,
                                     uint32_t destination_code, uint32_t threads, uint32_t layout) {
    using namespace ingot::metal::fibers;
    const MatmulCall call(descriptor, left_code, right_code, destination_code, threads, layout);
    if (threads >= ingot::metal::kSimdWidth) {
        const uint32_t simdgroups = threads / ingot::metal::kSimdWidth;
        return run(call, {left, right, destination, mask, int(simdgroup % simdgroups)});
    }
    for_each_lane(mask,
                  [&](uint32_t lane) { run(call, {&left[lane], &right[lane], &destination[lane], 1, 0}); });
}

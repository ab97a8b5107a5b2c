// Cooperative tensors: operands of a matrix product that the threads of a scope hold together, each thread
// some elements, contiguous in memory. Which element stands for which row and column is the device's
// business: ask get_multidimensional_index(), and is_valid_element() whether it stands for anything.
#pragma once

#include "simdgroup.h"
#include "tensor.h"

namespace metal {

// Who computes an operation together.
struct execution_thread {};
struct execution_simdgroup {};
template <int N>
struct execution_simdgroups {
    static_assert(N >= 1, "execution_simdgroups takes the number of simdgroups");
};

namespace ingot {

template <typename Scope>
inline constexpr int scope_threads = 0;
template <>
inline constexpr int scope_threads<execution_thread> = 1;
template <>
inline constexpr int scope_threads<execution_simdgroup> = 32;
template <int N>
inline constexpr int scope_threads<execution_simdgroups<N>> = 32 * N;

enum class operand { left, right, destination };

// A number's bits, zero-extended.
template <typename T>
constexpr uint identity_bits(T value) {
    if constexpr (sizeof(T) == 4) return __builtin_bit_cast(uint, value);
    if constexpr (sizeof(T) == 2) return __builtin_bit_cast(ushort, value);
    if constexpr (sizeof(T) == 1) return __builtin_bit_cast(uchar, value);
}

// matmul2d_descriptor as `__tensorops` functions take it in memory.
struct matmul_record {
    int m, n, k;
    uchar transpose_left, transpose_right, relaxed;
    int mode;
};

namespace air {

// The operand, the record's fields, then what the function is about.
#define INGOT_COOPERATIVE_HEAD int, int, int, int, uchar, uchar, uchar, int, void*
void cooperative_init(INGOT_COOPERATIVE_HEAD, uint, uint, uint,
                      int) __asm__("__tensorops_impl_matmul2d_op_cooperative_tensor_init");
ushort cooperative_num_elements(INGOT_COOPERATIVE_HEAD, uint, uint,
                                int) __asm__("__tensorops_impl_matmul2d_op_cooperative_tensor_num_elements");
void cooperative_coordinate(INGOT_COOPERATIVE_HEAD, ushort, int*, uint, int, uint, uint,
                            uint) __asm__("__tensorops_impl_matmul2d_op_cooperative_tensor_get_coordinate");
bool cooperative_is_valid(INGOT_COOPERATIVE_HEAD, ushort,
                          int) __asm__("__tensorops_impl_matmul2d_op_cooperative_tensor_is_valid_element");
// With the view's element type as a number, which the device's own headers may do.
void cooperative_load(INGOT_COOPERATIVE_HEAD, void*, int, uint, uint, uint,
                      int) __asm__("__tensorops_impl_matmul2d_op_cooperative_tensor_load_any");
void cooperative_store(INGOT_COOPERATIVE_HEAD, void*, int, uint, uint, uint,
                       int) __asm__("__tensorops_impl_matmul2d_op_cooperative_tensor_store_any");
// To, the element type, the operation, the identity's bits, threads.
__attribute__((convergent)) void cooperative_reduce_rows(
    INGOT_COOPERATIVE_HEAD, void*, int, int, uint,
    int) __asm__("__tensorops_impl_matmul2d_op_cooperative_tensor_reduce_rows_any");
__attribute__((convergent)) void cooperative_reduce_columns(
    INGOT_COOPERATIVE_HEAD, void*, int, int, uint,
    int) __asm__("__tensorops_impl_matmul2d_op_cooperative_tensor_reduce_columns_any");
#undef INGOT_COOPERATIVE_HEAD

}  // namespace air

template <typename Tensor>
class cooperative_iterator {
  public:
    using value_type = typename Tensor::value_type;

    cooperative_iterator(Tensor& tensor, ushort index) : tensor_(&tensor), index_(index) {}
    auto& operator*() const { return (*tensor_)[index_]; }
    auto* operator->() const { return &(*tensor_)[index_]; }
    auto& operator[](int offset) const { return (*tensor_)[index_ + offset]; }
    cooperative_iterator& operator++() {
        ++index_;
        return *this;
    }
    cooperative_iterator operator++(int) {
        const cooperative_iterator before = *this;
        ++index_;
        return before;
    }
    cooperative_iterator& operator--() {
        --index_;
        return *this;
    }
    cooperative_iterator& operator+=(int offset) {
        index_ = ushort(index_ + offset);
        return *this;
    }
    friend cooperative_iterator operator+(cooperative_iterator a, int offset) { return a += offset; }
    friend int operator-(const cooperative_iterator& a, const cooperative_iterator& b) {
        return int(a.index_) - int(b.index_);
    }
    friend bool operator==(const cooperative_iterator& a, const cooperative_iterator& b) {
        return a.index_ == b.index_;
    }
    friend bool operator<(const cooperative_iterator& a, const cooperative_iterator& b) {
        return a.index_ < b.index_;
    }

    ushort index() const { return index_; }
    bool is_valid_element() const { return tensor_->is_valid_element(index_); }
    auto get_multidimensional_index() const { return tensor_->get_multidimensional_index(index_); }

  private:
    Tensor* tensor_;
    ushort index_;
};

// An operand of the product that `Descriptor` describes, of a scope of `Threads` threads. Layout::map_index
// turns {column, row} into what get_multidimensional_index() gives.
template <typename T, auto Descriptor, operand Operand, int Threads>
struct cooperative_layout {
    static constexpr bool transposed = (Operand == operand::left && Descriptor.transpose_left) ||
                                       (Operand == operand::right && Descriptor.transpose_right);
    static constexpr int m = Descriptor.m, n = Descriptor.n, k = Descriptor.k;
    static constexpr int logical_rows = Operand == operand::right ? k : m;
    static constexpr int logical_columns = Operand == operand::left ? k : n;
    // As it is stored.
    static constexpr int rows = transposed ? logical_columns : logical_rows;
    static constexpr int columns = transposed ? logical_rows : logical_columns;
    static_assert(rows > 0 && columns > 0,
                  "a cooperative operand needs a static K: its descriptor's k is dynamic_extent");
    static constexpr int threads = Threads;
    static constexpr bool in_fragments = Threads >= 32 && rows % 16 == 0 && columns % 16 == 0;
    static constexpr int simdgroups = Threads >= 32 ? Threads / 32 : 1;
    static constexpr int needed = in_fragments ? (rows * columns / 256 + simdgroups - 1) / simdgroups * 8
                                               : (rows * columns + Threads - 1) / Threads;
    // A device may have elements that stand for nothing.
    static constexpr int storage = needed + needed / 8 + 1;
};

}  // namespace ingot

#define INGOT_OPERAND                                                                         \
    int(Operand), Descriptor.m, Descriptor.n, Descriptor.k, uchar(Descriptor.transpose_left), \
        uchar(Descriptor.transpose_right), uchar(Descriptor.relaxed_precision), int(Descriptor.matmul_mode)
#define INGOT_OPERAND_TYPES ingot::operand_type<T>, ingot::operand_type<T>, ingot::operand_type<T>

template <typename T, auto Descriptor, ingot::operand Operand, int Threads>
class cooperative_tensor {
    static_assert(ingot::tensor_type<T> >= 0,
                  "the elements of a cooperative tensor are float, half, bfloat, int, int8_t or uint8_t");

  public:
    using layout = ingot::cooperative_layout<T, Descriptor, Operand, Threads>;
    using element_type = T;
    using value_type = T;
    using index_type = int;
    using iterator = ingot::cooperative_iterator<cooperative_tensor>;
    using const_iterator = ingot::cooperative_iterator<const cooperative_tensor>;

    cooperative_tensor() {
        ingot::air::cooperative_init(INGOT_OPERAND, elements_, INGOT_OPERAND_TYPES, Threads);
    }

    static constexpr size_t rank() { return 2; }
    static constexpr size_t get_rank() { return 2; }
    ushort get_capacity() const {
        return ingot::air::cooperative_num_elements(INGOT_OPERAND, data(), ingot::operand_type<T>,
                                                    ingot::operand_type<T>, Threads);
    }
    ushort capacity() const { return get_capacity(); }
    ushort size() const { return get_capacity(); }

    T& operator[](int i) { return elements_[i]; }
    const T& operator[](int i) const { return elements_[i]; }
    T& get(int i) { return elements_[i]; }
    void set(int i, T value) { elements_[i] = value; }

    bool is_valid_element(int i) const {
        return ingot::air::cooperative_is_valid(INGOT_OPERAND, data(), ushort(i), Threads);
    }
    bool get_mask(int i) const { return is_valid_element(i); }
    // {column, row} in the operand as it is stored.
    array<int, 2> get_multidimensional_index(int i) const {
        array<int, 2> place;
        ingot::air::cooperative_coordinate(INGOT_OPERAND, data(), ushort(i), place.data(), 0x20000020u,
                                           Threads, INGOT_OPERAND_TYPES);
        return place;
    }

    iterator begin() { return {*this, 0}; }
    iterator end() { return {*this, get_capacity()}; }
    const_iterator begin() const { return {*this, 0}; }
    const_iterator end() const { return {*this, get_capacity()}; }

    // Outside the tensor's extents 0 is loaded and nothing stored.
    template <typename E, typename X, typename D, typename... Tags>
    void load(const tensor<E, X, D, Tags...>& source) {
        static_assert(X::rank() == 2, "a cooperative tensor loads from a tensor of rank 2");
        ingot::private_tensor<2> view(source);
        ingot::air::cooperative_load(INGOT_OPERAND, data(), view.get(), view_type<E>, INGOT_OPERAND_TYPES,
                                     Threads);
    }
    template <typename E, typename X, typename D, typename... Tags>
    void store(const tensor<E, X, D, Tags...>& destination) const {
        static_assert(X::rank() == 2, "a cooperative tensor stores to a tensor of rank 2");
        static_assert(!is_const_v<E>, "a cooperative tensor can't be stored to a tensor of constants");
        ingot::private_tensor<2> view(destination);
        ingot::air::cooperative_store(INGOT_OPERAND, data(), view.get(), view_type<E>, INGOT_OPERAND_TYPES,
                                      Threads);
    }

    void* data() const { return const_cast<T*>(elements_); }

  private:
    template <typename E>
    static constexpr int view_type = ingot::tensor_type<remove_cv_t<E>>;

    alignas(16) T elements_[layout::storage];
};

// One value for each row of a product's destination, or each column: element i belongs to the row (column) of
// element i of the destination, so each thread has what its elements need.
template <typename T, auto Descriptor, int Threads, bool ByColumns>
class reduction_cooperative_tensor
    : public cooperative_tensor<T, Descriptor, ingot::operand::destination, Threads> {
    using base = cooperative_tensor<T, Descriptor, ingot::operand::destination, Threads>;

  public:
    using iterator = ingot::cooperative_iterator<reduction_cooperative_tensor>;

    static constexpr size_t rank() { return 1; }
    static constexpr size_t get_rank() { return 1; }
    array<int, 1> get_multidimensional_index(int i) const {
        return {base::get_multidimensional_index(i)[ByColumns ? 0 : 1]};
    }
    iterator begin() { return {*this, 0}; }
    iterator end() { return {*this, base::get_capacity()}; }
    // The value of the row (column) that an iterator of the destination stands in.
    template <typename Tensor>
    iterator map_iterator(const ingot::cooperative_iterator<Tensor>& of) {
        return {*this, of.index()};
    }
};

#undef INGOT_OPERAND
#undef INGOT_OPERAND_TYPES

}  // namespace metal

// <MetalPerformancePrimitives/MetalPerformancePrimitives.h>: mpp::tensor_ops::matmul2d on tensors and
// cooperative tensors, and reductions of its result. What a descriptor, a scope and a pair of element types
// must satisfy is checked here, with a message.
#pragma once

#include "cooperative_tensor.h"
#include "limits.h"

namespace mpp::tensor_ops {

using metal::dynamic_extent;
using metal::dynamic_length_v;
using metal::execution_simdgroup;
using metal::execution_simdgroups;
using metal::execution_thread;

// destination[m, n] = left[m, k] * right[k, n] (+ destination). A transposed operand is stored k x m or n x
// k. A negative k is as long as the operands are.
struct matmul2d_descriptor {
    enum class mode { multiply, multiply_accumulate };

    int m, n, k;
    bool transpose_left, transpose_right, relaxed_precision;
    mode matmul_mode;

    constexpr matmul2d_descriptor(int m_, int n_, int k_ = metal::dynamic_length_v<int>,
                                  bool transpose_left_ = false, bool transpose_right_ = false,
                                  bool relaxed_precision_ = false, mode mode_ = mode::multiply)
        : m(m_),
          n(n_),
          k(k_),
          transpose_left(transpose_left_),
          transpose_right(transpose_right_),
          relaxed_precision(relaxed_precision_),
          matmul_mode(mode_) {}
};

enum class reduction_operation { sum, min, max };

}  // namespace mpp::tensor_ops

namespace metal::ingot {

namespace air {

// Operands are elements or views, as the number after each says: an element type, + 256 for a view.
__attribute__((convergent)) void matmul2d(const matmul_record*, void*, int, void*, int, void*, int,
                                          int) __asm__("__tensorops_impl_matmul2d_op_run_any");

}  // namespace air

// An operand in memory or in registers.
template <typename T>
struct matmul_operand {
    static constexpr bool is_operand = false, is_cooperative = false;
};
template <typename E, typename X, typename D, typename... Tags>
struct matmul_operand<tensor<E, X, D, Tags...>> {
    static constexpr bool is_operand = true, is_cooperative = false;
    using element = remove_cv_t<E>;
    static constexpr int code = tensor_type<element> + 256;
    explicit matmul_operand(const tensor<E, X, D, Tags...>& view) : view_(view) {
        static_assert(X::rank() == 2, "matmul2d takes tensors of rank 2; slice the others");
    }
    void* get() { return view_.get(); }

  private:
    private_tensor<2> view_;
};
template <typename T, auto Descriptor, operand Operand, int Threads>
struct matmul_operand<cooperative_tensor<T, Descriptor, Operand, Threads>> {
    static constexpr bool is_operand = true, is_cooperative = true;
    using element = T;
    static constexpr int code = tensor_type<T>;
    static constexpr operand role = Operand;
    static constexpr int rows = cooperative_layout<T, Descriptor, Operand, Threads>::rows;
    static constexpr int columns = cooperative_layout<T, Descriptor, Operand, Threads>::columns;
    static constexpr int threads = Threads;
    explicit matmul_operand(const cooperative_tensor<T, Descriptor, Operand, Threads>& tensor)
        : data_(tensor.data()) {}
    void* get() { return data_; }

  private:
    void* data_;
};

template <typename T>
inline constexpr bool is_byte = tensor_type<T> == 4 || tensor_type<T> == 5;

// Integers make int; anything with a float makes float, or 16 bits if no operand has more.
template <typename L, typename R, typename D>
constexpr bool is_product_type() {
    if (is_byte<L> && is_byte<R>) return __is_same(D, int);
    if (__is_same(L, int) || __is_same(R, int) || __is_same(D, int) || is_byte<D>) return false;
    if (__is_same(D, float)) return true;
    return !__is_same(L, float) && !__is_same(R, float);
}

template <mpp::tensor_ops::matmul2d_descriptor Descriptor, typename Scope>
constexpr void check_matmul() {
    static_assert(
        scope_threads<Scope> > 0,
        "the scope of a matmul2d is execution_thread, execution_simdgroup or execution_simdgroups<N>");
    static_assert(Descriptor.m > 0 && Descriptor.n > 0,
                  "matmul2d: M and N of the descriptor must be positive");
    if constexpr (scope_threads<Scope> >= 32) {
        static_assert(Descriptor.m % 8 == 0 && Descriptor.n % 8 == 0,
                      "matmul2d: M and N of the descriptor must be multiples of 8");
        static_assert(Descriptor.m % 16 == 0 || Descriptor.n % 16 == 0,
                      "matmul2d: M or N of the descriptor must be a multiple of 16");
        static_assert(Descriptor.k < 0 || Descriptor.k % 16 == 0,
                      "matmul2d: a static K of the descriptor must be a multiple of 16");
    }
    static_assert(Descriptor.k != 0,
                  "matmul2d: K of the descriptor is 0; dynamic_extent takes it from the operands");
}

}  // namespace metal::ingot

namespace mpp::tensor_ops {

template <matmul2d_descriptor Descriptor, typename Scope>
class matmul2d {
    static constexpr int threads = metal::ingot::scope_threads<Scope>;
    template <typename T>
    using operand_of = metal::ingot::matmul_operand<metal::remove_cvref_t<T>>;

  public:
    constexpr matmul2d() { metal::ingot::check_matmul<Descriptor, Scope>(); }

    // Inputs by element types.
    template <typename Left, typename Right, typename Destination = float>
    auto get_left_input_cooperative_tensor() const {
        check_input();
        return metal::cooperative_tensor<Left, Descriptor, metal::ingot::operand::left, threads>();
    }
    template <typename Left, typename Right, typename Destination = float>
    auto get_right_input_cooperative_tensor() const {
        check_input();
        return metal::cooperative_tensor<Right, Descriptor, metal::ingot::operand::right, threads>();
    }
    // The destination by operand types, which need not be those of run().
    template <typename Left, typename Right, typename Destination = float>
    auto get_destination_cooperative_tensor() const {
        return metal::cooperative_tensor<Destination, Descriptor, metal::ingot::operand::destination,
                                         threads>();
    }
    template <typename Left, typename Right, typename Destination = float>
    auto get_row_reduction_destination_cooperative_tensor() const {
        return metal::reduction_cooperative_tensor<Destination, Descriptor, threads, false>();
    }
    template <typename Left, typename Right, typename Destination = float>
    auto get_column_reduction_destination_cooperative_tensor() const {
        return metal::reduction_cooperative_tensor<Destination, Descriptor, threads, true>();
    }

    template <typename Left, typename Right, typename Destination>
    void run(const Left& left, const Right& right, Destination&& destination) const {
        using L = operand_of<Left>;
        using R = operand_of<Right>;
        using D = operand_of<Destination>;
        static_assert(L::is_operand && R::is_operand && D::is_operand,
                      "matmul2d: operands are tensors and cooperative tensors");
        if constexpr (L::is_operand && R::is_operand && D::is_operand) {
            check_run<L, R, D>();
            L l(left);
            R r(right);
            D d(destination);
            const metal::ingot::matmul_record record{Descriptor.m,
                                                     Descriptor.n,
                                                     Descriptor.k,
                                                     Descriptor.transpose_left,
                                                     Descriptor.transpose_right,
                                                     Descriptor.relaxed_precision,
                                                     int(Descriptor.matmul_mode)};
            metal::ingot::air::matmul2d(&record, l.get(), L::code, r.get(), R::code, d.get(), D::code,
                                        threads);
        }
    }

  private:
    static constexpr void check_input() {
        static_assert(threads <= 32,
                      "matmul2d: cooperative inputs need the scope execution_simdgroup or execution_thread");
        static_assert(Descriptor.k > 0,
                      "matmul2d: cooperative inputs need a static K, the descriptor's is dynamic");
    }
    template <typename L, typename R, typename D>
    static constexpr void check_run() {
        static_assert(
            metal::ingot::is_product_type<typename L::element, typename R::element, typename D::element>(),
            "matmul2d: no product of these element types; integers of 8 bits give int, all others float, "
            "or half or bfloat where no operand is float");
        check_cooperative<L, metal::ingot::operand::left>();
        check_cooperative<R, metal::ingot::operand::right>();
        check_cooperative<D, metal::ingot::operand::destination>();
        static_assert(!(L::is_cooperative && R::is_cooperative) || threads < 32 || Descriptor.m == 32 ||
                          Descriptor.n == 32 || Descriptor.k == 32,
                      "matmul2d: with two cooperative inputs one of M, N and K must be 32");
    }
    template <typename O, metal::ingot::operand Role>
    static constexpr void check_cooperative() {
        if constexpr (O::is_cooperative) {
            using Own = metal::ingot::cooperative_layout<typename O::element, Descriptor, Role, threads>;
            static_assert(O::threads == threads && O::rows == Own::rows && O::columns == Own::columns,
                          "matmul2d: a cooperative operand has another shape or scope than this product's");
        }
    }
};

// Each element of `destination` becomes the reduction of its row of `source`, and of `identity`.
template <typename T, auto Descriptor, int Threads, typename Identity = int>
void reduce_rows(
    metal::cooperative_tensor<T, Descriptor, metal::ingot::operand::destination, Threads>& source,
    metal::reduction_cooperative_tensor<T, Descriptor, Threads, false>& destination,
    reduction_operation operation = reduction_operation::sum, Identity identity = 0) {
    static_assert(Threads <= 32, "reduce_rows needs the scope execution_simdgroup or execution_thread");
    metal::ingot::air::cooperative_reduce_rows(
        2, Descriptor.m, Descriptor.n, Descriptor.k, Descriptor.transpose_left, Descriptor.transpose_right,
        Descriptor.relaxed_precision, int(Descriptor.matmul_mode), source.data(), destination.data(),
        metal::ingot::tensor_type<T>, int(operation), metal::ingot::identity_bits(T(identity)), Threads);
}
template <typename T, auto Descriptor, int Threads, typename Identity = int>
void reduce_columns(
    metal::cooperative_tensor<T, Descriptor, metal::ingot::operand::destination, Threads>& source,
    metal::reduction_cooperative_tensor<T, Descriptor, Threads, true>& destination,
    reduction_operation operation = reduction_operation::sum, Identity identity = 0) {
    static_assert(Threads <= 32, "reduce_columns needs the scope execution_simdgroup or execution_thread");
    metal::ingot::air::cooperative_reduce_columns(
        2, Descriptor.m, Descriptor.n, Descriptor.k, Descriptor.transpose_left, Descriptor.transpose_right,
        Descriptor.relaxed_precision, int(Descriptor.matmul_mode), source.data(), destination.data(),
        metal::ingot::tensor_type<T>, int(operation), metal::ingot::identity_bits(T(identity)), Threads);
}

}  // namespace mpp::tensor_ops

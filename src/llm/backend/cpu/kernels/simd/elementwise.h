// Vector forms of the element-wise and row kernels of KernelTable.
#pragma once

#include <cmath>

#include "llm/backend/cpu/kernels/simd/attend.h"
#include "llm/backend/cpu/kernels/simd/math.h"

namespace ingot::cpu {
namespace {

// y[i] = f(x[i]), y[i] = f(a[i], b[i]): sixteen at a time, then the rest.
template <typename V, typename Function>
inline void map(const float* x, float* y, size_t n, Function f) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) V::store(y + i, f(V::load(x + i)));
    if (i < n) V::store_first(y + i, n - i, f(V::load_first(x + i, n - i)));
}

template <typename V, typename Function>
inline void map(const float* a, const float* b, float* y, size_t n, Function f) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) V::store(y + i, f(V::load(a + i), V::load(b + i)));
    if (i < n) V::store_first(y + i, n - i, f(V::load_first(a + i, n - i), V::load_first(b + i, n - i)));
}

template <typename V>
struct Elementwise {
    using F = typename V::F;

    static void add(const float* a, const float* b, float* y, size_t n) {
        map<V>(a, b, y, n, [](F u, F v) { return V::add(u, v); });
    }
    static void mul(const float* a, const float* b, float* y, size_t n) {
        map<V>(a, b, y, n, [](F u, F v) { return V::mul(u, v); });
    }
    static void scale(const float* x, float factor, float* y, size_t n) {
        map<V>(x, y, n, [=](F u) { return V::mul(u, V::set(factor)); });
    }
    static void silu(const float* x, float* y, size_t n) {
        map<V>(x, y, n, [](F u) { return cpu::silu<V>(u); });
    }
    static void gelu(const float* x, float* y, size_t n) {
        map<V>(x, y, n, [](F u) { return cpu::gelu<V>(u); });
    }
    static void swiglu(const float* gate, const float* up, float* y, size_t n) {
        map<V>(gate, up, y, n, [](F g, F u) { return V::mul(cpu::silu<V>(g), u); });
    }
    static void geglu(const float* gate, const float* up, float* y, size_t n) {
        map<V>(gate, up, y, n, [](F g, F u) { return V::mul(cpu::gelu<V>(g), u); });
    }

    static void softmax(const float* x, float* y, size_t n) {
        if (n == 0) return;
        const F lowest = V::set(-__builtin_inff());
        F maximum = lowest;
        size_t i = 0;
        for (; i + 16 <= n; i += 16) maximum = V::max(maximum, V::load(x + i));
        if (i < n) maximum = V::max(maximum, V::first(n - i, V::load_first(x + i, n - i), lowest));
        const F shift = V::set(V::largest(maximum));
        F sum = V::zero();
        for (i = 0; i + 16 <= n; i += 16) {
            const F e = exp<V>(V::sub(V::load(x + i), shift));
            V::store(y + i, e);
            sum = V::add(sum, e);
        }
        if (i < n) {
            const F e = exp<V>(V::sub(V::load_first(x + i, n - i), shift));
            V::store_first(y + i, n - i, e);
            sum = V::add(sum, V::first(n - i, e, V::zero()));
        }
        scale(y, 1 / V::sum(sum), y, n);
    }

    static void rms_norm(const float* x, const float* gain, float* y, size_t n, float epsilon) {
        F squares[2] = {V::zero(), V::zero()};
        size_t i = 0;
        for (; i + 32 <= n; i += 32) {
            const F a = V::load(x + i), b = V::load(x + i + 16);
            squares[0] = V::fma(a, a, squares[0]);
            squares[1] = V::fma(b, b, squares[1]);
        }
        for (; i < n; i += 16) {
            const F a = n - i < 16 ? V::load_first(x + i, n - i) : V::load(x + i);
            squares[0] = V::fma(a, a, squares[0]);
        }
        const float mean = V::sum(V::add(squares[0], squares[1])) / float(n);
        const F factor = V::set(1 / std::sqrt(mean + epsilon));
        map<V>(x, gain, y, n, [=](F u, F g) { return V::mul(V::mul(u, factor), g); });
    }

    static void rope_neox(const float* x, const float* cosine, const float* sine, float* y, size_t half) {
        size_t i = 0;
        for (; i + 16 <= half; i += 16) {
            const F a = V::load(x + i), b = V::load(x + i + half);
            const F c = V::load(cosine + i), s = V::load(sine + i);
            V::store(y + i, V::sub(V::mul(a, c), V::mul(b, s)));
            V::store(y + i + half, V::fma(a, s, V::mul(b, c)));
        }
        if (const size_t n = half - i; n > 0) {
            const F a = V::load_first(x + i, n), b = V::load_first(x + i + half, n);
            const F c = V::load_first(cosine + i, n), s = V::load_first(sine + i, n);
            V::store_first(y + i, n, V::sub(V::mul(a, c), V::mul(b, s)));
            V::store_first(y + i + half, n, V::fma(a, s, V::mul(b, c)));
        }
    }

    static void rope_interleaved(const float* x, const float* cosine, const float* sine, float* y,
                                 size_t half) {
        size_t i = 0;
        for (; i + 16 <= half; i += 16) {
            F a, b;
            V::load_pairs(x + 2 * i, a, b);
            const F c = V::load(cosine + i), s = V::load(sine + i);
            V::store_pairs(y + 2 * i, V::sub(V::mul(a, c), V::mul(b, s)), V::fma(a, s, V::mul(b, c)));
        }
        for (; i < half; ++i) {
            const float a = x[2 * i], b = x[2 * i + 1];
            y[2 * i] = a * cosine[i] - b * sine[i];
            y[2 * i + 1] = a * sine[i] + b * cosine[i];
        }
    }

    static void float_to_half(const float* x, uint16_t* y, size_t n) {
        size_t i = 0;
        for (; i + 16 <= n; i += 16) V::store_halves(y + i, V::load(x + i));
        if (i < n) {
            uint16_t rest[16];
            V::store_halves(rest, V::load_first(x + i, n - i));
            __builtin_memcpy(y + i, rest, (n - i) * sizeof(uint16_t));
        }
    }
};

// The whole table of an instruction set, but for its matrix kernels.
template <typename V>
constexpr KernelTable vector_table(Isa isa, const MatMulKernel* (*mat_mul)(QuantType)) {
    using E = Elementwise<V>;
    return {.isa = isa,
            .add = E::add,
            .mul = E::mul,
            .scale = E::scale,
            .silu = E::silu,
            .gelu = E::gelu,
            .swiglu = E::swiglu,
            .geglu = E::geglu,
            .softmax = E::softmax,
            .rms_norm = E::rms_norm,
            .rope_neox = E::rope_neox,
            .rope_interleaved = E::rope_interleaved,
            .float_to_half = E::float_to_half,
            .attend = attend<V>,
            .mat_mul = mat_mul};
}

}  // namespace
}  // namespace ingot::cpu

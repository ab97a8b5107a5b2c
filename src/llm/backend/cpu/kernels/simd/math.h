// Vector exponential and what is made of it. Relative error of exp() below 2e-7 on [-87, 88], by its test.
#pragma once

namespace ingot::cpu {
namespace {

// e^x = 2^n * e^r with n = round(x / ln 2), |r| <= ln 2 / 2, and a polynomial for e^r (its Taylor series to
// degree 7: the first term left out is below 6e-9). Below -88 it is exactly 0, above 88 it stays at e^88; NaN
// stays NaN.
template <typename V>
inline typename V::F exp(typename V::F x) {
    using F = typename V::F;
    // The second operand is what max and min return for NaN.
    x = V::min(V::set(88.0f), V::max(V::set(-88.0f), x));
    const F n = V::round(V::mul(x, V::set(1.44269504089f)));
    F r = V::fma(n, V::set(-0.693359375f), x);  // ln 2 in two parts, the first exact in nine bits
    r = V::fma(n, V::set(2.12194440e-4f), r);
    F p = V::set(1.0f / 5040);
    p = V::fma(p, r, V::set(1.0f / 720));
    p = V::fma(p, r, V::set(1.0f / 120));
    p = V::fma(p, r, V::set(1.0f / 24));
    p = V::fma(p, r, V::set(1.0f / 6));
    p = V::fma(p, r, V::set(0.5f));
    p = V::fma(p, r, V::set(1.0f));
    p = V::fma(p, r, V::set(1.0f));
    return V::mul(p, V::power_of_two(n));
}

// x / (1 + e^-x)
template <typename V>
inline typename V::F silu(typename V::F x) {
    return V::div(x, V::add(V::set(1.0f), exp<V>(V::sub(V::zero(), x))));
}

// x/2 (1 + tanh u) = x / (1 + e^-2u)
template <typename V>
inline typename V::F gelu(typename V::F x) {
    const auto cubic = V::mul(V::mul(x, x), V::set(0.044715f));
    const auto minus_two_u = V::mul(V::set(-2 * 0.79788456080286535588f), V::fma(cubic, x, x));
    return V::div(x, V::add(V::set(1.0f), exp<V>(minus_two_u)));
}

// limit * tanh(x / limit)
template <typename V>
inline typename V::F soft_cap(typename V::F x, float limit) {
    const auto e = exp<V>(V::mul(x, V::set(2 / limit)));
    return V::mul(V::set(limit), V::sub(V::set(1.0f), V::div(V::set(2.0f), V::add(V::set(1.0f), e))));
}

}  // namespace
}  // namespace ingot::cpu

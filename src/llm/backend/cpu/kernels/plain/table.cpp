#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "llm/backend/cpu/kernels/plain/plain.h"
#include "llm/backend/cpu/kernels/tables.h"

namespace ingot::cpu {
namespace {

float silu_of(float x) {
    return x / (1 + std::exp(-x));
}

float gelu_of(float x) {
    constexpr float kSqrt2OverPi = 0.79788456080286535588f;
    return 0.5f * x * (1 + std::tanh(kSqrt2OverPi * (x + 0.044715f * x * x * x)));
}

void add(const float* a, const float* b, float* y, size_t n) {
    for (size_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

void mul(const float* a, const float* b, float* y, size_t n) {
    for (size_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
}

void scale(const float* x, float factor, float* y, size_t n) {
    for (size_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}

void silu(const float* x, float* y, size_t n) {
    for (size_t i = 0; i < n; ++i) y[i] = silu_of(x[i]);
}

void gelu(const float* x, float* y, size_t n) {
    for (size_t i = 0; i < n; ++i) y[i] = gelu_of(x[i]);
}

void swiglu(const float* gate, const float* up, float* y, size_t n) {
    for (size_t i = 0; i < n; ++i) y[i] = silu_of(gate[i]) * up[i];
}

void geglu(const float* gate, const float* up, float* y, size_t n) {
    for (size_t i = 0; i < n; ++i) y[i] = gelu_of(gate[i]) * up[i];
}

void softmax(const float* x, float* y, size_t n) {
    if (n == 0) return;
    const float maximum = *std::max_element(x, x + n);
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += y[i] = std::exp(x[i] - maximum);
    for (size_t i = 0; i < n; ++i) y[i] = float(y[i] / sum);
}

void rms_norm(const float* x, const float* gain, float* y, size_t n, float epsilon) {
    double squares = 0;
    for (size_t i = 0; i < n; ++i) squares += double(x[i]) * x[i];
    const float factor = float(1 / std::sqrt(squares / double(n) + epsilon));
    for (size_t i = 0; i < n; ++i) y[i] = x[i] * factor * gain[i];
}

void rope_pair(float a, float b, float cosine, float sine, float& ya, float& yb) {
    ya = a * cosine - b * sine;
    yb = a * sine + b * cosine;
}

void rope_neox(const float* x, const float* cosine, const float* sine, float* y, size_t half) {
    for (size_t i = 0; i < half; ++i) rope_pair(x[i], x[i + half], cosine[i], sine[i], y[i], y[i + half]);
}

void rope_interleaved(const float* x, const float* cosine, const float* sine, float* y, size_t half) {
    for (size_t i = 0; i < half; ++i)
        rope_pair(x[2 * i], x[2 * i + 1], cosine[i], sine[i], y[2 * i], y[2 * i + 1]);
}

void to_half(const float* x, uint16_t* y, size_t n) {
    for (size_t i = 0; i < n; ++i) y[i] = ingot::float_to_half(x[i]);
}

}  // namespace

const KernelTable& plain_table() {
    static constexpr KernelTable kTable = {
        .isa = Isa::kPlain,
        .add = add,
        .mul = mul,
        .scale = scale,
        .silu = silu,
        .gelu = gelu,
        .swiglu = swiglu,
        .geglu = geglu,
        .softmax = softmax,
        .rms_norm = rms_norm,
        .rope_neox = rope_neox,
        .rope_interleaved = rope_interleaved,
        .float_to_half = to_half,
        .attend = plain_attend,
        .mat_mul = plain_mat_mul,
    };
    return kTable;
}

}  // namespace ingot::cpu

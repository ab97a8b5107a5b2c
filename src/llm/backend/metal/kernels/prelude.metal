// What every kernel file starts with: the backend puts this text in front of each. Structs named ...Args are
// filled by the host and have a twin of the same name in ../kernel_args.h.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint kSimdWidth = 32;

// Low enough to vanish in a softmax, and far enough from the end of the range that differences stay finite.
constant constexpr float kNoScore = -1e30f;

inline float silu_of(float x) {
    return x / (1.0f + precise::exp(-x));
}
inline float gelu_of(float x) {
    constexpr float kSqrt2OverPi = 0.79788456080286535588f;
    return 0.5f * x * (1.0f + precise::tanh(kSqrt2OverPi * (x + 0.044715f * x * x * x)));
}

// Built-in math functions of AIR: name -> how it is computed on the host. The only list of them; the
// lowering, the test sweep and docs/metal.md derive from it. `air.[fast_|precise_]NAME.TYPE`, scalars and
// vectors of f32, f16 and bf16. 16-bit types are computed in float and rounded once. `ulps` is the error
// accepted against the correctly rounded float result, from the Metal Shading Language specification's table
// for precise functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace ingot::metal::jit {

enum class MathForm : uint8_t {
    kIntrinsic,   // llvm.NAME
    kLibrary,     // a function of the C library on float
    kExpression,  // composed from others in math.cpp
};

struct MathBuiltin {
    std::string_view name;
    uint8_t num_arguments;
    MathForm form;
    std::string_view target;  // intrinsic or C function
    float ulps;
};

inline constexpr MathBuiltin kMathBuiltins[] = {
    {"acos", 1, MathForm::kLibrary, "acosf", 4},
    {"acosh", 1, MathForm::kLibrary, "acoshf", 4},
    {"asin", 1, MathForm::kLibrary, "asinf", 4},
    {"asinh", 1, MathForm::kLibrary, "asinhf", 4},
    {"atan", 1, MathForm::kLibrary, "atanf", 5},
    {"atan2", 2, MathForm::kLibrary, "atan2f", 6},
    {"atanh", 1, MathForm::kLibrary, "atanhf", 5},
    {"ceil", 1, MathForm::kIntrinsic, "ceil", 0},
    {"copysign", 2, MathForm::kIntrinsic, "copysign", 0},
    {"cos", 1, MathForm::kIntrinsic, "cos", 4},
    {"cosh", 1, MathForm::kLibrary, "coshf", 4},
    {"cospi", 1, MathForm::kExpression, "", 4},
    {"exp", 1, MathForm::kIntrinsic, "exp", 4},
    {"exp10", 1, MathForm::kLibrary, "exp10f", 4},
    {"exp2", 1, MathForm::kIntrinsic, "exp2", 4},
    {"fabs", 1, MathForm::kIntrinsic, "fabs", 0},
    {"fdim", 2, MathForm::kLibrary, "fdimf", 0},
    {"floor", 1, MathForm::kIntrinsic, "floor", 0},
    {"fma", 3, MathForm::kIntrinsic, "fma", 0},
    {"fmax", 2, MathForm::kIntrinsic, "maxnum", 0},
    {"fmin", 2, MathForm::kIntrinsic, "minnum", 0},
    {"fmod", 2, MathForm::kLibrary, "fmodf", 0},
    {"fract", 1, MathForm::kExpression, "", 0},
    {"log", 1, MathForm::kIntrinsic, "log", 4},
    {"log10", 1, MathForm::kIntrinsic, "log10", 4},
    {"log2", 1, MathForm::kIntrinsic, "log2", 4},
    {"nextafter", 2, MathForm::kLibrary, "nextafterf", 0},
    {"pow", 2, MathForm::kIntrinsic, "pow", 16},
    {"powr", 2, MathForm::kLibrary, "powf", 16},
    {"rint", 1, MathForm::kIntrinsic, "rint", 0},
    {"round", 1, MathForm::kIntrinsic, "round", 0},
    {"rsqrt", 1, MathForm::kExpression, "", 2},
    {"sin", 1, MathForm::kIntrinsic, "sin", 4},
    {"sinh", 1, MathForm::kLibrary, "sinhf", 4},
    {"sinpi", 1, MathForm::kExpression, "", 4},
    {"sqrt", 1, MathForm::kIntrinsic, "sqrt", 0},
    {"tan", 1, MathForm::kLibrary, "tanf", 6},
    {"tanh", 1, MathForm::kLibrary, "tanhf", 5},
    {"tanpi", 1, MathForm::kExpression, "", 6},
    {"trunc", 1, MathForm::kIntrinsic, "trunc", 0},
};

}  // namespace ingot::metal::jit

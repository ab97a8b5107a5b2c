// The list of math built-ins (msl/include/ingot_msl/builtins.h) as a table: name -> how it is computed on the
// host. The lowering, the test sweep and docs/metal.md derive from it. `air.[fast_|precise_]NAME.TYPE`,
// scalars and vectors of f32, f16 and bf16. 16-bit types are computed in float and rounded once. `ulps` is
// the error accepted against the correctly rounded float result, from the Metal Shading Language
// specification's table for precise functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "metal/msl/include/ingot_msl/builtins.h"

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
#define X(name, arguments, form, target, ulps) {#name, arguments, MathForm::form, target, ulps},
    INGOT_MATH_BUILTINS(X) INGOT_SHARED_MATH_BUILTINS(X)
#undef X
};

}  // namespace ingot::metal::jit

#include "metal/jit/lanes/vector_math.h"

#include <vector>

// Library function, LLVM's intrinsic, parameters as the vector ABI names them.
#define INGOT_VECTOR_FUNCTIONS(X) \
    X(expf, "llvm.exp", v)        \
    X(exp2f, "llvm.exp2", v)      \
    X(exp10f, "llvm.exp10", v)    \
    X(logf, "llvm.log", v)        \
    X(log2f, "llvm.log2", v)      \
    X(log10f, "llvm.log10", v)    \
    X(sinf, "llvm.sin", v)        \
    X(cosf, "llvm.cos", v)        \
    X(powf, "llvm.pow", vv)       \
    X(tanf, "llvm.tan", v)        \
    X(acosf, "llvm.acos", v)      \
    X(asinf, "llvm.asin", v)      \
    X(atanf, "llvm.atan", v)      \
    X(acoshf, "", v)              \
    X(asinhf, "", v)              \
    X(atanhf, "", v)              \
    X(coshf, "llvm.cosh", v)      \
    X(sinhf, "llvm.sinh", v)      \
    X(tanhf, "llvm.tanh", v)      \
    X(atan2f, "", vv)

#if defined(__x86_64__) && defined(__GLIBC__)
#define X(name, intrinsic, parameters) extern "C" void _ZGVdN8##parameters##_##name();
INGOT_VECTOR_FUNCTIONS(X)
#undef X
#endif

namespace ingot::metal::jit::lanes {
namespace {

struct VectorFunction {
    const char *scalar, *intrinsic, *vector;
};

#if defined(__x86_64__) && defined(__GLIBC__)
constexpr VectorFunction kFunctions[] = {
#define X(name, intrinsic, parameters) {#name, intrinsic, "_ZGVdN8" #parameters "_" #name},
    INGOT_VECTOR_FUNCTIONS(X)
#undef X
};
const RuntimeSymbol kSymbols[] = {
#define X(name, intrinsic, parameters) \
    {"_ZGVdN8" #parameters "_" #name, reinterpret_cast<void*>(_ZGVdN8##parameters##_##name)},
    INGOT_VECTOR_FUNCTIONS(X)
#undef X
};
#else
constexpr llvm::ArrayRef<VectorFunction> kFunctions;
const llvm::ArrayRef<RuntimeSymbol> kSymbols;
#endif

}  // namespace

const char* vector_function(llvm::StringRef scalar) {
    for (const VectorFunction& function : kFunctions) {
        if (scalar == function.scalar || scalar == function.intrinsic) return function.vector;
    }
    return nullptr;
}

llvm::ArrayRef<RuntimeSymbol> vector_math_symbols() {
    return kSymbols;
}

}  // namespace ingot::metal::jit::lanes

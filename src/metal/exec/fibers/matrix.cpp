#include "metal/exec/fibers/matrix.h"

#include "metal/exec/fibers/scheduler.h"

#if defined(__x86_64__) && !defined(__clang__)
#define INGOT_METAL_VECTOR_CLONES \
    __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define INGOT_METAL_VECTOR_CLONES
#endif

namespace ingot::metal::fibers {
namespace {

typedef float Row __attribute__((vector_size(32)));  // 8 floats

// The rows stay in registers: 8 of b, one of c.
INGOT_METAL_VECTOR_CLONES
void run_program(float* matrices, const uint32_t* program, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i, program += 3) {
        const float* a = matrices + 64 * program[0];
        const Row* b = reinterpret_cast<const Row*>(matrices + 64 * program[1]);
        Row* c = reinterpret_cast<Row*>(matrices + 64 * program[2]);
        const Row b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3], b4 = b[4], b5 = b[5], b6 = b[6], b7 = b[7];
        for (int row = 0; row < 8; ++row, a += 8) {
            Row sum = c[row];
            sum += a[0] * b0;
            sum += a[1] * b1;
            sum += a[2] * b2;
            sum += a[3] * b3;
            sum += a[4] * b4;
            sum += a[5] * b5;
            sum += a[6] * b6;
            sum += a[7] * b7;
            c[row] = sum;
        }
    }
}

void run(Simdgroup* simdgroup, uint32_t, const void* argument) {
    const auto* program = static_cast<const uint32_t*>(argument);
    run_program(simdgroup->matrices, program + 1, program[0]);
}

}  // namespace
}  // namespace ingot::metal::fibers

extern "C" void ingot_multiply_matrices(ingot::metal::fibers::Lane* me, const uint32_t* program) {
    // Products are of all lanes: who waits here waits for those that have come to something else on the way.
    ingot::metal::fibers::meet(me, ingot::metal::fibers::kLastSite, ingot::metal::fibers::run, program);
}

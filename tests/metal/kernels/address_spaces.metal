// Overloads and specialisations that differ by address space only, methods for several of them, and a constant table.
// LAUNCH: kernel=spaces grid-threads=4 threads=4
// BUFFER 0: f32[4] = i
// BUFFER 1: f32[4]
// EXPECT 1: 19 25 43 73
#include <metal_stdlib>
using namespace metal;

constant float weights[4] = {10, 20, 40, 70};

float load(device const float* p) {
    return p[0];
}
float load(threadgroup const float* p) {
    return p[0];
}
float load(constant float* p) {
    return p[0];
}

template <typename T>
struct pointee;
template <typename T>
struct pointee<device T*> {
    using type = T;
};
template <typename T>
struct pointee<threadgroup T*> {
    using type = T;
};

struct Square {
    float side;
    Square(float s) thread : side(s) {}
    Square(float s) constant : side(s) {}
    float area() const thread { return side * side; }
    float area() const device { return side * side; }
    float area() const constant { return side * side; }
};

kernel void spaces(device const float* in, device float* out, uint i [[thread_index_in_threadgroup]]) {
    threadgroup float shared[4];
    shared[i] = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const typename pointee<device float*>::type own = load(in + i);
    const Square square(load(shared + (3 - i)));
    out[i] = load(weights + i) + own + square.area();
}

// Functions as template arguments, generic lambdas, defaulted parameters, a template argument with a comparison.
// LAUNCH: kernel=apply_twice grid-threads=4 threads=4
// BUFFER 0: i32[4] = i
// BUFFER 1: i32[4]
// EXPECT 1: 9*i+4
#include <metal_stdlib>
using namespace metal;

void triple(device const int* from, thread int& to) {
    to = *from * 3;
}

template <typename T, void (*read)(device const T*, thread T&), int N = 2, bool small = (sizeof(T) < 8)>
kernel void apply(device const T* in, device T* out, uint i [[thread_position_in_grid]]) {
    T value;
    read(in + i, value);
    auto add = [&](thread auto& target, T amount) __attribute__((always_inline)) { target += amount; };
    add(value, T(N / 2));
    out[i] = value * 3 + (small ? 1 : 0);
}

template [[host_name("apply_twice")]] kernel void apply<int, triple>(device const int*, device int*, uint);

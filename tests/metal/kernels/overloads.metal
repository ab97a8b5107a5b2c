// Kernel templates of one name are told apart by their arguments.
// LAUNCH: kernel=pick grid-threads=4 threads=4
// BUFFER 0: i32[4] = i
// BUFFER 1: i32[4]
// EXPECT 1: 36 3 6 9
#include <metal_stdlib>
using namespace metal;

int common_divisor(int a, int b) {
    while (b != 0) {
        const int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

template <typename T, typename U, int N, bool twice = false>
[[kernel]] void pick(device const T* in, device T* out, uint i [[thread_position_in_grid]]) {
    out[i] = U(common_divisor(12, in[i])) * N * (twice ? 2 : 1);
}

template <typename T, int N, bool last = false, bool more = false>
[[kernel]] void pick(device const T* in, device T* out, uint i [[thread_position_in_grid]]) {
    out[i] = last && more ? in[i] : N;
}

template [[host_name("pick")]] [[kernel]] decltype(pick<int, short, 3>) pick<int, short, 3>;

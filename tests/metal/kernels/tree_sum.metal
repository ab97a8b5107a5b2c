// A tree reduction in threadgroup memory, as a template with two instantiations: in the form with a typedef, and
// in the form that repeats the parameters.
// LAUNCH: kernel=sum_int grid=4 threads=64
// BUFFER 0: i32[256] = i
// BUFFER 1: i32[4]
// EXPECT 1: 2016 6112 10208 14304
#include <metal_stdlib>
using namespace metal;

template <typename T, int N>
[[kernel, max_total_threads_per_threadgroup(N)]] void sum(device const T* values, device T* sums,
                                                          uint t [[thread_index_in_threadgroup]],
                                                          uint group [[threadgroup_position_in_grid]]) {
    threadgroup T partial[N];
    partial[t] = values[group * N + t];
    for (int half_width = N / 2; half_width > 0; half_width /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (int(t) < half_width) partial[t] += partial[t + half_width];
    }
    if (t == 0) sums[group] = partial[0];
}

typedef decltype(sum<int, 64>) sum_t;
template [[host_name("sum_" "int")]] kernel sum_t sum<int, 64>;
template [[host_name("sum_float")]] [[kernel]] void sum<float, 64>(device const float*, device float*, uint, uint);

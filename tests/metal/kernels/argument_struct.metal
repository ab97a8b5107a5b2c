// A struct of arguments with a vector (float3 is 16 bytes), an array and nested members; threadgroup memory that the
// host sizes.
// LAUNCH: kernel=transform grid-threads=4 threads=4 threadgroup=0:64
// BUFFER 0: f32[12] = i
// BUFFER 1: f32[4]
// EXPECT 1: 38 39 40 41
#include <metal_stdlib>
using namespace metal;

struct Inner {
    float scale[2];
};
struct Arguments {
    float3 axis;   // 0 1 2
    Inner inner;   // 4 5
    float offset;  // 6
};

kernel void transform(constant Arguments& arguments [[buffer(0)]], device float* out [[buffer(1)]],
                      threadgroup float* scratch [[threadgroup(0)]], uint t [[thread_index_in_threadgroup]]) {
    scratch[t] = arguments.axis.z * arguments.offset + arguments.inner.scale[0] * arguments.inner.scale[1];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = scratch[3 - t] + arguments.offset + t;
}

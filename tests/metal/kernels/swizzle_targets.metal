// Elements of a vector are written wherever they stand: as operand of ++ and --, in parentheses, as a swizzle or an
// element of a swizzle, in a member, behind a pointer.
// LAUNCH: kernel=write grid=1 threads=1
// BUFFER 0: f32[40]
// BUFFER 1: f32[4] = 1 2 3 4
// EXPECT 0: 2 3 3 4  0 1 3 4  1 8 9 4  1 2 7 4  1 2 5 4  2 3 2 3  9 8 3 4  5 2 1 4  3 6 3 4  1 2 4 5
#include <metal_stdlib>
using namespace metal;

struct Pair {
    float4 v[2];
};

kernel void write(device float4* out [[buffer(0)]], device packed_float4& p [[buffer(1)]]) {
    const float4 start(1, 2, 3, 4);
    float4 v = start;
    ++v.xy;
    out[0] = v;
    v = start;
    --v.xy;
    out[1] = v;
    v = start;
    v.xyz.yz = float2(8, 9);
    out[2] = v;
    v = start;
    v.xyz.z = 7;
    out[3] = v;
    v = start;
    v.wzy.g += 2;
    out[4] = v;
    v = start;
    const float2 before = v.xy++;
    v.zw = before + 1;
    v.zw--;
    v.zw += 1;
    out[5] = v;
    v = start;
    ((v.yx)) = float2(8, 9);
    out[6] = v;
    Pair pair = {{start, start}};
    thread Pair* at = &pair;
    (at->v[1].zx)[1] = 5;
    --(at->v[1].rgb.z);
    at->v[1].zx[0] = 1;
    out[7] = pair.v[1];
    p.xyz.xy *= 3.0f;
    out[8] = float4(p);
    v = start;
    ++(v.zw);
    out[9] = v;
}

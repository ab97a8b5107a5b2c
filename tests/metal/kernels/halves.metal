// half and bfloat: every operation is rounded, conversions go both ways, literals have suffixes.
// LAUNCH: kernel=halves grid-threads=4 threads=4
// BUFFER 0: f32[4] = 0.1*i+1
// BUFFER 1: f32[4]
// BUFFER 2: f32[4]
// BUFFER 3: f32[4]
// BUFFER 4: f32[4]
// EXPECT 1: 1.5 1.599609375 1.7001953125 1.7998046875
// EXPECT 2: 1 1.1015625 1.203125 1.296875
// EXPECT 3: 2048 2048 2048 2048
// EXPECT 4: 3 3.203125 3.40625 3.59375
#include <metal_stdlib>
using namespace metal;

kernel void halves(device const float* in, device float* as_half, device float* as_bfloat, device float* rounded,
                   device float* cast, uint i [[thread_position_in_grid]]) {
    const half h = half(in[i]);
    const bfloat b = static_cast<bfloat>(in[i]);
    as_half[i] = h + 0.5h;
    as_bfloat[i] = float(static_cast<bfloat>(static_cast<half>(b)));
    const half own(b), again = half(b);
    bfloat narrow(h);
    cast[i] = float((half)b + half(own) + (half)1) + float(again - own) + float(narrow - (bfloat)h) + float((bfloat)h - bfloat(h));
    rounded[i] = (2048.0h + 1.0h) + 0.5h;  // half has no 2049
}

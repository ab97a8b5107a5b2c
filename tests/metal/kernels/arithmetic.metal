// Conversions saturate and NaN is 0, of literals, constants and what is loaded; shift amounts wrap.
// LAUNCH: grid=1 threads=1
// BUFFER 0: i32[24]
// BUFFER 1: f32[4] = 1e10 -1e10 1000 70000
// EXPECT 0: 2147483647 -2147483648 0 32767 255 127 2147483647 0 32767 255 2147483647 -2147483648 255 32767 2147483647 255 2147483647 8 -1 2
#include <metal_stdlib>
using namespace metal;

constant float huge = 1e10f;

kernel void convert(device int* out, device const float* in) {
    const float big = 1e9f;
    out[0] = int(1e10f);
    out[1] = int(-1e10f);
    out[2] = int(uint(-1.0f));
    out[3] = short(70000.f);
    out[4] = uchar(1000.f);
    out[5] = char(big);
    out[6] = int(huge);
    out[7] = int(NAN);
    out[8] = short(60000.0h);
    out[9] = uchar(bfloat(1000.0f));
    out[10] = int(in[0]);
    out[11] = int(in[1]);
    out[12] = uchar(in[2]);
    out[13] = short(half(in[3]));
    out[14] = int4(1e10f).y;
    out[15] = uchar2(float2(in[2])).x;
    out[16] = static_cast<int>(bfloat(in[0]));
    int amount = int(in[2]) - 965;
    out[17] = 1 << amount;
    out[18] = -1 >> (amount + 5);
    out[19] = int(ulong(1) << (amount + 30));
}

// Members named like swizzles, beside swizzles of the same name.
#include <metal_stdlib>
using namespace metal;

struct Range {
    float xy;
    float2 zw;
};

class Box {
  public:
    union {
        float4 all;
        struct {
            float2 xy, zw;
        };
    };
    float area() const { return (zw - xy).x * (this->zw - this->xy).y; }
};

template <typename T>
float first_two(T v) {
    return v.xy.x + v.xy.y;
}

// LAUNCH: grid=1 threads=1
// BUFFER 0: f32[8]
// EXPECT 0: 1 5 9 12 3 4 30 7
kernel void members(device float* out) {
    float4 v(1, 2, 3, 4);
    Range range{.xy = 5, .zw = v.zw};
    out[0] = v.xy.x;
    out[1] = range.xy;
    range.zw.x += 6;
    out[2] = range.zw.x;
    Box box;
    box.all = v;
    box.zw = float2(4, 6);
    out[3] = box.area();
    out[4] = first_two(v);
    thread Range* p = &range;
    p->xy = p->zw.y;
    out[5] = p->xy;
    v.xy = v.zw * 10;
    out[6] = v.x;
    thread float& r = range.xy;
    r = 7;
    out[7] = range.xy;
}

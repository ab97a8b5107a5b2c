// Textures are refused by name.
// ERROR 6: textures are not supported
#include <metal_stdlib>
using namespace metal;

kernel void sample(texture2d<float> image [[texture(0)]], device float* out [[buffer(0)]]) {
    out[0] = 0;
}

// A file of an application: its kernels run, whatever else is in it.
// LAUNCH: kernel=app::scale grid-threads=4 threads=4
// BUFFER 0: f32[4] = i
// EXPECT 0: 1 3 5 7
#include <metal_stdlib>
#include <metal_raytracing>
#include <metal_texture>
using namespace metal;
using namespace metal::raytracing;

constexpr sampler bilinear(coord::normalized, filter::linear,
                           address::clamp_to_edge);
constant sampler other = sampler(filter::nearest);

struct VertexIn {
    float3 position [[attribute(0)]];
};
struct VertexOut {
    float4 position [[position]];
    float2 uv [[user(locn0)]];
    float size [[point_size]];
};
struct Material {
    texture2d<float> albedo [[id(0)]];
    float gloss;
};
using Materials = array<Material, 4>;
struct Scene {
    constant Materials& materials;
};

vertex VertexOut project(VertexIn in [[stage_in]], uint id [[vertex_id]]) {
    return {float4(in.position, 1), in.position.xy, 1};
}
static float shade(thread const Material& material, float2 uv) {
    return material.albedo.sample(bilinear, uv).r * dfdx(uv.x);
}
[[early_fragment_tests]] fragment half4 colour(VertexOut in [[stage_in]], constant Scene& scene [[buffer(0)]]) {
    if (in.uv.x < 0) discard_fragment();
    return half4(shade(scene.materials[0], in.uv));
}
[[stitchable]] half4 tint(half4 colour) { return colour * 0.5h; }

namespace app {

kernel void blur(texture2d<float, access::read> from [[texture(0)]],
                 texture2d<float, access::write> to [[texture(1)]], uint2 at [[thread_position_in_grid]]) {
    to.write(from.read(at), at);
}
template <typename T>
kernel void trace(device T* out [[buffer(0)]], instance_acceleration_structure scene [[buffer(1)]]) {
    intersector<triangle_data> finder;
    out[0] = finder.intersect(ray(), scene).distance;
}
template [[host_name("trace_float")]] kernel void trace<float>(device float*, instance_acceleration_structure);
kernel void gloss(device float* out [[buffer(0)]], constant Scene& scene [[buffer(1)]]) {
    out[0] = scene.materials[0].gloss;
}

// Through an alias, as kernels with many instances are made.
typedef decltype(trace<float>) trace_t;
template [[host_name("trace_again")]] kernel trace_t trace<float>;

// Two overloads with one template header.
template <typename T, int kStep = 1>
T texel(texture2d<T, access::read> from, uint2 at) { return from.read(at * kStep).x; }
template <typename T, int kStep = 1>
T texel(texture2d<T, access::read> from, ushort2 at) { return from.read(uint2(at) * kStep).x; }

// The source's own, not that of fragment functions.
float fwidth(float x) { return x + 1; }

kernel void scale(device float* a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    a[i] = fwidth(a[i] * 2);
}

}  // namespace app

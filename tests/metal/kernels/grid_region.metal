// The region of the grid that a host may choose for fetching vertices: here the grid.
// LAUNCH: kernel=region grid-threads=5 threads=2
// BUFFER 0: u32[8]
// EXPECT 0: 5 1 1 5 0 0 0 0
#include <metal_stdlib>
using namespace metal;

kernel void region(ushort3 origin [[grid_origin]], device uint* out, uint3 size [[grid_size]],
                   uint width [[grid_size]], uint start [[grid_origin]],
                   uint3 place [[thread_position_in_grid]]) {
    if (any(place != 0)) return;
    out[0] = size.x;
    out[1] = size.y;
    out[2] = size.z;
    out[3] = width;
    out[4] = origin.x;
    out[5] = origin.y;
    out[6] = origin.z;
    out[7] = start;
}

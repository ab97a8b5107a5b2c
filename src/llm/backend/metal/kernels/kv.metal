// What concerns positions and the KV cache: rotation and the stores of K and V.

struct RopeArgs {
    uint half_dims, heads, head_dim;
    uint interleaved;
};

// The pair that thread i of a head turns, as indices into the head.
inline uint2 rope_pair(uint i, uint half_dims, bool interleaved) {
    return interleaved ? uint2(2 * i, 2 * i + 1) : uint2(i, i + half_dims);
}

// Thread (i, head, token): pair i, or, behind the pairs, an element that doesn't rotate. The table holds a token's
// cosines, then its sines. The output may be the input.
kernel void rope(device const float* x [[buffer(0)]], device const float* table [[buffer(1)]],
                 device float* y [[buffer(2)]], constant RopeArgs& args [[buffer(3)]],
                 uint3 at [[thread_position_in_grid]]) {
    const size_t head = (size_t(at.z) * args.heads + at.y) * args.head_dim;
    if (at.x >= args.half_dims) {
        const size_t i = head + args.half_dims + at.x;
        y[i] = x[i];
        return;
    }
    const uint2 pair = rope_pair(at.x, args.half_dims, args.interleaved);
    device const float* row = table + size_t(at.z) * 2 * args.half_dims;
    const float cosine = row[at.x], sine = row[args.half_dims + at.x];
    const float a = x[head + pair.x], b = x[head + pair.y];
    y[head + pair.x] = a * cosine - b * sine;
    y[head + pair.y] = a * sine + b * cosine;
}

struct KvStoreArgs {
    uint cell_bytes;
    uint width;  // elements of a cell: kv_heads * head_dim
};

// Thread (i, token): element i of the token's rows of K and V.
template <typename Kv>
kernel void kv_store(device const float* k [[buffer(0)]], device const float* v [[buffer(1)]],
                     device const int* cells [[buffer(2)]], device uchar* k_cells [[buffer(3)]],
                     device uchar* v_cells [[buffer(4)]], constant KvStoreArgs& args [[buffer(5)]],
                     uint2 at [[thread_position_in_grid]]) {
    const size_t from = size_t(at.y) * args.width + at.x, to = size_t(cells[at.y]) * args.cell_bytes;
    Kv::store(k_cells + to, at.x, k[from]);
    Kv::store(v_cells + to, at.x, v[from]);
}

typedef decltype(kv_store<KvF32>) kv_store_t;
#define INSTANTIATE(name, Kv) template [[host_name("kv_store_" name)]] kernel kv_store_t kv_store<Kv>;
FOR_EACH_KV_FORMAT(INSTANTIATE)
#undef INSTANTIATE

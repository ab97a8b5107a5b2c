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
    uint width;  // of a cell: kv_heads * head_dim
};

// Thread (i, token): element i of the token's rows of K and V.
template <typename T>
kernel void kv_store(device const float* k [[buffer(0)]], device const float* v [[buffer(1)]],
                     device const int* cells [[buffer(2)]], device T* k_cells [[buffer(3)]],
                     device T* v_cells [[buffer(4)]], constant KvStoreArgs& args [[buffer(5)]],
                     uint2 at [[thread_position_in_grid]]) {
    const size_t from = size_t(at.y) * args.width + at.x, to = size_t(cells[at.y]) * args.width + at.x;
    k_cells[to] = T(k[from]);
    v_cells[to] = T(v[from]);
}

typedef decltype(kv_store<float>) kv_store_f32_t;
typedef decltype(kv_store<half>) kv_store_f16_t;
template [[host_name("kv_store_f32")]] kernel kv_store_f32_t kv_store<float>;
template [[host_name("kv_store_f16")]] kernel kv_store_f16_t kv_store<half>;
